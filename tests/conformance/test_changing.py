"""The contract of a target: update, replace, remove, attach, relate."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, Patch, Relation, Rights
from dam_sync.model.capabilities import Feature, MembershipWrite, Operation
from dam_sync.model.errors import InvalidValue, NotFound, Rejected, Unsupported
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from tests.conformance.catalogue import LINK, SCHEMA, asset
from tests.conformance.drafts import (
    KEYS,
    creates_in,
    folder,
    full_draft,
    made,
    places,
    plain_draft,
    spell,
    values_for,
    worked,
    writes,
)
from tests.conformance.tenant import Tenant, content, own_fields, true_fields
from tests.support.connected import body
from tests.support.journal import Crash, MemoryJournal

Fresh = Callable[..., Tenant]
pytestmark = pytest.mark.needs(Operation.CREATE)
NOBODY = AssetId("00000000-0000-4000-8000-000000000000")
updates = pytest.mark.needs(Operation.UPDATE)
replaces = pytest.mark.needs(Operation.REPLACE, "write:versions")
removes = pytest.mark.needs(Operation.REMOVE)
attaches = pytest.mark.needs(Operation.ATTACH, "write:attachments")
relates = pytest.mark.needs(Operation.RELATE, "write:relations")


async def one(tenant: Tenant, service: Service, *, full: bool = False, **more: Any) -> AssetId:
    """A new asset, looked at by the service."""
    draft = await (full_draft(tenant, service, **more) if full else plain_draft(service, **more))
    identity, _ = await made(tenant, service, draft)
    tenant.advance(30)
    return identity


def state(tenant: Tenant, identity: AssetId) -> Json:
    """The truth of one asset but for when it changed."""
    return {key: value for key, value in tenant.truth()[identity].items() if key != "changed_at"}


# -- update ------------------------------------------------------------------------------------------------------------


async def check_update(tenant: Tenant, service: Service, identity: AssetId, patch: Patch, **expected: Json) -> None:
    """Applied twice, it changes just what is expected."""
    before = state(tenant, identity)
    await service.update(identity, patch)
    once = state(tenant, identity)
    await service.update(identity, patch)
    assert state(tenant, identity) == once == {**before, **expected}


@updates
@pytest.mark.parametrize("key", KEYS)
async def test_each_kind_of_field_is_changed_alone(tenant: Tenant, service: Service, schema: Schema, key: str) -> None:
    identity = await one(tenant, service, full=True)
    before = true_fields(tenant.truth()[identity], schema)
    fields = await values_for(service, schema, [key], other=True)
    ((key, value),) = fields.items()
    for _ in range(2):
        await service.update(identity, Patch(fields=fields))
        after = true_fields(tenant.truth()[identity], schema)
        assert after.get(key) == own_fields({key: value}).get(key)
        assert {k: v for k, v in after.items() if k != key} == {k: v for k, v in before.items() if k != key}


@updates
@pytest.mark.parametrize("key", [key for key in KEYS if key != "title"])
async def test_each_kind_of_field_is_cleared(tenant: Tenant, service: Service, schema: Schema, key: str) -> None:
    identity = await one(tenant, service, full=True)
    before, key = true_fields(tenant.truth()[identity], schema), tenant.key(key)
    for _ in range(2):
        await service.update(identity, Patch(fields={key: None}))
        after = true_fields(tenant.truth()[identity], schema)
        assert after == {k: v for k, v in before.items() if k != key}
    assert not own_fields((await service.fetch(identity)).fields).get(key)


@updates
async def test_many_fields_are_changed_and_cleared_together(tenant: Tenant, service: Service, schema: Schema) -> None:
    identity = await one(tenant, service, full=True)
    fields = await values_for(service, schema, KEYS[::2], other=True)
    cleared = [tenant.key(name) for name in KEYS[1::2]]
    await service.update(identity, Patch(fields={**fields, **dict.fromkeys(cleared)}))
    found = true_fields(tenant.truth()[identity], schema)
    assert {key: found[key] for key in found if key in {*fields, *cleared}} == own_fields(fields)


@updates
async def test_an_empty_patch_costs_nothing(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    with tenant.costs() as spent:
        await service.update(identity, Patch())
    assert not spent


@updates
async def test_tags_are_added_and_removed(tenant: Tenant, service: Service, can: frozenset[str]) -> None:
    identity = await one(tenant, service)
    if "write:tags" in can:
        patch = Patch(tags_add=frozenset({"a", "b", "été"}))
        await check_update(tenant, service, identity, patch, tags=["a", "b", "été"])
        patch = Patch(tags_add=frozenset({"c"}), tags_remove=frozenset({"a", "never"}))
        await check_update(tenant, service, identity, patch, tags=["b", "c", "été"])


@updates
@pytest.mark.needs("write:release", "write:expiry", "write:groups")
async def test_rights_are_changed(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    rights = Rights(datetime(2021, 1, 2, tzinfo=UTC), datetime(2041, 1, 2, tzinfo=UTC), frozenset({"public", "staff"}))
    told = {"release_at": "2021-01-02T00:00:00Z", "expires_at": "2041-01-02T00:00:00Z", "groups": ["public", "staff"]}
    await check_update(tenant, service, identity, Patch(rights=rights), rights=told)
    assert (await service.fetch(identity)).rights == rights


@updates
@pytest.mark.needs("write:groups")
@pytest.mark.needs("checks")
async def test_an_unknown_group_is_refused(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = state(tenant, identity)
    with pytest.raises(Rejected):
        await service.update(identity, Patch(rights=Rights(groups=frozenset({"nobody"}))))
    assert state(tenant, identity)["rights"]["groups"] == before["rights"]["groups"]


@updates
@pytest.mark.needs("write:status")
async def test_the_status_is_changed(tenant: Tenant, service: Service, schema: Schema) -> None:
    identity = await one(tenant, service)
    told = sorted((schema.statuses or {"archived", "draft", "Internal"}) - {"trash"})
    assert len(told) >= 2 or schema.statuses is None
    for status in (*told, "published"):
        for _ in range(2):
            await service.update(identity, Patch(status=status))
            found = await service.fetch(identity)
            assert status in (found.status, found.substatus)


@updates
@pytest.mark.needs("write:status")
@pytest.mark.needs("checks")
async def test_an_unknown_status_is_refused(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = state(tenant, identity)
    with pytest.raises(InvalidValue):
        await service.update(identity, Patch(status="no such status"))
    assert state(tenant, identity) == before


@updates
@pytest.mark.needs("write:filename")
async def test_an_asset_is_renamed(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    await service.update(identity, Patch(filename="renamed.jpg"))
    assert tenant.truth()[identity]["filename"] == "renamed.jpg"


@updates
async def test_placements_are_added_and_removed(tenant: Tenant, service: Service) -> None:
    schema, kind = await service.schema(), tenant.wired.containers["folder"]
    if not creates_in(service, schema, kind) or service.capabilities.membership(kind) is MembershipWrite.AT_CREATION:
        return  # bulk work, see test_taxonomy; or where it was made it stays
    identity = await one(tenant, service, full=True)
    known = await places(tenant, service)
    add, gone = known[folder(tenant, "Archive")], known[folder(tenant, "Press", "2024")]
    patch = Patch(placements_add=frozenset({add}), placements_remove=frozenset({gone}))
    for _ in range(2):
        await service.update(identity, patch)
        found = {(place["kind"], tuple(place["path"])) for place in tenant.truth()[identity]["placements"]}
        assert (kind, add.path) in found
        assert (kind, gone.path) not in found


@updates
async def test_an_unknown_asset_cannot_be_updated(service: Service) -> None:
    with pytest.raises(NotFound) as missed:
        await service.update(NOBODY, Patch(fields={spell(service, "note"): "x"}))
    assert missed.value.asset == NOBODY


@updates
@pytest.mark.parametrize(
    ("name", "value"),
    [("no such field", "x"), pytest.param("rating", "many", marks=pytest.mark.needs("write:number"))],
    ids=["field", "value"],
)
@pytest.mark.needs("checks")
async def test_what_cannot_be_written_changes_nothing(tenant: Tenant, service: Service, name: str, value: str) -> None:
    identity = await one(tenant, service, full=True)
    before = state(tenant, identity)
    with pytest.raises(Rejected):
        await service.update(identity, Patch(fields={tenant.key(name): value}))
    assert state(tenant, identity) == before


@updates
@pytest.mark.calls(1500)
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_an_update_whose_answer_is_lost_is_repeated(
    tenant: Tenant, service: Service, schema: Schema, can: frozenset[str], fault: str
) -> None:
    fields = await values_for(service, schema, KEYS[:6], other=True)
    patch = Patch(fields=fields, tags_add=frozenset({"x"}) if "write:tags" in can else frozenset())
    first = await one(tenant, service)
    with tenant.costs() as spent:
        await service.update(first, patch)
    assert writes(spent)
    for name, _ in writes(spent):
        identity, journal = await one(tenant, service), MemoryJournal()
        tenant.faults.clear()
        tenant.fail({"match": name, "nth": 1, "do": fault})
        await worked(lambda i=identity: service.update(i, patch), journal)  # type: ignore[misc]
        found = true_fields(tenant.truth()[identity], schema)
        assert {key: found[key] for key in fields} == own_fields(fields)
        assert set(tenant.truth()[identity]["tags"]) == patch.tags_add


@updates
async def test_updates_of_many_assets_at_once_stay_apart(tenant: Tenant, service: Service) -> None:
    ids = [await one(tenant, service) for _ in range(5)]
    note, mail = tenant.key("note"), tenant.key("mail")
    patches = [Patch(fields={note: f"note {n}", mail: f"{n}@example.org"}) for n in range(5)]
    await asyncio.gather(*(service.update(i, p) for i, p in zip(ids, patches, strict=True)))
    assert [tenant.value(i, "note") for i in ids] == [f"note {n}" for n in range(5)]


# -- replace -----------------------------------------------------------------------------------------------------------


async def replaced(tenant: Tenant, service: Service, identity: AssetId, seed: str, size: int = 700) -> str:
    name = tenant.truth()[identity]["filename"]
    async with content(tenant, name, size, seed=seed) as (given, digest):
        await service.replace(identity, given, MemoryJournal())
    tenant.advance(30)
    return digest


def digests(tenant: Tenant, identity: AssetId) -> list[str]:
    return [file["digests"]["md5"] for file in tenant.truth()[identity]["versions"]]


@replaces
async def test_a_new_file_becomes_the_current_version(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service, full=True)
    first = digests(tenant, identity)
    wanted = [*first, *[await replaced(tenant, service, identity, f"v{n}") for n in range(2)]]
    assert digests(tenant, identity) == wanted
    found = await service.fetch(identity)
    assert found.file is not None
    assert hashlib.md5(await body(service, found.file)).hexdigest() == wanted[-1]
    kept = wanted[-1:] if "read:versions" in tenant.absent else wanted
    assert [hashlib.md5(await body(service, file)).hexdigest() for file in found.versions] == kept


@replaces
async def test_an_asset_without_a_file_gets_one(tenant: Tenant, service: Service) -> None:
    """Also one whose file name was to be changed before: it has none until the file comes."""
    if "fileless" in tenant.wired.refuses:
        return
    identity = AssetId(await service.create(await plain_draft(service), None, MemoryJournal()))
    tenant.advance(30)
    if service.capabilities.writes(Feature.FILENAME):
        await service.update(identity, Patch(filename="first.jpg"))
    journal = MemoryJournal()
    async with content(tenant, "first.jpg", 700, seed="first") as (given, digest):
        await service.replace(identity, given, journal)
    tenant.advance(30)
    assert digests(tenant, identity) == [digest]
    assert tenant.truth()[identity]["filename"] == "first.jpg"
    assert await replaced(tenant, service, identity, "second") == digests(tenant, identity)[-1]
    assert len(digests(tenant, identity)) == 2


@replaces
async def test_a_new_file_changes_nothing_else(tenant: Tenant, service: Service, schema: Schema) -> None:
    identity = await one(tenant, service, full=True)
    before = tenant.truth()[identity]
    await replaced(tenant, service, identity, "other")
    after = tenant.truth()[identity]
    assert true_fields(after, schema) == true_fields(before, schema)
    for part in ("tags", "rights", "placements", "status", "filename", "type"):
        assert after[part] == before[part]


@replaces
async def test_a_new_file_moves_the_revision(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = (await service.fetch(identity)).revision
    await replaced(tenant, service, identity, "other")
    assert (await service.fetch(identity)).revision != before


@replaces
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_a_version_whose_answer_was_lost_is_not_doubled(tenant: Tenant, service: Service, fault: str) -> None:
    first = await one(tenant, service)
    with tenant.costs() as spent:
        await replaced(tenant, service, first, "x")
    for name, times in writes(spent):
        for nth in range(1, times + 1):
            identity, journal = await one(tenant, service), MemoryJournal()
            tenant.faults.clear()
            tenant.fail({"match": name, "nth": nth, "do": fault})
            filename = tenant.truth()[identity]["filename"]
            async with content(tenant, filename, seed="new") as (given, digest):
                call: Callable[[], Awaitable[None]] = lambda i=identity, g=given, s=journal: service.replace(i, g, s)  # type: ignore[misc]  # noqa: E731
                await worked(call, journal)
            assert len(digests(tenant, identity)) == 2
            assert digests(tenant, identity)[-1] == digest


@replaces
@pytest.mark.calls(1500)
async def test_no_crash_doubles_a_version(tenant: Tenant, service: Service) -> None:
    for blow_at in range(1, 30):
        identity, journal = await one(tenant, service), MemoryJournal(blow_at)
        filename = tenant.truth()[identity]["filename"]
        async with content(tenant, filename, seed="new") as (given, digest):
            try:
                await service.replace(identity, given, journal)
            except Crash:
                journal.blow_at = None
                other = tenant.connect()
                await worked(lambda s=other, i=identity, g=given, m=journal: s.replace(i, g, m), journal)  # type: ignore[misc]
        assert digests(tenant, identity)[1:] == [digest]
        if journal.blow_at is not None:
            break
    else:
        raise AssertionError("no end of crash points")


@replaces
async def test_an_unknown_asset_takes_no_version(tenant: Tenant, service: Service) -> None:
    async with content(tenant) as (given, _):
        with pytest.raises(Rejected):
            await service.replace(NOBODY, given, MemoryJournal())


@pytest.mark.needs(Operation.RESTORE_VERSION, Operation.REPLACE, "read:versions")
async def test_an_older_version_becomes_the_current_one_and_the_newer_one_stays(
    tenant: Tenant, service: Service
) -> None:
    identity = await one(tenant, service)
    first = digests(tenant, identity)[-1]
    async with content(tenant, "photo 4.jpg") as (given, _):
        await service.replace(identity, given, MemoryJournal())
    tenant.advance(30)
    second = digests(tenant, identity)[-1]
    before = await service.fetch(identity)
    for _ in range(2):
        await service.restore_version(identity, before.versions[0])
    tenant.advance(30)
    after = await tenant.connect().fetch(identity)
    assert after.file is not None
    assert before.versions[0].agrees(after.file)
    assert after.placements == before.placements
    assert {first, second} <= {*digests(tenant, identity)}
    with pytest.raises(Rejected):
        await service.restore_version(identity, replace(before.versions[0], id=f"{NOBODY}/9", size=1))


# -- remove ------------------------------------------------------------------------------------------------------------


@removes
async def test_removal_is_to_the_trash_and_never_beyond(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    for _ in range(3):
        await service.remove(identity)
    assert tenant.truth()[identity]["status"] == "trash"
    if "read:trash" not in tenant.absent:
        assert (await service.fetch(identity)).status == "trash"


@removes
async def test_another_process_may_remove_once_more(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    await service.remove(identity)
    await tenant.connect().remove(identity)
    assert tenant.truth()[identity]["status"] == "trash"


@pytest.mark.needs(Operation.REMOVE, Operation.RESTORE)
async def test_what_was_removed_comes_back_as_it_was(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    before = await service.fetch(identity)
    await service.remove(identity)
    for _ in range(2):
        await service.restore(identity, Draft(None, "", status=before.status))
    after = await service.fetch(identity)
    for part in ("filename", "status", "placements", "tags", "relations"):
        assert getattr(after, part) == getattr(before, part), part
    changed = {key for key, value in after.fields.items() if before.fields.get(key) != value}
    assert all(key.endswith("modified") for key in changed), changed
    assert after.fields.keys() == before.fields.keys()
    assert [file.digests for file in after.versions] == [file.digests for file in before.versions]
    with pytest.raises(Rejected):
        await service.restore(NOBODY, Draft(None, "", status=before.status))


@removes
@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503"])
@pytest.mark.needs("network")
async def test_a_removal_whose_answer_was_lost_never_purges(tenant: Tenant, service: Service, fault: str) -> None:
    identity = await one(tenant, service)
    other = await one(tenant, service)
    with tenant.costs() as spent:
        await service.remove(other)
    tenant.fail({"match": writes(spent)[0][0], "nth": 1, "do": fault})
    await worked(lambda: service.remove(identity), MemoryJournal())
    await service.remove(identity)
    assert tenant.truth()[identity]["status"] == "trash"


@removes
async def test_what_is_gone_already_needs_no_removal(service: Service) -> None:
    await service.remove(NOBODY)


# -- attach and relate -------------------------------------------------------------------------------------------------


@attaches
async def test_an_attachment_arrives_whole(tenant: Tenant, service: Service) -> None:
    identity = await one(tenant, service)
    async with content(tenant, "paper.pdf", 5000) as (given, digest):
        await service.attach(identity, given, MemoryJournal())
    (row,) = tenant.truth()[identity]["attachments"]
    assert (row["name"], row["size"], row["digests"]["md5"]) == ("paper.pdf", 5000, digest)
    (file,) = (await service.fetch(identity)).attachments
    assert hashlib.md5(await body(service, file)).hexdigest() == digest


@attaches
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.needs("network")
async def test_an_attachment_is_not_doubled(tenant: Tenant, service: Service, fault: str, nth: int) -> None:
    """The first write announces, the second carries the bytes to the storage host."""
    identity, journal = await one(tenant, service), MemoryJournal()
    async with content(tenant, "paper.pdf", 5000) as (given, digest):
        tenant.fail({"match": "P* *", "nth": nth, "do": fault})
        await worked(lambda: service.attach(identity, given, journal), journal)
    (row,) = tenant.truth()[identity]["attachments"]
    assert row["digests"]["md5"] == digest


@attaches
async def test_two_attachments_are_two(tenant: Tenant, service: Service) -> None:
    identity, journal = await one(tenant, service), MemoryJournal()
    for name in ("a.pdf", "b.pdf"):
        async with content(tenant, name, 50) as (given, _):
            await service.attach(identity, given, journal)
    assert [row["name"] for row in tenant.truth()[identity]["attachments"]] == ["a.pdf", "b.pdf"]


@relates
async def test_a_relation_is_made_once(tenant: Tenant, service: Service) -> None:
    source, target = tenant.of_catalogue(1), tenant.of_catalogue(4)
    for _ in range(2):
        await service.relate(source, Relation(tenant.relation, target))
    rows = tenant.truth()[source]["relations"]
    assert sorted(row["target"] for row in rows) == sorted([tenant.of_catalogue(2), target])
    assert Relation(tenant.relation, target) in (await service.fetch(source)).relations


@relates
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
@pytest.mark.needs("network")
async def test_a_relation_whose_answer_was_lost_is_one(fresh: Fresh, fault: str) -> None:
    link = {"relations": [{"kind": LINK, "target": "2"}]}
    tenant = fresh([*SCHEMA, asset(1, **link), asset(2), asset(3)])
    service = tenant.connect()
    source, target = tenant.of_catalogue(1), tenant.of_catalogue(3)
    tenant.fail({"match": "POST *", "nth": 1, "do": fault})
    await worked(lambda: service.relate(source, Relation(tenant.relation, target)), MemoryJournal())
    assert [row["target"] for row in tenant.truth()[source]["relations"]].count(target) == 1


@relates
@pytest.mark.needs("checks")
async def test_a_kind_of_relation_that_is_not_there_is_refused(tenant: Tenant, service: Service) -> None:
    with pytest.raises(Unsupported):
        await service.relate(tenant.of_catalogue(1), Relation("no such kind", tenant.of_catalogue(2)))


def test_every_kind_of_field_is_tried(library_tenant: Tenant, schema: Schema) -> None:
    """No kind the tenant has goes untested."""
    kinds = {field.kind for key, field in schema.fields.items() if field.editable and not field.system and field.types}
    tried = {schema.fields[library_tenant.key(key)].kind for key in KEYS}
    assert kinds <= tried | {FieldKind.TEXT}
    assert replace(Patch(), status="x").status == "x"
