"""Values of another JSON type than documented: they never become text, and are never dropped without a named loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from dam_sync.model.asset import Asset, Loss
from dam_sync.model.name_bounds import refuse_unbounded, within_bounds
from dam_sync.model.values import Json, Localized, Term

UNREADABLE = "has a shape that is not documented"
DAMAGED = "holds characters that are not valid Unicode, which were replaced by U+FFFD"
REPLACEMENT = "\ufffd"
MOST_BYTES = 2**63 - 1  # what a file system and a database can count
_SHOWN = 80  # characters of the value that a loss shows
_NAMES = {bool: "true or false", list: "a list", dict: "an object"}


def is_textual(raw: Json) -> bool:
    """Whether it can be read as text: text itself, or a number."""
    return isinstance(raw, str) or (isinstance(raw, (int, float)) and not isinstance(raw, bool))


def unreadable(path: str, raw: Json, what: str = "") -> Loss:
    """The loss of a value that cannot be read. what: its name in the response."""
    return Loss(path, UNREADABLE, f"{what} is {_NAMES.get(type(raw), 'not text')}: {shown_json(raw)}".lstrip())


def shown_json(raw: Json) -> str:
    """A value that a service gave and nothing reads, shortened, for a loss."""
    shown = json.dumps(raw, ensure_ascii=False, default=str)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def text_in(holder: Mapping[str, Json], key: str, path: str, losses: list[Loss]) -> str:
    """Text; empty if there is none, or if there is a value of another type, which is added to the losses."""
    raw = holder.get(key)
    if raw is None or is_textual(raw):
        return "" if raw is None else str(raw)
    losses.append(unreadable(path, raw, key))
    return ""


def size_of_file(raw: Json) -> int | None:
    """Bytes: a whole number, also one that is sent as text. None if there is none, or one that no file can have: then
    the length of the download counts."""
    if isinstance(raw, bool):
        return None
    try:
        size = int(raw)
    except (TypeError, ValueError, OverflowError):
        return None
    return size if 0 <= size <= MOST_BYTES else None


def flag_in(holder: Mapping[str, Json], key: str) -> bool:
    """A flag; False if there is none. Raises TypeError for a value that is neither true nor false."""
    match holder.get(key):
        case None | False | 0 | "false":
            return False
        case True | 1 | "true":
            return True
        case raw:
            raise TypeError(f"{key} is {raw!r:.40}, neither true nor false")


def damage_named(asset: Asset) -> Asset:
    """The asset with a loss for each part that contains a replacement character, and for each that was left out because
    it is longer than any name. Raises InvalidValue where the asset would not be the same without it."""
    refuse_unbounded(asset)
    asset = within_bounds(asset)
    parts = {
        "filename": asset.filename,
        "tags": asset.tags,
        "placements": tuple(place.path for place in asset.placements),
        "rights": (asset.rights.groups, asset.rights.restrictions),
    }
    damaged: dict[str, object] = {f"fields.{key}": value for key, value in asset.fields.items() if _is_damaged(value)}
    damaged |= {path: part for path, part in parts.items() if _is_damaged(part)}
    losses = (Loss(path, DAMAGED, _around(value)) for path, value in damaged.items())
    return replace(asset, losses=(*asset.losses, *losses)) if damaged else asset


def _is_damaged(value: object) -> bool:
    match value:
        case str():
            return REPLACEMENT in value
        case tuple() | frozenset():
            return any(map(_is_damaged, value))
        case Term():
            return _is_damaged(value.label) or _is_damaged(value.path)
        case Localized():
            return any(map(_is_damaged, value.texts.values()))
    return REPLACEMENT in repr(value)


def _around(value: object) -> str:
    text = repr(value)
    at = text.index(REPLACEMENT)
    return text[max(0, at - _SHOWN // 2) : at + _SHOWN // 2]
