"""Deltas of service D: what changed, the sweep of the bin, which nothing dates (wire D 2.5), dates that are none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.errors import DamSyncError, NotFound, Rejected
from dam_sync.model.service import Window
from dam_sync.services.d_templates import facts
from tests.support.network.raw_server import Said, said
from tests.support.services.connections import entries
from tests.support.services.scripted_d import DAY, Opened, refusing_versions, scripted

EVERYTHING = Window()


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        yield one


async def test_a_delta_lists_what_changed_and_what_was_trashed(opened: Opened) -> None:
    script = opened.script
    ids = [script.add() for _ in range(150)]
    old = script.add()
    script._delete(old, {"action": "delete"})
    await script.clock.sleep(7200)
    since = script.clock.now()
    service = opened.connect()
    changed = AssetId(script.records[ids[0]]["fileId"])
    await service.update(changed, Patch(fields={"title": "Changed"}))
    await service.remove(AssetId(script.records[ids[1]]["fileId"]))
    found = {entry.id: entry.deleted for entry in await entries(service, Window(since=since))}
    assert found == {changed: False, AssetId(script.records[ids[1]]["fileId"]): True}
    assert not await entries(service, Window(since - timedelta(hours=1), since))


async def test_a_delta_lists_an_asset_whose_current_version_was_trashed(opened: Opened) -> None:
    script = opened.script
    first, older = script.add(b"one"), script.add(b"a")
    family = script.records[first]["fileId"]
    second = script.add(b"two", family=family)
    script.add(b"b", family=script.records[older]["fileId"])
    await script.clock.sleep(7200)
    since = script.clock.now()
    script._delete(second, {"action": "delete"})
    script._delete(older, {"action": "delete"})
    found = {entry.id: entry for entry in await entries(opened.connect(relations="off"), Window(since=since))}
    assert list(found) == [AssetId(family)]
    assert not found[AssetId(family)].deleted
    assert first in found[AssetId(family)].revision


async def test_what_is_in_the_bin_is_known_after_a_listing_in_one_go(opened: Opened) -> None:
    script = opened.script
    ids = [script.add() for _ in range(150)]
    families = [AssetId(script.records[one]["fileId"]) for one in ids]
    script._delete(ids[149], {"action": "delete"})
    await script.clock.sleep(7200)
    since = script.clock.now()
    service = opened.connect(relations="off")
    assert service.in_trash() is None
    await entries(service)
    assert (service.in_trash() or {}).keys() == {families[149]}
    script._delete(ids[3], {"action": "delete"})
    await entries(service, Window(since=since))
    assert (service.in_trash() or {}).keys() == {families[3], families[149]}
    (shard,) = [shard async for shard in service.shards(EVERYTHING)]
    first = await anext(service.crawl(shard, None))
    async for _ in service.crawl(shard, first.cursor):
        pass
    assert service.in_trash() is None
    for one in (ids[3], ids[149]):
        script._delete(one, {"action": "undelete"})
    await entries(service, Window(since=since))
    assert service.in_trash() == {}


async def test_what_is_in_the_bin_of_an_asset_is_known_version_by_version(opened: Opened) -> None:
    """Nothing dates what leaves the bin, also if it is one of several versions."""
    script = opened.script
    first = script.add(b"one")
    family = script.records[first]["fileId"]
    versions = [script.add(bytes(text, "ascii"), family=family) for text in ("two", "three")]
    for one in versions:
        script._delete(one, {"action": "delete"})
    service = opened.connect(relations="off")
    seen = []
    for _ in range(2):
        await script.clock.sleep(7200)
        await entries(service, Window(since=script.clock.now()))
        seen.append((service.in_trash() or {}).get(AssetId(family)))
        script._delete(versions[0], {"action": "undelete"})
    assert None not in seen
    assert seen[0] != seen[1]


async def test_what_a_delta_may_miss_is_named(opened: Opened) -> None:
    """No document says that a promotion moves the date of the record that becomes the current one."""
    assert "the choice of the current version" in opened.connect().limits.undated


@pytest.mark.parametrize("error", [Rejected, NotFound])
async def test_a_trashed_asset_that_may_not_be_read_ends_no_listing(opened: Opened, error: type[DamSyncError]) -> None:
    script = opened.script
    since = script.clock.now()
    ids = [AssetId(script.records[script.add()]["fileId"]) for _ in range(2)]
    service = opened.connect(relations="off")
    for one in ids:
        await service.remove(one)
    opened.service = refusing_versions(ids[0], error)
    found = {entry.id: entry for entry in await entries(opened.connect(relations="off"), Window(since=since))}
    assert [found[one].deleted for one in ids] == [error is NotFound, True]
    assert found[ids[0]].asset is None


@pytest.mark.parametrize("old", [True, False], ids=["long ago", "just now"])
async def test_what_is_trashed_during_a_full_listing_hides_no_row_behind_it(opened: Opened, old: bool) -> None:
    script = opened.script
    ids = [script.add() for _ in range(250)]
    since = script.clock.now() if not old else None
    script._delete(ids[0], {"action": "delete"})
    await script.clock.sleep(7200 if old else 60)
    if old:
        since = script.clock.now()
    script._delete(ids[240], {"action": "delete"})
    service = opened.connect(relations="off")
    shards = [shard async for shard in service.shards(Window(since=since))]
    script._delete(ids[1], {"action": "delete"})
    found = [e.id for shard in shards[1:] async for batch in service.crawl(shard, None) for e in batch.entries]
    assert AssetId(script.records[ids[240]]["fileId"]) in found


async def test_a_listing_of_the_bin_ends_where_all_of_it_was_seen(opened: Opened) -> None:
    script = opened.script
    first, *_ = [script.add() for _ in range(250)]
    script._delete(first, {"action": "delete"})
    await script.clock.sleep(7200)
    service = opened.connect(relations="off")
    shards = [shard async for shard in service.shards(Window(since=script.clock.now()))]
    before = service.calls[facts.SCAN]
    assert not [e async for batch in service.crawl(shards[1], None) for e in batch.entries]
    assert service.calls[facts.SCAN] - before == 1


@pytest.mark.parametrize("how", ["added", "changed"])
async def test_what_comes_to_the_front_of_a_delta_is_left_to_the_next_one(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The latest change comes first, so that one made meanwhile is counted and not listed (wire D 2.1, 2.5)."""
    script, begun = opened.script, False
    ids = [script.add() for _ in range(250)]
    monkeypatch.setattr(script, "_scan", lambda body: by_place(body))

    def by_place(body: Any) -> Said:
        nonlocal begun
        after = body.get("cursor")
        if after and not begun:
            begun, now = True, round(script.clock.now().timestamp() * 1000)
            if how == "added":
                script.add(lastUpdatedEpoch=now)
            else:
                script.records[ids[0]]["lastUpdatedEpoch"] = now
        rows = script._listed(body)
        page = [row for row in rows if not after or int(row["lastUpdatedEpoch"]) < int(after)][: body["limit"]]
        cursor = {"cursor": str(page[-1]["lastUpdatedEpoch"])} if page else {}
        return said({"hitCount": len(page), "totalCount": len(rows), "result": script._as_shown(page), **cursor})

    service = opened.connect(relations="off")
    window = Window(since=datetime.fromtimestamp(1_700_000_000, UTC))
    found = {entry.id for entry in await entries(service, window)}
    wanted = {AssetId(script.records[one]["fileId"]) for one in (ids if how == "added" else ids[1:])}
    assert found == wanted


