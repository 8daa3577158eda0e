"""Values that an asset may have, and their JSON form.

`Value` is a scalar or a tuple of scalars. A multi-valued field always holds a tuple; an absent key means empty.
JSON: text, numbers and flags as themselves; `{"date": …}`, `{"instant": …}`, `{"texts": {locale: text}}`,
`{"id", "label", …}` for a term, `{"person", "id"}`, `{"latitude", "longitude", "address"}`, `{"row": {…}}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, TypeAlias, cast

Json: TypeAlias = Any  # what `json.loads` returns


@dataclass(frozen=True, slots=True)
class Localized:
    """One text in several languages; locales are lower-case BCP 47 (`en`, `pt-br`)."""

    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a vocabulary; `id` is that of the service, empty if it has none; `path` are the labels from the root
    down to this term; `parent` is the parent's id."""

    label: str
    id: str = ""
    path: tuple[str, ...] = ()
    parent: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Person:
    """A person named in a field."""

    name: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class GeoPoint:
    """A point on the map, WGS 84 degrees, with an address if known."""

    latitude: float | None = None
    longitude: float | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a field set, keyed by sub-field."""

    cells: Mapping[str, Value]


Scalar: TypeAlias = str | bool | int | float | date | datetime | Localized | Term | Person | GeoPoint | Row
Value: TypeAlias = Scalar | tuple[Scalar, ...]


def instant_text(moment: datetime) -> str:
    """RFC 3339 in UTC with a literal Z; milliseconds only if not zero."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    spec = "milliseconds" if utc.microsecond >= 1000 else "seconds"
    return f"{utc.isoformat(timespec=spec)[:-6]}Z"


def parse_instant(text: str) -> datetime:
    """An aware timestamp in UTC from RFC 3339; a missing offset is read as UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"in UTC, {text} is not between the years 1 and 9999") from None


def value_to_json(value: Value) -> Json:
    """The JSON form described at the top of this module."""
    if isinstance(value, tuple):
        return [value_to_json(item) for item in value]
    match value:
        case datetime():
            return {"instant": instant_text(value)}
        case date():
            return {"date": value.isoformat()}
        case Localized(texts):
            return {"texts": dict(texts)}
        case Term():
            return _term_to_json(value)
        case Person() | GeoPoint():
            return _thing_to_json(value)
        case Row(cells):
            return {"row": {key: value_to_json(cell) for key, cell in cells.items()}}
        case _:
            return value


def value_from_json(data: Json) -> Value:
    """The inverse of `value_to_json`. Raises ValueError for an unknown shape."""
    if isinstance(data, list):
        return tuple(_scalar_from_json(item) for item in data)
    return _scalar_from_json(data)


def _scalar_from_json(data: Json) -> Scalar:
    if isinstance(data, (str, bool, int, float)):
        return data
    if not isinstance(data, dict):
        raise ValueError(f"not a value: {data!r}")
    for key, decode in _DECODERS.items():
        if key in data:
            return cast("Scalar", decode(data))
    raise ValueError(f"not a value: {sorted(data)}")


def _thing_to_json(thing: Person | GeoPoint) -> Json:
    if isinstance(thing, Person):
        return {"person": thing.name, "id": thing.id}
    return {"latitude": thing.latitude, "longitude": thing.longitude, "address": thing.address}


def _term_to_json(term: Term) -> Json:
    full = {
        "id": term.id,
        "label": term.label,
        "path": list(term.path),
        "parent": term.parent,
        "labels": dict(term.labels),
        "synonyms": {locale: list(words) for locale, words in term.synonyms.items()},
        "descriptions": dict(term.descriptions),
    }
    return {key: part for key, part in full.items() if part or key in ("id", "label")}


def term_from_json(data: Json) -> Term:
    """A term from its JSON form; `id` may be a number."""
    return Term(
        label=str(data["label"]),
        id=str(data.get("id", "")),
        path=tuple(data.get("path", ())),
        parent=str(data.get("parent", "")),
        labels=dict(data.get("labels", {})),
        synonyms={locale: tuple(words) for locale, words in data.get("synonyms", {}).items()},
        descriptions=dict(data.get("descriptions", {})),
    )


_DECODERS: Mapping[str, Any] = {
    "instant": lambda data: parse_instant(data["instant"]),
    "date": lambda data: date.fromisoformat(data["date"]),
    "texts": lambda data: Localized(dict(data["texts"])),
    "label": term_from_json,
    "person": lambda data: Person(str(data["person"]), str(data.get("id", ""))),
    "latitude": lambda data: GeoPoint(data.get("latitude"), data.get("longitude"), data.get("address") or ""),
    "address": lambda data: GeoPoint(data.get("latitude"), data.get("longitude"), data.get("address") or ""),
    "row": lambda data: Row({key: value_from_json(cell) for key, cell in data["row"].items()}),
}
