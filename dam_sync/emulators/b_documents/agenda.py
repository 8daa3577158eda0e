"""What happens some time after a commit: due jobs run when the next request comes in."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from dam_sync.emulators.kit.environment import Environment


class Agenda:
    """Jobs by the timestamp at which they are due."""

    def __init__(self, world: Environment) -> None:
        self._world = world
        self._jobs: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def add(self, seconds: float, job: Callable[[], None]) -> None:
        """Do something after so many seconds."""
        due = self._world.elapsed() + seconds
        heapq.heappush(self._jobs, (due, next(self._numbers), job))

    def run(self) -> None:
        """Do what is due."""
        now = self._world.elapsed()
        while self._jobs and self._jobs[0][0] <= now:
            heapq.heappop(self._jobs)[2]()

    def clear(self) -> None:
        """Forget everything, as a restart does."""
        self._jobs.clear()
