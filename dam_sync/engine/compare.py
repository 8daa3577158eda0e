"""Whether a target holds what a draft said: values compared for what they mean, not for how they are spelt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.limits import Limits
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.values import (
    Json,
    Localized,
    Person,
    Place,
    Row,
    Scalar,
    Term,
    Value,
    instant_text,
    value_from_json,
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a side is not as it should be. Texts are cut for people."""

    path: str
    expected: str
    found: str


def differences(draft: Draft, actual: Asset, schema: Schema, limits: Limits) -> list[Difference]:
    """Everything a draft names that the asset does not hold so; empty when they agree."""
    return [
        *_text_difference("filename", draft.filename, actual.filename if draft.filename else ""),
        *_status_difference(draft.status, actual),
        *_field_differences(draft.fields, actual.fields, schema),
        *_set_difference("tags", draft.tags, actual.tags),
        *_set_difference("placements", _places(draft.placements), _places(actual.placements)),
        *_rights_differences(draft, actual, limits.precision),
    ]


def foreign_edits(
    before: Sequence[Mapping[str, Json]], wanted: Mapping[str, Value | None], actual: Asset, schema: Schema
) -> list[str]:
    """Fields about to become `wanted` that are none of what we wrote or meant to write `before`. One that is as wanted
    already was written by us before a crash, or by somebody who wants the same: no edit is lost."""
    wrote = [{key: value_from_json(value) for key, value in state.items()} for state in before]
    edited = []
    for key in sorted(wanted):
        ours = [state.get(key) for state in (*wrote, wanted)]
        if not _is_one_of(actual.fields.get(key), ours) and _known(schema, key):
            edited.append(key)
    return edited


def _is_one_of(now: Value | None, ours: Sequence[Value | None]) -> bool:
    """Whether a value is one of these, or a text whose languages each are: some services write them one by one."""
    if canonical(now) in [canonical(each) for each in ours]:
        return True
    if not isinstance(now, Localized):
        return False
    wrote = [each.texts for each in ours if isinstance(each, Localized)]
    wrote += [{}] * (None in ours)
    return all(
        now.texts.get(locale, "").strip() in {texts.get(locale, "").strip() for texts in wrote}
        for locale in {*now.texts, *(locale for texts in wrote for locale in texts)}
    )


def canonical(value: Value | None) -> list[str]:
    """A value as sorted texts: empty for nothing, one for a single value; equal lists mean equal values."""
    if value is None:
        return []
    rows = value if isinstance(value, tuple) else (value,)
    return sorted(text for row in rows for text in _texts(row) if text)


def _texts(row: Scalar) -> Iterator[str]:
    match row:
        case Localized(texts):
            yield from (f"{locale}:{text.strip()}" for locale, text in texts.items() if text.strip())
        case Row(cells):
            yield "|".join(f"{key}={canonical(cell)}" for key, cell in sorted(cells.items()))
        case Place():
            yield f"{row.latitude}/{row.longitude}/{row.address}"
        case Term() | Person():
            yield (row.label if isinstance(row, Term) else row.name).strip()
        case _:
            yield _plain(row)


def _plain(row: str | bool | int | float | date | datetime) -> str:
    if isinstance(row, bool):
        return str(row).lower()
    if isinstance(row, datetime):
        return instant_text(row.replace(microsecond=0))
    if isinstance(row, date):
        return row.isoformat()
    if isinstance(row, float) and row.is_integer():
        return str(int(row))
    return str(row).strip()


def _field_differences(
    expected: Mapping[str, Value], actual: Mapping[str, Value], schema: Schema
) -> Iterator[Difference]:
    for key, value in expected.items():
        want, have = canonical(value), canonical(actual.get(key))
        field = schema.fields.get(key)
        if field is not None and field.kind is FieldKind.DATE:
            want, have = [text[:10] for text in want], [text[:10] for text in have]
        if want != have:
            yield Difference(f"fields.{key}", _cut(want), _cut(have))


def _set_difference(path: str, expected: frozenset[str], actual: frozenset[str]) -> Iterator[Difference]:
    """What is missing; what a profile or a person added besides is not a difference."""
    missing = expected - actual
    if missing:
        yield Difference(path, _cut(sorted(missing)), _cut(sorted(actual)))


def _rights_differences(draft: Draft, actual: Asset, precision: timedelta) -> Iterator[Difference]:
    yield from _set_difference("groups", draft.rights.groups, actual.rights.groups)
    pairs = (
        ("release", draft.rights.release_at, actual.rights.release_at),
        ("expiry", draft.rights.expires_at, actual.rights.expires_at),
    )
    for path, want, have in pairs:
        if want is not None and (have is None or abs(want - have) >= max(precision, timedelta(seconds=1))):
            yield Difference(path, instant_text(want), instant_text(have) if have else "")


def _status_difference(want: str, actual: Asset) -> Iterator[Difference]:
    """A draft may name a status or one of the tenant's own below it."""
    if want and want.casefold() not in (actual.status.casefold(), actual.substatus.casefold()):
        yield Difference("status", want, actual.substatus or actual.status)


def _text_difference(path: str, want: str, have: str) -> Iterator[Difference]:
    if want != have:
        yield Difference(path, _cut([want]), _cut([have]))


def _places(placements: frozenset[Placement]) -> frozenset[str]:
    return frozenset(f"{p.kind}:{p.text}" for p in placements)


def _known(schema: Schema, key: str) -> bool:
    return key in schema.fields


def _cut(texts: list[str]) -> str:
    joined = "; ".join(texts)
    return joined if len(joined) <= 200 else joined[:197] + "…"
