"""The index of the target, which may be behind what was written last."""

from __future__ import annotations

from dam_sync.aio.polling import sleep_looking
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.phases import Phases
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.stopping import Stopping
from dam_sync.model.waits import INDEX

WAITING = "waiting up to {:.0f} s for the search index of the target"


async def lag_left(target: Target, state: RunState) -> float:
    """Seconds for which the target's index may still be behind earlier runs; 0 if there were none."""
    last = await state.last_ended()
    since = (target.time.earliest() - last).total_seconds() if last is not None else None
    lag = target.service.limits.lag.total_seconds()
    return 0.0 if since is None else min(lag, max(0.0, lag - since))  # the clock of that run may have been ahead


async def wait_for_index(target: Target, state: RunState, stopping: Stopping, phases: Phases) -> None:
    """Until it can no longer be behind the last run, be it one that was killed: what the target returns is compared.
    Raises StopRequested."""
    await _wait(stopping, phases, await lag_left(target, state))


async def wait_for_any_index(target: Target, stopping: Stopping, phases: Phases) -> None:
    """Until it can no longer be behind what was written before now, be it by a run that the state does not know of.
    Raises StopRequested."""
    await _wait(stopping, phases, target.service.limits.lag.total_seconds())


async def _wait(stopping: Stopping, phases: Phases, seconds: float) -> None:
    if seconds > 0:
        await phases.enter(WAITING.format(seconds))
        await sleep_looking(stopping.clock, seconds, stopping.refuse_stopped, INDEX)
