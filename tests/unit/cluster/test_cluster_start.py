"""Worker processes of this host that do not start: the run says so, and no process is left to wait for."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import psutil
import pytest

from dam_sync.cluster.dask_client import local_client, remote_client
from dam_sync.model.errors import ConfigError, WorkersGone

TICK = 0.005


def workers() -> list[psutil.Process]:
    """The worker processes of this process."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:  # ended, or not to be asked
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


@pytest.mark.parametrize(
    "url", ["localhost:8786", "http://127.0.0.1:8786", "tcp://127.0.0.1", "tcp://", "tcp://h:nope", "tcp://h:99999"]
)
async def test_what_is_no_url_of_a_scheduler_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="is not the address of a Dask scheduler") as refused:
        async with remote_client(url):
            pass
    assert "tcp://HOST:8786" in refused.value.hint


async def test_a_scheduler_that_cannot_be_reached_is_named_with_the_command_that_starts_it() -> None:
    with pytest.raises(WorkersGone, match=r"scheduler tcp://[0-9.:]+ cannot") as gone:
        async with remote_client("tcp://127.0.0.1:1", seconds=1):
            pass
    for words in ("check the address", "`dask scheduler --port 1`", "`dask worker tcp://127.0.0.1:1`"):
        assert words in gone.value.hint


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "another service"])
async def test_what_is_no_scheduler_is_not_waited_for(said: bytes) -> None:
    with answering(said) as url, pytest.raises(WorkersGone, match=re.escape(f"{url} cannot be reached")) as gone:
        async with remote_client(url, seconds=1):
            pass
    assert "check the address" in gone.value.hint


@contextmanager
def answering(said: bytes) -> Iterator[str]:
    """The URL of something that takes connections and says this, or nothing."""
    with ExitStack() as taken:
        listener = taken.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
        thread = threading.Thread(target=answer, args=(listener, said, taken))
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            thread.join()


def answer(listener: socket.socket, said: bytes, taken: ExitStack) -> None:
    with suppress(OSError):
        while True:
            connection = taken.enter_context(closing(listener.accept()[0]))
            if said:
                connection.settimeout(1)
                connection.recv(1)
                connection.sendall(said)
