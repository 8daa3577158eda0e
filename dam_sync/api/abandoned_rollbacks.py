"""What an abandoned rollback had begun: it is completed for these assets, and the run finds what to write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dam_sync.api.atomic_io import scratch_dir
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.missing import MissingMonitor, settle_begun_removals
from dam_sync.engine.rollback.asset import AssetUndoer
from dam_sync.engine.rollback.rollback import Rollback
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId
from dam_sync.model.exposure import ExposureRule
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.written import UNRECORDED
from dam_sync.store.store import SqlStore
from dam_sync.store.undo_list import UndoList

PAGE = 500
SHOWN = "the rollback of run {} had begun to show asset {} to more people again, and was completed for it, as `{}` says"


async def finish_abandoned(context: RunContext) -> None:
    """An asset whose earlier values a rollback had begun to return gets all of them, and is read again: the state would
    have those of the run that was to be undone, and the run nothing to write. One that it moved to the trash has no
    link any more. Relations and names that it had begun to give back are given back. Safe to repeat."""
    begun = await context.state.store.begun_undos()
    for run, targets in begun.items():
        async with listed_writes(context.state.store, run) as listed:
            await _return_begun(context, listed, targets)
    await settle_begun_removals(context.target, context.state.store)
    for run in begun:
        async with listed_writes(context.state.store, run) as listed:
            await Rollback(context, listed, whole=False).complete_begun()


async def _return_begun(context: RunContext, listed: UndoList, targets: frozenset[str]) -> None:
    undoer, after = (
        AssetUndoer(
            context,
            listed,
            again=True,
            missing=MissingMonitor(context.source, context.target, context.state, context.stopping, context.accepted),
        ),
        "",
    )
    while page := listed.assets(after, PAGE):
        after = page[-1].target
        for written in page:
            if written.target in targets and not written.created:
                done = await undoer.undo(written)
                if done.shows:
                    await context.accepted.accept(
                        [SHOWN.format(listed.run, written.source, ExposureRule.RETURNED.value)]
                    )
                await context.state.store.forget_undo(listed.run, written.target)


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
            await _add_begun(store, listed)
            await _add_open(store, listed)
            yield listed
        finally:
            listed.close()


async def _add_begun(store: SqlStore, listed: UndoList) -> None:
    """Assets that the run began to change and did not complete: what it wrote of them may be in no row of the
    ledger."""
    after = ""
    while page := await store.unfinished_assets(listed.run, after, PAGE):
        after = page[-1].source
        begun = {each.source: each.earlier for each in page if each.of_run}
        links = [*(await store.links(list(begun))).values()]
        links += [each.link for each in (await store.trashed(list(begun))).values()]
        listed.add_begun((link.source, link.target, begun[AssetId(link.source)]) for link in links)


async def _add_open(store: SqlStore, listed: UndoList) -> None:
    """Memberships, relations and names that the run was about to change, or to create."""
    for each in await store.open_memberships(listed.run):
        listed.add_open_members(each.container, each.added, each.removed)
    for number, name in enumerate(await store.open_relations(listed.run), 1):
        owner, kind, other = journal_names.relation_of(name)
        links = await store.links([AssetId(owner), AssetId(other)])
        if len(links) == len({owner, other}):
            end = {"kind": kind, "target": links[AssetId(other)].target}
            sides = [None, end] if journal_names.kind_of(name) == "relate" else [end, None]
            target = links[AssetId(owner)].target
            listed.add_open_relation(
                LedgerRow(UNRECORDED + number, listed.run, name, "", target, None, "", {"relation": sides})
            )
    for number, one in enumerate(reversed(await store.open_renames(listed.run)), 1):
        row = LedgerRow(UNRECORDED + number, listed.run, one.name, "", one.target, None, "", one.changes)
        listed.add_open_rename(row)
    for number, name in enumerate(await store.open_creations(listed.run), 1):
        listed.add_open_creation(LedgerRow(UNRECORDED + number, listed.run, name, "", "", None, ""))
