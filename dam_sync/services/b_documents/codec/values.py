"""Values of properties: read, written, compared. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from math import isfinite
from typing import TypeAlias
from zoneinfo import ZoneInfo

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.errors import InvalidValue
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Scalar, Term, Value, parse_instant
from dam_sync.services.b_documents.codec.fields import GROUP, USER, DocumentsField

Terms: TypeAlias = Mapping[str, Mapping[str, Term]]
"""By vocabulary, then by what documents store: see `Taxonomy`."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # wire B 6.4: stripped from texts by the server
SLASH = "/"  # between the ids of our terms, see `Taxonomy`
_WHOLE = frozenset({"integer", "long"})


@interprets_response
def fitting(info: DocumentsField, data: Json) -> tuple[Json, bool]:
    """The part of a property's data that has the type of the schema, and whether that is all of it."""
    if data is None or data == "":
        return None, True
    if not info.multiple:
        return (data, True) if _fits(info, data) else (None, False)
    if not isinstance(data, list):
        return None, False
    kept = [row for row in data if row is None or _fits(info, row)]
    return kept, len(kept) == len(data)


def _fits(info: DocumentsField, data: Json) -> bool:
    match info.wire:
        case "complex":
            return isinstance(data, dict) and all(fitting(part, data.get(name))[1] for name, part in info.parts.items())
        case "boolean":
            return isinstance(data, bool) or (isinstance(data, str) and data.lower() in ("true", "false"))
        case "integer" | "long" | "double":
            return not isinstance(data, bool) and (isinstance(data, int | float) or _is_numeric(data))
        case _:
            return isinstance(data, str) or (info.kind is FieldKind.PERSON and isinstance(data, dict))


def _is_numeric(data: Json) -> bool:
    try:
        return isinstance(data, str) and isfinite(float(data))
    except ValueError:
        return False


def decode(info: DocumentsField, data: Json, terms: Terms, zone: ZoneInfo) -> Value | None:
    """A property's value; None if it has none."""
    if info.multiple:
        rows = data if isinstance(data, list) else [] if data is None else [data]
        found = tuple(value for row in rows if (value := _decoded(info, row, terms, zone)) is not None)
        return found or None
    return _decoded(info, data, terms, zone)


def _decoded(info: DocumentsField, data: Json, terms: Terms, zone: ZoneInfo) -> Scalar | None:
    if data is None or data == "":
        return None
    match info.kind:
        case FieldKind.ROWS | FieldKind.PLACE if info.wire == "complex":
            return _place(data) if info.kind is FieldKind.PLACE else _row(info, data, terms, zone)
        case FieldKind.TERM:
            return _term(info, str(data), terms)
        case FieldKind.PERSON:
            return _person(data)
        case FieldKind.INSTANT | FieldKind.DATE if info.wire == "date":
            return _moment(info, str(data), zone)
        case FieldKind.FLAG | FieldKind.NUMBER:
            return _number(data) if info.kind is FieldKind.NUMBER else str(data).lower() == "true"
        case _:
            return str(data)


def _term(info: DocumentsField, stored: str, terms: Terms) -> Term:
    """Our ids are paths with a slash, whatever separator the field uses (wire B 5.1)."""
    path = stored.replace(info.separator, SLASH) if info.parented else stored
    known = terms.get(info.vocabulary, {})
    return known.get(path) or known.get(stored) or Term(stored, path)


def _row(info: DocumentsField, data: Json, terms: Terms, zone: ZoneInfo) -> Row | None:
    cells = {
        name: value
        for name, part in info.parts.items()
        if isinstance(data, dict) and (value := decode(part, data.get(name), terms, zone)) is not None
    }
    return Row(cells) if cells else None


def _person(data: Json) -> Person:
    name = member_text(data, "id") if isinstance(data, dict) else str(data)
    return Person(name.removeprefix(USER), name)


def _place(data: Json) -> GeoPoint | None:
    """A place; None if all parts are empty."""
    point_data = data if isinstance(data, dict) else {}
    latitude, longitude = point_data.get("latitude"), point_data.get("longitude")
    found = GeoPoint(latitude, longitude, member_text(point_data, "address"))
    return None if found == GeoPoint() else found


