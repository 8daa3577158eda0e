"""How something at one path of a tree gets to another one: which of the levels above were renamed, too. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]
Holds: TypeAlias = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Step:
    """What is at `old` becomes `new`. moved: below another parent."""

    old: Path
    new: Path
    moved: bool = False


def next_step(old: Sequence[str], new: Sequence[str], exists: Holds, alive: Holds) -> Step:
    """The first step on the way; `old` and `new` differ. exists: whether the target has something at a path; alive:
    whether the source still has what leads there. A level above that neither the source has any more nor the target
    has yet under its new name was renamed; otherwise it was left for another."""
    old, new = tuple(old), tuple(new)
    if old[:-1] == new[:-1]:
        return Step(old, new)
    depth = next(
        (level for level, (one, other) in enumerate(zip(old, new, strict=False)) if one != other),
        len(min(old, new, key=len)),
    )
    above_old, above_new = old[: depth + 1], new[: depth + 1]
    above_both = depth < len(old) - 1 and depth < len(new) - 1
    if above_both and not exists(above_new) and not alive(above_old):
        return Step(above_old, above_new)
    return Step(old, new, moved=True)
