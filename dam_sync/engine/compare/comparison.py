"""The comparison of one asset: of each part, whether the target has what is wanted, and whose doing it is if not."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

from dam_sync.engine.compare.atoms import NOTHING, WHOLE, Atoms, members
from dam_sync.engine.compare.expected import Expected, ExpectedRelations, FileMatch, Stage, file_match
from dam_sync.engine.compare.facts import Scope, TargetFacts
from dam_sync.engine.compare.file_keys import ATTACHMENTS, RELATIONS, VERSIONS
from dam_sync.engine.compare.parts import PartView, Sides
from dam_sync.model.asset import Asset, Draft
from dam_sync.model.conflict import FILE


@dataclass(frozen=True, slots=True)
class Delta:
    """How a part of the target is not as it might be, by the keys of its atoms. missing: the target lacks it; added: it
    has that in addition; other: it has another value."""

    missing: frozenset[Hashable] = frozenset()
    added: frozenset[Hashable] = frozenset()
    other: frozenset[Hashable] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether there is no difference."""
        return not (self.missing or self.added or self.other)

    @property
    def keys(self) -> frozenset[Hashable]:
        """Of all atoms that differ."""
        return self.missing | self.added | self.other

    @property
    def lacks(self) -> frozenset[Hashable]:
        """What the target does not have, whatever it has instead."""
        return self.missing | self.other


AS_IT_IS: Final = Delta()


@dataclass(frozen=True, slots=True)
class PartComparison:
    """What a comparison says of one part. same: the target has what is wanted, or what it gives by itself where nothing
    is; allowed: it has what it may have if nobody but this job wrote; due: some state that it may have differs from
    what is wanted. foreign: how it is not as expected, which others did; change: how it is not as wanted, groups always
    by member; ours: what of its additions this job wrote, which is no longer wanted; view: the part as every side has
    it, None for files."""

    path: str
    same: bool
    allowed: bool
    due: bool
    foreign: Delta = AS_IT_IS
    change: Delta = AS_IT_IS
    ours: frozenset[Hashable] = frozenset()
    view: PartView | None = None

    @property
    def merged(self) -> Atoms | None:
        """What is wanted with what others changed beside it, by member or language; None if both changed the same, or
        nothing is left."""
        view = self.view
        if view is None or view.wanted is None:
            return None
        made = dict(view.wanted)
        for key in self.foreign.keys:
            if any((state or NOTHING).get(key) != made.get(key) for state in view.states):
                return None
            made.pop(key, None)
            made |= {key: view.now[key]} if key in view.now else {}
        return made or None

    @property
    def waits(self) -> bool:
        """Whether it differs from what is wanted only in what is still to be written."""
        return self.view is not None and not self.change.empty and self.change.keys <= self.view.pending

    @property
    def is_limited(self) -> bool:
        """Whether all sides have members, none of which stands for everybody."""
        view = self.view
        if view is None or WHOLE in (view.wanted or NOTHING):
            return False
        return all(side and WHOLE not in side for side in (view.now, *view.states))

    @property
    def stands(self) -> bool:
        """Whether the target has what is wanted, or that with what others changed beside it."""
        return self.same or (self.view is not None and self.merged == self.view.now)


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
    expected: Expected,
    seen: Asset,
    facts: TargetFacts,
    scope: Scope,
    wanted: Draft | None = None,
) -> Comparison:
    """Compare what is wanted, what the target may hold, and what it has. seen: with the names that terms and containers
    have for this job. Without any state, nothing counts as changed by others. Pure; repeatable."""
    sides = Sides(expected, seen, facts, scope, wanted)
    parts = [_compared(view) for view in sides.views()] if sides.drafts else []
    parts += _files(expected, seen)
    if expected.relations is not None:
        parts.append(relations_compared(expected.relations, seen))
    return Comparison({part.path: part for part in parts})