def _moment(info: DocumentsField, text: str, zone: ZoneInfo) -> Scalar:
    try:
        moment = parse_instant(text)
        return moment.astimezone(zone).date() if info.kind is FieldKind.DATE else moment
    except (ValueError, OverflowError):  # OverflowError: in the zone it is before the year 1
        return text


def _number(data: Json) -> Scalar:
    if isinstance(data, int | float) and not isinstance(data, bool):
        return int(data) if float(data).is_integer() else data
    try:
        number = float(str(data))
    except ValueError:
        return str(data)
    return int(number) if number.is_integer() else number


def encode(info: DocumentsField, value: Value | None, terms: Terms, zone: ZoneInfo) -> Json:
    """What to send; None clears, an empty list clears a list. Raises InvalidValue."""
    if info.multiple:
        rows = value if isinstance(value, tuple) else () if value is None else (value,)
        return [_encoded(info, row, terms, zone) for row in rows]
    if isinstance(value, tuple):
        if len(value) > 1:
            raise InvalidValue(f"{info.key} takes one value, but got {len(value)}")
        value = value[0] if value else None
    return None if value is None else _encoded(info, value, terms, zone)


def _encoded(info: DocumentsField, value: Scalar, terms: Terms, zone: ZoneInfo) -> Json:
    match info.kind:
        case FieldKind.ROWS:
            return _row_out(info, value, terms, zone)
        case FieldKind.PLACE if info.wire == "complex":
            return _place_out(info, value)
        case FieldKind.TERM:
            return _term_out(info, value, terms)
        case FieldKind.FLAG | FieldKind.NUMBER:
            return _number_out(info, value) if info.kind is FieldKind.NUMBER else _flag_out(info, value)
        case FieldKind.PERSON:
            return _person_out(info, value)
        case _ if info.wire == "date":
            return _moment_out(info, value, zone)
        case _:
            return _text_out(info, value)


def _row_out(info: DocumentsField, value: Scalar, terms: Terms, zone: ZoneInfo) -> Json:
    """A complete row, because missing parts become null (wire B 6.4)."""
    if not isinstance(value, Row):
        raise InvalidValue(f"{info.key} takes a set of {', '.join(info.parts)}")
    if strange := [name for name in value.cells if name not in info.parts]:
        raise InvalidValue(f"{info.key} has no {', '.join(strange)}")
    return {name: encode(part, _cell(part, value.cells.get(name)), terms, zone) for name, part in info.parts.items()}


def _cell(part: DocumentsField, value: Value | None) -> Value | None:
    """A cell of the type of its part: other services store the numbers of a row as text."""
    if part.kind is FieldKind.NUMBER and isinstance(value, str):
        number = _number(value)
        return number if isinstance(number, int | float) and isfinite(number) else value
    return value


def _place_out(info: DocumentsField, value: Scalar) -> Json:
    if isinstance(value, GeoPoint):
        return {"latitude": value.latitude, "longitude": value.longitude, "address": value.address or None}
    if isinstance(value, str):
        return {"latitude": None, "longitude": None, "address": value}
    raise InvalidValue(f"{info.key} takes a place, not {str(value)[:40]!r}")


def _term_out(info: DocumentsField, value: Scalar, terms: Terms) -> Json:
    if isinstance(value, Term) and value.id:
        return _path_out(info, value.id) if info.parented else stored_flat(value.id, info, terms)
    label = value.label if isinstance(value, Term) else str(value)
    known = terms.get(info.vocabulary, {})
    if label in known:
        return _path_out(info, label) if info.parented and known[label].id == label else label
    return next((stored for stored, term in known.items() if term.label == label), label)


def _path_out(info: DocumentsField, term_id: str) -> str:
    return term_id.replace(SLASH, info.separator)


def stored_flat(term_id: str, info: DocumentsField, terms: Terms) -> str:
    """The stored form of a term in a field without parents: its own id alone (assumption 11)."""
    known = terms.get(info.vocabulary, {})
    return next((stored for stored, term in known.items() if term.id == term_id and stored != term_id), term_id)


def _flag_out(info: DocumentsField, value: Scalar) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidValue(f"{info.key} takes yes or no, not {str(value)[:40]!r}")


