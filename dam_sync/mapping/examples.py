"""The `tests:` of a mapping file: a sparse asset, and the expected result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from datetime import date, datetime

from dam_sync.config.spelling import settled
from dam_sync.mapping.results import SHAPES, LanguagePreference, ValueType, aware
from dam_sync.mapping.vocabulary import path_of
from dam_sync.model.asset import Asset, Draft, Loss, Placement
from dam_sync.model.codec import asset_from_json
from dam_sync.model.schema import Field
from dam_sync.model.values import (
    GeoPoint,
    Json,
    Localized,
    Row,
    Scalar,
    Term,
    Value,
    instant_text,
    value_from_json,
    value_to_json,
)

PARKED = "parked"
NOT_JSON = (ValueError, KeyError, TypeError, AttributeError, OverflowError)
"""What reading a value or an asset from keys and values raises if they are none."""
KNOWN = frozenset(member.name for member in dataclass_fields(Asset))


TYPED = frozenset({ValueType.NUMBER, ValueType.FLAG, ValueType.DATE, ValueType.INSTANT})
"""Types of fields in which a value is not what stands in the file, but what YAML takes it for."""


def given_asset(given: Mapping[str, Json]) -> Asset:
    """The asset of an example; missing parts have defaults. Raises one of NOT_JSON."""
    data = {key: _json(settled(value), inside=key == "fields") for key, value in given.items()}
    data.setdefault("id", "example")
    data["id"] = str(data["id"])
    data["placements"] = [_placement(item) for item in data.get("placements") or ()]
    unknown = sorted(set(data) - KNOWN)
    if unknown:
        raise ValueError(f"an asset has no {', '.join(unknown)}")
    asset = asset_from_json(data)
    for name, held in _texts_of(asset):
        if not isinstance(held, str):
            raise ValueError(f"{name} should be text, not {type(held).__name__}")
    return asset


def _texts_of(asset: Asset) -> Iterator[tuple[str, object]]:
    """Everything in an asset that has to be text, and of which the JSON form does not say so."""
    for name in ("filename", "status", "substatus", "form_type", "type"):
        yield name, getattr(asset, name)
    for name, texts in (("tags", asset.tags), ("machine_tags", asset.machine_tags), ("groups", asset.rights.groups)):
        yield from ((name, text) for text in texts)
    yield from (("versions", file.name) for file in (*asset.versions, *asset.attachments))
    for placement in asset.placements:
        yield from (("placements", part) for part in (placement.kind, *placement.path))
    for key, value in asset.fields.items():
        for scalar in value if isinstance(value, tuple) else (value,):
            yield from ((f"fields.{key}", text) for text in _texts_in(scalar))


def _texts_in(value: Scalar) -> Iterator[object]:
    match value:
        case Localized(texts):
            yield from (*texts, *texts.values())
        case Term():
            words = (word for words in value.synonyms.values() for word in words)
            yield from (*value.path, *value.labels, *value.labels.values(), *words)
        case GeoPoint():
            yield value.address
            degrees = (value.latitude, value.longitude)
            yield from (part for part in degrees if part is not None and not isinstance(part, int | float))
        case Row(cells):
            for cell in cells.values():
                for scalar in cell if isinstance(cell, tuple) else (cell,):
                    yield from _texts_in(scalar)
        case _:
            return


def mismatches(
    expect: Mapping[str, Json], draft: Draft, rejections: Sequence[Loss], fields: Mapping[str, Field]
) -> Iterator[tuple[str, str]]:
    """(key, what is wrong) for every unmet expectation. Keys are the target's fields, or `filename`,
    `profile`, `status`, `tags`, `placements`, `groups`, `release`, `expiry`, or `parked` for the rules that park."""
    others = _others(draft, rejections)
    for key, wanted in expect.items():
        try:
            known = fields.get(key)
            typed = SHAPES[known.kind] in TYPED if known is not None else key in (PARKED, "release", "expiry")
            wanted = settled(wanted) if typed else wanted
            want = _wanted(wanted)
        except NOT_JSON as error:
            yield key, f"what is expected is not a value: {error}"
            continue
        if key in fields:
            found = _spelt(draft.fields.get(key))
        elif key in others:
            found, want = others[key], sorted(want)
        else:
            yield key, "the target has no such field"
            continue
        if key == PARKED and isinstance(wanted, bool):
            found, want = (["yes"] if found else []), (["yes"] if wanted else [])
        if want != found:
            yield key, f"expected {_described(want)}, got {_described(found)}"
    if rejections and PARKED not in expect:
        yield PARKED, f"the asset would be parked: {rejections[0].text}"


def _others(draft: Draft, rejections: Sequence[Loss]) -> dict[str, list[str]]:
    rights = draft.rights
    return {
        "filename": [draft.filename],
        "profile": [draft.profile] if draft.profile else [],
        "status": [draft.status] if draft.status else [],
        "tags": sorted(draft.tags),
        "placements": sorted(placement.text for placement in draft.placements),
        "groups": sorted(rights.groups),
        "release": [instant_text(rights.release_at)] if rights.release_at else [],
        "expiry": [instant_text(rights.expires_at)] if rights.expires_at else [],
        PARKED: sorted({fault.rule for fault in rejections}),
    }


def _wanted(wanted: Json) -> list[str]:
    if wanted is None:
        return []
    rows = wanted if isinstance(wanted, list) else [wanted]
    return [_row(row) for row in rows]


def _row(row: Json) -> str:
    if isinstance(row, dict | date):
        value = value_from_json(_json(row, inside=True))
        return "; ".join(_spelt(value))
    if row is None or isinstance(row, list):
        raise ValueError("an item of a list is empty, or a list itself")
    return str(row).lower() if isinstance(row, bool) else _text(row)


def _spelt(value: Value | None) -> list[str]:
    if value is None:
        return []
    return [_text(row) for row in (value if isinstance(value, tuple) else (value,))]


def _text(value: Scalar) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Localized(texts):
            return "; ".join(f"{locale}: {text}" for locale, text in sorted(texts.items()))
        case GeoPoint() | Row():
            return str(value_to_json(value))
        case _:
            return LanguagePreference().text(value) or ""


def _described(texts: Sequence[str]) -> str:
    return ", ".join(f"“{text}”" for text in texts) or "nothing"


def _placement(item: Json) -> Json:
    if isinstance(item, str):
        return {"kind": "folder", "path": list(path_of(item))}
    return {"kind": item.get("kind", "folder"), "path": list(Placement("", tuple(item["path"])).path)}


def _json(value: Json, *, inside: bool) -> Json:
    """Dates as YAML reads them, in the neutral JSON form: wrapped inside `fields`, as text elsewhere."""
    if isinstance(value, dict):
        return {key: _json(item, inside=inside and key not in ("date", "instant")) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item, inside=inside) for item in value]
    if isinstance(value, datetime):
        text = instant_text(aware(value))
        return {"instant": text} if inside else text
    if isinstance(value, date):
        return {"date": value.isoformat()} if inside else value.isoformat()
    return value
