"""Whether a target has what a draft says, and what it has in addition. Pure: values are compared by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import permutations

from dam_sync.engine.compare.facts import Scope
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.verification.patterns import ADDED, MISSING, OTHER, pattern_of
from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.audience import RestrictionKind
from dam_sync.model.canonical import canonical, told_apart
from dam_sync.model.limits import Limits
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import (
    Json,
    Localized,
    Scalar,
    Value,
    instant_text,
    value_from_json,
)

ARRIVAL = timedelta(hours=1)  # within which a release date may be set by the upload of the asset


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


def differences(draft: Draft, actual: Asset, schema: Schema, limits: Limits) -> list[Difference]:
    """Everything in a draft that the asset does not have; empty if they agree. A closed asset has another
    status and other rights than its draft says."""
    actual = with_names(actual, schema, draft.tags)
    return [
        *_text_difference("filename", draft.filename, actual.filename if draft.filename else ""),
        *(() if draft.closed else _status_difference(draft.status, actual)),
        *_field_differences(draft.fields, actual.fields, schema),
        *_set_difference("tags", draft.tags, actual.tags),
        *_set_difference("placements", _places(draft.placements), _places(actual.placements)),
        *(() if draft.closed else _rights_differences(draft, actual, limits.precision)),
    ]


def extras(draft: Draft, actual: Asset, schema: Schema, scope: Scope, defaults: Defaults) -> list[Difference]:
    """What the asset has in addition to the draft, in the parts that the mapping writes. A place that already differs
    is not repeated here."""
    more = Extras.of(draft, with_names(actual, schema, draft.tags), scope, defaults)
    return [
        *_field_extras(draft.fields, actual.fields, schema, scope.fields),
        *_set_extras("tags", draft.tags, more.tags),
        *_set_extras("placements", _places(draft.placements), _places(more.placements)),
        *_set_extras("groups", draft.rights.groups, more.groups),
        *(() if draft.closed else _date_extras(draft, actual, scope.dates, defaults)),
    ]


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


def foreign_edits(
    before: Sequence[Mapping[str, Json]], wanted: Mapping[str, Value | None], actual: Asset, schema: Schema
) -> list[str]:
    """Fields about to become `wanted` whose current value is none of those we wrote or intended to write `before`. A
    value that is already as wanted was written by us before a crash, or by somebody who wants the same: no edit is
    lost. Several `before`: an interrupted write intended the later ones, and may have stored a list in part."""
    wrote = [{key: value_from_json(value) for key, value in state.items()} for state in before]
    edited = []
    for key in sorted(wanted):
        field = schema.fields.get(key)
        ours = [as_held(state.get(key), field, schema) for state in (*wrote, wanted)]
        now = actual.fields.get(key)
        if field is not None and not _is_one_of(now, ours) and not (len(wrote) > 1 and is_between(now, ours)):
            edited.append(key)
    return edited


def is_between(now: Value | None, ours: Sequence[Value | None]) -> bool:
    """Whether a list has all values that these lists share and none beyond them: some services write each value by a
    call of its own."""
    if not any(isinstance(each, tuple) for each in ours) or not isinstance(now, tuple | None):
        return False
    return is_mixture(frozenset(canonical(now)), [frozenset(canonical(each)) for each in ours])


def is_mixture(now: frozenset[Json], ours: Sequence[frozenset[Json]]) -> bool:
    """Whether a set has everything that these sets share and nothing beyond them."""
    return frozenset.intersection(*ours) <= now <= frozenset.union(*ours)


def _is_one_of(now: Value | None, ours: Sequence[Value | None]) -> bool:
    """Whether a value is one of these, or a text whose languages each are: some services write them one by one."""
    if canonical(now) in [canonical(each) for each in ours]:
        return True
    if not isinstance(now, Localized):
        return False
    wrote = [each.texts for each in ours if isinstance(each, Localized)]
    wrote += [{}] * (None in ours)
    return all(
        now.texts.get(locale, "") in {texts.get(locale, "") for texts in wrote}
        for locale in {*now.texts, *(locale for texts in wrote for locale in texts)}
    )


def as_held(value: Value | None, field: Field | None, schema: Schema) -> Value | None:
    """A value of a draft as the target stores it: text written to a field in several languages is in the first."""
    if field is None or not field.localized or not schema.locales or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(_in_language(each, schema.locales[0]) for each in value)
    return _in_language(value, schema.locales[0])


def _in_language(value: Scalar, locale: str) -> Scalar:
    return Localized({locale: value}) if isinstance(value, str) and value else value


def _held_texts(value: Value | None, field: Field | None, schema: Schema) -> list[str]:
    texts = canonical(as_held(value, field, schema))
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
    if field is not None and field.kind is FieldKind.FLAG and have == ["false"]:
        return False  # an unticked checkbox: some services return it for every asset
    return is_added_to(expected, now, field, schema) if expected is not None else bool(have)


def _field_differences(
    expected: Mapping[str, Value], actual: Mapping[str, Value], schema: Schema
) -> Iterator[Difference]:
    for key, value in expected.items():
        field, now = schema.fields.get(key), actual.get(key)
        if field_differs(value, now, field, schema):
            want, have = _texts_of_both(value, now, field, schema)
            pattern = pattern_of(want, have, localized=_is_localized(value, now))
            yield Difference(f"fields.{key}", _cut(want), _cut(have), pattern=pattern)


def _field_extras(
    expected: Mapping[str, Value], actual: Mapping[str, Value], schema: Schema, written: frozenset[str]
) -> Iterator[Difference]:
    for key in sorted(written & actual.keys()):
        field, now = schema.fields.get(key), actual[key]
        if field_is_extra(expected.get(key), now, field, schema):
            want, have = _texts_of_both(expected.get(key), now, field, schema)
            more = [text for text in have if text not in want]
            yield Difference(f"fields.{key}", _cut(want), _cut(more), extra=True, pattern=ADDED)


def _set_difference(path: str, expected: frozenset[str], actual: frozenset[str]) -> Iterator[Difference]:
    missing = expected - actual
    if missing:
        yield Difference(path, _cut(sorted(missing)), _cut(sorted(actual)), pattern=_of_members(MISSING, path, missing))


def _set_extras(path: str, expected: frozenset[str], more: frozenset[str]) -> Iterator[Difference]:
    if more:
        found = _of_members(ADDED, path, more)
        yield Difference(path, _cut(sorted(expected)), _cut(sorted(more)), extra=True, pattern=found)


def _of_members(pattern: str, path: str, members: frozenset[str]) -> str:
    """The pattern of memberships names the kinds of container."""
    kinds = sorted({member.partition(":")[0] for member in members}) if path == "placements" else []
    return f"{', '.join(kinds)} {pattern}" if kinds else pattern


def _is_localized(*values: Value | None) -> bool:
    return any(isinstance(value, Localized) for value in values)


def _rights_differences(draft: Draft, actual: Asset, precision: timedelta) -> Iterator[Difference]:
    yield from _set_difference("groups", draft.rights.groups, actual.rights.groups)
    sides = (draft.rights.restrictions, actual.rights.restrictions)
    ours, theirs = (frozenset(f"{one.kind} {one.detail}".strip() for one in side) for side in sides)
    yield from _set_difference("restrictions", ours, theirs)
    for path, want, have in _dates(draft, actual):
        if want is not None and date_differs(want, have, precision):
            texts = instant_text(want), instant_text(have) if have else ""
            yield Difference(path, *texts, pattern=pattern_of(texts[:1], [text for text in texts[1:] if text]))


def date_differs(want: datetime | None, have: datetime | None, precision: timedelta) -> bool:
    """Whether an expected date is missing or different."""
    return want is not None and (have is None or abs(want - have) >= max(precision, timedelta(seconds=1)))


def date_is_extra(path: str, want: datetime | None, actual: Asset, defaults: Defaults = NO_DEFAULTS) -> bool:
    """Whether there is an unexpected release or expiry date."""
    have = actual.rights.release_at if path == "release" else actual.rights.expires_at
    if want is not None or have is None:
        return False
    return path != "release" or not is_arrival(have, actual, defaults.released)


def _date_extras(draft: Draft, actual: Asset, written: Iterable[str], defaults: Defaults) -> Iterator[Difference]:
    for path, want, have in _dates(draft, actual):
        if have is not None and path in written and date_is_extra(path, want, actual, defaults):
            yield Difference(path, "", instant_text(have), extra=True, pattern=ADDED)


def is_arrival(moment: datetime, actual: Asset, until: datetime | None = None) -> bool:
    """Whether the service itself set this date when the asset was uploaded, such as that of its release. until: or
    later."""
    arrivals = [came for came in (actual.imported_at, actual.created_at) if came is not None]
    return any(abs(moment - came) < ARRIVAL or (until and came <= moment <= until) for came in arrivals)


def _dates(draft: Draft, actual: Asset) -> tuple[tuple[str, datetime | None, datetime | None], ...]:
    return (
        ("release", draft.rights.release_at, actual.rights.release_at),
        ("expiry", draft.rights.expires_at, actual.rights.expires_at),
    )


def _status_difference(want: str, actual: Asset) -> Iterator[Difference]:
    if status_differs(want, actual):
        have = actual.substatus or actual.status
        yield Difference("status", want, have, pattern=f"{have} instead of {want}")


def status_differs(want: str, actual: Asset) -> bool:
    """A draft may name a status or one of the tenant's own below it."""
    return bool(want) and want.casefold() not in (actual.status.casefold(), actual.substatus.casefold())