async def test_an_empty_bin_is_not_listed(opened: Opened) -> None:
    opened.script.add()
    shards = [shard async for shard in opened.connect().shards(Window(since=opened.script.clock.now()))]
    assert [shard.params["scan"] for shard in shards] == ["changed"]


async def test_a_release_that_is_no_date_is_a_named_loss_and_stops_nothing(opened: Opened) -> None:
    script = opened.script
    entry = {"metadataDefinitionId": DAY, "metadataDefinitionValue": "2026"}
    record = script.add(metadata=[entry])
    service = opened.connect(release_field="shoot_date")
    found = await service.fetch(AssetId(script.records[record]["fileId"]))
    assert found.rights.release_at is None
    assert [(loss.path, loss.rule, loss.detail) for loss in found.losses] == [("release_at", "is not a date", "2026")]


async def test_members_of_many_collections_are_read_by_one_scan(opened: Opened) -> None:
    """A million assets in small collections would otherwise be scanned once for each page of collections."""
    script = opened.script
    files = [script.records[script.add()]["fileId"] for _ in range(130)]
    later = script.records[script.add(family=files[70])]["fileId"]
    for number, file in enumerate([*files[:70], later, *files[71:]]):
        document = [file, "00000000-0000-0000-0000-00000000dead"]
        script.collections[f"c{number}"] = {
            "collectionId": f"c{number}",
            "name": str(number),
            "collectionDocument": document,
        }
    service = opened.connect(relations="off")
    service.members_a_time = 20
    found = {member.placement.path[0]: member.assets async for member in service.members()}
    assert found == {str(number): (file,) for number, file in enumerate(files)}
    assert service.calls[facts.SCAN] <= 2 + 1  # two pages of everything; the count


async def test_owners_of_members_and_the_bin_are_read_by_one_scan(opened: Opened) -> None:
    script = opened.script
    ids = [script.add() for _ in range(250)]
    members = [script.records[one]["fileId"] for one in ids[:40]]
    script.collections["c"] = {"collectionId": "c", "name": "Best", "collectionDocument": members}
    await script.clock.sleep(7200)
    since = script.clock.now()
    script._delete(ids[240], {"action": "delete"})
    service = opened.connect(relations="off")
    (found,) = [each async for each in service.members()]
    assert set(found.assets) == set(members)
    scans = service.calls[facts.SCAN]
    shards = [shard async for shard in service.shards(Window(since=since))]
    told = [e for shard in shards[1:] async for batch in service.crawl(shard, None) for e in batch.entries]
    assert [(entry.id, entry.deleted) for entry in told] == [(script.records[ids[240]]["fileId"], True)]
    assert service.calls[facts.SCAN] == scans
