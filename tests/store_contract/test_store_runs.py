"""Runs: one at a time, taken over from the dead alone, closed only when nothing is open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.errors import SafetyStop, StoreBusy
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.store.file.lock_holder import process_exists
from dam_sync.store.note_keys import wave_key, window_key
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import LATER_RUNS, SetClock, changed

LEASE = timedelta(minutes=5)


@pytest.fixture
async def other(store: SqlStore, clock: SetClock) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(store.place, clock)
    yield opened
    await opened.close()


async def test_runs_are_numbered_and_listed_newest_first(store: SqlStore, clock: SetClock) -> None:
    first = await store.begin("museum", "run")
    assert (first.id, first.resumed, first.started_at) == (1, False, clock.now())
    clock.skip(60)
    await store.finish(first.id, {"created": 3})
    await store.finish(first.id, {"said": "twice"})
    second = await store.begin("museum", "run")
    await store.stop(second.id, "Ctrl-C")
    newest, oldest = await store.runs()
    assert (oldest.state, oldest.outcome, oldest.ended_at) == ("done", {"created": 3}, clock.now())
    assert (newest.id, newest.state, newest.outcome) == (2, "stopped", {"stopped": "Ctrl-C"})
    assert [run.id for run in await store.runs(at_most=1)] == [2]
    again = await store.begin("museum", "run")
    assert (again.id, again.resumed) == (2, True)
    assert (await store.runs())[0].ended_at is None


async def test_a_run_of_long_ago_is_found_by_its_number(store: SqlStore) -> None:
    """A job that is watched has more runs than a listing of them shows."""
    await store.finish((await store.begin("museum", "run")).id, {"created": 3})
    await changed(store, LATER_RUNS)
    assert 1 not in {row.id for row in await store.runs()}
    found = await store.runs_numbered([1, 1_001, 5_000])
    assert [(number, row.id, row.outcome) for number, row in sorted(found.items())] == [
        (1, 1, {"created": 3}),
        (1_001, 1_001, {"created": 3}),
    ]
    assert await store.unfinished("run") is None
    begun = await store.begin("museum", "run")
    assert ((await store.unfinished("run")) or begun).id == 1_002


async def test_a_run_left_nothing_until_it_decided_what_to_list_or_recorded_anything(
    store: SqlStore, clock: SetClock
) -> None:
    assert not await store.left_nothing(1)
    for command in ("gc", "import"):
        upkeep = await store.begin("museum", command)
        assert not await store.left_nothing(upkeep.id)
        await store.finish(upkeep.id, None, listed=False)
    run = await store.begin("museum", "run")
    await store.set_meta(wave_key(run.id), "first")
    assert await store.left_nothing(run.id)
    await store.set_meta(window_key(run.id), {"repair": True})
    assert not await store.left_nothing(run.id)
    await store.finish(run.id, None)
    assert not await store.left_nothing(run.id)
    clock.skip(60)
    run = await store.begin("museum", "run")
    assert await store.left_nothing(run.id)
    await store.run_journal("subject").begin(["term:1"])
    assert not await store.left_nothing(run.id)
    await store.finish(run.id, None)
    run = await store.begin("museum", "run")
    await store.record(run.id, Shard("all"), Batch((), None), ())
    assert not await store.left_nothing(run.id)


async def test_a_second_opener_is_refused_with_the_name_of_the_first(store: SqlStore, other: SqlStore) -> None:
    await store.begin("museum", "run")
    for command in ("run", "plan"):
        with pytest.raises(StoreBusy, match=rf"run 1 .* process {os.getpid()} on .*, since 2026-03-01"):
            await other.begin("museum", command)


async def test_a_heartbeat_of_the_future_is_looked_at_before_its_run_is_taken_over(
    store: SqlStore, other: SqlStore, clock: SetClock
) -> None:
    """The clock of this host was set back, or the state was copied from a host whose clock is ahead."""
    run = await store.begin("museum", "run")
    clock.skip(-3600)
    before = clock.now()
    assert (await other.begin("museum", "run")).id == run.id
    assert timedelta(seconds=30) <= clock.now() - before <= timedelta(seconds=40)
    with pytest.raises(SafetyStop, match="has taken this run over"):
        await store.beat(run.id)


async def test_a_run_whose_clock_is_ahead_and_that_lives_is_left_alone(
    store: SqlStore, place: Path | StateServer, clock: SetClock
) -> None:
    run = await store.begin("museum", "run")

    class Meanwhile(SetClock):
        async def sleep(self, seconds: float) -> None:
            clock.skip(seconds)
            await store.beat(run.id)

    behind = await SqlStore.open(place, Meanwhile(clock.now() - timedelta(hours=1)))
    with pytest.raises(StoreBusy, match="run 1 of this job is active"):
        await behind.begin("museum", "run")
    await behind.close()


async def test_a_silent_run_is_taken_over_and_its_first_process_can_write_no_more(
    store: SqlStore, other: SqlStore, clock: SetClock
) -> None:
    run = await store.begin("museum", "run")
    await store.record(run.id, Shard("s"), Batch((Entry(AssetId("a"), Revision("1")),), None), ())
    (work,) = await store.claim(run.id, 1, LEASE)
    clock.skip(25)
    await store.beat(run.id)
    clock.skip(25)
    with pytest.raises(StoreBusy):
        await other.begin("museum", "run")
    clock.skip(6)
    assert (await other.begin("museum", "run")).resumed

    async def call() -> str:
        raise AssertionError("called by a process that lost its run")

    with pytest.raises(SafetyStop, match="has taken this run over"):
        await store.beat(run.id)
    with pytest.raises(SafetyStop, match="has taken this run over"):
        await store.journal(work, run.id).run("create", call)
    with pytest.raises(SafetyStop):
        await store.complete(work, Outcome("created"))
    (taken,) = await other.claim(run.id, 1, LEASE)
    await other.complete(taken, Outcome("skipped"))
    await other.finish(run.id, {})
    with pytest.raises(SafetyStop):
        await store.set_meta("watermark", "too late")
    await store.stop(run.id, "told to stop")
    assert (await store.runs())[0].state == "done"


async def test_dead_processes_are_distinguished_from_live_ones(store: SqlStore, other: SqlStore) -> None:
    run = await store.begin("museum", "run")
    assert process_exists(os.getpid())
    assert not process_exists(0)
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    await changed(store, f"UPDATE run SET pid = {gone.pid}")
    assert (await other.begin("museum", "run")).id == run.id


async def test_a_process_on_another_host_is_alive_by_its_heartbeat(
    store: SqlStore, other: SqlStore, clock: SetClock
) -> None:
    await store.begin("museum", "run")
    await changed(store, "UPDATE run SET host = 'elsewhere', pid = 1")
    with pytest.raises(StoreBusy, match="process 1 on elsewhere"):
        await other.begin("museum", "run")
    clock.skip(31)
    assert (await other.begin("museum", "run")).resumed


async def test_an_open_shard_or_row_keeps_a_run_open(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    shard = Shard("s", {"page": 1}, 1)
    await store.set_shards(run, [shard], complete=True)
    with pytest.raises(SafetyStop, match="1 part of the listing and 0 assets left open"):
        await store.finish(run, {})
    await store.record(run, shard, Batch((Entry(AssetId("a"), Revision("1")),), None), ())
    with pytest.raises(SafetyStop, match="0 parts of the listing and 1 asset left open"):
        await store.finish(run, {})
    (work,) = await store.claim(run, 1, LEASE)
    await store.complete(work, Outcome("skipped"))
    await store.finish(run, {})


async def test_closing_the_state_releases_the_run(store: SqlStore, clock: SetClock) -> None:
    first = await SqlStore.open(store.place, clock)
    run = await first.begin("museum", "run")
    await first.record(run.id, Shard("s"), Batch((Entry(AssetId("a"), Revision("1")),), None), ())
    await first.claim(run.id, 1, LEASE)
    await first.close()
    await first.close()
    assert (await store.begin("museum", "run")).resumed
    (work,) = await store.claim(run.id, 1, LEASE)
    assert work.attempt == 1


async def test_a_command_resumes_its_own_runs_only(store: SqlStore) -> None:
    whole = await store.begin("museum", "run")
    await store.stop(whole.id, "Ctrl-C")
    part = await store.begin("museum", "run --only")
    assert (part.id, part.resumed) == (whole.id + 1, False)
    await store.finish(part.id, {})
    assert (await store.begin("museum", "run")).id == whole.id


async def test_work_to_be_retried_starts_again_in_the_next_run(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, Shard("s"), Batch((Entry(AssetId("a"), Revision("1")),), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    await store.retry(work, 3600.0)
    await store.stop(run, "an outage")
    await store.begin("museum", "run")
    (work,) = await store.claim(run, 1, LEASE)
    assert work.attempt == 1


@pytest.mark.parametrize(("command", "listed"), [("gc", False), ("rollback 1", False), ("run --only", True)])
async def test_a_run_between_two_parts_of_another_leaves_the_listing_of_that_one(
    store: SqlStore, command: str, *, listed: bool
) -> None:
    """Otherwise the interrupted run takes its listing for complete when it is resumed, and never lists the rest."""
    first = (await store.begin("museum", "run")).id
    rest = Shard("rest", {"page": 2}, None)
    await store.set_shards(first, [rest], complete=True)
    await store.stop(first, "Ctrl-C")
    await store.finish((await store.begin("museum", command)).id, {}, listed=listed)
    assert (await store.begin("museum", "run")).id == first
    assert [(row.shard, row.done) for row in await store.shards(first)] == [(rest, False)]
    with pytest.raises(SafetyStop, match="1 part of the listing"):
        await store.finish(first, {})


async def test_the_listing_of_a_finished_run_goes_with_the_next(store: SqlStore) -> None:
    for command in ("run", "gc"):
        run = await store.begin("museum", command)
        await store.record(run.id, Shard("s"), Batch((), None), ())
        await store.finish(run.id, {}, listed=False)
    assert [len(await store.shards(number)) for number in (1, 2)] == [0, 1]


async def test_what_a_run_made_for_many_assets_is_forgotten_when_it_is_closed(store: SqlStore) -> None:
    run = await store.begin("museum", "run")
    assert await store.run_journal("terms").run("term:Sea", made) == "made"
    assert await store.run_journal("terms").is_begun("term:Sea")
    await store.finish(run.id, {})
    assert not await store.run_journal("terms").is_begun("term:Sea")


async def test_cleaning_up_leaves_what_an_interrupted_run_made_for_many_assets(store: SqlStore) -> None:
    await store.stop((await store.begin("museum", "run --plan")).id, "Ctrl-C")
    await store.run_journal("terms").run("term:Sea", made)
    await store.finish((await store.begin("museum", "gc")).id, {}, listed=False)
    assert await store.run_journal("terms").is_begun("term:Sea")


@pytest.mark.parametrize("command", ["adopt", "rollback 1"])
async def test_other_commands_leave_what_an_interrupted_run_made_for_many_assets(
    store: SqlStore, clock: SetClock, command: str
) -> None:
    """It is resumed, and would make a term again that the search of the target does not show yet."""
    await store.run_journal("terms").run("term:Sky", made)
    clock.skip(1)
    run = await store.begin("museum", "run")
    await store.run_journal("terms").run("term:Sea", made)
    await store.stop(run.id, "Ctrl-C")
    clock.skip(1)
    await store.finish((await store.begin("museum", command)).id, {}, listed=False)
    assert await store.run_journal("terms").is_begun("term:Sea")
    assert not await store.run_journal("terms").is_begun("term:Sky")
    await store.finish((await store.begin("museum", "run")).id, {}, listed=False)
    assert not await store.run_journal("terms").is_begun("term:Sea")


async def test_a_run_leaves_what_an_interrupted_rollback_undid(store: SqlStore) -> None:
    rollback = await store.begin("museum", "rollback 1")
    await store.undo_journal(1, "target-1", "asset-1").run("undo", made)
    await store.stop(rollback.id, "Ctrl-C")
    await store.finish((await store.begin("museum", "run")).id, {})
    assert await store.undo_journal(1, "target-1", "asset-1").is_begun("undo")
    await store.finish((await store.begin("museum", "rollback 1")).id, {}, listed=False)
    assert not await store.undo_journal(1, "target-1", "asset-1").is_begun("undo")


async def test_a_live_run_is_found_next_to_one_that_was_killed(
    store: SqlStore, other: SqlStore, clock: SetClock
) -> None:
    """The row of the killed one is the first, and stays as it is as long as nobody resumes its command."""
    await other.begin("museum", "run")
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    await changed(store, f"UPDATE run SET pid = {gone.pid}")
    assert (await store.begin("museum", "rollback 1")).id == 2
    third = await SqlStore.open(store.place, clock)
    with pytest.raises(StoreBusy, match="run 2 of this job is active"):
        await third.begin("museum", "run")
    await third.close()


async def test_a_silent_run_writes_no_more_after_a_run_of_another_command_began(
    store: SqlStore, other: SqlStore, clock: SetClock
) -> None:
    silent = await store.begin("museum", "run")
    clock.skip(31)
    assert (await other.begin("museum", "rollback 1")).id == 2
    with pytest.raises(SafetyStop, match="has taken this run over"):
        await store.set_meta("watermark", "too late")
    with pytest.raises(SafetyStop, match="has taken this run over"):
        await store.beat(silent.id)
    await store.stop(silent.id, "told to stop")
    await other.set_meta("watermark", "in time")
    await other.finish(2, {}, listed=False)
    assert (await other.begin("museum", "run")).id == silent.id


async def made() -> str:
    return "made"