def statuses_between(statuses: Iterable[str], schema: Schema) -> frozenset[str]:
    """Statuses that an asset has while it is given one of these in place of another, in lower case: a killed attempt
    may have left it with one of them."""
    known = {status.casefold() for status in statuses}
    passed = (schema.status_ways.get(way, ()) for way in permutations(known, 2))
    return frozenset(status.casefold() for each in passed for status in each)


def _text_difference(path: str, want: str, have: str) -> Iterator[Difference]:
    if want != have:
        yield Difference(path, _cut([want]), _cut([have]), pattern=pattern_of([want], [have]))


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


def is_seen_by_nobody(actual: Asset) -> bool:
    """Whether it has no release date, without which its service shows it to nobody."""
    return any(one.kind is RestrictionKind.UNRELEASED for one in actual.rights.restrictions)


def hidden_instead(context: RunContext, actual: Asset, draft: Draft) -> list[Difference]:
    """What is said of an asset that is to be seen by everybody and is seen by nobody, in place of its groups."""
    if not is_seen_by_nobody(actual) or actual.rights.groups or not _is_for_everybody(context, draft):
        return []
    if draft.rights.release_at is not None:  # then the date is missing
        return []
    return [Difference("release", "released", "no release date: nobody sees it", pattern="hidden")]