def _compared(view: PartView) -> PartComparison:
    foreign, wanted = _foreign(view), view.wanted
    if wanted is None:
        return PartComparison(view.path, False, foreign.empty, False, foreign, view=view)
    due = any(state is not None and state != wanted for state in view.states)
    same = view.now == wanted or _change(view, wanted).empty
    if same and not due and view.by_member is None:
        return PartComparison(view.path, same, foreign.empty, due, foreign, view=view)
    each = view.by_member or view
    members = each.wanted or NOTHING
    written = {key for state in each.states if state is not None for key in state}
    ours = frozenset(key for key in each.now if key in written and key not in members)
    return PartComparison(view.path, same, foreign.empty, due, foreign, _change(each, members), ours, view)


def _change(view: PartView, wanted: Atoms) -> Delta:
    given = frozenset() if wanted else view.given
    missing, added, other = set[Hashable](), set[Hashable](), set[Hashable]()
    for key, token in wanted.items():
        if key in view.now:
            other.update([key] if view.now[key] != token else [])
        elif not view.more:
            missing.add(key)
    for key, held in view.now.items():
        if key not in wanted and (key, held) not in given and not view.less:
            (other if key == WHOLE and view.stated else added).add(key)
    return Delta(frozenset(missing), frozenset(added), frozenset(other))


def _foreign(view: PartView) -> Delta:
    """Each atom has to be an atom of one of the states: then the part is one of them, or between several, as an attempt
    that was killed leaves it. One that is as wanted is nobody's change: no edit of people is lost by it."""
    states = [state for state in view.states if state is not None]
    if len(states) < len(view.states) or view.fixed or not states:
        return AS_IT_IS
    states += [view.wanted] if view.wanted is not None else []
    own = view.passing | (view.given if NOTHING in states else frozenset())
    missing, added, other = set[Hashable](), set[Hashable](), set[Hashable]()
    for key in {*view.now, *(key for state in states for key in state)} - view.pending:
        held = view.now.get(key)
        if any((key in view.now) == (key in state) and held == state.get(key) for state in states):
            continue
        if key not in view.now:
            if not (view.more or view.lacking):
                missing.add(key)
        elif (key, held) not in own and not view.less:
            (other if (key == WHOLE and any(states)) or any(key in state for state in states) else added).add(key)
    return Delta(frozenset(missing), frozenset(added), frozenset(other))


def relations_compared(expected: ExpectedRelations, seen: Asset) -> PartComparison:
    """Relations by pairs. That others took some away is nobody's change: services do that when an asset goes."""
    there, hidden = members((each.kind, str(each.target)) for each in seen.relations), hides(seen, RELATIONS)
    states, keys = (members(expected.written),), expected.wanted
    foreign = _foreign(PartView(RELATIONS, states, there, more=True))
    wanted = None if keys is None else members(keys | (expected.written & there.keys()))
    view = PartView(RELATIONS, states, there, wanted, pending=frozenset(expected.pending), more=hidden)
    change = AS_IT_IS if wanted is None else _change(view, wanted)
    return PartComparison(
        RELATIONS, wanted is not None and change.empty, foreign.empty, False, foreign, change, view=view
    )


def hides(seen: Asset, part: str) -> bool:
    """Whether the target has more of this part of an asset than it returns."""
    return any(loss.path == part for loss in seen.losses)


def _files(expected: Expected, seen: Asset) -> Iterator[PartComparison]:
    """Files that no attempt sent. What the target has and does not return, or the state does not say, cannot be
    compared; that there are fewer is nobody's change."""
    files = expected.files
    lacks = seen.file is None and expected.stage is not Stage.COMPLETE
    number = len(seen.versions) - files.is_attached(seen.file)
    found = files.file_match(seen.file, None if hides(seen, VERSIONS) else number)
    same = seen.file is not None and file_match(seen.file, files.source) is FileMatch.SAME
    yield _file_part(FILE, lacks or found is not FileMatch.OTHER, same=same)
    if not hides(seen, VERSIONS):
        yield _file_part(VERSIONS, files.versions is None or number <= files.versions)
    if not hides(seen, ATTACHMENTS):
        yield _file_part(ATTACHMENTS, files.attachments is None or len(seen.attachments) <= files.attachments)


def _file_part(path: str, allowed: bool, *, same: bool = False) -> PartComparison:
    return PartComparison(path, same, allowed, False, AS_IT_IS if allowed else Delta(other=frozenset({WHOLE})))
