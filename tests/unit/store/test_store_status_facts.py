"""`status` reads a state through the driver alone: it must find what the repositories return."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dam_sync.model.correction import FailedValue
from dam_sync.model.errors import ConfigError, Denied
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.service import Batch, Shard
from dam_sync.model.stopped_run import stopped_by
from dam_sync.store.file.lock_holder import process_exists
from dam_sync.store.migrations import VERSION, migrate
from dam_sync.store.note_keys import PHASE, REFUSED_RUN, WAITING, WATERMARK, tenant_key
from dam_sync.store.rollbacks import rollback_command
from dam_sync.store.rows import IN_TRASH, UNLISTED, CorrectionRow, Deletion, RunRow
from dam_sync.store.status_facts import GoneAsset, StatusRun, shown_state, status_facts_of, why_it_ended
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock, entries

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OUTCOMES = (
    Outcome("created", link=LinkRow("1", "t1")),
    Outcome("created", link=LinkRow("2", "t2")),
    Outcome("parked", cause=ParkReason.INVALID_VALUE, failed=(FailedValue("note", "too long", "c"),)),
    Outcome("removed"),  # an action that is counted only if there is one
)


async def _filled(path: Path) -> SqlStore:
    """A state with everything that `status` shows."""
    store = await SqlStore.open(path, SetClock())
    run = await store.begin("museum", "run")
    await store.record(run.id, Shard("all"), Batch(entries("1", "2", "3", "4", "5"), None), ())
    for work, outcome in zip(await store.claim(run.id, len(OUTCOMES), timedelta(minutes=5)), OUTCOMES, strict=True):
        await store.complete(work, outcome)
    await store.stop(run.id, "interrupted")
    second = await store.begin("museum", rollback_command(run.id))
    await store.finish(second.id, None, listed=False)
    await store.set_meta(WATERMARK, "2026-03-01T12:00:00Z")
    await store.set_meta(tenant_key("source"), "museum.dam.example")
    await store.set_meta(PHASE, {"run": run.id, "phase": "closing", "since": "2026-03-01T12:00:00Z"})
    await store.set_meta(WAITING, {"run": run.id, "side": "target", "for": "GET assets", "since": "", "until": None})
    rows = [Deletion("1", "t1", UNLISTED, START, 2, 1, "all"), Deletion("2", "t2", IN_TRASH, START, 1, 1, "all")]
    await store.keep_deletions(rows, ())
    await store.put_corrections([CorrectionRow("3", "title", "a", "too long", ("b",))])
    return store


async def test_status_finds_what_the_repositories_return(tmp_path: Path) -> None:
    store = await _filled(tmp_path / "job.db")
    runs, rollbacks = await store.runs(), await store.rollbacks()
    found = status_facts_of(tmp_path / "job.db")
    assert found is not None
    assert found.runs == [_facts(row) for row in runs]
    assert found.rollbacks == [_facts(row) for row in rollbacks]
    assert len(found.runs) == 2
    assert len(found.rollbacks) == 1
    assert found.tally == await store.tally(runs[0].id)
    assert found.linked == await store.link_count() == 2
    assert found.watermark == await store.get_meta(WATERMARK)
    assert found.phase == await store.get_meta(PHASE) is not None
    assert found.waiting == await store.get_meta(WAITING) is not None
    assert found.corrections == (await store.correction_count())[0] == 1
    assert found.gone == [GoneAsset(d.source, d.target, d.reason, d.since) for d in await store.deletions()]
    assert len(found.gone) == 2
    assert found.tenants == {"source": "museum.dam.example"}
    assert found.runs[0].job == "museum"
    await store.close()


def _facts(row: RunRow) -> StatusRun:
    lease = (row.beat_at, row.host, row.pid, row.job)
    why = row.outcome if row.state == "stopped" else None
    return StatusRun(row.id, row.command, row.started_at, row.ended_at, row.state, *lease, why)


async def test_a_run_without_its_process_or_a_recent_heartbeat_is_interrupted(tmp_path: Path) -> None:
    clock = SetClock()
    store = await SqlStore.open(tmp_path / "job.db", clock)
    run = await store.begin("museum", "run")
    (row,) = await store.runs()
    facts = status_facts_of(tmp_path / "job.db")
    assert facts is not None
    for each in (row, facts.runs[0]):
        assert shown_state(each, clock.now(), process_exists) == "running"
        assert shown_state(each, clock.now(), lambda pid: False) == "interrupted"
        assert shown_state(each, clock.now() + timedelta(seconds=31), process_exists) == "interrupted"
        elsewhere = replace(each, host="another", pid=4_000_000)
        assert shown_state(elsewhere, clock.now(), lambda pid: False) == "running"
        assert shown_state(elsewhere, clock.now() + timedelta(seconds=31), process_exists) == "interrupted"
    await store.stop(run.id, "Ctrl-C")
    assert shown_state((await store.runs())[0], clock.now() + timedelta(days=1), process_exists) == "stopped"
    await store.close()


async def test_why_a_run_is_not_complete_is_stored_until_the_next_one_begins(tmp_path: Path) -> None:
    clock = SetClock()
    store = await SqlStore.open(tmp_path / "job.db", clock)
    refused = await store.begin("museum", "run")
    await store.withdraw(refused.id, stopped_by(Denied("the password is wrong", service="e_profiles")))
    found = status_facts_of(tmp_path / "job.db")
    assert found is not None
    assert not found.runs
    assert (found.refused["stopped"], found.refused["exit_code"]) == ("e_profiles: the password is wrong", 7)
    await store.finish((await store.begin("museum", "gc")).id, None, listed=False)
    assert (await store.get_meta(REFUSED_RUN))["hint"] == Denied("").hint
    run = await store.begin("museum", "run")
    assert await store.get_meta(REFUSED_RUN) is None
    row = (await store.runs())[0]
    assert why_it_ended(row, "running") is None
    assert f"process {os.getpid()} on {socket.gethostname()}" in why_it_ended(row, "interrupted")["stopped"]
    await store.stop(run.id, stopped_by(asyncio.CancelledError()))
    found = status_facts_of(tmp_path / "job.db")
    assert found is not None
    assert "second signal" in why_it_ended(found.runs[0], "stopped")["stopped"]
    await store.close()


@pytest.mark.parametrize("upkeep", ["gc", "import"])
async def test_the_status_of_a_job_is_what_its_last_run_left(tmp_path: Path, upkeep: str) -> None:
    """What only looks after the state is no such run."""
    store = await SqlStore.open(tmp_path / "job.db", SetClock())
    run = await store.begin("museum", "run")
    await store.record(run.id, Shard("all"), Batch(entries("1"), None), ())
    (work,) = await store.claim(run.id, 1, timedelta(minutes=5))
    await store.complete(work, Outcome("parked", cause=ParkReason.INVALID_VALUE))
    await store.finish(run.id, None)
    after = await store.begin("museum", upkeep)
    await store.finish(after.id, None, listed=False)
    await store.close()
    found = status_facts_of(tmp_path / "job.db")
    assert found is not None
    assert (found.tally["listed"], found.tally["parked"]) == (1, 1)


async def test_the_counts_of_a_run_are_those_of_its_rows(tmp_path: Path) -> None:
    store = await _filled(tmp_path / "job.db")
    third = await store.begin("museum", "run")
    await store.stop(third.id, "interrupted")
    await store.close()
    with sqlite3.connect(tmp_path / "job.db") as raw:
        raw.execute("DELETE FROM run WHERE id <> ?", (third.id,))
    raw.close()
    found = status_facts_of(tmp_path / "job.db")
    again = await SqlStore.open(tmp_path / "job.db", SetClock())
    assert found is not None
    assert found.tally == await again.tally(third.id)
    assert found.tally["open"] == 1
    assert found.tally["removed"] == 1
    await again.close()


async def test_a_state_without_a_run_has_nothing_to_show(tmp_path: Path) -> None:
    await (await SqlStore.open(tmp_path / "job.db", SetClock())).close()
    found = status_facts_of(tmp_path / "job.db")
    assert found is not None
    assert (found.runs, found.tally, found.linked, found.watermark, found.gone) == ([], {}, 0, None, [])


def test_an_older_state_is_left_to_whoever_migrates_it(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "job.db", isolation_level=None) as raw:
        migrate(raw, VERSION - 1)
    raw.close()
    assert status_facts_of(tmp_path / "job.db") is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 999", "newer dam-sync"),
        ("PRAGMA application_id = 7", "not a state"),
        ("CREATE VIEW endless AS SELECT 1", "unexpected contents: endless"),
        ("DROP TABLE note", "unexpected contents: note"),
    ],
)
async def test_a_state_that_is_refused_is_refused_here_too(tmp_path: Path, statement: str, message: str) -> None:
    path = tmp_path / "job.db"
    await (await SqlStore.open(path, SetClock())).close()
    with sqlite3.connect(path) as raw:
        raw.execute(statement)
    raw.close()
    with pytest.raises(ConfigError, match=message):
        status_facts_of(path)
    with pytest.raises(ConfigError, match=message):
        await SqlStore.open(path, SetClock(), read_only=True)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job.db").write_bytes(b"no database" * 1000)
    with pytest.raises(ConfigError, match="damaged"):
        status_facts_of(tmp_path / "job.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "job.db")
    with pytest.raises(ConfigError, match="symbolic link"):
        status_facts_of(tmp_path / "link.db")
    with pytest.raises(ConfigError, match="no state"):
        status_facts_of(tmp_path / "absent.db")
