"""Whether a target has what a draft says, and what it has in addition. Pure: values are compared by meaning."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from dam_sync.engine.compare.atoms import WHOLE, Atoms, as_stored, tag_key
from dam_sync.engine.compare.comparison import Comparison
from dam_sync.engine.compare.facts import ARRIVAL, Scope
from dam_sync.engine.compare.parts import GROUPS, RESTRICTIONS, STATUS, TAGS, PartView
from dam_sync.engine.compare.patterns import ADDED, MISSING, OTHER, pattern_of
from dam_sync.model.asset import Asset, Draft, Placement, path_text
from dam_sync.model.canonical import canonical, told_apart
from dam_sync.model.conflict import FIELDS, PLACEMENTS
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import (
    Localized,
    Value,
    instant_text,
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the target is not as expected; texts are truncated for reports. extra: it has everything that is
    expected there, and `found` in addition. pattern: in what way it differs, in a few words."""

    path: str
    expected: str
    found: str
    extra: bool = False
    pattern: str = OTHER


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the target gives an asset by itself where a draft says nothing, which nobody added. released: a release date
    between the arrival of the asset and this moment is such a default; None if only that of the arrival is."""

    groups: frozenset[str] = frozenset()
    placements: frozenset[Placement] = frozenset()
    released: datetime | None = None


NO_DEFAULTS = Defaults()


def differences_of(found: Comparison, draft: Draft, seen: Asset, schema: Schema) -> list[Difference]:
    """Everything in a draft that the asset does not have, then what the asset has in addition, in the parts that the
    mapping writes. found: their comparison; files are not among them."""
    parts = {path: part.view for path, part in found.parts.items() if not part.same and part.view is not None}
    places = [view for path, view in parts.items() if path.startswith(PLACEMENTS)]
    rows = [_of_places(places, seen)] if places else []
    for path, view in parts.items():
        if path.startswith(FIELDS):
            rows.append(_of_field(path, view, draft, seen))
        elif path == TAGS:
            rows.append(_of_tags(view, draft, seen, schema))
        elif path == GROUPS:
            rows.append(_of_groups(view, draft, seen))
        elif not path.startswith(PLACEMENTS) and view.wanted is not None:
            rows.append(_of_one(path, view, seen))
    return [one for row in rows for one in row[0]] + [one for row in rows for one in row[1]]


Found: TypeAlias = tuple[list[Difference], list[Difference]]
"""Differences, and additions."""


def _of_field(path: str, view: PartView, draft: Draft, seen: Asset) -> Found:
    wanted, now = view.wanted or {}, view.now
    want, have = _texts(wanted), _texts(now)
    if any(now.get(key) != token or key not in now for key, token in wanted.items()):
        key = path.removeprefix(FIELDS)
        pattern = pattern_of(want, have, localized=_is_localized(draft.fields.get(key), seen.fields.get(key)))
        return [Difference(path, _cut(want), _cut(have), pattern=pattern)], []
    more = [text for text in have if text not in want]
    return [], [Difference(path, _cut(want), _cut(more), extra=True, pattern=ADDED)]


def _texts(atoms: Atoms) -> list[str]:
    """The atoms of a value as texts, languages before their texts."""
    if WHOLE in atoms:
        whole = atoms[WHOLE]
        return [str(each) for each in whole] if isinstance(whole, tuple) else [str(whole)]
    return sorted(str(key) if token is True else f"{key}:{token}" for key, token in atoms.items())


def _of_tags(view: PartView, draft: Draft, seen: Asset, schema: Schema) -> Found:
    ours, theirs = ({tag_key(tag, schema): tag for tag in sorted(tags)} for tags in (draft.tags, seen.tags))
    missing, more = _lacking(view)
    there = [ours.get(key, tag) for key, tag in theirs.items()]
    return _of_sets(TAGS, [ours[str(key)] for key in missing], ours.values(), [theirs[str(key)] for key in more], there)


def _of_places(views: Sequence[PartView], seen: Asset) -> Found:
    """Of all kinds of containers together."""
    missing, more, wanted = list[str](), list[str](), list[str]()
    for view in views:
        kind = view.path.removeprefix(PLACEMENTS)
        lacks, besides = _lacking(view)
        missing += [_place(kind, key) for key in lacks]
        more += [_place(kind, key) for key in besides]
        wanted += [_place(kind, key) for key in view.wanted or {}]
    there = [f"{place.kind}:{place.text}" for place in seen.placements]
    return _of_sets(PLACEMENTS.rstrip("."), missing, wanted, more, there)


def _place(kind: str, key: Hashable) -> str:
    return f"{kind}:{path_text(key)}" if isinstance(key, tuple) else f"{kind}:{key}"


def _of_groups(view: PartView, draft: Draft, seen: Asset) -> Found:
    """By member also where they were compared as one value."""
    ours, theirs = draft.rights.groups, seen.rights.groups
    given = frozenset() if ours else frozenset(key for key, _ in view.given)
    return _of_sets(GROUPS, ours - theirs, ours, theirs - ours - given, theirs)


def _of_sets(
    path: str, missing: Collection[str], wanted: Iterable[str], more: Collection[str], there: Iterable[str]
) -> Found:
    lacks, besides = frozenset(missing), frozenset(more)
    pattern = _of_members(MISSING, path, lacks), _of_members(ADDED, path, besides)
    found = [Difference(path, _cut(sorted(lacks)), _cut(sorted(there)), pattern=pattern[0])] if lacks else []
    extra = Difference(path, _cut(sorted(wanted)), _cut(sorted(besides)), extra=True, pattern=pattern[1])
    return found, [extra] if besides else []


def _lacking(view: PartView) -> tuple[list[Hashable], list[Hashable]]:
    """Members that the target lacks, and those that it has in addition."""
    wanted = view.wanted or {}
    given = frozenset() if wanted else view.given
    missing = [] if view.more else [key for key in wanted if key not in view.now]
    more = [] if view.less else [key for key in view.now if key not in wanted and (key, view.now[key]) not in given]
    return missing, more


def _of_one(path: str, view: PartView, seen: Asset) -> Found:
    """Of a value that is one: a file name, a status, a date; and of restrictions, of which only missing ones count."""
    if path == RESTRICTIONS:
        missing, _ = _lacking(view)
        return _of_sets(path, [str(key) for key in missing], (), (), map(str, view.now))
    want, have = (_shown((atoms or {}).get(WHOLE)) for atoms in (view.wanted, view.now))
    if path == STATUS:
        have = seen.substatus or seen.status
        return [Difference(path, want, have, pattern=f"{have} instead of {want}")], []
    if not want:
        return [], [Difference(path, "", have, extra=True, pattern=ADDED)]
    return [Difference(path, want, have, pattern=pattern_of([want], [have] if have else []))], []


def _shown(value: Hashable) -> str:
    return instant_text(value) if isinstance(value, datetime) else str(value or "")


@dataclass(frozen=True, slots=True)
class Extras:
    """Members of sets that the target has in addition."""

    tags: frozenset[str]
    placements: frozenset[Placement]
    groups: frozenset[str]

    @classmethod
    def of(cls, draft: Draft, actual: Asset, scope: Scope, defaults: Defaults) -> Extras:
        """Additions in the parts that the mapping writes, except defaults of the target where the draft has none."""
        kinds = {place.kind for place in draft.placements}
        given = {place for place in defaults.placements if place.kind not in kinds}
        held = {place for place in actual.placements - draft.placements if place.kind in scope.containers}
        compared = scope.groups and not draft.closed
        groups = actual.rights.groups - draft.rights.groups if compared else frozenset()
        return cls(
            tags=actual.tags - draft.tags if scope.tags else frozenset(),
            placements=frozenset(held - given),
            groups=groups if draft.rights.groups else groups - defaults.groups - actual.inherited_groups,
        )


def as_held(value: Value | None, field: Field | None, schema: Schema) -> Value | None:
    """A value of a draft as the target stores it: text written to a field in several languages is in the first."""
    return value if field is None else as_stored(value, field, schema)


def _held_texts(value: Value | None, field: Field | None, schema: Schema) -> list[str]:
    texts = canonical(as_held(value, field, schema))
    if field is not None and field.kind is FieldKind.FLAG and texts == ["false"]:
        return []  # an unticked checkbox: some services return it for every asset, and others for none
    return [text[:10] for text in texts] if field is not None and field.kind is FieldKind.DATE else texts


def _texts_of_both(
    expected: Value | None, now: Value | None, field: Field | None, schema: Schema
) -> tuple[list[str], list[str]]:
    """Both as texts, by which they are compared: terms of a tree that have one label are other ones."""
    known = schema.vocabularies.get(field.vocabulary) if field is not None and field.vocabulary else None
    if known is not None and known.hierarchical:
        expected, now = told_apart(expected, now)
    return _held_texts(expected, field, schema), _held_texts(now, field, schema)


def is_added_to(expected: Value, have: Value | None, field: Field | None, schema: Schema) -> bool:
    """Whether a field has everything it should, and more: further values, or further languages."""
    want, found = map(frozenset, _texts_of_both(expected, have, field, schema))
    several = isinstance(have, tuple | Localized)
    return several and want < found


def field_differs(expected: Value, now: Value | None, field: Field | None, schema: Schema) -> bool:
    """Whether a field lacks something of what it should have, or has something else instead."""
    want, have = _texts_of_both(expected, now, field, schema)
    return want != have and not is_added_to(expected, now, field, schema)


def field_is_extra(expected: Value | None, now: Value | None, field: Field | None, schema: Schema) -> bool:
    """Whether a field has more than it should, and everything that it should."""
    have = _held_texts(now, field, schema)
    return is_added_to(expected, now, field, schema) if expected is not None else bool(have)


def _of_members(pattern: str, path: str, members: frozenset[str]) -> str:
    """The pattern of memberships names the kinds of container."""
    kinds = sorted({member.partition(":")[0] for member in members}) if path == "placements" else []
    return f"{', '.join(kinds)} {pattern}" if kinds else pattern


def _is_localized(*values: Value | None) -> bool:
    return any(isinstance(value, Localized) for value in values)


def date_differs(want: datetime | None, have: datetime | None, precision: timedelta) -> bool:
    """Whether an expected date is missing or different."""
    return want is not None and (have is None or abs(want - have) >= max(precision, timedelta(seconds=1)))


def date_is_extra(path: str, want: datetime | None, actual: Asset, defaults: Defaults = NO_DEFAULTS) -> bool:
    """Whether there is an unexpected release or expiry date."""
    have = actual.rights.release_at if path == "release" else actual.rights.expires_at
    if want is not None or have is None:
        return False
    return path != "release" or not is_arrival(have, actual, defaults.released)


def is_arrival(moment: datetime, actual: Asset, until: datetime | None = None) -> bool:
    """Whether the service itself set this date when the asset was uploaded, such as that of its release. until: or
    later."""
    arrivals = [came for came in (actual.imported_at, actual.created_at) if came is not None]
    return any(abs(moment - came) < ARRIVAL or (until and came <= moment <= until) for came in arrivals)


def status_differs(want: str, actual: Asset) -> bool:
    """A draft may name a status or one of the tenant's own below it."""
    return bool(want) and want.casefold() not in (actual.status.casefold(), actual.substatus.casefold())


