"""Second pass, once every asset exists: bulk memberships and relations, and notes for the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from dam_sync.engine.context.error_policy import ParkAsset, react
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.patches import changes_of_members
from dam_sync.engine.guards.mass_deletion import Disappearance, disappearance_of
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Placement, Relation, digest_of
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import DamSyncError, Rejected
from dam_sync.model.journal import call_again, note_fact
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.note_keys import RETRIED_REFUSALS, window_key
from dam_sync.store.refused import circle_of
from dam_sync.store.rows import RelationRow
from dam_sync.store.undo import PLACES, RELATES

log = structlog.get_logger(__name__)
RELATIONS_AT_ONCE = 200
FLAGS = (True, False)


async def write_memberships(context: RunContext) -> None:
    """Bulk memberships, in full batches; a refused one is set aside and the others continue. What earlier
    runs were refused is tried again, once per run."""
    if not context.options.hinted and await context.store.get_meta(RETRIED_REFUSALS) != context.run.id:
        await context.store.retry_refused()
        await context.store.set_meta(RETRIED_REFUSALS, context.run.id)
    journal = context.store.run_journal(_scope(context))
    while (pending := await context.store.next_placements(context.target.limits.member_batch)) is not None:
        context.refuse_stopped()
        await _write_memberships(context, journal, *pending)


async def place_recorded(
    context: RunContext,
    journal: Journal,
    container: Placement,
    add: Sequence[AssetId],
    remove: Sequence[AssetId],
    named: Callable[[str], str] = str,
) -> str:
    """Change members of a container as one recorded step, and return its name. What is about to be changed is durable
    before the call. named: what the journal calls it. Raises what the target raises."""

    async def call() -> Json:
        await context.target.place(container, add, remove)
        return {"add": len(add), "remove": len(remove)}

    members = digest_of([container.id, list(add), list(remove)])
    name = named(journal_names.place(container.kind, container.path, members))
    meant: Json = {"container": container.id, "add": [*map(str, add)], "remove": [*map(str, remove)]}
    await note_fact(journal, journal_names.placing(name), meant)
    try:
        with recording(WriteRecord(container.id, changes_of_members(add, remove))):
            await journal.run(name, call, idempotent=True)
    except Rejected:
        await journal.discard(journal_names.placing(name))
        raise
    return name


def _scope(context: RunContext) -> str:
    return f"{PLACES}{context.run.id}"


async def _write_memberships(
    context: RunContext, journal: Journal, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]
) -> None:
    try:
        name = await place_recorded(context, journal, container, add, remove)
    except DamSyncError as error:
        if not isinstance(react(error), ParkAsset):
            raise
        if len(add) + len(remove) == 1:
            (asset,) = (*add, *remove)
            log.warning("placement.refused", container=container.text, asset=asset, message=error.message)
            await context.store.placement_refused(container, asset, f"{container.kind} {container.text}: {error}")
            return
        for half in _halves(add, remove):  # one bad asset must not block the others
            await _write_memberships(context, journal, container, *half)
        return
    await context.store.placements_done(container, [*add, *remove], (_scope(context), name))


def _halves(
    add: Sequence[AssetId], remove: Sequence[AssetId]
) -> tuple[tuple[Sequence[AssetId], Sequence[AssetId]], tuple[Sequence[AssetId], Sequence[AssetId]]]:
    if add and remove:
        return (add, ()), ((), remove)
    middle = (len(add) + len(remove)) // 2
    return (add[:middle], remove[:middle]), (add[middle:], remove[middle:])


async def write_relations(context: RunContext) -> None:
    """Remove relations that left the source, then write those whose two ends exist; the others wait and are
    reported."""
    if Operation.RELATE not in context.target.capabilities:
        return
    journal = context.store.run_journal(f"{RELATES}{context.run.id}")
    await _remove_relations(context, journal)
    cycles = context.target.capabilities.writes(Feature.CYCLES)
    after = 0
    while rows := await context.store.next_relations(RELATIONS_AT_ONCE, after):
        for row in rows:
            context.refuse_stopped()
            after = row.seq
            if not row.owner_target or not row.other_target:
                continue
            if not cycles and await context.store.leads(row.kind, row.other, row.owner):
                await context.store.relation_refused(row, circle_of(row.kind))
                continue
            await _write_relation(context, journal, row, adds=True)


async def _remove_relations(context: RunContext, journal: Journal) -> None:
    """One whose other asset was not moved, or is no longer linked, was never written or is gone with it."""
    after = 0
    while rows := await context.store.next_relations(RELATIONS_AT_ONCE, after, adds=False):
        for row in rows:
            context.refuse_stopped()
            after = row.seq
            if row.owner_target and row.other_target:
                await _write_relation(context, journal, row, adds=False)
            else:
                await context.store.relations_done([row])


async def _write_relation(context: RunContext, journal: Journal, row: RelationRow, *, adds: bool) -> None:
    """Write or remove one relation; a later change of mind is a write of its own."""
    relation = Relation(row.kind, AssetId(row.other_target))

    async def call() -> Json:
        write = context.target.relate if adds else context.target.unrelate
        await write(AssetId(row.owner_target), relation)
        return True

    try:
        detail: Json = {"kind": row.kind, "target": row.other_target}
        with recording(WriteRecord(row.owner_target, {"relation": [None, detail] if adds else [detail, None]})):
            name = journal_names.relation(row.owner, row.kind, row.other, adds=adds)
            await journal.run(name, call, reconcile=call_again)
    except DamSyncError as error:
        if not isinstance(react(error), ParkAsset):
            raise
        log.warning("relation.refused", asset=row.owner, other=row.other, message=error.message)
        await context.store.relation_refused(row, f"{row.kind}: {error.message}")
        return
    await context.store.relations_done([row])
    if not adds:
        await journal.discard(*(journal_names.relation(row.owner, row.kind, row.other, adds=each) for each in FLAGS))


async def unwritten_relations(context: RunContext) -> list[tuple[str, int]]:
    """How many relations were not written, by reason; an empty reason for those that wait for an asset. What a service
    refused is parked with its asset instead."""
    found = await context.store.relations_refused()
    return [(each.reason, each.number) for each in found if not each.reason or each.closes_circle]


async def disappeared(context: RunContext) -> Disappearance | None:
    """What is gone from the source and was not reported before, if this run can tell."""
    whole = await listed_all(context)
    loss = await disappearance_of(context, whole=whole)
    part = context.options.only or context.options.sample
    return loss if loss.gone and (whole or loss.fresh) and not part else None


async def listed_all(context: RunContext) -> bool:
    """Whether this run lists every asset of the source, so that a missing one is gone."""
    if context.options.only:
        return False
    window = await context.store.get_meta(window_key(context.run.id))
    return context.source.limits.enumerates_all or (window is not None and window["since"] is None)
