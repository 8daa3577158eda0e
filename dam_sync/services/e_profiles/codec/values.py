"""Values of service E: always arrays of strings on the wire, typed by their field in the neutral model."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import assert_never

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import InvalidValue
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import (
    GeoPoint,
    Json,
    Localized,
    Person,
    Row,
    Scalar,
    Term,
    Value,
    instant_text,
    parse_instant,
)
from dam_sync.services.e_profiles.codec.fields import NO, YES, ProfilesField

WHOLE = re.compile(r"-?(0|[1-9]\d*)")
DECIMAL = re.compile(r"-?(0|[1-9]\d*)\.\d+")


# -- reading -----------------------------------------------------------------------------------------------------------


@interprets_response
def decode(info: ProfilesField, texts: Json) -> Value | None:
    """The value of one field; None when it is empty. Several texts in a single-valued field are all kept."""
    rows = [str(text) for text in texts or () if text is not None and str(text) != ""]
    if info.kind is FieldKind.FLAG:
        return _flag(info, rows)
    values = tuple(_scalar(info.kind, text) for text in rows)
    if not values:
        return None
    return values if info.multiple or len(values) > 1 else values[0]


def _flag(info: ProfilesField, rows: list[str]) -> Value | None:
    if rows == [info.ticked]:
        return True
    if rows and rows != [info.unticked]:
        return tuple(rows)
    return False if rows or not info.unticked else None


def _scalar(kind: FieldKind, text: str) -> Scalar:
    match kind:
        case FieldKind.DATE:
            return _day(text)
        case FieldKind.NUMBER:
            return _number(text)
        case FieldKind.TERM:
            return term_of(text)
        case _:
            return text


def term_of(text: str) -> Term:
    """A value of a list: its text is its identity."""
    return Term(text, id=text, path=(text,))


def _day(text: str) -> Scalar:
    """A date; with a time only where that is not midnight; text that is not a date stays text (wire E 3.1)."""
    try:
        if len(text) == len("2022-06-19"):
            return date.fromisoformat(text)
        moment = parse_instant(text)
    except ValueError:
        return text
    return moment if moment.time() != datetime.min.time() else moment.date()


def _number(text: str) -> Scalar:
    """A number where nothing of its spelling is lost by that, else the text."""
    plain = text.strip()
    if WHOLE.fullmatch(plain):
        return int(plain)
    if DECIMAL.fullmatch(plain) and plain == format(Decimal(repr(float(plain))), "f"):
        return float(plain)
    return text


# -- writing -----------------------------------------------------------------------------------------------------------


def encode(info: ProfilesField, value: Value | None) -> list[str]:
    """The array for a field, empty to clear it (wire E 6.4). Raises InvalidValue for what the field cannot take."""
    rows: tuple[Scalar, ...] = value if isinstance(value, tuple) else () if value is None else (value,)
    texts = [_text(info, row).strip() for row in rows]
    return [text for text in dict.fromkeys(texts) if text] if info.kind is FieldKind.TERM else [t for t in texts if t]


def _text(info: ProfilesField, value: Scalar) -> str:
    match value:
        case bool():
            return _tick(info, value)
        case str() | int():
            return str(value)
        case float():
            return _decimal(info, value)
        case datetime():
            return _moment(info, value)
        case date():
            return value.isoformat()
        case _:
            return _named(info, value)


def _named(info: ProfilesField, value: Term | Person | GeoPoint | Localized | Row) -> str:
    match value:
        case Term():
            return value.label
        case Person():
            return value.name
        case GeoPoint():
            return value.address or _point(info, value)
        case Localized() | Row():
            raise InvalidValue(f"field {info.key} does not accept a {type(value).__name__.lower()} value")
        case _:
            assert_never(value)


def _tick(info: ProfilesField, value: bool) -> str:
    """Yes and no in the words of the field's own list."""
    if info.ticked:
        return info.ticked if value else info.unticked
    words = YES if value else NO
    known = {text.casefold(): text for text in info.values}
    match = next((known[word] for word in words if word in known), None)
    if match is not None:
        return match
    if info.kind is FieldKind.TERM:
        if not value:
            return ""
        raise InvalidValue(f"field {info.key} has no value that means yes")
    return "true" if value else "false"


def _decimal(info: ProfilesField, value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise InvalidValue(f"field {info.key} does not accept {value}")
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _moment(info: ProfilesField, value: datetime) -> str:
    """Date fields hold dates only (wire E 5.2), so a time of day would be lost there."""
    utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if info.kind is not FieldKind.DATE:
        return instant_text(utc)
    if utc.time() != datetime.min.time():
        raise InvalidValue(f"field {info.key} takes a date without a time of day", hint="use the transform `date`")
    return utc.date().isoformat()


def _point(info: ProfilesField, value: GeoPoint) -> str:
    if value.latitude is None or value.longitude is None:
        raise InvalidValue(f"field {info.key} needs a place with address or coordinates")
    return f"{value.latitude}, {value.longitude}"
