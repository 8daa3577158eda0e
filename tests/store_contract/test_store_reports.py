"""Reports, corrections and stories in the state."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.correction import WHOLE, FailedValue
from dam_sync.model.errors import ConfigError
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import ConflictRow, Outcome
from dam_sync.model.parking import OtherCause, ParkReason
from dam_sync.model.service import Batch, Shard
from dam_sync.model.values import Json
from dam_sync.store.reports import NewReport
from dam_sync.store.rows import CorrectionRow, Work
from dam_sync.store.store import SqlStore
from dam_sync.store.tables import stamp
from tests.support.state.clock_and_rows import SetClock, changed

LEASE = timedelta(minutes=5)
FAILED = FailedValue("fields.title", "too long", "A title")


def report(run: int, kind: str = "run", result: str = "done") -> NewReport:
    return NewReport(run, kind, "1.0", result, {"run": run, "notes": ["été"] * 1_000})


async def test_a_run_has_one_report_and_every_verification_has_its_own(store: SqlStore, clock: SetClock) -> None:
    await store.keep_report(report(1))
    await store.keep_report(report(1, "verify", "different"))
    clock.skip(60)
    await store.keep_report(report(1, "verify", "equal"))
    await store.keep_report(report(1, "run", "parked"))
    await store.keep_report(report(2))
    found = await store.kept_reports()
    assert [(row.run, row.kind, row.result) for row in found] == [
        (2, "run", "done"),
        (1, "run", "parked"),
        (1, "verify", "equal"),
        (1, "verify", "different"),
    ]
    assert (await store.report_body(found[0].id))["notes"][0] == "été"
    newest = [await store.newest_report(*which) for which in ((["run", "verify"],), (["verify"], 1), (["verify"], 2))]
    assert newest == [found[0].id, found[2].id, None]
    assert found[0].bytes < 1_000, "it is compressed"
    assert await store.report_body(99) is None
    assert await store.gc_reports(stamp(clock.now())) == 1
    assert len(await store.kept_reports()) == 3


async def test_a_damaged_report_is_named(store: SqlStore) -> None:
    await store.keep_report(report(1))
    (row,) = await store.kept_reports()
    kind = "BLOB" if isinstance(store.place, Path) else "BYTEA"
    for damage in ("no zlib", ""):
        await changed(store, f"UPDATE report SET body = CAST('{damage}' AS {kind})")
        with pytest.raises(ConfigError, match="the report 1 in the state is damaged"):
            await store.report_body(row.id)


async def parked(store: SqlStore, asset: str, *failed: FailedValue) -> None:
    """A run that parks this asset for these values."""
    run = await store.begin("museum", "run")
    shard = Shard("all")
    await store.set_shards(run.id, [shard], True)
    await store.record(run.id, shard, Batch((Entry(AssetId(asset), Revision("r")),), None), ())
    (work,) = await store.claim(run.id, 1, LEASE)
    action = "parked" if failed else "created"
    link = None if failed else LinkRow(asset, f"t-{asset}", filename="a.jpg")
    await store.complete(work, Outcome(action=action, cause=OtherCause("mapping"), failed=failed, link=link))
    await store.finish(run.id, None)


async def test_whether_an_asset_is_parked_for_values_is_known_by_cause(store: SqlStore) -> None:
    assert not await store.any_failed()
    await parked(store, "7", FAILED)
    assert await store.any_failed()
    assert await store.any_failed([OtherCause("other"), OtherCause("mapping")])
    assert not await store.any_failed([OtherCause("other")])
    await parked(store, "8")
    await store.unpark(None)
    assert not await store.any_failed()


async def test_conflicts_are_counted_without_being_read(store: SqlStore) -> None:
    assert await store.conflict_counts() == (0, 0, 0)
    run = await store.begin("museum", "run")
    await store.set_shards(run.id, [Shard("all")], True)
    entries = tuple(Entry(AssetId(asset), Revision("r")) for asset in ("1", "2"))
    await store.record(run.id, Shard("all"), Batch(entries, None), ())
    for work in await store.claim(run.id, 9, LEASE):
        paths = ("fields.note", "fields.title")[: int(work.asset)]
        rows = tuple(ConflictRow(work.asset, path, None, "a", "b", "state", "why", "", "a.jpg") for path in paths)
        await store.complete(work, Outcome(action="parked", cause=ParkReason.CONFLICT, conflicts=rows))
    await store.decide_conflicts({("2", "fields.note", "state"): "source"})
    assert await store.conflict_counts() == (3, 2, 1)
    assert await store.conflict_counts(["1"]) == (1, 1, 0)
    assert await store.conflict_counts(["2", "9"]) == (2, 1, 1)


async def test_what_was_parked_and_is_linked_needs_nothing_unless_an_attempt_began_it(store: SqlStore) -> None:
    await parked(store, "7", FAILED)
    await parked(store, "8", FAILED)
    work = Work(0, AssetId("8"), "", begun=True)
    await store.journal(work, 1).run("create", _made)
    for _ in range(2):
        await store.settle_linked(["7", "8", "9"])
    assert await store.parked(limit=9) == []
    run = await store.begin("museum", "run")
    assert [work.asset for work in await store.claim(run.id, 9, LEASE)] == ["8"]


async def _made() -> Json:
    return "t8"


async def test_a_correction_outlives_the_failure_and_is_removed_by_name(store: SqlStore) -> None:
    await parked(store, "7", FAILED, FailedValue("fields.note", "required", WHOLE))
    assert [(row.path, row.corrected) for row in await store.correction_rows(["7"])] == [
        ("fields.note", ()),
        ("fields.title", ()),
    ]
    assert (await store.corrections_of("7")).by_line == {}
    given = CorrectionRow("7", "fields.title", "A title", "too long", ("Title",))
    await store.put_corrections([given])
    await store.put_corrections([given])
    assert (await store.corrections_of("7")).of("fields.title") == {"A title": ("Title",)}
    assert await store.retry_assets(["7", "8"]) == 1
    run = await store.begin("museum", "run")
    (work,) = await store.claim(run.id, 1, LEASE)
    await store.complete(work, Outcome(action="created", link=LinkRow("7", "t7", filename="a.jpg")))
    await store.finish(run.id, None, listed=False)
    assert await store.correction_count() == (1, 1)
    assert [row.path for row in await store.correction_rows(["7"])] == ["fields.title"]
    assert await store.forget_corrections(["7", "8"], keys_only=True) == 1
    assert await store.correction_count() == (0, 0)
    rows = [(row.operation, dict(row.changes)) for row in await store.ledger(0, 10)]
    assert rows == [
        ("correction:fields.title", {"fields.title": [None, ["Title"]]}),
        ("correction:fields.title", {"fields.title": None}),
    ]
    assert await store.known_assets(["7", "8"]) == {"7"}


async def test_old_rows_of_corrections_are_removed_from_the_ledger(store: SqlStore, clock: SetClock) -> None:
    await store.put_corrections([CorrectionRow("7", "fields.title", "A title", "", ("Title",))])
    clock.skip(60)
    assert await store.gc(stamp(clock.now())) == 1
    assert await store.correction_count() == (1, 1), "the correction itself stays"


async def test_what_was_noted_of_old_runs_goes_with_their_rows(store: SqlStore, clock: SetClock) -> None:
    notes = ("window", "listed", "plan", "spent")
    for _ in range(2):
        run = await store.begin("museum", "run")
        for name in notes:
            await store.set_meta(f"{name}:{run.id}", {"of": run.id})
        await store.finish(run.id, None, listed=False)
        clock.skip(60)
    await store.gc(stamp(clock.now() - timedelta(seconds=90)))
    assert [await store.get_meta(f"{name}:{run.id - 1}") for name in notes] == [None] * 4
    assert [await store.get_meta(f"{name}:{run.id}") for name in notes] == [{"of": run.id}] * 4


async def test_an_asset_is_found_by_each_of_its_names(store: SqlStore) -> None:
    await parked(store, "7")
    await parked(store, "8", FAILED)
    for name, by in (("7", "source"), ("t-7", "target"), ("a.jpg", "filename")):
        (found,) = await store.candidates_called(name)
        assert (found.source, found.target, found.by) == ("7", "t-7", by)
    assert [found.source for found in await store.candidates_called("8")] == ["8"]
    assert await store.candidates_called("nope") == []
    assert await store.last_written(["8", "9"]) == {}, "only what was written counts"
    story = await store.story("8")
    assert (story.link, story.ledger) == (None, ())
    assert story.last is not None
    assert (story.last.action, story.last.run) == ("parked", 2)


DRAFT: Json = {"filename": "b.jpg", "status": "", "fields": {"title": {"texts": {"en": "The Gulf", "fr": "50 %_été"}}}}


@pytest.mark.parametrize(
    ("text", "whole", "found"),
    [
        ("The Gulf", True, ["9"]),
        ("the gulf", True, ["9"]),
        ("Gulf", True, []),
        ("Gulf", False, ["9"]),
        ("50 %_été", True, ["9"]),
        ("_été", False, ["9"]),
        ("50 _", False, []),
        ("The%", False, []),
    ],
)
async def test_an_asset_is_found_by_what_its_values_hold(
    store: SqlStore, text: str, whole: bool, found: list[str]
) -> None:
    await parked(store, "7")
    await store.put_link(LinkRow("9", "t-9", filename="b.jpg", draft=DRAFT))
    holders = await store.holders_of(text, 10, whole=whole)
    assert [one.candidate.source for one in holders] == found
    assert all((one.candidate.target, one.candidate.filename) == ("t-9", "b.jpg") for one in holders)
