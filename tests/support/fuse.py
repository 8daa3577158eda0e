"""A fuse between a run and the world: it counts what gets through and, once blown, lets nothing through any more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from dam_sync.net import line
from dam_sync.net.transport import Answer, Outgoing, TransportName, Wire
from dam_sync.store import store, writer
from dam_sync.store.writer import Writer


class Crash(BaseException):
    """The process is gone. Nothing in the product may catch it."""


@dataclass(frozen=True, slots=True)
class Point:
    """A moment: before or after the n-th (from 1) `commit` of the store or `call` of the target."""

    kind: str
    when: str
    n: int

    def __str__(self) -> str:
        return f"{self.when} {self.kind} {self.n}"


@dataclass(slots=True)
class Fuse:
    """Blows at `point`, or never. Whatever unwinds afterwards reaches neither the state file nor any service, so the
    state file, the services and the next run see what they would see of a killed process.

    Commits are counted one for each job of the store. origin: of the service whose calls are counted.
    """

    origin: str
    point: Point | None = None
    commits: int = 0
    calls: int = 0
    blown: bool = False

    def enter(self, kind: str, counts: bool = True) -> int:
        """Something is about to happen; its number. Raises Crash instead when it must not."""
        number = 0
        if counts and not self.blown:
            number = getattr(self, f"{kind}s") + 1
            setattr(self, f"{kind}s", number)
        self._look(Point(kind, "before", number))
        return number

    def leave(self, kind: str, number: int) -> None:
        """It has happened. Raises Crash when nobody may learn of it."""
        self._look(Point(kind, "after", number))

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Every store opened and every service connected from now on goes through this fuse."""
        patch.setattr(writer, "GROUP", 1)
        patch.setattr(store, "Writer", lambda engine, path: _FusedWriter(engine, path, self))
        patch.setattr(line, "Wire", lambda name: _FusedWire(name, self))

    def _look(self, here: Point) -> None:
        self.blown = self.blown or here == self.point
        if self.blown:
            raise Crash(str(self.point))


class _FusedWriter(Writer):
    def __init__(self, engine: Engine, path: Path, fuse: Fuse) -> None:
        self._fuse = fuse
        super().__init__(engine, path)

    def _commit(self, group: list[Any]) -> None:
        try:
            number = self._fuse.enter("commit")
            super()._commit(group)
            self._fuse.leave("commit", number)
        except Crash as crash:
            for request in group:
                request.error = crash


class _FusedWire(Wire):
    def __init__(self, name: TransportName, fuse: Fuse) -> None:
        super().__init__(name)
        self._fuse = fuse

    async def open(self, outgoing: Outgoing) -> Answer:
        """See `Wire.open`; the head of an answer comes after the effect of its call."""
        counted = outgoing.address.startswith(self._fuse.origin + "/")
        number = self._fuse.enter("call", counted)
        answer = await super().open(outgoing)
        try:
            self._fuse.leave("call", number)
        except Crash:
            await answer.aclose()
            raise
        return answer
