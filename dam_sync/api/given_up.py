"""What a rollback that was given up had begun: it is completed for these assets, and the run finds what to write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dam_sync.api.atomic_io import scratch_dir
from dam_sync.engine.guards.finding import accept
from dam_sync.engine.guards.missing import MissingMonitor, settle_begun_removals
from dam_sync.engine.names.restore import NameRestorer
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.undo.asset import AssetUndoer
from dam_sync.model.exposure import ExposureRule
from dam_sync.store.store import SqlStore
from dam_sync.store.undo_list import UndoList

PAGE = 500
SHOWN = "the rollback of run {} had begun to show asset {} to more people again, and was completed for it, as `{}` says"


async def settle_given_up(context: RunContext) -> None:
    """An asset whose earlier values a rollback had begun to return gets all of them, and is read again: the state would
    have those of the run that was to be undone, and the run nothing to write. One that it moved to the trash has no
    link any more. Names that it had begun to give back are given back. Safe to repeat."""
    for run, targets in (await context.store.begun_undos()).items():
        async with listed_writes(context.store, run) as listed:
            await _return_begun(context, listed, targets)
    await settle_begun_removals(context)
    for run in await context.store.begun_renames():
        async with listed_writes(context.store, run) as listed:
            await NameRestorer(context, listed).complete_begun()


async def _return_begun(context: RunContext, listed: UndoList, targets: frozenset[str]) -> None:
    undoer, after = AssetUndoer(context, listed, again=True, missing=MissingMonitor(context)), ""
    while page := listed.assets(after, PAGE):
        after = page[-1].target
        for written in page:
            if written.target in targets and not written.created:
                done = await undoer.undo(written)
                if done.shows:
                    await accept(context, [SHOWN.format(listed.run, written.source, ExposureRule.RETURNED.value)])
                await context.store.forget_undo(listed.run, written.target)


@asynccontextmanager
async def listed_writes(store: SqlStore, run: int) -> AsyncIterator[UndoList]:
    """What a run wrote."""
    with scratch_dir("rollback") as folder:
        listed = UndoList(folder / "undo.db", run)
        try:
            after = 0
            while rows := await store.ledger(after, PAGE):
                after = rows[-1].seq
                listed.add(rows)
            listed.complete()
            yield listed
        finally:
            listed.close()
