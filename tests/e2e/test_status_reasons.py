"""`status` says why the last run is not complete, and what to type next."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dam_sync.model.wording import timestamp_text
from dam_sync.store.note_keys import ROW_COUNTS
from tests.support.jobs.small_jobs import TARGET, TOKEN, Small, hurry, photo, photos, small


def stopped(job: Small) -> dict[str, object]:
    """What `status` says of the last run; its text says the same."""
    found = job.ran("status", "--json", code=0).data["stopped"]
    shown = job.ran("status", code=0)
    shown.says("stopped: " + " ".join(found["reason"].split()), f"hint: {found['hint']}" if found["hint"] else "next: ")
    return dict(found)


def test_the_reason_of_each_stop_is_stored_until_the_next_run(tmp_path: Path) -> None:
    with small(tmp_path, photos(20)) as job:
        job.credential(TARGET, TOKEN[:-1] + "0")
        job.run(code=7)
        refused = stopped(job)
        assert (refused["run"], refused["command"], refused["exit code"]) == (None, "run", 7)
        assert "e_profiles" in str(refused["reason"])
        job.ran("status", code=0).says(f"next: dam-sync check {job.pair.job}", f"next: dam-sync run {job.pair.job}")
        job.credential(TARGET, TOKEN)
        job.run("--max-calls", "40", code=8)
        limited = stopped(job)
        assert (limited["run"], limited["exit code"]) == (1, 8)
        assert "the limit of 40 calls is reached" in str(limited["reason"])
        phase = job.ran("status", "--json", code=0).data["phase"]
        assert (phase["run"], phase["phase"], phase["listed"]) == (1, "moving assets", 20)
        assert 0 < phase["completed"] < 20
        shown = f"moving assets, since {timestamp_text(phase['since'])}; {phase['completed']} of 20 listed assets"
        job.ran("status", code=0).says(shown)
        job.run(code=0)
        done = job.ran("status", "--json", code=0).data
        assert "stopped" not in done
        assert "phase" not in done
        assert [row["result"] for row in done["runs"]] == ["done"]


def test_maintenance_of_the_state_does_not_hide_why_a_run_stopped(tmp_path: Path) -> None:
    with small(tmp_path, photos(20)) as job:
        job.run("--max-calls", "40", code=8)
        before = stopped(job)
        job.ran("state", "gc", "--older-than", "400d", code=0)
        assert stopped(job) == before
        job.ran("status", code=0).says(f"next: dam-sync run {job.pair.job}")


def test_a_verification_of_an_interrupted_run_says_so_and_recommends_to_finish_it(tmp_path: Path) -> None:
    with small(tmp_path, photos(20)) as job:
        job.run("--max-calls", "60", code=8)
        told = job.ran("verify", "--level", "count", code=3)
        told.says(
            "run 1 is not finished", f"next: dam-sync run {job.pair.job}", f"next: dam-sync verify {job.pair.job}"
        )
        assert "--repair" not in told.text
        job.run(code=0)
        assert "is not finished" not in job.ran("verify", "--level", "count", code=0).text


def leased(job: Small, process: int) -> None:
    """The last run is held by this process, whose heartbeat is of now."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    with closing(sqlite3.connect(job.state)) as state, state:
        values = (now, process, socket.gethostname())
        state.execute("UPDATE run SET state = 'running', ended_at = NULL, beat_at = ?, pid = ?, host = ?", values)


def test_a_run_that_is_under_way_is_not_reported_as_stopped_nor_a_killed_one_as_running(tmp_path: Path) -> None:
    with small(tmp_path, photos(6)) as job:
        job.run("--max-calls", "40", code=8)
        assert job.ran("errors", "--json", code=0).data["unfinished"] == 1
        job.ran("report", "--run", "1", code=2).says("run 1 is not finished", "`run JOB`")
        leased(job, os.getpid())
        found = job.ran("errors", "--json", code=0).data
        assert (found["unfinished"], found["running"]) == (0, 1)
        told = job.ran("errors", code=0).says(
            "nothing is parked; run 1 is under way", f"next: dam-sync status {job.pair.job}"
        )
        assert "stopped" not in told.text
        (row,) = job.ran("report", "--json", code=0).data["reports"]
        assert (row["result"], row["ended"]) == ("running", "")
        job.ran("report", code=0).says(f"next: dam-sync status {job.pair.job}")
        job.ran("report", "--run", "1", code=2).says("run 1 is under way", "when it is finished")
        gone = subprocess.Popen(["true"])
        gone.wait()
        leased(job, gone.pid)
        assert job.ran("errors", "--json", code=0).data["unfinished"] == 1
        (row,) = job.ran("report", "--json", code=0).data["reports"]
        assert (row["result"], row["ended"]) == ("interrupted", "")
        job.ran("report", code=0).says(f"next: dam-sync run {job.pair.job}")
        assert len(job.ends_complete()) == 6


def test_a_small_budget_of_calls_completes_some_assets_or_says_what_is_needed(tmp_path: Path) -> None:
    with small(tmp_path, photos(20)) as job:
        job.run("--max-calls", "5", code=8).says("no asset was completed", "allow 100 calls or more")
        job.run("--max-calls", "30", code=8).says("of the 30 calls were needed to begin", "then run the same command")
        assert len(job.pair.target.assets) == 0
        job.run("--max-calls", "45", code=8)
        some = len(job.pair.target.assets)
        job.run("--max-calls", "45", code=8)
        assert 0 < some < len(job.pair.target.assets)


def test_a_resumed_run_says_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    with small(tmp_path, photos(20)) as job:
        job.run("--max-calls", "60", code=8)
        with closing(sqlite3.connect(job.state)) as state, state:  # as a process that was killed during uploads
            state.execute(
                "INSERT INTO step (scope, name, at, state, result) SELECT 'asset:' || asset, 'create', "
                "'2026-01-01T00:00:00+00:00', 'intent', 'null' FROM work WHERE state = 'pending' LIMIT 2"
            )
            state.execute("DELETE FROM note WHERE key = ?", [ROW_COUNTS])  # which a process leaves that ends itself
        said = job.run("-v", code=0)
        said.says("looking for 2 creates that the stopped run had begun, each for up to 1 s", "until=")
        assert len(job.pair.target.assets) == 20


def test_several_jobs_have_a_line_each(tmp_path: Path) -> None:
    with small(tmp_path, [photo(1), photo(2, credit="y" * 2_000)]) as job:
        job.run(code=4)
        again, missing = job.pair.job, tmp_path / "missing.yaml"
        shown = job.ran("status", str(again), code=0)
        shown.says("2 jobs", "1 run", "done", "1 asset is parked", f"next: dam-sync status {again}")
        shown = job.ran("status", str(missing), code=2)
        shown.says("1 asset is parked", str(missing), f"there is no job file {missing}")
        data = job.ran("status", str(missing), "--json", code=2).data["jobs"]
        assert (data[0]["now"]["parked"], data[1]["error"]) == (1, "ConfigError")
