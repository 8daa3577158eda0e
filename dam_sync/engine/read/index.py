"""The index of the target, which may be behind what was written last."""

from __future__ import annotations

from dam_sync.aio.polling import sleep_looking
from dam_sync.engine.context.run_context import RunContext
from dam_sync.model.waits import INDEX

WAITING = "waiting up to {:.0f} s for the search index of the target"


async def wait_for_index(context: RunContext) -> None:
    """Until it can no longer be behind the last run, be it one that was killed: what the target returns is compared.
    Raises StopRequested."""
    left = await context.lag_left()
    if left > 0:
        await context.enter(WAITING.format(left))
        await sleep_looking(context.clock, left, context.refuse_stopped, INDEX)
