"""Undoes one run: its assets first, then relations and memberships of those that stay.

What the run wrote comes from the ledger. Each asset is asked for by id before anything is written, and committed with
its link once it is undone, so that a killed rollback is resumed by the same command.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import structlog

from dam_sync.aio.task_group import TaskGroup
from dam_sync.engine.context.error_policy import ParkAsset, react
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.undo import BEGUN_REASON, MADE_REASONS, NO_RELATE, NO_UNRELATE
from dam_sync.engine.guards.missing import MissingMonitor
from dam_sync.engine.names.restore import NameRestorer
from dam_sync.engine.read.index import wait_for_index
from dam_sync.engine.read.members import read_members
from dam_sync.engine.read.seen import held
from dam_sync.engine.rollback.asset import KEPT, RESTORED, RETURNED, TRASHED, AssetUndoer, UndoneAsset, later_write
from dam_sync.engine.run.second_pass import MemberChange, place_recorded
from dam_sync.engine.write.partial_creates import abort_orphaned_uploads, trash_partial_create
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Placement, Relation
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Conflict, DamSyncError
from dam_sync.model.exposure import ExposureRule
from dam_sync.model.journal import call_again
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.model.written import UNRECORDED, Obstacle, WrittenAsset, WrittenMembers
from dam_sync.store.journal import StoredJournal
from dam_sync.store.rows import Work
from dam_sync.store.undo import Undone
from dam_sync.store.undo_list import UndoList

log = structlog.get_logger(__name__)
PAGE = 500
UNDOING = "undoing"
RELATED, UNRELATED, PLACED = "relations removed", "relations written again", "memberships returned"
RENAMED = "renamed back"
INCOMPLETE = "incomplete assets moved to the trash"
INTERRUPTED = "being changed when the run was interrupted"
SHOWN = f"of these shown to more people again, as `{ExposureRule.RETURNED.value}: accept` says"


@dataclass(slots=True)
class Rollback:
    """The rollback of one run. listed: what it wrote; whole: it listed everything, so the next run does it again.
    counts: assets and parts by what became of them."""

    context: RunContext
    listed: UndoList
    whole: bool
    counts: Counter[str] = field(default_factory=Counter)

    async def survey(self) -> None:
        """Count what would be undone, by the state alone: the target is not asked for assets."""
        undoer = self._undoer()
        async for written in self._assets():
            await self._survey_asset(undoer, written)
        for row in self.listed.relations():
            await self._survey_relation(row)
        for members in self.listed.members(self._members_at_once):
            moved, _ = await self._movable(members)
            self.counts[PLACED] += len(moved)
        names = NameRestorer(self.context.target, self.context.state.store, self.listed)
        for row in self.listed.renames():
            found = names.prevented(row)
            self.counts[RENAMED] += found is None
            self.listed.add_obstacles((found,) if found else (), journal_names.object_of(row.operation), row.target)
        await self._survey_incomplete()
        self.counts = +self.counts
        self._others()

    async def _survey_asset(self, undoer: AssetUndoer, written: WrittenAsset) -> None:
        if written.later:
            self._count(written, UndoneAsset(KEPT, (later_write(written.later),)))
            self.listed.keep(written.target)
            return
        undo = await undoer.planned(written)
        if written.begun and not written.rows:
            self.counts[INTERRUPTED] += 1
        elif undo.trash or undo.restore or not undo.empty:
            fate = TRASHED if undo.trash else RESTORED if undo.restore else RETURNED
            self._count(written, UndoneAsset(fate, undo.obstacles, undo.shows))
        elif undo.obstacles:
            self.listed.keep(written.target)
            self._count(written, UndoneAsset(KEPT, undo.obstacles))

    @property
    def is_done(self) -> bool:
        """Whether there was nothing to undo."""
        return not self.counts.keys() - {KEPT}

    async def execute(self) -> None:
        """Undo everything that can be undone. Raises what stops a run; safe to repeat."""
        context = self.context
        self.listed.forget_obstacles()
        if self.listed.is_interrupted or [page async for page in self._unlinked() if page]:
            await wait_for_index(context.target, context.state, context.stopping, context.phases)
        if self.listed.creates:
            await read_members(
                context.target, context.mapping.crosswalk, context.state.store, context.task, context.phases
            )
        await context.phases.enter(UNDOING)
        async for page in self._pages():
            await self._undo_page(page)
        await self._incomplete()
        for row in self.listed.relations():
            await self._relation(row)
        for members in self.listed.members(self._members_at_once):
            await self._members(members)
        names = NameRestorer(self.context.target, self.context.state.store, self.listed)
        for row in self.listed.renames():
            self.counts[RENAMED] += await names.undo(row)
            self._refuse_stopped()
        self.counts = +self.counts
        self._others()
        await context.state.store.keep_open_writes(self.listed.run, self.listed.open_writes())
        await abort_orphaned_uploads(
            context.target, context.state.store, context.task.options, context.tallies, context.workers
        )

    async def complete_begun(self) -> None:
        """Undo the relations and give back the names that an attempt of this rollback, which is given up, began to, or
        did without recording it: the state would have those of the run that was to be undone. What it changed of
        memberships is in the links of their assets, which were undone before. Safe to repeat."""
        journal = self._journal
        for row in self.listed.relations():
            if await journal.is_begun(_undoing(row)):
                await self._relation(row)
        await NameRestorer(self.context.target, self.context.state.store, self.listed).complete_begun()
        await journal.discard("*")

    @property
    def _journal(self) -> StoredJournal:
        """Of what belongs to no single asset."""
        return self.context.state.store.run_journal(f"undo:{self.listed.run}")

    # -- assets ---------------------------------------------------------------------------------------------------

    def _undoer(self) -> AssetUndoer:
        return AssetUndoer(
            self.context,
            self.listed,
            not self.whole,
            MissingMonitor(
                self.context.source,
                self.context.target,
                self.context.state,
                self.context.stopping,
                self.context.accepted,
            ),
        )

    async def _pages(self) -> AsyncIterator[Sequence[WrittenAsset]]:
        after = ""
        while page := self.listed.assets(after, PAGE):
            after = page[-1].target
            yield page

    async def _assets(self) -> AsyncIterator[WrittenAsset]:
        async for page in self._pages():
            for written in page:
                yield written

    async def _undo_page(self, page: Sequence[WrittenAsset]) -> None:
        """As many at once as the target takes."""
        undoer, permits = self._undoer(), asyncio.Semaphore(self.context.writers)

        async def undo(written: WrittenAsset) -> None:
            async with permits:
                if not self.context.stopping.token.reason:
                    self._count(written, await undoer.undo(written))
                    self.context.phases.progress.removed += 1

        async with TaskGroup() as group:
            for written in page:
                group.start(undo, written)
        self._refuse_stopped()

    def _refuse_stopped(self) -> None:
        if self.context.stopping.token.reason:
            raise self.context.stopping.token.error("run the same command again to continue")

    def _count(self, written: WrittenAsset, done: UndoneAsset) -> None:
        if done.fate:
            self.counts[done.fate] += 1
        self.counts[SHOWN] += done.shows
        self.listed.add_obstacles(done.obstacles, written.source, written.target)

    async def _survey_incomplete(self) -> None:
        """Assets without a link that the run began: whether there is anything at the target is not known."""
        async for page in self._unlinked():
            self.counts[INCOMPLETE] += len(page)

    async def _unlinked(self) -> AsyncIterator[list[AssetId]]:
        """Assets that the run began to create and that no row of the ledger names: the response was lost."""
        store, after = self.context.state.store, ""
        while page := await store.unfinished_assets(self.listed.run, after, PAGE):
            after = page[-1].source
            begun = [each.source for each in page if each.of_run]
            known = self.listed.sources(begun) | (await store.links(begun)).keys() | (await store.trashed(begun)).keys()
            yield [source for source in begun if source not in known]

    async def _incomplete(self) -> None:
        context = self.context
        async for page in self._unlinked():
            for asset in page:
                try:
                    await trash_partial_create(context, Work(0, asset, "", begun=True))
                except Conflict as error:
                    self.listed.add_obstacles((Obstacle("created assets", str(error.cause)),), asset, "")
                self._refuse_stopped()
        if context.tallies.partial_creates_trashed:
            self.counts[INCOMPLETE] = context.tallies.partial_creates_trashed

    # -- relations ------------------------------------------------------------------------------------------------

    async def _ends(self, row: LedgerRow) -> tuple[Relation, bool, bool]:
        """The relation, whether the run wrote it, and whether its two ends stay at the target."""
        removed, added = row.changes["relation"]
        end = added or removed
        relation = Relation(end["kind"], AssetId(end["target"]))
        linked = await self.context.state.store.links_by_target([AssetId(row.target), relation.target])
        return relation, bool(added), {AssetId(row.target), relation.target} <= linked.keys()

    async def _survey_relation(self, row: LedgerRow) -> None:
        relation, added, both = await self._ends(row)
        ends = (row.target, str(relation.target))
        if not both or any(self.listed.created(end) and not self.listed.is_kept(end) for end in ends):
            return  # it goes with its asset
        if found := self._prevented(ends, added=added):
            self.listed.add_obstacles((found,), "", row.target)
        else:
            self.counts[RELATED if added else UNRELATED] += 1

    def _prevented(self, ends: tuple[str, str], *, added: bool) -> Obstacle | None:
        """Why a relation between these assets stays."""
        able = self.context.target.service.capabilities
        if later := max(self.listed.later(end) for end in ends):
            return later_write(later)
        if any(self.listed.is_kept(end) and self.listed.created(end) for end in ends):
            return Obstacle("relations", "an asset that the run created stays")
        if (Operation.UNRELATE if added else Operation.RELATE) in able:
            return None
        return NO_UNRELATE if added else NO_RELATE

    async def _relation(self, row: LedgerRow) -> None:
        relation, added, both = await self._ends(row)
        if both and (found := self._prevented((row.target, str(relation.target)), added=added)):
            self.listed.add_obstacles((found,), "", row.target)
            return
        links = await self.context.state.store.links_by_target([AssetId(row.target)])
        owner = links.get(AssetId(row.target))
        if owner is not None:
            if row.seq >= UNRECORDED and both and await self._is_there(row, relation) is not added:
                both = False  # it was not written before the run was interrupted
            elif not await self._turn(row, relation, added=added, both=both):
                return
            other = journal_names.other_of(row.operation, owner.source, relation.kind)
            again = not self.whole
            await self.context.state.store.relation_undone(owner.source, relation.kind, other, added=added, again=again)
            self.counts[RELATED if added else UNRELATED] += both
        self.listed.relation_done(row.seq)
        if row.seq < UNRECORDED:
            await self.context.state.store.undone(self.listed.run, Undone("", "", (row.seq,)))

    async def _is_there(self, row: LedgerRow, relation: Relation) -> bool:
        """Whether the target asset has this relation."""
        there = await held(self.context.target, AssetId(row.target))
        return there is not None and any(
            (each.kind, each.target) == (relation.kind, relation.target) for each in there.relations
        )

    async def _turn(self, row: LedgerRow, relation: Relation, *, added: bool, both: bool) -> bool:
        """Write or remove one relation; False if the target refused it. One to an asset that is gone went with it."""
        target = self.context.target.service
        if (Operation.UNRELATE if added else Operation.RELATE) not in target.capabilities or not (both or added):
            return True

        async def call() -> Json:
            write = target.unrelate if added else target.relate
            await write(AssetId(row.target), relation)
            return True

        detail: Json = {"kind": relation.kind, "target": str(relation.target)}
        try:
            with recording(WriteRecord(row.target, {"relation": [detail, None] if added else [None, detail]})):
                await self._journal.run(_undoing(row), call, reconcile=call_again)
        except DamSyncError as error:
            if not isinstance(react(error), ParkAsset):
                raise
            if both:
                self.listed.add_obstacles(
                    (Obstacle("relations", f"refused by the target: {error.cause}"),), "", row.target
                )
            return not both
        return True

    # -- memberships ----------------------------------------------------------------------------------------------

    @property
    def _members_at_once(self) -> int:
        """Full batches of the target, about as many as a page."""
        most = max(1, self.context.target.service.limits.member_batch)
        return most * max(1, PAGE // most)

    async def _movable(self, members: WrittenMembers) -> tuple[list[str], list[str]]:
        """The assets whose membership returns, and those of which it went with the asset. Others are counted as what
        stays."""
        moved, gone = [], []
        every = [*members.added, *members.removed]
        linked = await self.context.state.store.links_by_target([AssetId(each) for each in every])
        for target in every:
            if later := self.listed.later(target):
                self.listed.add_obstacles((replace(later_write(later), what="memberships"),), "", target)
            elif self.listed.created(target) and self.listed.is_kept(target):
                self.listed.add_obstacles((Obstacle("memberships", "an asset that the run created stays"),), "", target)
            elif AssetId(target) not in linked or self.listed.created(target):
                gone.append(target)
            else:
                moved.append(target)
        return moved, gone

    async def _members(self, members: WrittenMembers) -> None:
        """Undo what was changed in one container, in full batches."""
        moved, gone = await self._movable(members)
        known = await self.context.state.store.container_of(members.container)
        container = known[0] if known else Placement("", (), members.container)
        added, most = frozenset(members.added), max(1, self.context.target.service.limits.member_batch)
        refused: set[str] = set()
        for first in range(0, len(moved), most):
            batch = moved[first : first + most]
            add = [AssetId(each) for each in batch if each not in added]
            remove = [AssetId(each) for each in batch if each in added]
            refused |= await self._place(container, add, remove)
            self._refuse_stopped()
        rows = [
            row for row in self.listed.members_done(members.container, {*moved, *gone} - refused) if row < UNRECORDED
        ]
        if rows:
            await self.context.state.store.undone(self.listed.run, Undone("", members.container, rows))

    async def _place(self, container: Placement, add: list[AssetId], remove: list[AssetId]) -> set[str]:
        """Change the members of a container; those that the target refused."""
        try:
            change = MemberChange(container, add, remove)
            await place_recorded(self.context.target, self._journal, journal_names.undo(change.name), change)
        except DamSyncError as error:
            if not isinstance(react(error), ParkAsset):
                raise
            if len(add) + len(remove) == 1:
                (asset,) = (*add, *remove)
                log.warning("undo.refused", container=container.text, asset=asset, message=error.message)
                self.listed.add_obstacles(
                    (Obstacle("memberships", f"refused by the target: {error.cause}"),), "", asset
                )
                return {asset}
            refused = [await self._place(container, [one], []) for one in add]
            refused += [await self._place(container, [], [one]) for one in remove]
            return set().union(*refused)
        self.counts[PLACED] += len(add) + len(remove)
        return set()

    # -- the rest -------------------------------------------------------------------------------------------------

    def _others(self) -> None:
        """What nothing undoes: terms and containers stay, because others may use them."""
        for kind, names in self.listed.others().items():
            found = MADE_REASONS.get(kind) or Obstacle(f"writes of the kind `{kind}`", "nothing undoes them")
            for name in names:
                self.listed.add_obstacles((found,), journal_names.object_of(name))
        for name in self.listed.open_creations():
            found = replace(MADE_REASONS[journal_names.kind_of(name)], reason=BEGUN_REASON)
            self.listed.add_obstacles((found,), journal_names.object_of(name))


def _undoing(row: LedgerRow) -> str:
    """The name of the write that undoes this row of a relation."""
    return journal_names.undo(row.operation if row.seq >= UNRECORDED else f"{row.kind}:{row.seq}")
