"""What no run has written yet, or not wholly: no difference that waiting for the index of the target would settle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dam_sync.engine.compare.comparison import compare
from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.expected import NOTHING_EXPECTED
from dam_sync.engine.compare.facts import Members, Scope
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.read.facts import facts_of
from dam_sync.model.asset import Asset, Draft
from dam_sync.store.store import SqlStore

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
    expected = replace(NOTHING_EXPECTED, pending=await context.state.store.open_placements(actual.id))
    parts = compare(expected, actual, facts_of(context.target, members=Members.ALL), scope, draft).parts
    return all(part.waits for path, part in parts.items() if path.startswith(PLACEMENTS) and not part.same)


async def has_conflict(store: SqlStore, asset: str) -> bool:
    """Whether the asset has an open conflict, so that runs write nothing of it as it is."""
    return bool(await store.conflicts_of([asset]))
