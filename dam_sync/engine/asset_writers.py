"""The write stage, as the pipeline sees it: in this process, or handed to worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from dam_sync.engine.apply import TargetWriter
from dam_sync.engine.operations import RESTORE
from dam_sync.engine.recovery.partial_creates import trash_partial_create
from dam_sync.engine.removals.trash import TargetTrash
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.stages import Concluded, DraftedAsset
from dam_sync.model.parking import ExposureCause
from dam_sync.store.rows import Outcome


class AssetWriter(Protocol):
    """Writes drafted assets to the target."""

    async def outcome(self, item: DraftedAsset | Concluded) -> Outcome:
        """Write one asset. Raises the errors of the services, and WorkerLost if the process that wrote it is gone: the
        asset may then be written again, and its journal says what was begun."""


class RemoteWriters(AssetWriter, Protocol):
    """Worker processes that write, each with its own connections to both services."""

    async def begin(self) -> None:
        """Let them take part, once everything is known that they need to know of the run. Raises what keeps one of them
        from it."""

    @property
    def at_once(self) -> int:
        """Assets that all of them write at once."""

    @property
    def calls(self) -> Mapping[str, Mapping[str, int]]:
        """API calls that they reported so far, by side (`source`, `target`) and endpoint."""

    async def end_shared(self) -> None:
        """Call `Service.end_shared` of the target in each of them."""

    async def sweep(self) -> int:
        """Call `Service.sweep` of the target in each of them; returns how many uploads were aborted."""


@dataclass(frozen=True, slots=True)
class OwnWriter:
    """Writes in this process."""

    context: RunContext

    async def outcome(self, item: DraftedAsset | Concluded) -> Outcome:
        """See `AssetWriter`. What the journal recorded may become durable only with the completion of the asset; after
        an error, all of it is."""
        results = self.context.store.record_ahead(item.work)
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
