"""Memberships that only the containers list: kept in the state, and compared before an asset goes to the trash."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import replace

from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.phases import Phases
from dam_sync.engine.context.run_task import RunTask
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.capabilities import MembershipWrite, Operation
from dam_sync.model.writes import Membership
from dam_sync.store.store import SqlStore

TARGET = "target:"  # before the ids of target assets among the members that a run keeps
UNSURE = f"{TARGET}unsure:"  # before those of which it is unknown whether they are members
UNREAD = AssetId(UNSURE)  # in place of all members of a container that cannot be read
MEMBERS_AT_ONCE = 5_000  # memberships in one transaction


async def read_members(
    target: Target,
    crosswalk: Crosswalk,
    store: SqlStore,
    task: RunTask,
    phases: Phases,
    due: Collection[AssetId] | None = None,
) -> None:
    """Read the containers of these target assets, by default of all, into the state, where every process of the run
    finds them. Where that takes reading all memberships, a run that reads only what changed does not do it. Raises the
    errors of the target; safe to repeat."""
    service, able = target.service, target.service.capabilities
    written = (kind for _, kind in crosswalk.plan.placements)
    if Operation.MEMBERS not in able or all(able.membership(kind) is not MembershipWrite.IN_BULK for kind in written):
        return
    if due is not None and not (able.members_by_asset or task.reads_target or task.options.full):
        return
    await phases.enter("reading memberships of the target")
    await store.forget_members(TARGET)
    found = service.members_of(due) if due and able.members_by_asset else service.members()
    await keep_members(store, found, TARGET, due)


async def keep_members(
    store: SqlStore, found: AsyncIterator[Membership], prefix: str, only: Collection[AssetId] | None = None
) -> list[str]:
    """Store memberships under ids with this prefix, of these assets if `only` names some. Many of them in one
    transaction: services return few at a time. A container whose members cannot be read keeps those that it had at the
    source, and counts as unread at the target, so that nothing is concluded from it. Returns which were not read, and
    why."""
    read: list[Membership] = []
    unread: list[str] = []
    number = 0
    async for membership in found:
        if membership.unread:
            unread.append(f"{membership.placement.text}: {membership.unread}")
            membership = await _as_known(store, membership, prefix)
        if membership.unsure and not prefix:
            continue  # an asset of the source counts as a member of the lower container alone
        before = UNSURE if membership.unsure else prefix
        ours = tuple(AssetId(f"{before}{each}") for each in membership.assets if only is None or each in only)
        if prefix and membership.unread:
            ours = (UNREAD,)
        if not ours:
            continue
        read.append(replace(membership, assets=ours))
        number += len(ours)
        if number >= MEMBERS_AT_ONCE:
            await store.add_members(read)
            read, number = [], 0
    await store.add_members(read)
    return unread


async def _as_known(store: SqlStore, membership: Membership, prefix: str) -> Membership:
    return membership if prefix else replace(membership, assets=await store.members_in(membership.placement, TARGET))


async def with_members(store: SqlStore, actual: Asset) -> Asset:
    """A target asset with the containers that `read_members` found."""
    key = AssetId(f"{TARGET}{actual.id}")
    found = (await store.members_of([key])).get(key)
    return replace(actual, placements=actual.placements | found) if found else actual
