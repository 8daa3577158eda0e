"""What service C says of writes, and what others do to its library meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dam_sync.http.error_rules import DEFAULTS
from dam_sync.model.asset import Draft, Marker, Patch, Rights
from dam_sync.model.errors import Denied, NotFound, Rejected, Transient, TruncatedListing
from dam_sync.model.values import Term
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi
from dam_sync.services.c_brandlibrary.codec.envelope import ApiDocument
from dam_sync.services.c_brandlibrary.service import BrandLibraryService
from tests.conformance.catalogue import MARKER, SCHEMA, asset
from tests.conformance.tenant import Start, Tenant, content
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal

KIND = "c_brandlibrary"


async def test_a_change_that_the_service_ignored_is_reported(start: Start) -> None:
    """The response to a change shows what became of it, so no other call is needed to see it."""
    tenant = start(variant="edits_approval,short_names")
    service, identity = tenant.connect(), tenant.of_catalogue(2)
    for patch in (Patch(status="pending"), Patch(fields={"name": "x" * 50, "title": "Whole"})):
        with pytest.raises(Rejected) as refused:
            await service.update(identity, patch)
        assert refused.value.hint
    assert (service.calls[facts.PUT_ASSET], service.calls[facts.ASSET]) == (2, 1)
    assert tenant.value(identity, "title") == "Whole", "the rest of the change is made"
    await service.update(identity, Patch(status="published", fields={"name": " Cafe\u0301 ", "description": None}))


async def test_a_value_that_an_editor_added_in_between_stays_in_the_list(start: Start) -> None:
    """A PUT takes the whole list, so that one written from memory would take the editor's value away again."""
    tenant = start()
    service, editor = tenant.connect(), tenant.connect()
    vocabulary = (await service.schema()).fields["country"].vocabulary
    await editor.schema()
    await editor.ensure_term(vocabulary, Term("Of an editor"))
    await service.ensure_term(vocabulary, Term("Ours"))
    labels = {term.label async for term in editor.terms(vocabulary)}
    assert {"Of an editor", "Ours"} <= labels


async def test_what_an_editor_changed_of_a_partial_create_stays(start: Start) -> None:
    tenant = start()
    journal, wanted = MemoryJournal(), Draft(Marker(MARKER, "half"), "half.jpg", fields={MARKER: "half"})
    later = Rights(expires_at=datetime(2060, 1, 1, tzinfo=UTC))
    tenant.fail({"match": "POST */custom_field_values", "do": "status:503", "times": 1})
    async with content(tenant, "half.jpg", seed="ours") as (given, _):
        with pytest.raises(Transient):
            await tenant.connect().create(wanted, given, journal)
        (row,) = [row for row in tenant.truth().values() if row["filename"] == "half.jpg"]
        editor = tenant.connect()
        await editor.update(row["id"], Patch(rights=later))
        async with content(tenant, "half.jpg", size=77, seed="theirs") as (other, _):
            await editor.replace(row["id"], other, MemoryJournal())
        service = tenant.connect()
        assert await service.create(wanted, given, journal) == row["id"]
    asset = await service.fetch(row["id"])
    assert asset.file is not None
    assert (asset.rights.expires_at, asset.file.size) == (later.expires_at, 77)


@pytest.fixture
def labelled(start: Start) -> Tenant:
    """Two assets, each in a label of its own."""
    labels = [{"record": "container", "kind": "label", "path": [name]} for name in ("Gone", "Kept")]
    place = [{"kind": "folder", "path": ["Press", "2024"]}]
    marked = [
        asset(n, placements=[*place, {"kind": "label", "path": [name]}]) for n, name in ((1, "Gone"), (2, "Kept"))
    ]
    schema = [row for row in SCHEMA if row.get("kind") != "label"]
    return start([*schema, *labels, *marked])


