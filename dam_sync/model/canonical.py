"""Values of fields as texts: to compare them by meaning, and to show them."""

from __future__ import annotations

from collections.abc import Iterator
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
