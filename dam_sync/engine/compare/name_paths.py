"""How something at one path of a tree gets to another one: which of the levels above were renamed, too. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dam_sync.engine.compare.name_verdict import NameAction, NamePurpose, NameVerdict, action_of, verdict_of
from dam_sync.mapping.vocabulary import fold, normal

Path: TypeAlias = tuple[str, ...]
Holds: TypeAlias = Callable[[Path], bool]
Key: TypeAlias = str | Path
Known: TypeAlias = dict[tuple[str, Path], str]
"""Ids of containers by kind and path."""
"""What tells one from another: its id, or its path if it has none; empty if there is nothing."""
Finds: TypeAlias = Callable[[Path], Key]


@dataclass(frozen=True, slots=True)
class Level:
    """What is at so many levels of the path at the target becomes `new`, the path that is wanted. moved: below another
    parent. verdict: whose name it has."""

    depth: int
    new: Path
    moved: bool = False
    verdict: NameVerdict = NameVerdict.OURS


@dataclass(frozen=True, slots=True)
class Trees:
    """What both trees have. stands: what stands at the target for a path of the source; at: what is at a path of the
    target. lives: whether the source has something at a path."""

    stands: Finds
    at: Finds
    lives: Holds

    def is_other(self, path: Path, now: Path) -> bool:
        """Whether something else than what is at `now` stands for this path of the source."""
        return self.stands(path) not in ("", self.at(now))


@dataclass(frozen=True, slots=True)
class PathRenaming:
    """The path that runs gave a container or term, and the one that is wanted."""

    given: Path
    wanted: Path
    purpose: NamePurpose = NamePurpose.RUN

    @property
    def takes_back(self) -> bool:
        """Whether levels get their names back that only others changed."""
        return action_of(NameVerdict.THEIRS, self.purpose) is NameAction.RENAME

    def verdict(self, now: Path) -> NameVerdict:
        """Of its whole path at the target: whose the first name is that is not the wanted one. Of a path that lacks
        levels above, its name alone counts."""
        if not len(now) == len(self.given) == len(self.wanted):
            return verdict_of(self.given[-1], self.wanted[-1], now[-1])
        verdicts = (self._verdict(level, now) for level in range(1, len(now) + 1))
        return next((each for each in verdicts if each is not NameVerdict.SAME), NameVerdict.SAME)

    def after(self, step: Level) -> PathRenaming:
        """What is left after a step."""
        return PathRenaming((*step.new, *self.given[len(step.new) :]), self.wanted, self.purpose)

    def step(self, now: Path, trees: Trees) -> Level | None:
        """The first step from its path at the target; None if none is left."""
        if len(now) == len(self.given) == len(self.wanted):
            return self._level_by_level(now, trees)
        if self.given[:-1] == self.wanted[:-1] and not self.takes_back:
            return self._last_name(now)
        return None if now == self.wanted else self._move(now, by_others=len(now) != len(self.given))

    def _level_by_level(self, now: Path, trees: Trees) -> Level | None:
        """It is as deep as ever: the first level with another name gets the wanted one, or it goes elsewhere."""
        depth = next((level for level in range(1, len(now) + 1) if self._differs(level, now, trees)), 0)
        if not depth:
            return None
        if depth < len(now) and self._left(depth, now, trees):
            return self._move(now, by_others=trees.is_other(self.given[:depth], now[:depth]))
        return Level(depth, self.wanted[:depth], verdict=self._verdict(depth, now))

    def _verdict(self, level: int, now: Path) -> NameVerdict:
        return verdict_of(self.given[level - 1], self.wanted[level - 1], now[level - 1])

    def _last_name(self, now: Path) -> Level | None:
        """Others moved it, and it is wanted where it was: its name alone counts."""
        verdict = verdict_of(self.given[-1], self.wanted[-1], now[-1])
        if verdict in (NameVerdict.SAME, NameVerdict.THEIRS):
            return None
        return Level(len(now), self.wanted, verdict=verdict)

    def _move(self, now: Path, *, by_others: bool) -> Level:
        renamed = now[-1] != self.wanted[-1] and now[-1].casefold() != self.given[-1].casefold()
        verdict = NameVerdict.BOTH if renamed or by_others else NameVerdict.OURS
        return Level(len(now), self.wanted, moved=True, verdict=verdict)

    def _differs(self, level: int, now: Path, trees: Trees) -> bool:
        """Whether this level is to get another name."""
        verdict = self._verdict(level, now)
        if verdict is NameVerdict.SAME or self.takes_back:
            return verdict is not NameVerdict.SAME
        settled = level < len(now) and trees.stands(self.wanted[:level]) == trees.at(now[:level])
        return action_of(verdict, self.purpose) is not NameAction.LEAVE and not settled

    def _left(self, depth: int, now: Path, trees: Trees) -> bool:
        """Whether it left this level above it for another one, which did not only get another name."""
        old, new = self.given[:depth], self.wanted[:depth]
        if trees.is_other(new, now[:depth]):
            return True
        return old[-1] != new[-1] and (trees.lives(old) or trees.is_other(old, now[:depth]))


def alike(one: Path, other: Path) -> bool:
    """Whether two paths can be the same, though one lacks the levels above."""
    shared = min(len(one), len(other))
    return one[-shared:] == tuple(map(normal, other))[-shared:]


def given_by_runs(before: Path, now: Path, origin: Path, met: Path) -> Path:
    """The path that runs gave, or found first: another name at a level is of others, unless the source has it, too. A
    later name of the source that they do not follow counts as given. Levels above keep what runs gave them if the paths
    differ in length. before: what runs had given so far; now: at the target; origin, met: at the source, then and now.
    """
    if len({len(now), len(before), len(origin), len(met)}) > 1:
        above = before if len(before) == len(now) else now
        return (*above[:-1], _name_given(before[-1], now[-1], origin[-1], met[-1]))
    return tuple(map(_name_given, before, now, origin, met))


def _name_given(given: str, now: str, origin: str, met: str) -> str:
    if fold(now) in (fold(given), fold(met)):
        return now
    return met if fold(given) == fold(origin) else given
