"""An asset as a draft for the target, with what only the target itself can say of it."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.engine.run_context import RunContext
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset


async def draft_of(context: RunContext, asset: Asset, marker: str, terms: Mapping[str, TermIndex]) -> Drafted:
    """The draft; groups that the target turns out not to know are dropped or park the asset, as their line says."""
    made = context.crosswalk.draft(asset, marker, terms)
    names = made.draft.rights.groups
    if not names or context.target_schema.groups is not None:
        return made
    unknown = await context.target.unknown_groups(names)
    return context.crosswalk.draft(asset, marker, terms, unknown) if unknown else made
