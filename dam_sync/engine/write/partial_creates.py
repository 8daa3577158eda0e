"""Cleans up after a killed run: partially created assets and orphaned uploads at the target."""

from __future__ import annotations

from contextlib import suppress

import structlog

from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.run_context import RunContext, Tallies
from dam_sync.engine.context.writers import RemoteWriters
from dam_sync.engine.read.intents import recorded_intents
from dam_sync.engine.read.seen import held, living
from dam_sync.engine.write.trash import TargetTrash
from dam_sync.mapping.compile import marker_value
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Marker, Patch
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Conflict, Rejected
from dam_sync.model.journal import NamespacedJournal
from dam_sync.model.link import LinkRow
from dam_sync.model.parking import ParkReason
from dam_sync.model.ports import Journal
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.rows import Work
from dam_sync.store.store import SqlStore

log = structlog.get_logger(__name__)
NEEDED = {Operation.FIND, Operation.UPDATE, Operation.REMOVE}


async def trash_partial_create(context: RunContext, work: Work, *, edited: bool = False) -> None:
    """Clear the marker of the partial asset and move it to the trash, so that the asset is created from scratch if it
    reappears. One that a killed run only took out of the trash goes back. A linked asset stays. Safe to repeat. edited:
    also if people edited it; else raises Conflict for that."""
    if not work.begun or context.task.dry or NEEDED - context.target.service.capabilities.operations:
        return
    if await context.state.store.links([work.asset]):
        return
    journal = context.state.store.journal(work, context.state.run.id)
    key = context.mapping.crosswalk.marker
    marker = Marker(key, marker_value(context.source.account.tenant, work.asset)) if key else None
    partial = await journal.run(
        journal_names.PARTIAL_CREATE, lambda: _find_partial(context.target, marker, journal), idempotent=True
    )
    if partial:
        trashed = (await context.state.store.trashed([work.asset])).get(work.asset)
        whole = trashed.link if trashed is not None and trashed.link.target == partial else None
        if not edited:
            await _refuse_edited(context, work, AssetId(partial), journal, whole)
        await _trash(context.target, AssetId(partial), marker if whole is None else None, journal)
        context.tallies.partial_creates_trashed += 1
        log.warning("asset.partial_create", asset=work.asset, target=partial)
    await journal.discard("*")


async def _trash(target: Target, asset: AssetId, marker: Marker | None, journal: Journal) -> None:
    """Move it to the trash, without this marker, and record that: a later create may find it there by a marker that
    could not be taken from it. It may be there already, or gone."""
    if marker is not None:
        with suppress(Rejected):
            await target.service.update(asset, Patch(fields={marker.field: None}))

    async def call() -> Json:
        await target.service.remove(asset)
        return asset

    with suppress(Rejected), recording(WriteRecord(asset, {"trash": [False, True]})):
        await journal.run(journal_names.PARTIAL_REMOVAL, call, idempotent=True)


async def _refuse_edited(
    context: RunContext, work: Work, asset: AssetId, journal: Journal, whole: LinkRow | None
) -> None:
    """Raises Conflict if the asset has what no attempt wrote. whole: the link of one that was taken out of the
    trash."""
    actual = living(await held(context.target, asset))
    if actual is None:
        return
    complete = whole is not None or await journal.get(journal_names.CREATE) is not None
    link = whole or LinkRow(work.asset, asset)
    intents = await recorded_intents(journal)
    if changed := await TargetTrash(context).changed(link, actual, intents=intents, complete=complete):
        await journal.discard(journal_names.PARTIAL_CREATE)
        text = f"it is gone from the source before it was complete at the target, where {asset} was changed since: "
        raise Conflict(
            text + ", ".join(changed),
            asset=work.asset,
            code=ParkReason.CHANGED_AT_TARGET,
            hint=ParkReason.CHANGED_AT_TARGET.to_do,
        )


async def _find_partial(target: Target, marker: Marker | None, journal: Journal) -> str:
    """The id of the partial asset at the target; empty if nothing was created."""
    made = await journal.get(journal_names.CREATE)
    if made is None and marker is not None:
        inner = NamespacedJournal(journal, journal_names.inside(journal_names.CREATE))
        made = await target.service.find_partial(marker, inner, unmarked=True)
    return str(made or "")


async def abort_orphaned_uploads(
    target: Target, store: SqlStore, options: RunOptions, tallies: Tallies, workers: RemoteWriters | None
) -> None:
    """Abort upload sessions that a killed run left open, and count them; call it once no work can continue them. Does
    nothing in a run of chosen assets; safe to repeat."""
    if not options.only:
        tallies.orphans_aborted += await target.service.sweep(store.is_recorded)
        if workers is not None:
            tallies.orphans_aborted += await workers.sweep()
