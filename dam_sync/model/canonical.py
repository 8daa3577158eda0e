"""Values of fields as texts: to compare them by meaning, and to show them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, Value, instant_text


def canonical(value: Value | None) -> list[str]:
    """A value as sorted texts: empty for nothing, one for a single value; equal lists mean equal values. Equal values
    of one field are one: some services merge them. Whitespace counts."""
    if value is None:
        return []
    rows = value if isinstance(value, tuple) else (value,)
    return sorted({text for row in rows for text in _texts(row) if text})


def told_apart(*values: Value | None) -> tuple[Value | None, ...]:
    """Values to be compared: terms of one label that are other ones by their ids have these behind the label. Where one
    has no id, the label decides."""
    found: dict[str, list[set[str]]] = {}
    for value in values:
        for label, ids in _ids_of(value).items():
            found.setdefault(label, []).append(ids)
    twins = {label for label, sides in found.items() if any(ids != sides[0] for ids in sides)}
    twins = {label for label in twins if not any("" in ids for ids in found[label])}
    return tuple(_with_ids(value, twins) for value in values) if twins else values


def _ids_of(value: Value | None) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in value if isinstance(value, tuple) else (value,):
        if isinstance(row, Term):
            found.setdefault(row.label, set()).add(row.id)
    return found


def _with_ids(value: Value | None, labels: Container[str]) -> Value | None:
    if isinstance(value, tuple):
        return tuple(_with_id(row, labels) for row in value)
    return None if value is None else _with_id(value, labels)


def _with_id(row: Scalar, labels: Container[str]) -> Scalar:
    return replace(row, label=f"{row.label} ({row.id})") if isinstance(row, Term) and row.label in labels else row


def _texts(row: Scalar) -> Iterator[str]:
    match row:
        case Localized(texts):
            yield from (f"{locale}:{text}" for locale, text in texts.items() if text)
        case Row(cells):
            yield "|".join(f"{key}={canonical(cell)}" for key, cell in sorted(cells.items()))
        case GeoPoint():
            numbers = ("" if each is None else _plain(each) for each in (row.latitude, row.longitude))
            yield "/".join((*numbers, row.address))
        case Term() | Person():
            yield row.label if isinstance(row, Term) else row.name
        case _:
            yield _plain(row)


def _plain(row: str | bool | int | float | date | datetime) -> str:
    if isinstance(row, bool):
        return str(row).lower()
    if isinstance(row, datetime):
        return instant_text(row.replace(microsecond=0))
    if isinstance(row, date):
        return row.isoformat()
    if isinstance(row, float) and row.is_integer():  # as written; the digits of the binary value are other ones
        return format(Decimal(repr(row or 0)), "f").removesuffix(".0")
    return str(row)
