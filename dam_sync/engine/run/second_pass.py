"""Second pass, once every asset exists: bulk memberships and relations, and notes for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from dam_sync.engine.context.error_policy import ParkAsset, react
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.stopping import Stopping
from dam_sync.engine.decide.patches import changes_of_members
from dam_sync.engine.guards.mass_deletion import Disappearance, disappearance_of
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Placement, Relation, digest_of
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import DamSyncError, Rejected
from dam_sync.model.journal import call_again, note_fact
from dam_sync.model.ports import Journal
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.note_keys import RETRIED_REFUSALS, window_key
from dam_sync.store.refused import circle_of
from dam_sync.store.rows import RelationRow
from dam_sync.store.runs import PLACES
from dam_sync.store.store import SqlStore

log = structlog.get_logger(__name__)
RELATIONS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class MemberChange:
    """Assets of the target that one call adds to a container, and those that it removes."""

    container: Placement
    add: Sequence[AssetId]
    remove: Sequence[AssetId]

    @property
    def assets(self) -> list[AssetId]:
        """All of them."""
        return [*self.add, *self.remove]

    @property
    def name(self) -> str:
        """What the journal calls it."""
        members = digest_of([self.container.id, list(self.add), list(self.remove)])
        return journal_names.place(self.container.kind, self.container.path, members)

    def halves(self) -> tuple[MemberChange, MemberChange]:
        """The same in two calls."""
        if self.add and self.remove:
            return replace(self, remove=()), replace(self, add=())
        middle = len(self.assets) // 2
        first = replace(self, add=self.add[:middle], remove=self.remove[:middle])
        return first, replace(self, add=self.add[middle:], remove=self.remove[middle:])


async def write_memberships(context: RunContext) -> None:
    """Bulk memberships, in full batches; a refused one is set aside and the others continue. What earlier
    runs were refused is tried again, once per run."""
    if not context.task.options.hinted and await context.state.store.get_meta(RETRIED_REFUSALS) != context.state.run.id:
        await context.state.store.retry_refused()
        await context.state.store.set_meta(RETRIED_REFUSALS, context.state.run.id)
    while (
        pending := await context.state.store.next_placements(context.target.service.limits.member_batch)
    ) is not None:
        context.stopping.refuse_stopped()
        await _write_memberships(context.target, context.state, MemberChange(*pending))


async def place_recorded(target: Target, journal: Journal, name: str, change: MemberChange) -> None:
    """Change members of a container as one recorded step of this name. Raises what the target raises."""

    async def call() -> Json:
        await target.service.place(change.container, change.add, change.remove)
        return {"add": len(change.add), "remove": len(change.remove)}

    with recording(WriteRecord(change.container.id, changes_of_members(change.add, change.remove))):
        await journal.run(name, call, idempotent=True)


async def _write_memberships(target: Target, state: RunState, change: MemberChange) -> None:
    try:
        await _place(target, state, change)
    except DamSyncError as error:
        if not isinstance(react(error), ParkAsset):
            raise
        container = change.container
        if len(change.assets) == 1:
            (asset,) = change.assets
            log.warning("placement.refused", container=container.text, asset=asset, message=error.message)
            await state.store.placement_refused(container, asset, f"{container.kind} {container.text}: {error}")
            return
        for half in change.halves():  # one bad asset must not block the others
            await _write_memberships(target, state, half)


async def _place(target: Target, state: RunState, change: MemberChange) -> None:
    """What is about to be changed is durable before the call, one commit a batch; its result is with the end of what
    waited, in another. A rollback takes all that is noted for changed, so that no more than one call is noted at a
    time."""
    store, name = state.store, change.name
    notes = store.run_journal(f"{PLACES}{state.run.id}")
    meant: Json = {
        "container": change.container.id,
        "add": [*map(str, change.add)],
        "remove": [*map(str, change.remove)],
    }
    await note_fact(notes, journal_names.placing(name), meant)
    try:
        journal = store.placement_journal(state.run.id, change.container, change.assets, name)
        await place_recorded(target, journal, name, change)
    except Rejected:
        await notes.discard(journal_names.placing(name))
        raise


async def write_relations(target: Target, state: RunState, stopping: Stopping) -> None:
    """Remove relations that left the source, then write those whose two ends exist; the others wait and are
    reported."""
    if Operation.RELATE not in target.service.capabilities:
        return
    await _remove_relations(target, state, stopping)
    cycles = target.service.capabilities.writes(Feature.CYCLES)
    after = 0
    while rows := await state.store.next_relations(RELATIONS_AT_ONCE, after):
        for row in rows:
            stopping.refuse_stopped()
            after = row.seq
            if not row.owner_target or not row.other_target:
                continue
            if not cycles and await state.store.leads(row.kind, row.other, row.owner):
                await state.store.relation_refused(row, circle_of(row.kind))
                continue
            await _write_relation(target, state, row, adds=True)


async def _remove_relations(target: Target, state: RunState, stopping: Stopping) -> None:
    """One whose other asset was not moved, or is no longer linked, was never written or is gone with it."""
    after = 0
    while rows := await state.store.next_relations(RELATIONS_AT_ONCE, after, adds=False):
        for row in rows:
            stopping.refuse_stopped()
            after = row.seq
            if row.owner_target and row.other_target:
                await _write_relation(target, state, row, adds=False)
            else:
                await state.store.relations_done([row])


async def _write_relation(target: Target, state: RunState, row: RelationRow, *, adds: bool) -> None:
    """Write or remove one relation; a later change of mind is a write of its own. Its intent is one commit, its result
    and the end of what waited are another."""
    relation = Relation(row.kind, AssetId(row.other_target))

    async def call() -> Json:
        write = target.service.relate if adds else target.service.unrelate
        await write(AssetId(row.owner_target), relation)
        return True

    try:
        detail: Json = {"kind": row.kind, "target": row.other_target}
        with recording(WriteRecord(row.owner_target, {"relation": [None, detail] if adds else [detail, None]})):
            name = journal_names.relation(row.owner, row.kind, row.other, adds=adds)
            journal = state.store.relation_journal(state.run.id, row, adds=adds)
            await journal.run(name, call, reconcile=call_again)
    except DamSyncError as error:
        if not isinstance(react(error), ParkAsset):
            raise
        log.warning("relation.refused", asset=row.owner, other=row.other, message=error.message)
        await state.store.relation_refused(row, f"{row.kind}: {error.message}")


async def unwritten_relations(store: SqlStore) -> list[tuple[str, int]]:
    """How many relations were not written, by reason; an empty reason for those that wait for an asset. What a service
    refused is parked with its asset instead."""
    found = await store.relations_refused()
    return [(each.reason, each.number) for each in found if not each.reason or each.closes_circle]


async def disappeared(source: Source, state: RunState, options: RunOptions) -> Disappearance | None:
    """What is gone from the source and was not reported before, if this run can tell."""
    whole = await listed_all(source, state, options)
    loss = await disappearance_of(state, whole=whole)
    part = options.only or options.sample
    return loss if loss.gone and (whole or loss.fresh) and not part else None


async def listed_all(source: Source, state: RunState, options: RunOptions) -> bool:
    """Whether this run lists every asset of the source, so that a missing one is gone."""
    if options.only:
        return False
    window = await state.store.get_meta(window_key(state.run.id))
    return source.service.limits.enumerates_all or (window is not None and window["since"] is None)
