"""Values of the 16 field types of service A, as read (wire A 6.4). Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from math import isfinite

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.mistyped import is_textual
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import GeoPoint, Json, Person, Row, Scalar, Term, Value, parse_instant
from dam_sync.services.a_hypermedia.codec.forms import FormField

_HALF_DAY = timedelta(hours=12)
_FAR_EAST, _DATE_LINE = time(10), time(12)  # midnight at UTC+14 or UTC-10; at UTC+12
_YES = frozenset({"true", "1", "1.0", "yes", "y", "on", "t", "oui", "o", "vrai"})
_NO = frozenset({"false", "0", "0.0", "no", "n", "off", "f", "non", "faux"})
_LATITUDE = ("latitude", "lat")
_LONGITUDE = ("longitude", "lng", "lon", "long")


class UnreadableValue(ValueError):
    """JSON that is not a value of its type of field."""


@interprets_response
def decode(field: FormField, item: Json, zone: tzinfo = UTC, strange: list[Json] | None = None) -> Value | None:
    """The value of a metadata item; None if it is empty. strange: collects values of another shape, which are left
    out."""
    found = _found(item)
    if found is None or found in ("", []):
        return None
    values = _readable(found, lambda row: _scalar(field, row, zone), strange)
    if field.multiple or len(values) > 1:  # also for a new type, or one that is single only in our reading
        return values or None
    return values[0] if values else None


@interprets_response
def decode_untyped(item: Json, strange: list[Json] | None = None) -> Value | None:
    """The value of a field with an unknown form, judged by its JSON."""
    found = _found(item)
    values = _readable(found, _looks_like, strange)
    return (values or None) if isinstance(found, list) else values[0] if values else None


def _readable(found: Json, read: Callable[[Json], Scalar | None], strange: list[Json] | None) -> tuple[Scalar, ...]:
    values = []
    for row in found if isinstance(found, list) else [found]:
        try:
            value = read(row)
        except (UnreadableValue, OverflowError, OSError):  # a timestamp may be out of range
            if strange is not None:
                strange.append(row)
            continue
        if value is not None:
            values.append(value)
    return tuple(values)


def _plain(raw: Json) -> str:
    """A text or a number as text; empty for nothing. Raises UnreadableValue."""
    if raw is None:
        return ""
    if not is_textual(raw):
        raise UnreadableValue(raw)
    return str(raw)


def _found(item: Json) -> Json:
    """`value`, or what is embedded as `value` (wire A 11.8)."""
    embedded = item.get("_embedded")
    inner = embedded.get("value") if isinstance(embedded, dict) else None
    return item.get("value") if inner is None else inner


def _scalar(field: FormField, raw: Json, zone: tzinfo) -> Scalar | None:
    match field.type:
        case "DATE":
            return _day(raw, zone)
        case "DATETIME":
            return _instant(raw)
        case "NUMBER":
            return _number(raw)
        case "CHECK_BOX":
            return _flag(raw)
        case "PERSON_LIST":
            return _person(raw)
        case "GEO":
            return _place(raw)
        case "FIELD_SET":
            return _row(raw)
        case _:
            return _term(raw, field) if field.kind is FieldKind.TERM else _text(raw)


def _term(raw: Json, field: FormField) -> Scalar | None:
    if isinstance(raw, dict):
        title, identity = _plain(raw.get("title") or raw.get("name")), _plain(raw.get("id"))
        if title or identity:
            return Term(title, identity)
        raise UnreadableValue(raw)
    text = _plain(raw)
    return Term(text, field.choices.get(text, "")) if text else None


def _person(raw: Json) -> Scalar | None:
    if not isinstance(raw, dict):
        text = _plain(raw)
        return Person(text) if text else None
    full = " ".join(_plain(raw[part]) for part in ("lastName", "firstName") if raw.get(part))
    person = Person(_plain(raw.get("title") or raw.get("name")) or full, _plain(raw.get("id")))
    if person == Person(""):
        raise UnreadableValue(raw)
    return person


def _row(raw: Json) -> Scalar | None:
    if not isinstance(raw, dict):
        return _plain(raw) or None
    return Row({key: cell for key, part in raw.items() if (cell := _cell(part)) is not None})


def _place(raw: Json) -> Scalar | None:
    if not isinstance(raw, dict):
        text = _plain(raw)
        return GeoPoint(address=text) if text else None
    latitude, longitude = (_first_degrees(raw, names) for names in (_LATITUDE, _LONGITUDE))
    place = GeoPoint(latitude, longitude, _plain(raw.get("address")))
    if place != GeoPoint():
        return place
    if any(part not in (None, "") for part in raw.values()):
        raise UnreadableValue(raw)
    return None


def _first_degrees(raw: Json, names: Sequence[str]) -> float | int | None:
    reported = next((raw[name] for name in names if raw.get(name) not in (None, "")), None)
    found = degrees(reported)
    if reported is not None and found is None:
        raise UnreadableValue(raw)
    return found


@interprets_response
def degrees(raw: Json) -> float | int | None:
    """A latitude or longitude; read as text too."""
    found = _number(raw) if is_textual(raw) else None
    return found if isinstance(found, (int, float)) else None


def _text(raw: Json) -> Scalar | None:
    if isinstance(raw, dict):
        inner = raw.get("title") or raw.get("name") or raw.get("value")
        if inner is None:
            raise UnreadableValue(raw)
        raw = inner
    return _plain(raw) or None


def _number(raw: Json) -> Scalar | None:
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return raw
    text = _plain(raw).strip()
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text or None
    return number if isfinite(number) else text


def _flag(raw: Json) -> Scalar | None:
    if isinstance(raw, bool):
        return raw
    word = _plain(raw).strip().casefold()
    if word in _YES or word in _NO:
        return word in _YES
    return _plain(raw)  # its meaning is unknown


def _instant(raw: Json) -> Scalar | None:
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return datetime.fromtimestamp(raw / 1000, UTC)
    try:
        return parse_instant(_plain(raw))
    except UnreadableValue:
        raise
    except ValueError:
        return _plain(raw) or None


def _day(raw: Json, zone: tzinfo) -> Scalar | None:
    """The day in `zone`; in UTC (none given) the value is a midnight in some time zone, so the nearest one. Raises
    UnreadableValue where it is midnight in two time zones, on two days."""
    if isinstance(raw, str) and len(raw) == len("2025-02-06"):
        try:
            return date.fromisoformat(raw)
        except ValueError:
            return raw
    found = _instant(raw)
    if not isinstance(found, datetime):
        return found
    if zone is not UTC:
        return found.astimezone(zone).date()
    if _is_on_two_days(found):
        raise UnreadableValue(raw)
    return (found.astimezone(UTC) + _HALF_DAY).date()  # wire A 11.7


def _is_on_two_days(midnight: datetime) -> bool:
    return _FAR_EAST <= midnight.astimezone(UTC).time() < _DATE_LINE


def is_undecided_day(field: FormField, raw: Json, zone: tzinfo) -> bool:
    """Whether this is midnight of one day in Hawaii (UTC-10) or Samoa (UTC-11), and of the next in Kiribati (UTC+14) or
    New Zealand (UTC+13), and no time zone is given."""
    if field.type != "DATE" or zone is not UTC or not is_textual(raw):
        return False
    found = _instant(raw)
    return isinstance(found, datetime) and _is_on_two_days(found)


def _looks_like(raw: Json) -> Scalar | None:
    if raw is None or raw == "":
        return None
    if isinstance(raw, dict):
        if not {"latitude", "address", "lat"}.isdisjoint(raw):
            return _place(raw)
        if "title" in raw:
            return Term(_plain(raw["title"]), _plain(raw.get("id")))
        return _row(raw)
    return raw if isinstance(raw, bool) or is_textual(raw) else _plain(raw)


def _cell(raw: Json) -> Value | None:
    if isinstance(raw, list):
        return tuple(value for part in raw if (value := _looks_like(part)) is not None) or None
    return _looks_like(raw)
