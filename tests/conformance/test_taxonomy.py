"""The contract of a target: vocabularies and containers are added to, and containers filled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.capabilities import MembershipWrite, Operation
from dam_sync.model.errors import Rejected, Unsupported
from dam_sync.model.estimator import Estimator
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term
from dam_sync.model.writes import Membership
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.drafts import folder, made, places, plain_draft, spell, vocabulary_of, worked, writes
from tests.conformance.tenant import Tenant
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal

Fresh = Callable[..., Tenant]
terms = pytest.mark.needs(Operation.ENSURE_TERM, Operation.TERMS)
containers = pytest.mark.needs(Operation.ENSURE_CONTAINER, Operation.CONTAINERS)
fills = pytest.mark.needs(Operation.PLACE, Operation.CONTAINERS)
ODD = [
    "Œuvre d’art",
    "a & b <c>",
    "100 %",
    "日本",
    "two  blanks",
    "a/b",
    "'quoted' \"twice\"",
    "semi;colon|bar",
    "é" * 60,
]


def vocabulary(service: Service, schema: Schema) -> str:
    return vocabulary_of(service, schema, "subject")


async def labels(service: Service, key: str) -> Counter[str]:
    return Counter([term.label async for term in service.terms(key)])


# -- terms -------------------------------------------------------------------------------------------------------------


@terms
async def test_a_known_term_is_found_and_nothing_written(tenant: Tenant, service: Service, schema: Schema) -> None:
    known = {term.label: term async for term in service.terms(vocabulary(service, schema))}
    with tenant.costs() as spent:
        for term in known.values():
            assert (await service.ensure_term(vocabulary(service, schema), term)).id == term.id
    assert not writes(spent)


@terms
async def test_a_new_term_is_made_once(tenant: Tenant, service: Service, schema: Schema) -> None:
    first = await service.ensure_term(vocabulary(service, schema), Term("Mountain"))
    second = await service.ensure_term(vocabulary(service, schema), Term("Mountain"))
    third = await tenant.connect().ensure_term(vocabulary(service, schema), Term("Mountain"))
    assert first.id
    assert first.label == "Mountain"
    assert first.id == second.id == third.id
    assert (await labels(service, vocabulary(service, schema)))["Mountain"] == 1


@pytest.mark.needs(Operation.ENSURE_TERM, Operation.TERMS, Operation.CREATE)
async def test_a_term_that_another_process_created_is_used(tenant: Tenant, service: Service, schema: Schema) -> None:
    key, other = vocabulary(service, schema), tenant.connect()
    await other.probe()
    await other.schema()
    assert (await labels(other, key))["Glacier"] == 0
    made_there = await service.ensure_term(key, Term("Glacier", path=("Glacier",)))
    other.learn_term(key, replace(made_there, path=("Glacier",)))
    with tenant.costs() as spent:
        assert (await other.ensure_term(key, Term("Glacier", path=("Glacier",)))).id == made_there.id
    assert not writes(spent)
    field, used = spell(other, "subject"), Term("Glacier", made_there.id)
    value = (used,) if schema.fields[field].multiple else used
    identity, _ = await made(tenant, other, await plain_draft(other, fields={field: value}))
    assert "Glacier" in str(tenant.value(identity, "subject"))


@terms
@pytest.mark.parametrize("label", ODD)
async def test_odd_terms_are_stored_character_by_character(
    tenant: Tenant, service: Service, schema: Schema, label: str
) -> None:
    made = await service.ensure_term(vocabulary(service, schema), Term(label))
    assert made.label == label
    other = tenant.connect()
    assert (await labels(other, vocabulary(service, schema)))[label] == 1
    assert (await other.ensure_term(vocabulary(service, schema), Term(label))).id == made.id


@terms
async def test_a_term_below_another(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary(service, schema)
    top = await service.ensure_term(key, Term("Building"))
    below = await service.ensure_term(key, Term("Tower", parent=top.id))
    assert (await service.ensure_term(key, Term("Tower", parent=top.id))).id == below.id
    found = {term.label: term async for term in tenant.connect().terms(key)}
    wanted = ("Building", "Tower") if schema.vocabularies[key].hierarchical else ("Tower",)
    assert found["Tower"].path == wanted


@terms
async def test_equal_names_below_different_parents_are_different_terms(service: Service, schema: Schema) -> None:
    key = vocabulary(service, schema)
    tops = [await service.ensure_term(key, Term(name)) for name in ("North", "South")]
    ids = {(await service.ensure_term(key, Term("Coast", parent=top.id))).id for top in tops}
    assert len(ids) == (2 if schema.vocabularies[key].hierarchical else 1)


@terms
async def test_a_term_in_every_language(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary(service, schema)
    term = Term("Lake", labels={"en": "Lake", "fr": "Lac"}, synonyms={"en": ("Pond",)})
    await service.ensure_term(key, term)
    found = {each.label: each async for each in tenant.connect().terms(key)}["Lake"]
    if schema.vocabularies[key].localized:
        assert found.labels == {"en": "Lake", "fr": "Lac"}
        assert "write:synonyms" in tenant.absent or found.synonyms == {"en": ("Pond",)}


@terms
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_a_term_whose_response_was_lost_is_one(
    tenant: Tenant, service: Service, schema: Schema, fault: str
) -> None:
    key, label = vocabulary(service, schema), f"Lost {fault}"
    await service.ensure_term(key, Term(f"{label} first"))
    tenant.fail({"match": "P* *", "nth": 1, "do": fault})
    made = await worked(lambda: service.ensure_term(key, Term(label)), MemoryJournal())
    assert made.label == label
    assert (await labels(tenant.connect(), key))[label] == 1


@terms
async def test_the_same_term_asked_for_at_once_is_one(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary(service, schema)
    made = await asyncio.gather(*(service.ensure_term(key, Term("At once")) for _ in range(6)))
    assert len({term.id for term in made}) == 1
    assert (await labels(tenant.connect(), key))["At once"] == 1


@terms
@pytest.mark.parametrize("label", ["", " ", "x" * 5000])
async def test_a_term_that_cannot_be_stored_is_refused_or_stored(
    tenant: Tenant, service: Service, schema: Schema, label: str
) -> None:
    """Never shortened silently."""
    key = vocabulary(service, schema)
    before = await labels(service, key)
    try:
        made = await service.ensure_term(key, Term(label))
    except Rejected:
        assert await labels(tenant.connect(), key) == before
    else:
        assert made.label == label != ""


@terms
async def test_a_closed_vocabulary_does_not_grow(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary_of(service, schema, "country")
    assert schema.vocabularies[key].closed == ("country" in tenant.wired.fixed)
    assert (await service.ensure_term(key, Term("Spain"))).label == "Spain"
    if schema.vocabularies[key].closed:
        with pytest.raises(Unsupported):
            await service.ensure_term(key, Term("Atlantis"))
        assert "Atlantis" not in await labels(tenant.connect(), key)


@terms
async def test_an_unknown_vocabulary_is_refused(service: Service) -> None:
    with pytest.raises(Rejected):
        await service.ensure_term("no such vocabulary", Term("x"))


# -- containers --------------------------------------------------------------------------------------------------------


def nested(tenant: Tenant) -> str:
    return tenant.wired.containers["folder"]


levels = pytest.mark.needs("nested")


@containers
async def test_known_containers_are_found_and_nothing_written(tenant: Tenant, service: Service) -> None:
    known = {(place.kind, place.path): place async for place in service.containers()}
    with tenant.costs() as spent:
        for place in known.values():
            parent = known[place.kind, place.path[:-1]].id if len(place.path) > 1 else ""
            assert (await service.ensure_container(place.kind, place.path, parent)).id == place.id
    assert not writes(spent)


@containers
@levels
async def test_a_path_is_made_level_by_level_and_once(tenant: Tenant, service: Service) -> None:
    kind, path = nested(tenant), ("Library", "2024", "May", "12")
    ids: list[list[str]] = []
    for each in (service, service, tenant.connect()):
        parent, made = "", []
        for depth in range(1, 5):
            place = await each.ensure_container(kind, path[:depth], parent)
            assert (place.kind, place.path) == (kind, path[:depth])
            parent = place.id
            made.append(parent)
        ids.append(made)
    assert ids[0] == ids[1] == ids[2]
    found = Counter([(place.kind, place.path) async for place in tenant.connect().containers()])
    assert all(found[kind, path[:depth]] == 1 for depth in range(1, 5))


@containers
@pytest.mark.parametrize("name", ODD)
async def test_odd_names_of_containers_are_stored_or_refused(tenant: Tenant, service: Service, name: str) -> None:
    try:
        made = await service.ensure_container(nested(tenant), (name,))
    except Rejected:
        assert "names" in tenant.wired.refuses
        return
    other = tenant.connect()
    found = [place async for place in other.containers() if place.path == (name,)]
    assert [place.id for place in found] == [made.id]
    assert (await other.ensure_container(nested(tenant), (name,))).id == made.id


@containers
@levels
async def test_equal_names_below_different_parents_are_different(tenant: Tenant, service: Service) -> None:
    kind = nested(tenant)
    tops = [await service.ensure_container(kind, (name,)) for name in ("East", "West")]
    made = [await service.ensure_container(kind, (*top.path, "Same"), top.id) for top in tops]
    assert made[0].id != made[1].id
    assert [place.path for place in made] == [("East", "Same"), ("West", "Same")]


@containers
@pytest.mark.parametrize("name", ["label", "collection"])
async def test_flat_containers_grow_or_say_that_they_do_not(
    tenant: Tenant, service: Service, can: frozenset[str], name: str
) -> None:
    kind = tenant.wired.containers.get(name)
    if kind is None:
        with pytest.raises(Unsupported):
            await service.ensure_container(name, ("Highlight",))
        return
    assert (await service.ensure_container(kind, ("Highlight",))).id
    if kind in tenant.wired.fixed:
        with pytest.raises(Unsupported):
            await service.ensure_container(kind, ("New",))
    else:
        made = await service.ensure_container(kind, ("New",))
        assert (await tenant.connect().ensure_container(kind, ("New",))).id == made.id
    if "checks" in can:
        with pytest.raises(Unsupported):
            await service.ensure_container(kind, ("A", "B"))


@containers
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_a_container_whose_response_was_lost_is_one(tenant: Tenant, service: Service, fault: str) -> None:
    kind, name = nested(tenant), f"Lost {fault}"
    await service.ensure_container(kind, (f"{name} first",))
    tenant.fail({"match": "POST *", "nth": 1, "do": fault})
    made = await worked(lambda: service.ensure_container(kind, (name,)), MemoryJournal())
    found = [place.id async for place in tenant.connect().containers() if place.path == (name,)]
    assert found == [made.id]


@containers
async def test_the_same_container_asked_for_at_once_is_one(tenant: Tenant, service: Service) -> None:
    made = await asyncio.gather(*(service.ensure_container(nested(tenant), ("At once",)) for _ in range(6)))
    assert len({place.id for place in made}) == 1
    found = [place async for place in tenant.connect().containers() if place.path == ("At once",)]
    assert len(found) == 1


@containers
async def test_a_container_that_another_process_created_is_used(tenant: Tenant, service: Service) -> None:
    kind, other = tenant.wired.containers["folder"], tenant.connect()
    await other.probe()
    await other.schema()
    assert ("Elsewhere",) not in [place.path async for place in other.containers()]
    there = await service.ensure_container(kind, ("Elsewhere",))
    other.learn_container(there)
    with tenant.costs() as spent:
        assert (await other.ensure_container(kind, ("Elsewhere",))).id == there.id
    assert not writes(spent)


@containers
async def test_an_unknown_kind_of_container_is_refused(service: Service) -> None:
    with pytest.raises(Unsupported):
        await service.ensure_container("drawer", ("A",))


# -- membership in bulk ------------------------------------------------------------------------------------------------


async def inside(service: Service, container: Placement) -> set[AssetId]:
    """Its members, as the containers or the assets list them."""
    found: set[AssetId] = set()
    if Operation.MEMBERS not in service.capabilities:
        return {entry.id for entry in await entries(service) if container in (await service.fetch(entry.id)).placements}
    async for membership in service.members():
        if membership.placement == container:
            found.update(membership.assets)
    return found


def paths(row: Json) -> list[tuple[str, ...]]:
    return [tuple(place["path"]) for place in row["placements"]]


async def bulky(tenant: Tenant, service: Service) -> Placement:
    """A container that `place` fills."""
    bulk, known = MembershipWrite.IN_BULK, await places(tenant, service)
    names = (folder(tenant, "Archive"), f"{tenant.wired.containers.get('collection')} /Highlight")
    return next(
        known[name] for name in names if name in known and service.capabilities.membership(known[name].kind) is bulk
    )


@fills
@pytest.mark.parametrize("name", ["folder", "collection"])
async def test_assets_go_in_and_out_of_a_container(fresh: Fresh, name: str) -> None:
    tenant = fresh([*SCHEMA, *(asset(number, placements=[]) for number in range(1, 5))])
    service = tenant.connect()
    kind = tenant.wired.containers.get(name)
    if kind is None or service.capabilities.membership(kind) is not MembershipWrite.IN_BULK:
        return
    container = (await places(tenant, service))[f"{kind} /{'Archive' if name == 'folder' else 'Highlight'}"]
    ids = list(tenant.truth())
    for _ in range(2):
        await service.place(container, ids, [])
        tenant.advance(60)
        assert await inside(tenant.connect(read_only=True), container) == set(ids)
    for _ in range(2):
        await service.place(container, ids[:1], ids[2:])
        tenant.advance(60)
        assert await inside(tenant.connect(read_only=True), container) == set(ids[:2])


@fills
async def test_many_assets_go_in_batches(fresh: Fresh) -> None:
    tenant = fresh([*SCHEMA, *(asset(number, placements=[], versions=[]) for number in range(1, 251))])
    service = tenant.connect()
    container = await bulky(tenant, service)
    ids = list(tenant.truth())
    told = Counter(Estimator(service).write(Membership(container, tuple(ids))))
    with tenant.costs() as spent:
        await service.place(container, ids, [])
    assert spent.total() == told.total()
    assert all(container.path in paths(row) for row in tenant.truth().values())


@fills
async def test_batches_are_as_large_as_the_limits_of_the_instance(fresh: Fresh) -> None:
    tenant = fresh([*SCHEMA, *(asset(number, placements=[], versions=[]) for number in range(1, 6))])
    limits = tenant.kind.capabilities.limits
    if limits.member_batch == 1:
        return
    usual, tenant.limits = tenant.connect(), replace(limits, member_batch=2)
    service = tenant.connect()
    container, ids = await bulky(tenant, service), tuple(tenant.truth())
    await bulky(tenant, usual)
    for each in (usual, service):  # what the first calls prove is read back: the second has a member that has to stay
        await each.place(container, [], ids)
        await each.place(container, ids[:1], [])
        await each.place(container, ids[1:2], [])
    one, three = (Counter(Estimator(each).write(Membership(container, ids))).total() for each in (usual, service))
    with tenant.costs() as spent:
        await service.place(container, ids, [])
    assert (spent.total(), three - one) == (three, 2)


@fills
@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503"])
@pytest.mark.needs("network")
async def test_a_membership_whose_response_was_lost_is_repeated(fresh: Fresh, fault: str) -> None:
    tenant = fresh([*SCHEMA, *(asset(number, placements=[]) for number in range(1, 5))])
    service = tenant.connect()
    container = await bulky(tenant, service)
    tenant.fail({"match": "P* *", "nth": 1, "do": fault})
    ids = list(tenant.truth())
    await worked(lambda: service.place(container, ids, []), MemoryJournal())
    assert all(paths(row).count(container.path) == 1 for row in tenant.truth().values())
