"""Values as written to the 16 field types of service A (wire A 6.4). Pure; InvalidValue if one does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import TypeVar

from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Scalar, Term, Value, parse_instant
from dam_sync.services.a_hypermedia.api.hal import timestamp_text
from dam_sync.services.a_hypermedia.codec.forms import FormField

T = TypeVar("T")


def encode(field: FormField, value: Value | None) -> Json:
    """What goes under `value` in a PUT; None and empty values clear (wire A 6.4). Raises InvalidValue."""
    if value is None or value in ("", ()):
        return [] if field.multiple else None
    if field.multiple:
        items = value if isinstance(value, tuple) else (value,)
        return [_encoded(field, item) for item in items]
    if isinstance(value, tuple):
        if len(value) > 1:
            raise InvalidValue(f"field {field.name} takes one value, but got {len(value)}")
        value = value[0]
    return _encoded(field, value)


def by_language(field: FormField, value: Value | None, first: str) -> dict[str, Value]:
    """A localized value taken apart: what to write in each language; text without a language goes to `first`."""
    if not isinstance(value, tuple):
        if isinstance(value, Localized):
            return dict(value.texts)
        return {first: value} if value is not None else {}
    parts: dict[str, list[Scalar]] = {}
    for item in value:
        for language, text in item.texts.items() if isinstance(item, Localized) else [(first, item)]:
            parts.setdefault(language, []).append(text)
    return {
        language: tuple(items) if field.multiple or len(items) > 1 else items[0] for language, items in parts.items()
    }


def _encoded(field: FormField, value: Scalar) -> Json:
    return _WRITERS.get(field.type, _encoded_text)(field, value)


def _encoded_number(field: FormField, value: Scalar) -> Json:
    return _expect(field, value, isinstance(value, (int, float)) and not isinstance(value, bool), "a number")


def _encoded_flag(field: FormField, value: Scalar) -> Json:
    return _expect(field, value, isinstance(value, bool), "true or false")


def _expect(field: FormField, value: Scalar, fits: bool, wanted: str) -> Json:
    if not fits:
        raise InvalidValue(f"field {field.name} takes {wanted}, not {type(value).__name__}")
    return value


def _encoded_text(field: FormField, value: Scalar) -> str:
    if isinstance(value, Row):
        raise InvalidValue(f"field {field.name} takes text, not a row")
    return value.label if isinstance(value, Term) else str(_plain(value))


def _plain(value: Scalar) -> Json:
    """A scalar as JSON for a field of unknown type."""
    match value:
        case datetime():
            return timestamp_text(value)
        case date():
            return value.isoformat()
        case Person(name=name):
            return name
        case GeoPoint(address=address):
            return address
        case Localized(texts):
            return next(iter(texts.values()), "")
        case _:
            return value


def _encoded_day(field: FormField, value: Scalar) -> Json:
    if isinstance(value, datetime):
        raise InvalidValue(
            f"field {field.name} takes a date, not a timestamp", hint="use the transform `date` in the mapping"
        )
    return value.isoformat() if isinstance(value, date) else _iso(field, value, date.fromisoformat).isoformat()


def _encoded_instant(field: FormField, value: Scalar) -> str:
    return timestamp_text(value if isinstance(value, datetime) else _iso(field, value, parse_instant))


def _iso(field: FormField, value: Scalar, read: Callable[[str], T]) -> T:
    if isinstance(value, str):
        try:
            return read(value)
        except ValueError:
            pass
    raise InvalidValue(f"field {field.name} takes a date in ISO form, not {type(value).__name__}")


def _encoded_person(field: FormField, value: Scalar) -> Json:
    if isinstance(value, Term):
        value = Person(value.label, value.id)  # of a list whose values are known
    person = value if isinstance(value, Person) else Person(_encoded_text(field, value))
    return {**({"id": _number_if(person.id)} if person.id else {}), "title": person.name}


def _encoded_place(field: FormField, value: Scalar) -> Json:
    if isinstance(value, str):
        value = GeoPoint(address=value)
    if not isinstance(value, GeoPoint):
        raise InvalidValue(f"field {field.name} takes a place, not {type(value).__name__}")
    parts = {"latitude": value.latitude, "longitude": value.longitude, "address": value.address or None}
    return {key: part for key, part in parts.items() if part is not None}


def _encoded_row(field: FormField, value: Scalar) -> Json:
    if not isinstance(value, Row):
        raise InvalidValue(f"field {field.name} takes rows, not {type(value).__name__}")
    return {key: _encoded_cell(cell) for key, cell in value.cells.items()}


def _encoded_cell(value: Value) -> Json:
    match value:
        case tuple():
            return [_encoded_cell(item) for item in value]
        case Term():
            return {**({"id": _number_if(value.id)} if value.id else {}), "title": value.label}
        case GeoPoint():
            return {"latitude": value.latitude, "longitude": value.longitude, "address": value.address}
        case Row(cells):
            return {key: _encoded_cell(cell) for key, cell in cells.items()}
        case _:
            return _plain(value)


def _encoded_term(field: FormField, value: Scalar) -> Json:
    if isinstance(value, str):
        value = Term(value)
    if not isinstance(value, Term):
        raise InvalidValue(f"field {field.name} takes a term, not {type(value).__name__}")
    if value.id:
        return {"id": _number_if(value.id), "title": value.label}
    if field.type == "SIMPLE_LIST" and not field.force_selection:
        return value.label  # wire A 6.4: the title alone is accepted if selection is not forced
    raise InvalidValue(f"field {field.name}: the term {value.label!r} has no id in the target's vocabulary")


def _number_if(identity: str) -> int | str:
    return int(identity) if identity.isdecimal() and len(identity) < 19 else identity


def point_of(text: str) -> Mapping[str, float]:
    """A point of interest, `x,y` in percent. Raises InvalidValue."""
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidValue(f"point_of_interest takes `x,y` in percent, not {text!r}") from None
    return {"x": x, "y": y}


_WRITERS: Mapping[str, Callable[[FormField, Scalar], Json]] = {
    "DATE": _encoded_day,
    "DATETIME": _encoded_instant,
    "NUMBER": _encoded_number,
    "CHECK_BOX": _encoded_flag,
    "PERSON_LIST": _encoded_person,
    "GEO": _encoded_place,
    "FIELD_SET": _encoded_row,
    "THESAURUS": _encoded_term,
    "SIMPLE_LIST": _encoded_term,
}
