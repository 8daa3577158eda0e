"""A state that others hold, remove or replace, and a spool that is removed, in the middle of a run."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from dam_sync.store.base import Storage
from dam_sync.store.file import lock_holder
from dam_sync.store.file.database import engine_of
from tests.support.jobs.small_jobs import NEVER_STILL, Meanwhile, Small, hurry, photo, photos, small

MB = 1_000_000
SHORT, PATIENCE, LONG = 0.4, 1.5, 60.0  # seconds
FASTER = 5.0  # a process that waits for the state must not seem to stand still for long
HOLDER = """
import select, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
select.select([sys.stdin], [], [], float(sys.argv[2]))
connection.execute("ROLLBACK")
"""


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    monkeypatch.setattr("tests.support.jobs.small_jobs.FASTER", FASTER)
    storage = Storage(engine=partial(engine_of, busy_seconds=PATIENCE), still=NEVER_STILL)
    monkeypatch.setattr("tests.support.jobs.small_jobs.STORAGE", storage)


@dataclass(slots=True)
class Holder:
    """Another program that keeps the state for itself, once, for so many seconds or until it is let go."""

    seconds: float
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def hold(self, state: Path) -> None:
        command = [sys.executable, "-c", HOLDER, str(state), str(self.seconds)]
        self.processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        stdout = self.processes[-1].stdout
        assert stdout is not None
        assert stdout.readline() == "held\n"

    def let_go(self) -> None:
        for process in self.processes:
            process.communicate()


@contextmanager
def holder_for(seconds: float) -> Iterator[Holder]:
    holder = Holder(seconds)
    try:
        yield holder
    finally:
        holder.let_go()


def when(job: Small, nth: int, act: Callable[[], object]) -> None:
    """In the middle: when the target gets the `nth` upload."""
    assert job.pair.target.served is not None
    job.pair.target.served.app.faults.lines.append(Meanwhile("POST /v2/uploads", "delay:0", nth=nth, act=act))


def process_ended(state: Path) -> None:
    """The process that had the run has ended, as it would be if it were not ours."""
    with closing(sqlite3.connect(state)) as connection:
        connection.execute("UPDATE run SET pid = 0")
        connection.commit()


def test_a_state_held_for_short_is_waited_for(tmp_path: Path) -> None:
    with small(tmp_path, photos(3)) as job, holder_for(SHORT) as holder:
        when(job, 2, lambda: holder.hold(job.state))
        assert job.run().data["counts"]["created"] == 3
        job.mend()
        assert len(job.ends_complete()) == 3


def test_a_state_held_for_long_stops_the_run_which_names_who_holds_it(tmp_path: Path) -> None:
    with small(tmp_path, photos(3)) as job, holder_for(LONG) as holder:
        when(job, 2, lambda: holder.hold(job.state))
        told = job.ran("run", "--no-progress", code=5)
        named = f"process {holder.processes[0].pid} (" if lock_holder.LOCKS.exists() else "another"
        told.says(named, f"holds the state {job.state}", "wait until it is done and run again")
        job.ran("status", code=0).says("test")
        holder.let_go()
        process_ended(job.state)
        job.mend()
        assert len(job.ends_complete()) == 3


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_a_state_that_is_removed_stops_the_run_and_is_rescued(tmp_path: Path, replaced: bool) -> None:
    with small(tmp_path, photos(4)) as job:
        job.run("--limit", "1", code=8)
        older = shutil.copy(job.state, tmp_path / "older.db")
        kept = job.state.with_name("job.db.rescued")
        when(job, 2, lambda: Path(older).replace(job.state) if replaced else job.state.unlink())
        told = job.ran("run", "--no-progress", code=6)
        what = "replaced by another file" if replaced else "removed"
        told.says(f"the state {job.state} was {what}", f"saved in {kept}", f"move that file to {job.state}")
        assert not list(job.state.parent.glob("job.db-*")), "what is left of the old file would spoil the next"
        kept.replace(job.state)
        process_ended(job.state)
        job.mend()
        assert len(job.ends_complete()) == 4


def test_a_spool_that_is_removed_while_it_is_used_is_created_again(tmp_path: Path) -> None:
    with small(tmp_path, [photo(1, size=6 * MB), photo(2, size=6 * MB), photo(3)]) as job:
        spool = job.state.parent / "spool"
        seen: list[bool] = []

        def remove() -> None:
            seen.append(any(spool.iterdir()))
            shutil.rmtree(spool)

        job.meanwhile("GET /medias/domain1/*8801-*", 1, remove)
        when(job, 2, lambda: shutil.rmtree(spool, ignore_errors=True))
        assert job.run().data["counts"]["created"] == 3
        assert seen == [True]
        job.mend()
        assert len(job.ends_complete()) == 3


def test_an_exported_state_continues_in_place_of_the_first(tmp_path: Path) -> None:
    with small(tmp_path, photos(3)) as job:
        job.run("--limit", "1", code=8)
        copy = tmp_path / "backup" / "copy.db"
        job.ran("state", "export", "-o", str(copy), code=0).says(str(copy))
        job.ran("state", "export", "-o", str(copy), code=2).says("already exists", "name a new file")
        job.ran("state", "export", code=2).says("needs the path of a file", "state JOB export -o FILE")
        shutil.rmtree(job.state.parent)
        job.state.parent.mkdir()
        copy.replace(job.state)
        assert len(job.ends_complete()) == 3
