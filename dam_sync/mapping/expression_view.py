"""The asset as expressions see it, and their results as values.

The parts have the names that they have in a path of `from`, without brackets: `asset.status`, `asset.fields.title.en`,
`asset.placements`. Numbers are doubles, so that an expression does not depend on how a number is written; dates and
timestamps are timestamps, a date is midnight UTC; a term is `{id, label, path}`, a person `{name, id}`, a place
`{latitude, longitude, address}`, a row its cells, a text in several languages one text per language. A part without a
value is absent; the texts of the asset itself (`asset.status`) are empty then, its lists (`asset.tags`) have no items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from typing import assert_never

from dam_sync.mapping.paths import INSTANTS, LABEL, SETS, TEXTS, AssetPath, labels_of
from dam_sync.mapping.results import LanguagePreference, aware, empty
from dam_sync.mapping.vocabulary import path_of, path_text
from dam_sync.model.asset import Asset
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Scalar, Term, Value

EXACT = 1 << 53  # whole numbers above are not exact as doubles


class Unviewable(ValueError):
    """A value that an expression cannot take or give; the message says which."""


def view_of(asset: Asset, paths: Iterable[AssetPath], languages: LanguagePreference) -> dict[str, Json]:
    """The parts of the asset that these paths name. Raises Unviewable."""
    view: dict[str, Json] = {}
    fields: dict[str, Json] = {}
    for path in paths:
        if path.root == "fields":
            value = asset.fields.get(path.key)
            if value is not None and (made := _value(value, languages)) is not None:
                fields[path.key] = made
        else:
            view[path.root] = _part(asset, path.root)
    return {**{key: part for key, part in view.items() if part is not None}, "fields": fields}


def values_of(result: Json) -> tuple[Scalar, ...]:
    """The values that an expression gave: a list is several, null is none. Raises Unviewable."""
    items = result if isinstance(result, list) else [] if result is None else [result]
    return tuple(_scalar(item) for item in items if item is not None)


def _part(asset: Asset, root: str) -> Json:
    if root in TEXTS:
        return str(getattr(asset, root))
    if root in INSTANTS:
        held = asset.rights if root in ("release_at", "expires_at") else asset
        moment = getattr(held, root)
        return None if moment is None else aware(moment)
    if root in SETS:
        return _names(asset, root)
    if root == "placements":
        placed = sorted((each for each in asset.placements if each.kind != LABEL), key=lambda p: (p.kind, p.path))
        return [{"kind": each.kind, "path": each.text} for each in placed]
    file = asset.file
    parts = {} if file is None else {"name": file.name, "media_type": file.media_type, "size": file.size}
    digest = file.digests.get("md5") if file else None
    return {key: part for key, part in {**parts, "md5": digest}.items() if part not in (None, "")}


def _names(asset: Asset, root: str) -> list[str]:
    match root:
        case "labels":
            return labels_of(asset)
        case "groups":
            return sorted(asset.rights.groups)
        case _:
            return sorted(getattr(asset, root))


def _value(value: Value, languages: LanguagePreference) -> Json:
    if isinstance(value, tuple):
        return [_plain(one, languages) for one in value if not empty(one)] or None
    return None if empty(value) else _plain(value, languages)


def _plain(value: Scalar, languages: LanguagePreference) -> Json:
    match value:
        case bool() | str():
            return value
        case int() | float():
            return _number(value)
        case datetime():
            return aware(value)
        case date():
            return datetime.combine(value, time(), UTC)
        case _:
            return _present(_parts(value, languages))


def _parts(value: Localized | Term | Person | GeoPoint | Row, languages: LanguagePreference) -> dict[str, Json]:
    match value:
        case Localized(texts):
            return {locale: text.strip() and text for locale, text in texts.items()}
        case Term():
            return {"id": value.id, "label": languages.label(value), "path": path_text(value)}
        case Person():
            return {"name": value.name, "id": value.id}
        case GeoPoint():
            return {"latitude": value.latitude, "longitude": value.longitude, "address": value.address}
        case Row(cells):
            return {key: _value(cell, languages) for key, cell in cells.items()}
        case _:
            assert_never(value)


def _present(parts: Mapping[str, Json]) -> dict[str, Json]:
    return {key: part for key, part in parts.items() if part not in (None, "")}


def _number(value: int | float) -> float:
    if isinstance(value, int) and abs(value) > EXACT:
        raise Unviewable(f"the number {value:.3e} is too large for an expression" if abs(value) < 1e300 else _HUGE)
    return float(value)


_HUGE = "a number is too large for an expression"


def _scalar(result: Json) -> Scalar:
    match result:
        case bool() | str() | datetime():
            return result
        case int():
            return int(result)
        case float():
            return int(result) if result.is_integer() and abs(result) <= EXACT else result
        case dict():
            return _composed(result)
        case list():
            raise Unviewable("gives lists inside a list")
        case _:
            raise Unviewable(f"gives a {type(result).__name__}, which no field holds")


def _composed(result: Json) -> Scalar:
    """A term, a person or a place from its parts."""
    match result:
        case {"label": str(label)}:
            return Term(label, str(result.get("id", "")), path_of(str(result.get("path", ""))))
        case {"name": str(name)}:
            return Person(name, str(result.get("id", "")))
        case {"latitude": float(), "longitude": float()} | {"address": str()}:
            return GeoPoint(result.get("latitude"), result.get("longitude"), str(result.get("address", "")))
        case _:
            raise Unviewable("gives keys and values; name one part, for example asset.fields.title.en")
