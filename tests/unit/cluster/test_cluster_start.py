"""Worker processes of this machine that do not start: the run says so, and no process is left to wait for."""

from __future__ import annotations

import threading
import time

import psutil
import pytest

from dam_sync.cluster.dask_client import local_client
from dam_sync.model.errors import WorkersGone

TICK = 0.005


def workers() -> list[psutil.Process]:
    """The worker processes of this process."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:  # gone, or not to be asked
            continue
    return found


def kill_one(others: set[psutil.Process]) -> None:
    while not (found := [each for each in workers() if each not in others]):
        time.sleep(TICK)
    found[0].kill()


async def test_a_worker_that_dies_while_it_starts_leaves_no_other_behind() -> None:
    before = set(workers())
    threading.Thread(target=kill_one, args=(before,), daemon=True).start()
    with pytest.raises(WorkersGone, match="worker processes cannot be started"):
        async with local_client(2):
            pass
    assert [each for each in workers() if each not in before] == []