def with_names(actual: Asset, schema: Schema, tags: Iterable[str]) -> Asset:
    """With containers renamed as the target requires, so that one renamed by people counts as the same; with tags in
    the spelling of `tags`, because a target may keep one tag for two Unicode forms of it, or for two cases."""
    actual = replace(actual, tags=_spelled(actual.tags, tags, fold=schema.folds_tags))
    if schema.naming is None:
        return actual
    return replace(actual, placements=frozenset(map(schema.naming.place, actual.placements)))


def _spelled(held: frozenset[str], wanted: Iterable[str], *, fold: bool) -> frozenset[str]:
    """Of tags that are the same to the target as wanted ones, the wanted forms; the others as they are."""

    def plain(tag: str) -> str:
        composed = nfc(tag)
        return composed.casefold() if fold else composed

    forms: dict[str, set[str]] = {}
    for tag in wanted:
        forms.setdefault(plain(tag), set()).add(tag)
    return frozenset(form for tag in held for form in forms.get(plain(tag), {tag}))


def with_unsure(actual: Asset, wanted: frozenset[Placement], unsure: frozenset[Placement], schema: Schema) -> Asset:
    """In those of the containers in which it may be, too, that are wanted: whether it is cannot be seen."""
    known = unsure if schema.naming is None else frozenset(map(schema.naming.place, unsure))
    return replace(actual, placements=actual.placements | {place for place in known if place in wanted})


def _cut(texts: Sequence[str]) -> str:
    joined = "; ".join(texts)
    return joined if len(joined) <= 200 else joined[:197] + "…"
