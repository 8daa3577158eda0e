"""How something at one path of a tree gets to another one: which of the levels above were renamed, too. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]
Holds: TypeAlias = Callable[[Path], bool]
Finds: TypeAlias = Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class Level:
    """What is at so many levels of the path at the target becomes `new`, the path that the source has. moved: below
    another parent. theirs: others gave it the name that it has."""

    depth: int
    new: Path
    moved: bool = False
    theirs: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """The path that runs gave a container, and the one that the source has now. every: levels get their names back that
    the source did not change."""

    given: Path
    wanted: Path
    every: bool = False

    def after(self, step: Level) -> Names:
        """What is left after a step."""
        return Names((*step.new, *self.given[len(step.new) :]), self.wanted, self.every)

    def step(self, now: Path, stands: Finds, at: Finds, alive: Holds) -> Level | None:
        """The first step from its path at the target; None if none is left. stands: what stands at the target for a
        path of the source; at: what is at a path of the target."""
        given, wanted, moved = self.given, self.wanted, len(now) != len(self.given)
        if len(now) == len(given) == len(wanted):
            depth = next((level for level in range(1, len(now) + 1) if self._differs(level, now, stands, at)), 0)
            if not depth:
                return None
            if depth == len(now) or not self._left(depth, now, (stands, at), alive):
                return Level(depth, wanted[:depth], theirs=not _same(now[depth - 1], given[depth - 1]))
            moved = stands(given[:depth]) not in ("", at(now[:depth]))
        elif now[-1] == wanted[-1] and (now == wanted or (given[:-1] == wanted[:-1] and not self.every)):
            return None
        elif given[:-1] == wanted[:-1] and not self.every:  # others moved it
            renamed = given[-1] != wanted[-1]
            return Level(len(now), wanted, theirs=not _same(now[-1], given[-1])) if renamed else None
        theirs = now[-1] != wanted[-1] and not _same(now[-1], given[-1])
        return Level(len(now), wanted, moved=True, theirs=theirs or moved)

    def _differs(self, level: int, now: Path, stands: Finds, at: Finds) -> bool:
        wanted = self.wanted[level - 1]
        if now[level - 1] == wanted or self.every:
            return now[level - 1] != wanted
        settled = level < len(now) and stands(self.wanted[:level]) == at(now[:level])
        return self.given[level - 1] != wanted and not settled

    def _left(self, depth: int, now: Path, found: tuple[Finds, Finds], alive: Holds) -> bool:
        """Whether it left this level above it for another one, which did not only get another name."""
        (stands, at), old, new = found, self.given[:depth], self.wanted[:depth]
        none_or_it = ("", at(now[:depth]))
        if stands(new) not in none_or_it:
            return True
        return old[-1] != new[-1] and (alive(old) or stands(old) not in none_or_it)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
