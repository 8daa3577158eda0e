"""A fuse between a run and the world: it counts what gets through and, once blown, lets nothing through any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

COMMIT, CALL, FILE = "commit", "call", "file operation"
KINDS = (COMMIT, CALL, FILE)
BEFORE, AFTER = "before", "after"


class Crash(BaseException):
    """The process is gone. Nothing in the product may catch it."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A moment: before or after the n-th (from 1) commit of the store, call of any service or change of a folder."""

    kind: str
    when: str
    n: int

    def __str__(self) -> str:
        return f"{self.when} {self.kind} {self.n}"


@dataclass(slots=True)
class Fuse:
    """Blows at `point` or after `until`, or never. Whatever unwinds afterwards reaches neither the state file nor any
    service, so the state file, the services and the next run see what they would see of a killed process."""

    point: Point | None = None
    until: Callable[[], bool] = field(default=lambda: False)  # blows also after what made this true
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    blown: bool = False
    frozen: asyncio.Event | None = None  # while it is there and not set, the process stands still

    reached: dict[tuple[str, int], asyncio.Event] = field(default_factory=dict)

    async def reaches(self, kind: str, number: int) -> None:
        """Returns once the process has come to that commit or call."""
        await self.reached.setdefault((kind, number), asyncio.Event()).wait()

    @property
    def is_frozen(self) -> bool:
        """Whether the process stands still."""
        return self.frozen is not None and not self.frozen.is_set()

    async def awake(self) -> None:
        """Returns once the process does not stand still."""
        if self.frozen is not None:
            await self.frozen.wait()

    def enter(self, kind: str) -> int:
        """Something is about to happen; its number. Raises Crash instead when it must not."""
        if not self.blown:
            self.counts[kind] += 1
        number = self.counts[kind]
        if (kind, number) in self.reached:
            self.reached[kind, number].set()
        self._look(Point(kind, BEFORE, number))
        return number

    def leave(self, kind: str, number: int) -> None:
        """It has happened. Raises Crash when nobody may learn of it."""
        self.blown = self.blown or self.until()
        self._look(Point(kind, AFTER, number))

    def points(self) -> list[Point]:
        """Every moment that came by, in the order of kinds."""
        return [
            Point(kind, when, number)
            for kind in KINDS
            for when in (BEFORE, AFTER)
            for number in range(1, self.counts[kind] + 1)
        ]

    def _look(self, here: Point) -> None:
        self.blown = self.blown or here == self.point
        if self.blown:
            raise Crash(str(self.point))
