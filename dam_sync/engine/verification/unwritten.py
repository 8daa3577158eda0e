"""What no run has written yet, or not wholly: no difference that waiting for the index of the target would settle."""

from __future__ import annotations

from collections.abc import Iterable

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.facts import Scope
from dam_sync.engine.context.run_context import RunContext
from dam_sync.model.asset import Asset, Draft

PLACEMENTS = "placements"
REJECTED = "value at the source: {}"  # the pattern of values that the mapping refuses


def may_agree_later(found: Iterable[Difference]) -> set[str]:
    """The paths of differences that may come from an index that is behind: what it lacks, or a membership that was
    removed."""
    return {one.path for one in found if not one.extra or one.path == PLACEMENTS}


async def is_unwritten(
    context: RunContext, draft: Draft, actual: Asset, scope: Scope, found: Iterable[Difference]
) -> bool:
    """Whether the asset differs only because its memberships, or their removal, are not written yet."""
    if may_agree_later(found) != {PLACEMENTS}:
        return False
    differing = {place for place in draft.placements ^ actual.placements if place.kind in scope.containers}
    return differing <= await context.store.open_placements(actual.id)


async def has_conflict(context: RunContext, asset: str) -> bool:
    """Whether the asset has an open conflict, so that runs write nothing of it as it is."""
    return bool(await context.store.conflicts_of([asset]))
