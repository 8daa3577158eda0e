"""What worker processes wait for, shown by the coordinator as waits of its own: nothing of it is kept in the state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Set

from dam_sync.aio.task_group import TaskGroup
from dam_sync.cluster.messages import LongestWait
from dam_sync.model.clock import Clock
from dam_sync.model.errors import DamSyncError
from dam_sync.model.waits import SHOWN_AFTER, Wait, current_waits, waiting

ASK_SECONDS = 2.0  # between two questions to a worker
Ask = Callable[[str], Awaitable[LongestWait | None]]


class WorkerWaits:
    """Asks every worker now and then what it waits for longest. A wait is shown until the worker says that it is over,
    does not respond, or is gone."""

    def __init__(self, clock: Clock, ask: Ask) -> None:
        """ask: one worker, by its address. Raises a DamSyncError if it is gone."""
        self._clock, self._ask = clock, ask
        self._waits = current_waits()
        self._shown: dict[str, tuple[int, Wait]] = {}  # by address, with the number that the wait has there
        self._asked: dict[str, float] = {}  # by address, since when, until the worker answers
        self._names: dict[str, str] = {}  # by address

    async def keep(self, addresses: Callable[[], Set[str]]) -> None:
        """Until cancelled. addresses: of the workers that take part, or are about to."""
        try:
            async with TaskGroup() as group:
                while True:
                    await self._clock.sleep(ASK_SECONDS)
                    known, now = addresses(), self._clock.monotonic()
                    for address in list(self._shown):
                        if address not in known or now - self._asked.get(address, now) >= SHOWN_AFTER:
                            self._end(address)
                    for address in known - self._asked.keys():
                        self._asked[address] = now
                        group.start(self._look, address)
        finally:
            for address in list(self._shown):
                self._end(address)

    async def _look(self, address: str) -> None:
        """One question. A worker that does not respond is itself waited for."""
        try:
            with waiting(self._clock, None, "a response", by=self._names.get(address, f"worker {address}")):
                found = await self._ask(address)
        except DamSyncError:  # which others notice as well
            found = None
        finally:
            del self._asked[address]
        if found is None:
            self._end(address)
        else:
            self._show(address, found)

    def _show(self, address: str, found: LongestWait) -> None:
        """The same wait stays the same object, so that `status` is told of it once."""
        now = self._clock.monotonic()
        since, until = now - found.since, None if found.left is None else now + found.left
        number, wait = self._shown.get(address, (0, None))
        if wait is not None and number == found.number:
            wait.since, wait.until = since, until
            return
        self._end(address)
        self._names[address] = found.by
        self._shown[address] = found.number, self._waits.begin(found.what, found.side, since, until, found.by)

    def _end(self, address: str) -> None:
        if address in self._shown:
            self._waits.end(self._shown.pop(address)[1])