def _number_out(info: DocumentsField, value: Scalar) -> Json:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValue(f"{info.key} takes a number, not {str(value)[:40]!r}")
    if info.wire in _WHOLE:
        if not float(value).is_integer():
            raise InvalidValue(f"{info.key} takes a whole number, not {value}")
        return int(value)
    return value


def _moment_out(info: DocumentsField, value: Scalar, zone: ZoneInfo) -> str:
    if isinstance(value, datetime):
        return wire_instant(value)
    if isinstance(value, date):
        return wire_instant(datetime.combine(value, time(), zone if info.kind is FieldKind.DATE else UTC))
    try:
        return wire_instant(parse_instant(str(value)))
    except ValueError:
        raise InvalidValue(f"{info.key} takes a date, not {str(value)[:40]!r}") from None


def _person_out(info: DocumentsField, value: Scalar) -> str:
    name = _text_out(info, value)
    return name if name.startswith((USER, GROUP)) else info.prefix + name


def _text_out(info: DocumentsField, value: Scalar) -> str:
    text = tidy(_text_of(value))
    if info.max_length is not None and len(text) > info.max_length:
        raise InvalidValue(f"{info.key} takes {info.max_length} characters, not {len(text)}", code="too long")
    return text


def _text_of(value: Scalar) -> str:
    match value:
        case Localized(texts):
            return next(iter(texts.values()), "")
        case Term():
            return value.label
        case Person():
            return value.name
        case GeoPoint():
            point = "" if value.latitude is None else f"{value.latitude}, {value.longitude}"
            return "; ".join(part for part in (value.address, point) if part)
        case Row(cells):
            return "; ".join(f"{key}: {cell}" for key, cell in cells.items())
        case _:
            return _plain_text(value)


def _plain_text(value: str | bool | float | date) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return wire_instant(value) if isinstance(value, datetime) else str(value)


def tidy(text: str) -> str:
    """The text without the characters that the server strips silently (wire B 6.4)."""
    return _CONTROL.sub("", text)


def wire_instant(moment: datetime) -> str:
    """UTC with milliseconds (wire B 3)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# -- what became of it -------------------------------------------------------------------------------------------------


def lost(sent: Mapping[str, Json], got: Mapping[str, Json]) -> list[str]:
    """The properties that are not as they were sent; the service silently drops unknown ones (wire B 6.4)."""
    return [key for key, value in sent.items() if not same(value, got.get(key))]


def same(sent: Json, got: Json) -> bool:
    """Whether two values of the wire mean the same: empty is empty, timestamps and numbers by value."""
    if _void(sent) or _void(got):
        return _void(sent) and _void(got)
    if isinstance(sent, dict) and isinstance(got, dict):
        return all(same(value, got.get(key)) for key, value in sent.items())
    if isinstance(sent, list) and isinstance(got, list):
        return len(sent) == len(got) and all(map(same, sent, got))
    if isinstance(sent, str) and isinstance(got, str):
        return _plain(sent) == _plain(got) or _instant(sent) == (_instant(got) or 0)
    if isinstance(got, dict):  # a reference that came resolved
        return same(sent, got.get("id") or got.get("uid"))
    return bool(_worth(sent) == _worth(got))


def _void(data: Json) -> bool:
    if isinstance(data, dict):
        return all(_void(value) for value in data.values())
    return data is None or (isinstance(data, str | list) and not data)


def _plain(text: str) -> str:
    return tidy(text).replace("\r\n", "\n")


def _instant(text: str) -> datetime | None:
    try:
        return parse_instant(text) if "T" in text or len(text) == 10 else None
    except ValueError:
        return None


def _worth(data: Json) -> Json:
    if isinstance(data, bool):
        return str(data).lower()
    try:
        return float(data)
    except (TypeError, ValueError):
        return str(data).lower()


@interprets_response
def words_of(rows: Sequence[Json], key: str) -> frozenset[str]:
    """The texts under `key` of rows that are objects, or the rows themselves."""
    found = (row.get(key) if isinstance(row, dict) else row for row in rows)
    return frozenset(str(word) for word in found if word)