async def test_a_label_that_goes_while_members_are_listed_is_passed_over(labelled: Tenant) -> None:
    """The service says 403 to what was deleted: that is no reason to stop the run."""
    service = labelled.connect(read_only=True)
    found = []
    async for membership in service.members():
        found.append(membership.placement.path)
        known = labelled.served.app.state.tenant.labels
        known.pop(next(key for key, label in known.items() if (label.name,) != membership.placement.path))
    assert len(found) == 1
    assert service.calls[facts.WHOAMI] == 1
    with pytest.raises(Denied):
        [row async for row in labelled.connect(labelled.wired.denied, read_only=True).members()]


async def test_a_label_that_is_listed_but_whose_assets_are_refused_loses_no_membership(labelled: Tenant) -> None:
    labelled.fail({"match": "GET */labels/*/assets", "do": "status:404", "nth": 2})
    with pytest.raises(NotFound, match=r"lists the label /.*, but refused its assets") as refused:
        [row async for row in labelled.connect(read_only=True).members()]
    assert refused.value.hint


async def test_a_key_that_is_refused_for_a_moment_says_nothing_of_labels(labelled: Tenant) -> None:
    labelled.fail({"match": "GET */labels", "do": "status:401", "nth": 1})
    with pytest.raises(Denied):
        [row async for row in labelled.connect(read_only=True).members()]


@pytest.mark.parametrize("operation", [facts.ADD_VALUES, facts.ADD_TO_COLLECTION, facts.PUT_KEY, facts.LABEL_ASSETS])
def test_a_deleted_container_or_key_stops_no_run(operation: str) -> None:
    error = next(rule.error for rule in (*facts.RULES, *DEFAULTS) if rule.fits(403, operation, ""))
    assert error is NotFound
    assert next(r.error for r in (*facts.RULES, *DEFAULTS) if r.fits(403, facts.SECTION_ASSETS, "")) is Denied


@pytest.mark.parametrize("kind", ["section", "collection"])
async def test_a_name_that_the_service_spells_its_own_way_is_made_once(start: Start, kind: str) -> None:
    tenant = start(variant="composed")
    name = " Cafe\u0301 "
    made = await tenant.connect().ensure_container(kind, [name])
    other = tenant.connect()
    assert (await other.ensure_container(kind, [name])).id == made.id
    assert not any(call.startswith("POST") for call in other.calls)


@pytest.mark.parametrize("variant", ["short_pages", "short_pages,count_only"])
async def test_a_page_shorter_than_asked_for_is_not_the_last(start: Start, variant: str) -> None:
    """Versions are counted on every page, though the service gives fewer rows a page than were asked for."""
    files = [{"name": "one.jpg", "generate": {"size": 10, "seed": n}} for n in range(2)]
    rows = [asset(number, **({"versions": files} if number == 30 else {})) for number in range(1, 31)]
    tenant = start([*SCHEMA, *rows], variant=variant)
    service = tenant.connect(read_only=True, options={"page": 10})
    found = {entry.id: entry.asset for entry in await entries(service)}
    several = found[tenant.of_catalogue(30)]
    assert several is not None
    assert [loss.detail for loss in several.losses] == ["1 older"]
    assert len(found) == 30


class ShortApi(BrandLibraryApi):
    """Every list ends short of its total."""

    async def listed(self, *args: object, **more: object) -> ApiDocument:  # type: ignore[override]
        return ApiDocument(({"id": "1"},), total=2, more=False)


async def test_a_short_list_with_fewer_rows_than_it_counts_is_reported(start: Start) -> None:
    service = start().connect(read_only=True)
    assert isinstance(service, BrandLibraryService)
    api = service._api
    short = ShortApi(api.client, api.clock, api.options, api.limits, api.read_only, api.just_read, api.keep_waiting)
    with pytest.raises(TruncatedListing):
        await short.everything(facts.SECTIONS, ("x",))


async def test_a_user_of_another_shape_is_no_broken_contract(start: Start) -> None:
    account = await start(variant="plain_user").connect().probe()
    assert any("cannot be seen" in note for note in account.notes)
