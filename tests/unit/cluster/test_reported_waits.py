"""What worker processes wait for is shown as long as they say so, and no longer."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from dam_sync.cluster import tasks
from dam_sync.cluster.messages import Joining, LongestWait, Spent, program
from dam_sync.cluster.worker_waits import ASK_SECONDS, WorkerWaits
from dam_sync.cluster.workers import DaskWorkers
from dam_sync.model.errors import WorkerLost
from dam_sync.model.waits import SHOWN_AFTER, Wait, Waits, showing, waiting
from dam_sync.store.server.workers import WorkerProcess
from tests.support.stepped_clock import SteppedClock

ONE, TWO = "tls://127.0.0.1:1", "tls://127.0.0.1:2"
FOUND = LongestWait("POST assets", "target", 40.0, 140.0, 7, "worker process 11 on museum")
TEXT = "target: waiting for POST assets since {} s, at most 3 min (worker process 11 on museum)"


class Asked:
    """Workers, and what each of them answers."""

    def __init__(self, **answers: LongestWait | Exception | None) -> None:
        self.answers: dict[str, LongestWait | Exception | None] = dict(answers)
        self.answering = asyncio.Event()  # set while all of them answer
        self.answering.set()
        self.clock, self.waits, self.questions = SteppedClock(), Waits(), 0

    async def ask(self, address: str) -> LongestWait | None:
        self.questions += 1
        await self.answering.wait()
        answer = self.answers[address]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        with showing(self.waits):
            kept = asyncio.ensure_future(WorkerWaits(self.clock, self.ask).keep(lambda: self.answers.keys()))
        await asyncio.sleep(0)
        yield
        kept.cancel()
        await asyncio.wait([kept])

    async def shown(self, seconds: float = ASK_SECONDS) -> Wait | None:
        """After so many seconds."""
        await self.clock.advance(seconds)
        return self.waits.longest(self.clock.monotonic())

    async def text(self, seconds: float = ASK_SECONDS) -> str:
        wait = await self.shown(seconds)
        return "" if wait is None else wait.text(self.clock.monotonic())


async def test_a_wait_of_a_worker_is_shown_until_it_says_that_it_is_over() -> None:
    asked = Asked(**{ONE: FOUND, TWO: None})
    async with asked.kept():
        first = await asked.shown()
        assert first is not None
        assert first.text(asked.clock.monotonic()) == TEXT.format(40)
        asked.answers[ONE] = replace(FOUND, since=42.0, left=138.0)
        assert await asked.shown() is first
        asked.answers[ONE] = replace(FOUND, since=6.0, left=174.0, number=8)
        second = await asked.shown()
        assert second is not None
        assert second is not first
        asked.answers[ONE] = None
        assert await asked.shown() is None


async def test_the_wait_of_a_lost_worker_is_not_shown_any_more() -> None:
    asked = Asked(**{ONE: FOUND, TWO: replace(FOUND, by="worker process 12 on museum")})
    async with asked.kept():
        assert await asked.text() != ""
        del asked.answers[ONE]
        assert "process 12" in await asked.text()
        asked.answers[TWO] = WorkerLost("it is gone")
        assert await asked.text() == ""


async def test_a_worker_that_does_not_respond_is_waited_for_by_its_name() -> None:
    asked = Asked(**{ONE: FOUND})
    async with asked.kept():
        assert await asked.text() == TEXT.format(40)
        asked.answering.clear()
        assert await asked.text(4 * SHOWN_AFTER) == "waiting for a response since 18 s (worker process 11 on museum)"
        assert asked.questions == 2
        asked.answering.set()
        assert "POST assets" in await asked.text()


async def test_nothing_of_the_workers_is_shown_after_the_run() -> None:
    asked = Asked(**{ONE: FOUND})
    async with asked.kept():
        assert await asked.text() != ""
    assert asked.waits.longest(1e9, 0.0) is None


class Part:
    """A worker that waits while it connects, and while it leaves."""

    process, has_left = WorkerProcess("museum", 11, 0), False
    opening: Part

    def __init__(self) -> None:
        self.connecting, self.connected = asyncio.Event(), asyncio.Event()
        self.ending, self.ended = asyncio.Event(), asyncio.Event()
        Part.opening = self

    def spent(self) -> Spent:
        return Spent()

    async def close(self) -> None:
        with waiting(LATE, None, "the end of calls", "target"):
            self.ending.set()
            await self.ended.wait()


class _Late(SteppedClock):
    """What begins by it began long ago."""

    def monotonic(self) -> float:
        return -1e6


LATE = _Late()


async def opened(given: None) -> Part:
    with waiting(LATE, None, "GET schema", "source"):
        Part.opening.connecting.set()
        await Part.opening.connected.wait()
    return Part.opening


async def longest() -> LongestWait | None:
    found = pickle.loads(await tasks.longest_wait("run")).result
    assert found is None or isinstance(found, LongestWait)
    return found


async def test_a_worker_says_what_it_waits_for_from_its_opening_to_its_end() -> None:
    part = Part()
    assert await longest() is None
    joining = asyncio.ensure_future(tasks.join(pickle.dumps(Joining("run", opened, None, program()))))
    await part.connecting.wait()
    found = await longest()
    assert found is not None
    assert (found.what, found.side, found.left) == ("GET schema", "source", None)
    assert found.by == f"worker process {os.getpid()} on {socket.gethostname()}"
    part.connected.set()
    await joining
    assert await longest() is None
    leaving = asyncio.ensure_future(tasks.leave("run"))
    await part.ending.wait()
    found = await longest()
    assert found is not None
    assert found.what == "the end of calls"
    part.ended.set()
    await leaving
    assert await longest() is None


def test_a_run_without_any_worker_waits_for_one() -> None:
    waits, nothing = Waits(), object()
    workers: Any = DaskWorkers(nothing, 1)  # type: ignore[arg-type]
    with showing(waits):
        workers._note_alone(10.0)
        workers._note_alone(20.0)
        found = waits.longest(30.0)
        assert found is not None
        assert found.text(30.0) == "waiting for a worker process since 20 s, at most 60 s"
        workers._members = {ONE: SimpleNamespace()}
        workers._note_alone(40.0)
    assert waits.longest(50.0) is None