def with_everybody(context: RunContext, actual: Asset, *drafts: Draft, hidden: bool = False) -> Asset:
    """With the groups of the first of these drafts that stand for everybody: an asset of such a group is read as one
    that names no group. One that is seen by nobody has none of them, unless `hidden`."""
    if actual.rights.groups or (is_seen_by_nobody(actual) and not hidden):
        return actual
    open_to = (draft.rights.groups for draft in drafts if draft.rights.groups and _is_for_everybody(context, draft))
    return replace(actual, rights=replace(actual.rights, groups=next(open_to, frozenset())))


def _is_for_everybody(context: RunContext, draft: Draft) -> bool:
    """Whether the rights of a draft, once written, let everybody in who can use the tenant."""
    return context.target.audience(draft).groups is None


def _places(placements: frozenset[Placement]) -> frozenset[str]:
    return frozenset(f"{p.kind}:{p.text}" for p in placements)


def _cut(texts: Sequence[str]) -> str:
    joined = "; ".join(texts)
    return joined if len(joined) <= 200 else joined[:197] + "…"


def defaults_of(context: RunContext, draft: Draft) -> Defaults:
    """What the target gives an asset of this draft by default."""
    groups = context.target.audience(draft).groups or frozenset()
    schema = context.target_schema
    return Defaults(groups, schema.container_default, context.time.earliest() if schema.always_released else None)
