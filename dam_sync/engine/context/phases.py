"""What a run is doing at the moment, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.engine.context.run_state import RunState
from dam_sync.model.clock import Clock
from dam_sync.model.run_options import MOVING, Progress
from dam_sync.model.values import instant_text
from dam_sync.store.note_keys import PHASE


@dataclass(slots=True)
class Phases:
    """progress: counters to be shown; moving: the phase shown while assets are processed."""

    progress: Progress
    state: RunState
    clock: Clock
    moving: str = MOVING

    async def enter(self, phase: str) -> None:
        """Show a phase, and keep it for `status`: also for the one after the process was killed."""
        if self.progress.phase != phase:
            self.progress.phase = phase
            since = instant_text(self.clock.now().replace(microsecond=0))
            await self.state.store.set_meta(PHASE, {"run": self.state.run.id, "phase": phase, "since": since})
