"""Transforms between value types and text: the others read what `text` writes."""

from __future__ import annotations

import json
import math
import re
from typing import ClassVar

from pydantic import Field

from dam_sync.mapping.results import ANY, LanguagePreference, Result, ValueType, number_text, shown
from dam_sync.mapping.transforms.base import EachTransform, TransformContext
from dam_sync.model.values import GeoPoint, Json, Localized, Row, Scalar, value_from_json, value_to_json

DEGREES = re.compile(r"[+-]?\d{1,3}(?:\.\d{1,400})?", re.ASCII)
BROKEN = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
ROW = "row"


class AsText(EachTransform):
    name: ClassVar[str] = "text"
    summary: ClassVar[str] = (
        "any value as text: ISO dates, timestamps in UTC, true and false, plain numbers, labels, names, "
        "`latitude, longitude, address`, rows as JSON"
    )
    example: ClassVar[str] = "text"
    takes: ClassVar[frozenset[ValueType]] = ANY
    each_language: ClassVar[bool] = True

    def each(self, value: Scalar, context: TransformContext) -> Result:
        text = canonical_text(value, context.languages)
        return self.fail(f"{shown(value)} has no text") if text is None else Result((text,))


class AsPlace(EachTransform):
    name: ClassVar[str] = "place"
    summary: ClassVar[str] = "a place from text: `latitude, longitude, address` in degrees, or an address alone"
    example: ClassVar[str] = "place"
    takes: ClassVar[frozenset[ValueType]] = frozenset({ValueType.TEXT, ValueType.PLACE})

    def output_type(self, shape: ValueType) -> ValueType:
        """A place."""
        return ValueType.PLACE

    def each(self, value: Scalar, context: TransformContext) -> Result:
        if isinstance(value, GeoPoint):
            return Result((value,))
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        place = read_place(text)
        return self.fail("it is neither a point nor an address") if place is None else Result((place,))


class AsRow(EachTransform):
    name: ClassVar[str] = "rows"
    summary: ClassVar[str] = "a row from the JSON that `text` writes; any other text becomes the single cell `cell`"
    example: ClassVar[str] = "{rows: {cell: note}}"
    short: ClassVar[str] = "cell"
    takes: ClassVar[frozenset[ValueType]] = frozenset({ValueType.TEXT, ValueType.ROW})
    cell: str = ""

    def output_type(self, shape: ValueType) -> ValueType:
        """A row."""
        return ValueType.ROW

    def each(self, value: Scalar, context: TransformContext) -> Result:
        if isinstance(value, Row):
            return Result((value,))
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        row = read_row(text)
        if row is None and self.cell:
            row = Row({self.cell: text})
        return self.fail(f"{shown(text)} is not a row in JSON, and no cell is named") if row is None else Result((row,))


class Language(EachTransform):
    name: ClassVar[str] = "language"
    summary: ClassVar[str] = "states the language of a text; of a text in several languages, takes that one"
    example: ClassVar[str] = "{language: en}"
    short: ClassVar[str] = "locale"
    locale: str = Field(min_length=1)

    def each(self, value: Scalar, context: TransformContext) -> Result:
        locale = self.locale.lower()
        if isinstance(value, Localized):
            found = value.texts.get(locale, "")
            return Result((Localized({locale: found}),)) if found else self.fail(f"it has no text in {locale}")
        text = self.text_of(value, context)
        return text if isinstance(text, Result) else Result((Localized({locale: text}),))


def canonical_text(value: Scalar, languages: LanguagePreference) -> str | None:
    """The canonical text of a value; None for rows with values that JSON cannot represent."""
    match value:
        case bool():
            return "true" if value else "false"
        case GeoPoint():
            return place_text(value)
        case Row():
            return row_text(value)
        case _:
            return languages.text(value)


def place_text(place: GeoPoint) -> str:
    """`48.4, -4.5, Brest`; an address alone without a point, with the prefix `, , ` if it looks like a point."""
    latitude, longitude, address = _degrees(place.latitude), _degrees(place.longitude), place.address.strip()
    if latitude or longitude:
        return f"{latitude}, {longitude}" + (f", {address}" if address else "")
    return f", , {address}" if _point(address) else address


def read_place(text: str) -> GeoPoint | None:
    """The inverse of `place_text`; anything but valid coordinates is an address. None for whitespace."""
    plain = text.strip()
    point = _point(plain)
    if point is not None:
        latitude, longitude, address = point
        on_globe = abs(latitude or 0) <= 90 and abs(longitude or 0) <= 180
        if on_globe and not (latitude is None and longitude is None and not address):
            return GeoPoint(latitude, longitude, address)
    return GeoPoint(address=plain) if plain else None


def _point(text: str) -> tuple[float | None, float | None, str] | None:
    """Latitude, longitude and address of `48.4, -4.5, Brest`, each of which may be left out; None for other texts."""
    first, comma, rest = text.partition(",")
    second, _, address = rest.partition(",")
    parts = [first.strip(), second.strip()]
    if not comma or any(part and not DEGREES.fullmatch(part) for part in parts):
        return None
    latitude, longitude = (float(part) if part else None for part in parts)
    return latitude, longitude, address.strip()


def row_text(row: Row) -> str | None:
    """The cells as a JSON object, values in the neutral JSON form."""
    try:
        cells: Json = value_to_json(row)[ROW]
        return json.dumps({ROW: cells} if set(cells) == {ROW} else cells, ensure_ascii=False, sort_keys=True)
    except BROKEN:
        return None


def read_row(text: str) -> Row | None:
    """The inverse of `row_text`; None if it is not a row."""
    try:
        data: Json = json.loads(text)
        if isinstance(data, dict) and set(data) == {ROW} and isinstance(data[ROW], dict):
            data = data[ROW]
        return Row({key: value_from_json(cell) for key, cell in data.items() if cell is not None})
    except BROKEN:
        return None


def _degrees(value: float | None) -> str:
    return number_text(value) if value is not None and math.isfinite(value) else ""
