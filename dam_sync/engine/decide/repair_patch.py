"""The patch that restores a target asset to its draft, whatever was changed. Pure.

Additions of others are kept, unless they count as differences. What we wrote before and the draft no longer
contains is not an addition of others: it is removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dam_sync.engine.compare.differences import (
    Defaults,
    Extras,
    as_held,
    date_differs,
    date_is_extra,
    field_differs,
    field_is_extra,
    status_differs,
    with_names,
)
from dam_sync.engine.compare.facts import Scope
from dam_sync.engine.decide.patches import merge_patches
from dam_sync.model.asset import Asset, Draft, Patch, Placement, Rights
from dam_sync.model.canonical import canonical
from dam_sync.model.codec import rights_from_json
from dam_sync.model.limits import Limits
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json, Localized, Row, Scalar, Value, value_from_json


@dataclass(frozen=True, slots=True)
class RepairPatch:
    """One asset to be repaired. states: the draft that was written last, and those that interrupted attempts may have
    written in part since, as JSON; keep: leave what others added."""

    draft: Draft
    states: Sequence[Json]
    actual: Asset
    schema: Schema
    limits: Limits
    scope: Scope
    defaults: Defaults
    keep: bool = True

    def patch(self) -> Patch:
        """Everything that an update can restore, and nothing that is already right."""
        draft, actual = self.draft, with_names(self.actual, self.schema, self.draft.tags)
        wanted, extras = merge_patches(self.states, draft), Extras.of(draft, actual, self.scope, self.defaults)
        found = Patch(
            fields=dict(self._fields()),
            filename=draft.filename if draft.filename not in ("", actual.filename) else None,
            placements_add=draft.placements - actual.placements,
            placements_remove=self._misplaced(actual.placements, extras, wanted),
            tags_add=draft.tags - actual.tags,
            tags_remove=actual.tags & (wanted.tags_remove if self.keep else wanted.tags_remove | extras.tags),
            closed=wanted.closed,
        )
        if draft.closed or wanted.closed is not None:  # hidden or reopened: status and rights are written completely
            return replace(found, status=wanted.status, rights=wanted.rights, cleared=wanted.cleared)
        rights, cleared = self._rights(extras)
        return replace(found, status=self._status(), rights=rights, cleared=cleared)

    def _fields(self) -> Iterator[tuple[str, Value | None]]:
        """Fields that differ, then those that are empty in the draft: we wrote them before, or nobody may add any."""
        draft, now = self.draft.fields, self.actual.fields
        before: dict[str, list[Value]] = {}
        for state in self.states:
            for key, value in state["fields"].items():
                before.setdefault(key, []).append(value_from_json(value))
        for key, value in draft.items():
            field = self.schema.fields.get(key)
            merged = self._with_additions(key, value, before.get(key, ()))
            if field_differs(value, now.get(key), field, self.schema) or (
                field_is_extra(value, now.get(key), field, self.schema)
                and canonical(as_held(merged, field, self.schema)) != canonical(now.get(key))
            ):
                yield key, merged
        for key in sorted(now.keys() - draft.keys()):
            added = key in self.scope.fields and not self.keep
            field = self.schema.fields.get(key)
            if (key in before or added) and field_is_extra(None, now[key], field, self.schema):
                yield key, None

    def _with_additions(self, key: str, value: Value, before: Sequence[Value]) -> Value:
        """The value with values or languages that others added. before: what attempts of ours wrote."""
        now, field = self.actual.fields.get(key), self.schema.fields.get(key)
        if not self.keep or now is None:
            return value
        held, former = as_held(value, field, self.schema), [as_held(each, field, self.schema) for each in before]
        if isinstance(held, Localized) and isinstance(now, Localized):
            ours = frozenset().union(*(each.texts for each in former if isinstance(each, Localized)))
            more = {locale: text for locale, text in now.texts.items() if locale not in (*held.texts, *ours)}
            return Localized({**held.texts, **more}) if more else value
        if isinstance(value, tuple) and isinstance(now, tuple) and not any(isinstance(row, Row) for row in value):
            known = {*canonical(held), *(text for each in former for text in canonical(each))}
            more_rows: tuple[Scalar, ...] = tuple(row for row in now if not known.intersection(canonical(row)))
            return (*value, *more_rows)
        return value

    def _misplaced(self, now: frozenset[Placement], extras: Extras, wanted: Patch) -> frozenset[Placement]:
        """Containers to leave: those we put it into before, those of a kind limited to one, and all
        that others put it into where nobody may."""
        kinds = {place.kind for place in self.draft.placements}
        single = {kind for kind, most in self.schema.container_most.items() if most == 1 and kind in kinds}
        moved = {place for place in extras.placements if place.kind in single or not self.keep}
        gone = {(place.kind, place.id) for place in wanted.placements_remove if place.id}  # others may have renamed it
        gone -= {(place.kind, place.id) for place in self.draft.placements}
        left = (place for place in now if place in wanted.placements_remove or (place.kind, place.id) in gone)
        return frozenset(moved) | frozenset(left)

    def _status(self) -> str | None:
        return self.draft.status if status_differs(self.draft.status, self.actual) else None

    def _rights(self, extras: Extras) -> tuple[Rights | None, frozenset[str]]:
        """The complete rights if one of them is to change, and the dates to be cleared."""
        ours, theirs = self.draft.rights, self.actual.rights
        before = [rights_from_json(state["rights"]) for state in self.states]
        added = extras.groups.difference(*(each.groups for each in before))
        kept = added if self.keep else frozenset()
        gone = (extras.groups - kept) if ours.groups else frozenset()
        cleared = {name for name, attribute in DATES.items() if self._clears(name, attribute, before)}
        dates = {
            attribute: getattr(ours, attribute) or (None if name in cleared else getattr(theirs, attribute))
            for name, attribute in DATES.items()
        }
        wrong = [name for name, attribute in DATES.items() if self._differs(attribute)]
        missing = ours.groups - theirs.groups or ours.restrictions - theirs.restrictions
        if not (wrong or cleared or gone or missing):
            return None, frozenset()
        groups = ours.groups | kept if ours.groups else frozenset()
        return Rights(dates["release_at"], dates["expires_at"], groups, ours.restrictions), frozenset(cleared)

    def _differs(self, attribute: str) -> bool:
        want, have = getattr(self.draft.rights, attribute), getattr(self.actual.rights, attribute)
        return date_differs(want, have, self.limits.precision)

    def _clears(self, name: str, attribute: str, before: Sequence[Rights]) -> bool:
        """Whether a date that the draft lacks has to be removed."""
        extra = date_is_extra(name, getattr(self.draft.rights, attribute), self.actual, self.defaults)
        wrote = any(getattr(each, attribute) is not None for each in before)
        return extra and (wrote or (name in self.scope.dates and not self.keep))


DATES: Mapping[str, str] = {"release": "release_at", "expiry": "expires_at"}
GROUPS = "groups"


def repaired_paths(patch: Patch, base: Patch, settled: Patch, theirs: Rights) -> list[str]:
    """The parts of a patch that restore what others changed: all that a normal update (`base`, and `settled` without
    what would write over changes of others) would not have written. theirs: the rights at the target."""
    paths = [f"fields.{key}" for key in sorted(patch.fields) if key not in base.fields]
    pairs = (
        ("filename", patch.filename is not None and base.filename is None),
        ("status", patch.status is not None and base.status is None),
        ("tags", bool(patch.tags_add - base.tags_add or patch.tags_remove - base.tags_remove)),
        ("placements", bool(_moves(patch) - _moves(base))),
        ("visibility", patch.closed is not None and base.closed is None),
        ("rights", patch.rights is not None and (base.rights is None or _restores(patch.rights, settled, theirs))),
    )
    return paths + [path for path, repaired in pairs if repaired]


def _restores(written: Rights, settled: Patch, theirs: Rights) -> bool:
    """Whether rights, which are written as a whole, contain what others changed and a normal update leaves."""
    kept = settled.rights or theirs
    return any(
        getattr(written, name) not in (getattr(kept, name), getattr(theirs, name)) for name in (*DATES.values(), GROUPS)
    )


def _moves(patch: Patch) -> set[tuple[bool, Placement]]:
    return {(True, place) for place in patch.placements_add} | {(False, place) for place in patch.placements_remove}
