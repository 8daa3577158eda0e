"""Service A as a target of changes, against its emulator over sockets: fields, versions, terms, containers, links."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, urlsplit

import pytest

from dam_sync.model.asset import FileRef, Patch, Placement, Relation
from dam_sync.model.errors import InvalidValue, NotFound, Rejected, Transient, Unsupported
from dam_sync.model.estimator import Estimator
from dam_sync.model.values import Localized, Term
from tests.support.measuring.recorded_requests import RecordingTransport
from tests.support.services.connected_a import FULL, Open, asset, serving
from tests.support.services.connections import Bytes, alike, body, entries
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_update_makes_fields_exactly_what_it_says(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    first, _ = await entries(service)
    await service.schema()
    before = await service.fetch(first.id)
    places = {place.text: place async for place in service.containers()}
    patch = Patch(
        fields={"title": Localized({"en": "Harbour"}), "keywords": ("sea",), "country": None, "legend": None},
        status="archived",
        placements_add=frozenset({places["/Press"]}),
        placements_remove=frozenset({places["/Press/2024"], places["/Highlight"]}),
    )
    told = Estimator(service).write(patch)
    with tenant.costs() as spent:
        await service.update(first.id, patch)
    assert alike(spent) == alike(told)
    await service.update(first.id, patch)
    found = await service.fetch(first.id)
    assert found.fields["title"] == Localized({"en": "Harbour"})
    assert found.fields["keywords"] == ("sea",)
    assert {"country", "legend"}.isdisjoint(found.fields)
    assert found.status == "archived"
    assert {place.text for place in found.placements} == {"/Press"}
    assert found.fields["rating"] == before.fields["rating"]
    assert found.versions == before.versions


async def test_what_only_something_on_the_way_took_out_is_taken_out_all_the_same(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    first, _ = await entries(service)
    places = {place.text: place async for place in service.containers()}
    gone = frozenset({places["/Press/2024"], places["/Highlight"]})
    patch = Patch(placements_add=frozenset({places["/Press"]}), placements_remove=gone)
    tenant.faults.add(
        [{"match": f"DELETE /api/dam/{road}/*", "nth": 1, "do": "empty"} for road in ("folders", "medias")]
    )
    await service.update(first.id, patch)
    assert not tenant.faults.unhit()
    assert {place.text for place in (await service.fetch(first.id)).placements} == {"/Press"}


async def test_a_membership_that_is_not_removed_is_reported(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    first, _ = await entries(service)
    places = {place.text: place async for place in service.containers()}
    for road, place in (("folders", "/Press/2024"), ("medias", "/Highlight")):
        patch = Patch(placements_remove=frozenset({places[place]}))
        tenant.faults.add([{"match": f"DELETE /api/dam/{road}/*", "nth": 1, "do": "status:404"}])
        with pytest.raises(Rejected, match="stays in"):
            await service.update(first.id, patch)
        for _ in ("taken out", "gone by now"):
            await service.update(first.id, patch)
    assert not tenant.faults.unhit()
    assert not {"/Press/2024", "/Highlight"} & {place.text for place in (await service.fetch(first.id)).placements}


async def test_a_new_version_after_a_lost_response_is_one(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (entry,) = await entries(service)
    content, journal = Bytes("newer.jpg", b"n" * 50), MemoryJournal()
    tenant.faults.add([{"match": "POST /api/dam/medias/*/file-versions", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.replace(entry.id, content, journal)
    await service.replace(entry.id, content, journal)
    found = await service.fetch(entry.id)
    assert [file.name for file in found.versions] == ["photo 1.jpg", "newer.jpg"]
    assert found.revision != entry.revision
    with tenant.costs() as spent:
        await service.replace(entry.id, Bytes("newest.jpg", b"m" * 60), MemoryJournal())
    assert alike(spent) == alike(Estimator(service).write(FileRef("", "newest.jpg", 60)))


async def test_remove_trashes_and_never_purges(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (entry,) = await entries(service)
    for _ in range(3):
        await service.remove(entry.id)
    assert (await service.fetch(entry.id)).status == "trash"


async def test_terms_are_found_or_made_in_every_language(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    terms = {term.label: term async for term in service.terms("subject")}
    wanted = Term("Coast", parent=terms["Nature"].id, labels={"en": "Coast", "fr": "Côte"}, synonyms={"en": ("Shore",)})
    told = Estimator(service).write(wanted)
    with tenant.costs() as spent:
        made = await service.ensure_term("subject", wanted)
    assert alike(spent) == alike(told)
    assert await service.ensure_term("subject", wanted) == made
    assert (await service.ensure_term("subject", terms["Sea"])).id == terms["Sea"].id
    again = {term.label: term async for term in service.terms("subject")}
    assert (again["Coast"].labels, again["Coast"].synonyms) == ({"en": "Coast", "fr": "Côte"}, {"en": ("Shore",)})
    with pytest.raises(InvalidValue):
        await service.ensure_term("subject", Term("x" * 101))
    with pytest.raises(Unsupported):
        await service.ensure_term("country", Term("Atlantis"))
    assert (await service.ensure_term("country", Term("Spain"))).id


async def test_containers_are_found_or_made(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    top = await service.ensure_container("folder", ("Library",))
    told = Estimator(service).write(Placement("folder", ("Library", "Été")))
    with tenant.costs() as spent:
        below = await service.ensure_container("folder", ("Library", "Été"), top.id)
    assert alike(spent) == alike(told)
    assert await service.ensure_container("folder", ("Library", "Été"), top.id) == below
    assert below in [place async for place in service.containers()]
    assert (await service.ensure_container("label", ("Highlight",))).id
    with pytest.raises(Unsupported):
        await service.ensure_container("label", ("New",))


async def test_an_error_among_calls_at_once_is_the_error_itself(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    tenant.faults.add([{"match": "GET /api/dam/folder-tree/*", "do": "status:404"}])
    tenant.faults.add([{"match": "GET /api/dam/thesauruses/*", "do": "status:404"}])
    with pytest.raises(NotFound):
        [place async for place in service.containers()]
    with pytest.raises(NotFound):
        [term async for term in service.terms("subject")]
    assert not tenant.faults.unhit()


async def test_no_call_repeats_a_parameter(opened: Open) -> None:
    """A gateway may refuse a parameter that is there twice."""
    tenant = opened(FULL, asset(2), asset(3))
    tenant.transport = network = RecordingTransport()
    service = tenant.connect()
    first, _, third = await entries(service)
    await service.relate(first.id, Relation("Views of the object", third.id))
    await service.unrelate(first.id, Relation("Views of the object", third.id))
    await service.attach(first.id, Bytes("more.pdf", b"m" * 40, "application/pdf"), MemoryJournal())
    await service.fetch(first.id)
    for sent in network.exchanges:
        names = [name for name, _ in parse_qsl(urlsplit(sent.target).query) if name not in ("f", "fq")]
        assert sorted(names) == sorted(set(names)), sent.target
    assert network.exchanges
    await network.aclose()


async def test_attachments_and_links(opened: Open) -> None:
    tenant = opened(FULL, asset(2), asset(3))
    service = tenant.connect()
    first, second, third = await entries(service)
    await service.attach(first.id, Bytes("more.pdf", b"m" * 40, "application/pdf"), MemoryJournal())
    await service.relate(first.id, Relation("Views of the object", third.id))
    await service.relate(first.id, Relation("Views of the object", third.id))
    found = await service.fetch(first.id)
    assert {relation.target for relation in found.relations} == {second.id, third.id}
    assert [file.name for file in found.attachments] == ["plan.pdf", "more.pdf"]
    assert await body(service, found.attachments[-1]) == b"m" * 40
    with pytest.raises(Unsupported):
        await service.relate(first.id, Relation("No such kind", third.id))
