"""The lock of `watch`: one holder, named to the next one, and released with its process."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import StoreBusy
from dam_sync.model.state_server import StateServer
from dam_sync.model.watched_elsewhere import ALREADY_WATCHED
from dam_sync.store.watch_lock import WatchLock
from tests.support.programs import CODE, PIPE, Program
from tests.support.state.clock_and_rows import SetClock
from tests.support.state.postgres import end_locks

HERE = f"process {os.getpid()} on {socket.gethostname()}"
HOLD = """
import asyncio, sys, time
from pathlib import Path
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.state_server import StateServer
from dam_sync.store.watch_lock import WatchLock
place = {place}
lock = WatchLock(place, SYSTEM_CLOCK)
asyncio.run(lock.hold())
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
async def lock(place: Path | StateServer, clock: SetClock) -> AsyncIterator[WatchLock]:
    made = WatchLock(place, clock)
    yield made
    await made.release()


async def test_one_at_a_time_and_the_next_one_reads_who_has_it(
    lock: WatchLock, place: Path | StateServer, clock: SetClock
) -> None:
    other = WatchLock(place, clock)
    await lock.hold()
    await lock.hold()
    for _ in range(2):
        with pytest.raises(StoreBusy, match=HERE) as refused:
            await other.hold()
        assert (refused.value.exit_code, refused.value.code) == (5, ALREADY_WATCHED)
    await lock.release()
    await lock.release()
    await other.hold()
    with pytest.raises(StoreBusy):
        await lock.hold()
    await other.release()


async def test_a_killed_holder_leaves_no_lock(lock: WatchLock, place: Path | StateServer) -> None:
    how = repr(place).replace("PosixPath", "Path")
    if isinstance(place, StateServer):
        how = how[:-1] + f", password={place.password!r})"
    with Program(CODE, HOLD.format(place=how), out=PIPE, err=None) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreBusy, match=f"process {holder.pid} on "):
            await lock.hold()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    for _ in range(100):  # a server notices the closed connection a moment later
        try:
            return await lock.hold()
        except StoreBusy:
            await SYSTEM_CLOCK.sleep(0.05)
    pytest.fail("the lock outlived its process")


async def test_a_lock_that_was_lost_is_taken_again(lock: WatchLock, place: Path | StateServer) -> None:
    await lock.hold()
    if isinstance(place, Path):
        place.with_name(place.name + ".watch").unlink()
    else:
        end_locks()
    await lock.hold()
    other = WatchLock(place, SetClock())
    with pytest.raises(StoreBusy, match=HERE):
        await other.hold()
