"""Moves one asset to the trash of the target, or out of it: each once, and only if nobody changed the asset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dam_sync.engine.compare.facts import Members
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import Concluded, ReadAsset
from dam_sync.engine.decide import operations
from dam_sync.engine.decide.change import AssetChange
from dam_sync.engine.read.expected import expected_of
from dam_sync.engine.read.facts import compared
from dam_sync.engine.read.intents import recorded_intents
from dam_sync.engine.read.members import with_members
from dam_sync.engine.read.relations import written_relations
from dam_sync.engine.read.seen import held, living
from dam_sync.engine.write.change_writer import ChangeWriter
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Loss
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.codec import draft_from_json
from dam_sync.model.errors import NotFound, SafetyStop
from dam_sync.model.link import LinkRow
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.outcome import REMOVED, Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.service import TRASH
from dam_sync.model.values import Json
from dam_sync.store.rows import TrashedLink, Work

ALREADY = "it was gone from the target already"


@dataclass(frozen=True, slots=True)
class TargetTrash:
    """The trash of one target."""

    context: RunContext

    async def remove(self, work: Work, link: LinkRow) -> Outcome:
        """Remove the asset, or park it because somebody changed it. Raises the errors of the target, and SafetyStop for
        one that is gone although its removal was begun; safe to repeat."""
        context, asset = self.context, AssetId(link.target)
        journal = context.state.store.journal(work, context.state.run.id)
        found_there = await held(context.target, asset)
        actual = living(found_there)
        if not await journal.is_begun(journal_names.REMOVE):
            if actual is None:
                return Outcome(action=REMOVED, message=ALREADY)
            if changed := await self.changed(link, actual, intents=await self._intents(work)):
                kind = ParkReason.CHANGED_AT_TARGET
                message = f"it is gone from the source, and was changed at the target: {', '.join(changed)}"
                return Outcome(action="parked", cause=kind, message=message, hint=kind.to_do)
            await context.task.agree(work, operations.REMOVE)
        elif found_there is None:
            self.refuse_purged(link.target, link.source)

        await ChangeWriter(context, asset, journal).write(AssetChange(trash=True))
        return Outcome(action=REMOVED, message="gone from the source", digest=operations.REMOVE)

    async def _intents(self, work: Work) -> Sequence[Json]:
        """Drafts that an attempt which did not complete the asset may have written in part."""
        context = self.context
        if not await context.state.store.begun_assets([work.asset]):
            return ()
        return await recorded_intents(context.state.store.journal(replace(work, begun=True), context.state.run.id))

    async def changed(
        self,
        link: LinkRow,
        actual: Asset,
        besides: Callable[[str], bool] = lambda target: False,
        intents: Sequence[Json] = (),
        *,
        complete: bool = True,
    ) -> list[str]:
        """Where it is neither as it was last written nor as attempts with these recorded drafts may have left it, with
        what `read_members` found, and relations that others added, unless they lead to a target asset `besides`. link:
        without a draft for an asset that was not completed; complete: whether its create was."""
        context, seen = self.context, await with_members(self.context.state.store, actual)
        pending = frozenset() if seen is actual else await context.state.store.open_placements(actual.id)
        relations = await written_relations(context.target, context.state.store, actual, link, besides)
        expected = expected_of(context.target, link, intents, complete=complete, pending=pending, relations=relations)
        return compared(context.target, context.mapping.crosswalk, expected, seen, members=Members.MORE).foreign

    async def returned(self, work: Work, asset: Asset, found: TrashedLink) -> ReadAsset | Concluded:
        """What happens to an asset that was removed and is at the source again: its target asset comes out of the
        trash, or the asset is parked until somebody takes it out. What is not there any more is created again."""
        context, link = self.context, found.link
        begun = await context.state.store.journal(work, context.state.run.id).is_begun(journal_names.RESTORE)
        status = await self._status(AssetId(link.target))
        if not begun and status not in ("", TRASH):  # somebody took it out
            await context.state.store.put_back(asset.id)
            return ReadAsset(work, asset, link)
        purged = not status and context.target.service.capabilities.reads(Feature.TRASH)
        if Operation.RESTORE in context.target.service.capabilities and not purged:
            return ReadAsset(work, asset, link, restores=True)
        if purged or found.retried:
            loss = Loss("asset", LossRule.CREATED_AGAIN, f"it was {link.target}")
            return ReadAsset(work, replace(asset, losses=(*asset.losses, loss)), None)
        message = f"it was removed, is at the source again, and is {link.target} in the trash of the target"
        kind = ParkReason.STILL_IN_TRASH
        return Concluded(work, Outcome("parked", kind, message, kind.to_do), asset)

    async def _status(self, asset: AssetId) -> str:
        """The status at the target; empty for one that is gone."""
        try:
            return (await self.context.target.service.fetch(asset)).status or "unknown"
        except NotFound:
            return ""

    async def restore(self, work: Work, link: LinkRow) -> None:
        """Take the asset out of the trash. Raises the errors of the target; safe to repeat."""
        context = self.context
        await context.task.agree(work, operations.RESTORE)
        writer = ChangeWriter(
            context,
            AssetId(link.target),
            context.state.store.journal(work, context.state.run.id),
        )
        await writer.write(AssetChange(restore=draft_from_json(link.draft)))

    def refuse_purged(self, target: str, source: str) -> None:
        """Raises SafetyStop for an asset that a removal which was begun did not leave in the trash, of a target that
        shows its trash: the next one would be gone, too."""
        if (
            not self.context.target.service.capabilities.reads(Feature.TRASH)
            or self.context.task.options.accept_changes
        ):
            return
        raise SafetyStop(
            f"{target} was to be moved to the trash of the target, and is not there: it was removed permanently, by "
            "the service or by somebody",
            asset=source,
            hint="if the service removes permanently, set `policy: {deletes: none}` in the job; if somebody emptied "
            "the trash since, run again with --accept-changes",
        )
