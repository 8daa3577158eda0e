"""The comparison of one asset: of each part, whether the target has what is wanted, and whose doing it is if not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from dam_sync.engine.compare.atoms import NOTHING, WHOLE, Atoms
from dam_sync.engine.compare.expected import Expected, Stage
from dam_sync.engine.compare.facts import Scope, TargetFacts
from dam_sync.engine.compare.parts import PartView, Sides
from dam_sync.model.asset import Asset, Draft
from dam_sync.model.conflict import FILE

VERSIONS, ATTACHMENTS = "versions", "attachments"


@dataclass(frozen=True, slots=True)
class Delta:
    """How a part of the target is not as expected, by the keys of its atoms. missing: nobody but others removed it;
    added: no state has it; other: another value than any state has."""

    missing: frozenset[Hashable] = frozenset()
    added: frozenset[Hashable] = frozenset()
    other: frozenset[Hashable] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether the target is as expected."""
        return not (self.missing or self.added or self.other)


@dataclass(frozen=True, slots=True)
class PartComparison:
    """What a comparison says of one part. same: the target has what is wanted, or what it gives by itself where nothing
    is; allowed: it has what it may have if nobody but this job wrote; due: some state that it may have differs from
    what is wanted. foreign: what others did; view: the part as every side has it, None for files."""

    path: str
    same: bool
    allowed: bool
    due: bool
    foreign: Delta = Delta()
    view: PartView | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All parts of an asset that were compared, by path."""

    parts: dict[str, PartComparison]

    @property
    def foreign(self) -> list[str]:
        """The parts that others changed, in order."""
        return sorted(path for path, part in self.parts.items() if not part.allowed)

    def is_same(self, path: str) -> bool:
        """Whether the target has what is wanted here; a part that was not compared has not."""
        return path in self.parts and self.parts[path].same


def compare(
    expected: Expected, seen: Asset, facts: TargetFacts, scope: Scope, wanted: Draft | None = None
) -> Comparison:
    """Compare what is wanted, what the target may hold, and what it has. seen: with the names that terms and containers
    have for this job. Without any state, nothing counts as changed by others. Pure; repeatable."""
    sides = Sides(expected, seen, facts, scope, wanted)
    parts = [_compared(view) for view in sides.views()] if sides.drafts else []
    parts += _files(expected, seen)
    return Comparison({part.path: part for part in parts})


def _compared(view: PartView) -> PartComparison:
    delta = _foreign(view)
    same = view.wanted is not None and _is_same(view.wanted, view)
    due = view.wanted is not None and any(state is not None and state != view.wanted for state in view.states)
    return PartComparison(view.path, same, delta.empty, due, delta, view)


def _is_same(wanted: Atoms, view: PartView) -> bool:
    given = view.given if not wanted else frozenset()
    keys = wanted.keys() if view.less else {*wanted, *view.now}
    return all(
        (key in view.now) == (key in wanted) and view.now.get(key) == wanted.get(key)
        if (key, view.now.get(key)) not in given
        else True
        for key in keys
    )


def _foreign(view: PartView) -> Delta:
    """Each atom has to be an atom of one of the states: then the part is one of them, or between several, as an attempt
    that was killed leaves it. One that is as wanted is nobody's change: no edit of people is lost by it."""
    states = [state for state in view.states if state is not None]
    if len(states) < len(view.states) or view.fixed or not states:
        return Delta()
    states += [view.wanted] if view.wanted is not None else []
    own = view.passing | (view.given if NOTHING in states else frozenset())
    missing, added, other = set[Hashable](), set[Hashable](), set[Hashable]()
    for key in {*view.now, *(key for state in states for key in state)}:
        held = view.now.get(key)
        if any((key in view.now) == (key in state) and held == state.get(key) for state in states):
            continue
        if key not in view.now:
            if not (view.more or view.lacking):
                missing.add(key)
        elif (key, held) not in own and not view.less:
            (other if (key == WHOLE and any(states)) or any(key in state for state in states) else added).add(key)
    return Delta(frozenset(missing), frozenset(added), frozenset(other))


def _files(expected: Expected, seen: Asset) -> Iterator[PartComparison]:
    """Files that no attempt sent. What the target has and does not return, or the state does not say, cannot be
    compared; that there are fewer is nobody's change."""
    files, hidden = expected.files, {loss.path for loss in seen.losses}
    lacks = seen.file is None and expected.stage is not Stage.COMPLETE
    yield _file_part(FILE, lacks or files.allow(seen.file))
    if VERSIONS not in hidden:
        yield _file_part(VERSIONS, files.versions is None or len(seen.versions) <= files.versions)
    if ATTACHMENTS not in hidden:
        yield _file_part(ATTACHMENTS, files.attachments is None or len(seen.attachments) <= files.attachments)


def _file_part(path: str, allowed: bool) -> PartComparison:
    return PartComparison(path, False, allowed, False, Delta() if allowed else Delta(other=frozenset({WHOLE})))
