"""One `watch` for each state: a second one ends before it does anything, and one that lost its job ends too."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from dam_sync.model.errors import StoreBusy
from dam_sync.model.run_options import RunOptions
from dam_sync.store.watch_lock import WatchLock
from dam_sync.watch.watcher import Watcher
from tests.support.stepped_clock import SteppedClock
from tests.support.virtual.universe import Universe
from tests.unit.watch.test_watch_loop import write


def watcher_of(path: Path) -> Watcher:
    return Watcher([path], RunOptions(clock=SteppedClock()), print)


async def test_a_second_watch_of_a_state_is_refused_until_the_first_one_ends(tmp_path: Path) -> None:
    job = write(tmp_path, "{every: 1h}")
    first, second = watcher_of(job), watcher_of(job)
    await first.hold()
    for call in (second.hold, second.unsubscribe):
        with pytest.raises(StoreBusy, match=f"another `watch` has this job: process {os.getpid()} on ") as refused:
            await call()
        assert refused.value.exit_code == 5
    await first.release()
    await second.hold()
    await second.release()
    assert not list(tmp_path.glob("*.watch"))


async def test_a_state_that_cannot_be_reached_is_locked_later(tmp_path: Path) -> None:
    watcher = watcher_of(write(tmp_path, "{every: 1h}"))
    lock = tmp_path / "job.db.watch"
    lock.mkdir()  # it cannot be opened
    await watcher.hold()
    lock.rmdir()
    await watcher.hold()
    with pytest.raises(StoreBusy):
        await watcher_of(watcher.jobs[0].path).hold()
    await watcher.release()


def test_a_watch_whose_job_another_one_took_ends(tmp_path: Path) -> None:
    with Universe(1) as universe:
        watcher = Watcher([write(tmp_path, '{cron: "0 3 1 1 *"}')], universe.options(), print)
        taken = WatchLock(watcher.jobs[0].lock.place, universe.clock)

        async def taken_over() -> None:
            watching = asyncio.ensure_future(watcher.run())
            await asyncio.sleep(5)
            await watcher.release()  # as after an outage of the server
            await taken.hold()
            await watching

        with pytest.raises(StoreBusy, match="another `watch` has this job"):
            universe.do(taken_over())
        universe.do(taken.release())


def test_a_reload_does_not_change_the_state(tmp_path: Path) -> None:
    with Universe(1) as universe:
        path = write(tmp_path, '{cron: "0 3 1 1 *"}')
        job = Watcher([path], universe.options(), print).jobs[0]

        async def reloaded() -> None:
            watching = asyncio.ensure_future(job.watch())
            path.write_text(path.read_text(encoding="utf-8").replace("job.db", "other.db"), encoding="utf-8")
            job.reload()
            await asyncio.sleep(5)
            job.stop()
            await watching

        universe.do(reloaded())
        assert "names another state" in str(job.problem)
        assert job.job.config.state_name.endswith("job.db")
