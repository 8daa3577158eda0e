"""What is to happen later in an emulated tenant of service C: processing, tag removals, the index catching up."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from itertools import count

from dam_sync.emulators.kit.environment import Environment

Deed = Callable[[int], None]
"""Done at its time, which it gets in epoch milliseconds."""


class Agenda:
    """Deeds in order of their time; equal times in the order they were requested. A clock that was set back delays
    none."""

    def __init__(self, world: Environment) -> None:
        self._world = world
        self._deeds: list[tuple[int, int, Deed]] = []
        self._number = count()
        self._lock = threading.RLock()

    def at(self, due: int, deed: Deed) -> None:
        """One more deed."""
        with self._lock:
            heapq.heappush(self._deeds, (due + self._set_back, next(self._number), deed))

    def settle(self) -> None:
        """Do everything whose time has come, and what that asks for in turn."""
        now = int(self._world.elapsed() * 1000)
        if not self._deeds or self._deeds[0][0] > now:
            return
        with self._lock:
            while self._deeds and self._deeds[0][0] <= now:
                due, _, deed = heapq.heappop(self._deeds)
                deed(due - self._set_back)

    @property
    def _set_back(self) -> int:
        """Milliseconds."""
        return int(self._world.set_back * 1000)
