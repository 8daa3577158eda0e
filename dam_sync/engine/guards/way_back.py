"""Guards two jobs in opposite directions between the same tenants: what one moved, the other would create a second time
where it came from, and the first would move that again."""

from __future__ import annotations

from dam_sync.engine.run_context import RunContext
from dam_sync.mapping.compile import marked_asset
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import NotFound
from dam_sync.model.service import TRASH
from dam_sync.store.rows import Outcome

CAUSE = "came from the target"
HINT = (
    "`adopt JOB` links both, and later runs keep them in step (`dam-sync help operations`); to leave such assets out, "
    "exclude them by `select` in the mapping file"
)


def original_of(context: RunContext, asset: Asset) -> AssetId | None:
    """The asset of the target from which another job made this one; None for any other."""
    account = context.target_account
    names = [name for name in (account.tenant, account.unnamed) if name]
    found = (marked_asset(name, value) for value in asset.fields.values() for name in names)
    return next((original for original in found if original is not None), None)


async def came_back(context: RunContext, asset: Asset) -> Outcome | None:
    """Why an asset that has no link is parked: the target still has the one that it was made from."""
    original = original_of(context, asset)
    if original is None or not context.crosswalk.selects(asset):
        return None
    try:
        found = await context.target.fetch(original)
    except NotFound:
        return None
    if found.status == TRASH:
        return None
    return Outcome(
        action="parked",
        cause=CAUSE,
        message=f"another job made it from {original}, which the target still has: a run would create a second one",
        hint=HINT,
    )
