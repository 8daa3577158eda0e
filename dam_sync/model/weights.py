"""How much memory an asset takes, roughly: what is kept of many assets at one time is bounded by it."""

from __future__ import annotations

from typing import Final

from dam_sync.model.asset import Asset
from dam_sync.model.limits import MIB
from dam_sync.model.values import Localized, Term

LISTED_BYTES: Final = MIB
"""Of an asset that a listing returned whole: a larger one is read again when it is its turn."""
BATCH_BYTES: Final = 8 * MIB  # of the assets of one batch of a listing
HELD_BYTES: Final = 64 * MIB
"""Of the assets that a run has read and not written yet; beyond it, one is read at a time."""
_EACH = 64  # bytes of an object, whatever it holds


def weight_of(asset: Asset) -> int:
    """Bytes, within a factor of four: texts count one for each character."""
    fields = sum(len(key) + _weight(value) for key, value in asset.fields.items())
    names = _weight((*asset.tags, *asset.machine_tags, *asset.rights.groups))
    places = sum(_weight(place.path) for place in asset.placements)
    rows = len(asset.relations) + len(asset.versions) + len(asset.attachments) + len(asset.losses)
    return fields + names + places + _EACH * rows


def _weight(value: object) -> int:
    match value:
        case str():
            return _EACH + len(value)
        case tuple() | frozenset():
            return _EACH + sum(map(_weight, value))
        case Localized():
            return _EACH + sum(len(text) for text in value.texts.values())
        case Term():
            return _EACH + len(value.label) + len(value.id) + _weight(value.path)
    return _EACH
