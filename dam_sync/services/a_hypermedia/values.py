"""Values of the 16 field types of service A, as read (wire A 6.4). Pure functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo

from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Json, Person, Place, Row, Scalar, Term, Value, parse_instant
from dam_sync.services.a_hypermedia.forms import FormField

_HALF_DAY = timedelta(hours=12)
_YES = frozenset({"true", "1", "1.0", "yes", "y", "on", "t", "oui", "o", "vrai"})
_NO = frozenset({"false", "0", "0.0", "no", "n", "off", "f", "non", "faux"})
_LATITUDE = ("latitude", "lat")
_LONGITUDE = ("longitude", "lng", "lon", "long")


def decode(field: FormField, item: Json, zone: tzinfo = UTC) -> Value | None:
    """The value of a metadata item; None when it is empty. A shape that fits no type of field is kept as text."""
    found = _found(item)
    if found is None or found in ("", []):
        return None
    if field.multiple:
        rows = found if isinstance(found, list) else [found]
        values = tuple(value for row in rows if (value := _scalar(field, row, zone)) is not None)
        return values or None
    if isinstance(found, list) and len(found) > 1:  # of a type that is new, or single by our reading alone
        return tuple(value for row in found if (value := _scalar(field, row, zone)) is not None) or None
    return _scalar(field, found[0] if isinstance(found, list) else found, zone)


def decode_untyped(item: Json) -> Value | None:
    """The value of a field whose form is not known: as its JSON looks."""
    found = _found(item)
    if isinstance(found, list):
        return tuple(value for row in found if (value := _looks_like(row)) is not None) or None
    return _looks_like(found)


def _found(item: Json) -> Json:
    """`value`, or what is embedded as `value` (wire A 11.8)."""
    inner = (item.get("_embedded") or {}).get("value")
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
        title, identity = str(raw.get("title") or raw.get("name") or ""), raw.get("id")
        return Term(title, "" if identity is None else str(identity)) if title or identity is not None else None
    return Term(str(raw), field.choices.get(str(raw), "")) if raw != "" else None


def _person(raw: Json) -> Scalar | None:
    if not isinstance(raw, dict):
        return Person(str(raw)) if raw else None
    full = " ".join(str(raw[part]) for part in ("lastName", "firstName") if raw.get(part))
    return Person(str(raw.get("title") or raw.get("name") or full), str(raw.get("id") or ""))


def _row(raw: Json) -> Scalar | None:
    if not isinstance(raw, dict):
        return str(raw) if raw not in (None, "") else None
    return Row({key: cell for key, part in raw.items() if (cell := _cell(part)) is not None})


def _place(raw: Json) -> Scalar | None:
    if not isinstance(raw, dict):
        return Place(address=str(raw)) if raw else None
    latitude, longitude = (_first_degrees(raw, names) for names in (_LATITUDE, _LONGITUDE))
    place = Place(latitude, longitude, str(raw.get("address") or ""))
    if place != Place():
        return place
    told = {key: part for key, part in raw.items() if part not in (None, "")}
    return json.dumps(told, ensure_ascii=False, sort_keys=True) if told else None


def _first_degrees(raw: Json, names: Sequence[str]) -> float | int | None:
    return next((found for name in names if (found := degrees(raw.get(name))) is not None), None)


def degrees(raw: Json) -> float | int | None:
    """A latitude or longitude; read as text too."""
    found = None if raw is None or isinstance(raw, bool) else _number(raw)
    return found if isinstance(found, (int, float)) else None


def _text(raw: Json) -> Scalar | None:
    if isinstance(raw, dict):
        raw = raw.get("title") or raw.get("name") or raw.get("value")
    return str(raw) if raw not in (None, "") else None


def _number(raw: Json) -> Scalar | None:
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return raw
    text = str(raw).strip()
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text or None


def _flag(raw: Json) -> Scalar | None:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().casefold()
    if word in _YES or word in _NO:
        return word in _YES
    return str(raw)  # nobody said what it means


def _instant(raw: Json) -> Scalar | None:
    if isinstance(raw, (int, float)):
        return datetime.fromtimestamp(raw / 1000, UTC)
    try:
        return parse_instant(str(raw))
    except ValueError:
        return str(raw) or None


def _day(raw: Json, zone: tzinfo) -> Scalar | None:
    """The day in `zone`; where none is given, that is in UTC, the value is a midnight somewhere: the nearest one."""
    if isinstance(raw, str) and len(raw) == len("2025-02-06"):
        try:
            return date.fromisoformat(raw)
        except ValueError:
            return raw
    found = _instant(raw)
    if not isinstance(found, datetime):
        return found
    return (found.astimezone(zone) + (_HALF_DAY if zone is UTC else timedelta())).date()  # wire A 11.7


def _looks_like(raw: Json) -> Scalar | None:
    if raw is None or raw == "":
        return None
    if isinstance(raw, dict):
        if not {"latitude", "address", "lat"}.isdisjoint(raw):
            return _place(raw)
        if "title" in raw:
            return Term(str(raw["title"]), str(raw.get("id") or ""))
        return _row(raw)
    return raw if isinstance(raw, (str, bool, int, float)) else str(raw)


def _cell(raw: Json) -> Value | None:
    if isinstance(raw, list):
        return tuple(value for part in raw if (value := _looks_like(part)) is not None) or None
    return _looks_like(raw)
