"""What a draft has of an asset without a rule of the mapping: the same, where the target can store it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from dam_sync.model.asset import Asset, Draft


def with_carried(draft: Draft, asset: Asset, holds: Container[str]) -> Draft:
    """The draft of an asset with the parts that need no rule. holds: what the target stores, see
    `Capabilities.parts`."""
    narrowed = asset.rights.restrictions
    if narrowed and "restrictions" in holds:
        draft = replace(draft, rights=replace(draft.rights, restrictions=narrowed))
    return draft
