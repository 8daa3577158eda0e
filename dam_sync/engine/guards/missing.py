"""Guards against assets that disappear during a run: one is set aside, many at once stop the run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.stopping import Stopping
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.mass_deletion import FEW, MOST_GONE, RIGHTS_HINT, emptied_hint, is_gone, target_is_empty
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import NotFound, SafetyStop
from dam_sync.model.link import LinkRow
from dam_sync.model.parking import ParkReason
from dam_sync.store.store import SqlStore
from dam_sync.store.undo import UNLINKED, Undone

READ_HINT = "it was deleted or hidden after it was listed; the next run will show which"


@dataclass(slots=True)
class MissingMonitor:
    """Counts missing assets of one run. Once it has stopped the run, `tripped` is set: what was parked before for
    this reason is then tried again by the next run."""

    source: Source
    target: Target
    state: RunState
    stopping: Stopping
    accepted: Accepted
    read: int = 0
    gone_at_source: int = 0
    gone_at_target: int = 0
    tripped: bool = False
    _next_look: int = 1
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)

    def was_read(self) -> None:
        """One asset exists."""
        self.read += 1

    def from_source(self, asset: AssetId) -> NotFound:
        """The error for one asset that vanished after it was listed. Raises SafetyStop if too many of those looked
        for did."""
        self.read += 1
        self.gone_at_source += 1
        if self.gone_at_source > max(FEW, self.read * MOST_GONE):
            message = f"{self.gone_at_source} of {self.read} assets that the source listed cannot be found there"
            self._stop(GuardFinding(message, RIGHTS_HINT))
        return NotFound("gone between listing and reading", asset=asset, code=ParkReason.GONE, hint=READ_HINT)

    async def while_writing(self, error: NotFound, asset: AssetId, link: LinkRow | None) -> NotFound:
        """The error with its reason if the asset itself was not found: gone from the target, or from the
        source. Costs a call to each. Raises SafetyStop if the target is empty, or too many disappeared."""
        source, target = self.source.service, self.target.service
        if link is not None and await is_gone(target, AssetId(link.target)):
            await self.from_target()
            message = f"it was moved before, and {link.target} is no longer at the target"
            return NotFound(message, asset=asset, code=ParkReason.GONE, hint=ParkReason.GONE.to_do)
        if await is_gone(source, asset):
            return self.from_source(asset)
        return error

    async def from_target(self) -> None:
        """One asset is gone from the target: after the first one, and then ever more rarely, check others. Raises
        SafetyStop if most of them are gone."""
        async with self._gate:
            self.gone_at_target += 1
            if self.gone_at_target < self._next_look:
                return
            self._next_look *= FEW
            if await target_is_empty(self.target, self.state.store, self.stopping):
                self._next_look = 1
                self._stop(
                    GuardFinding("the assets moved to the target before are gone from it", emptied_hint(self.state))
                )

    def _stop(self, finding: GuardFinding) -> None:
        try:
            self.accepted.note(refuse([finding], self.accepted.options))
        except SafetyStop:
            self.tripped = True
            raise


async def settle_begun_removals(target: Target, store: SqlStore) -> None:
    """Of a rollback that was given up: an asset that it had just moved to the trash, without recording it, has no link
    any more, so that the run creates it again. Safe to repeat."""
    for begun in await store.begun_removals():
        if await is_gone(target.service, AssetId(begun.target)):
            await store.undone(begun.run, Undone(begun.source, begun.target, (), UNLINKED, again=True))
        else:
            await store.forget_undo(begun.run, begun.target)
