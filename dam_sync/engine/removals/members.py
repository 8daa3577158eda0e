"""Containers of target assets that are to be moved to the trash, where only the containers list their members."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dam_sync.engine.repair import TARGET
from dam_sync.engine.run_context import RunContext
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.capabilities import MembershipWrite, Operation


async def read_members(context: RunContext, due: Collection[AssetId] | None = None) -> None:
    """Read the containers of these target assets, by default of all, into the state, where every process of the run
    finds them. Where that takes reading all memberships, a run that reads only what changed does not do it. Raises the
    errors of the target; safe to repeat."""
    target, able = context.target, context.target.capabilities
    written = (kind for _, kind in context.crosswalk.plan.placements)
    if Operation.MEMBERS not in able or all(able.membership(kind) is not MembershipWrite.IN_BULK for kind in written):
        return
    if due is not None and not (able.members_by_asset or context.reads_target or context.options.full):
        return
    context.progress.phase = "reading memberships of the target"
    await context.store.forget_members(TARGET)
    async for membership in target.members_of(due) if due and able.members_by_asset else target.members():
        ours = tuple(AssetId(f"{TARGET}{asset}") for asset in membership.assets if due is None or asset in due)
        if ours and not membership.unsure:
            await context.store.add_members([replace(membership, assets=ours)])


async def with_members(context: RunContext, actual: Asset) -> Asset:
    """A target asset with the containers that `read_members` found, without those of which a change of ours is
    pending or was refused."""
    key = AssetId(f"{TARGET}{actual.id}")
    found = (await context.store.members_of([key])).get(key)
    if not found:
        return actual
    return replace(actual, placements=actual.placements | (found - await context.store.open_placements(actual.id)))
