"""The write stage in this process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import Concluded, DraftedAsset
from dam_sync.engine.decide.operations import RESTORE
from dam_sync.engine.write.asset import TargetWriter
from dam_sync.engine.write.partial_creates import trash_partial_create
from dam_sync.engine.write.trash import TargetTrash
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ExposureCause


@dataclass(frozen=True, slots=True)
class OwnWriter:
    """Writes in this process."""

    context: RunContext

    async def outcome(self, item: DraftedAsset | Concluded) -> Outcome:
        """See `AssetWriter`. What the journal recorded may become durable only with the completion of the asset; after
        an error, all of it is."""
        results = self.context.state.store.record_ahead(item.work)
        try:
            return await self._outcome(item)
        except BaseException:
            await results.durable()
            raise

    async def _outcome(self, item: DraftedAsset | Concluded) -> Outcome:
        if isinstance(item, DraftedAsset):
            return await self._written(item)
        if item.remove is not None:
            return await TargetTrash(self.context).remove(item.work, item.remove)
        if isinstance(item.outcome.cause, ExposureCause):
            await trash_partial_create(self.context, item.work, edited=True)  # it must not be seen
        if item.hide is None:
            return item.outcome
        return await TargetWriter(self.context).hidden(item.outcome, item.work, item.hide)

    async def _written(self, item: DraftedAsset) -> Outcome:
        if not item.restores or item.link is None:
            return await TargetWriter(self.context).act(item)
        await TargetTrash(self.context).restore(item.work, item.link)
        outcome = await TargetWriter(self.context).act(item)
        action = "updated" if outcome.action == "unchanged" else outcome.action
        return replace(outcome, action=action, digest=f"{RESTORE} {outcome.digest}".strip())
