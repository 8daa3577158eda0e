"""The patch that restores a target asset to its draft, whatever was changed. Pure.

Additions of others are kept, unless they count as differences. What we wrote before and the draft no longer
contains is not an addition of others: it is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dam_sync.engine.compare.atoms import tag_key, with_members
from dam_sync.engine.compare.comparison import AS_IT_IS, Delta, PartComparison, compare
from dam_sync.engine.compare.expected import Expected, ExpectedFiles
from dam_sync.engine.compare.facts import Scope, TargetFacts
from dam_sync.engine.compare.parts import GROUPS, PARTS, RESTRICTIONS, TAGS, AssetPart, PartKind, Sides
from dam_sync.engine.decide.part_patches import Attributes, patch_of
from dam_sync.engine.decide.patches import in_order, merge_patches
from dam_sync.model.asset import Asset, Draft, Patch, Placement, Rights
from dam_sync.model.codec import draft_from_json
from dam_sync.model.conflict import DATES, FIELDS, PLACEMENTS
from dam_sync.model.values import Json, Value


@dataclass(frozen=True, slots=True)
class RepairPatch:
    """One asset to be repaired. states: the draft that was written last, and those that interrupted attempts may have
    written in part since, as JSON; actual: with the members of containers that list these; keep: leave what others
    added."""

    draft: Draft
    states: Sequence[Json]
    actual: Asset
    facts: TargetFacts
    scope: Scope
    keep: bool = True

    def patch(self) -> Patch:
        """Everything that an update can restore, and nothing that is already right."""
        expected = Expected([*map(draft_from_json, self.states)], ExpectedFiles(known=False))
        sides = Sides(expected, self.actual, self.facts, self.scope, self.draft)
        parts = compare(expected, self.actual, self.facts, self.scope, self.draft).parts
        return _Restored(sides, parts, merge_patches(self.states, self.draft), self.draft, self.keep).patch()


@dataclass(frozen=True, slots=True)
class _Restored:
    """The patch of a comparison. update: what a usual run would write."""

    sides: Sides
    parts: Mapping[str, PartComparison]
    update: Patch
    draft: Draft
    keep: bool

    def patch(self) -> Patch:
        made: Attributes = {"closed": self.update.closed}
        restored = self._by_kind
        for part in PARTS:
            if part.shows and self.sides.masked:  # hidden or reopened: written completely
                made |= patch_of(part).taken(self.update)
            elif part.kind in restored:
                made |= restored[part.kind](part)
        return Patch(**made)

    @property
    def _by_kind(self) -> Mapping[PartKind, Callable[[AssetPart], Attributes]]:
        """What restores a part, by its kind."""
        return {
            PartKind.FIELDS: lambda part: {part.name: dict(self._fields())},
            PartKind.VALUE: self._value,
            PartKind.NAMES: self._tags,
            PartKind.CONTAINERS: self._placements,
            PartKind.RIGHTS: self._rights,
        }

    def _value(self, part: AssetPart) -> Attributes:
        wrong = self._is_wrong(part.name) or self._excess(part.name)
        return {part.name: getattr(self.draft, part.name)} if wrong else {}

    def _change(self, path: str) -> Delta:
        return self.parts[path].change if path in self.parts else AS_IT_IS

    def _is_wrong(self, path: str) -> bool:
        """Whether a value that is one is missing or another one."""
        return bool(self._change(path).lacks)

    def _excess(self, path: str) -> frozenset[Hashable]:
        """What the target has and must not have: what we wrote before, and additions of others where nobody may add."""
        if path not in self.parts:
            return frozenset()
        part = self.parts[path]
        counts = not self.keep and self.sides.covers(path)
        return part.ours | part.change.added if counts else part.ours

    def _fields(self) -> Iterator[tuple[str, Value | None]]:
        """Fields that differ; None for those that the draft does not have, if we wrote them before, or if nobody may
        add any."""
        for path, part in self.parts.items():
            key = path.removeprefix(FIELDS)
            if key == path or part.view is None:
                continue
            value, excess = self.draft.fields.get(key), self._excess(path)
            if value is not None and (part.change.lacks or excess):
                yield key, self._with_additions(key, value, part.change.added - excess)
            elif value is None and part.view.now and (excess or key in self.update.fields):
                yield key, None

    def _with_additions(self, key: str, value: Value, added: frozenset[Hashable]) -> Value:
        field, schema = self.sides.facts.schema.fields[key], self.sides.facts.schema
        values = [*(draft.fields.get(key) for draft in self.sides.drafts), self.sides.seen.fields.get(key)]
        return with_members(value, added, values, field, schema)

    def _tags(self, _: AssetPart) -> Attributes:
        schema, missing, excess = self.sides.facts.schema, self._change(TAGS).missing, self._excess(TAGS)
        add = frozenset(tag for tag in self.draft.tags if tag_key(tag, schema) in missing)
        remove = frozenset(tag for tag in self.sides.seen.tags if tag_key(tag, schema) in excess)
        return {"tags_add": add, "tags_remove": remove}

    def _placements(self, _: AssetPart) -> Attributes:
        """Containers to join, and those to leave: of a kind that is limited to one also that of others."""
        add, remove, most = set[Placement](), set[Placement](), self.sides.facts.schema.container_most
        for path, part in self.parts.items():
            kind = path.removeprefix(PLACEMENTS)
            if kind == path or part.view is None:
                continue
            moved = part.change.added if most.get(kind) == 1 and part.view.wanted else frozenset()
            add |= self.sides.places_wanted(kind, part.change.missing)
            remove |= self.sides.places_there(kind, self._excess(path) | moved)
        return {"placements_add": frozenset(add), "placements_remove": frozenset(remove)}

    def _rights(self, _: AssetPart) -> Attributes:
        """The complete rights if one of them is to change, and the dates to be cleared."""
        ours, theirs = self.draft.rights, self.sides.seen.rights
        cleared = frozenset(path for path in DATES if self._change(path).added & self._excess(path))
        dates = {
            name: getattr(ours, name) or (None if path in cleared else getattr(theirs, name))
            for path, name in DATES.items()
        }
        groups, wrong = self._groups()
        if not (wrong or cleared or any(self._is_wrong(path) for path in (*DATES, RESTRICTIONS))):
            return {}
        rights = Rights(dates["release_at"], dates["expires_at"], groups, ours.restrictions)
        return {"rights": rights, "cleared": cleared}

    def _groups(self) -> tuple[frozenset[str], bool]:
        """The groups to be written, and whether those of the target are wrong. Where a side is open to everybody, those
        of others do not stay beside: they stood in place of it, or would show the asset to more people than the draft.
        """
        wanted, change, excess = self.draft.rights.groups, self._change(GROUPS), self._excess(GROUPS)
        if not wanted or GROUPS not in self.parts:
            return wanted, False
        view, wrong = self.parts[GROUPS].view, bool(change.missing or excess)
        as_one = view is not None and view.by_member is not None
        kept = frozenset() if wrong and as_one else change.added - excess
        return wanted.union(map(str, kept)), wrong


def repaired_paths(patch: Patch, base: Patch, settled: Patch, theirs: Rights) -> list[str]:
    """The parts of a patch that restore what others changed: all that a normal update (`base`, and `settled` without
    what would write over changes of others) would not have written. theirs: the rights at the target."""
    paths = [f"{FIELDS}{key}" for key in sorted(patch.fields) if key not in base.fields]
    for each in in_order(PartKind.CLOSED, PartKind.RIGHTS):
        if each.part.kind is PartKind.RIGHTS:
            more = patch.rights is not None and (base.rights is None or _restores(patch.rights, settled, theirs))
        else:
            more = each.is_more(patch, base)
        paths += [each.word] if more else []
    return paths


def _restores(written: Rights, settled: Patch, theirs: Rights) -> bool:
    """Whether rights, which are written as a whole, contain what others changed and a normal update leaves."""
    kept = settled.rights or theirs
    return any(
        getattr(written, name) not in (getattr(kept, name), getattr(theirs, name)) for name in (*DATES.values(), GROUPS)
    )
