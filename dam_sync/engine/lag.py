"""How long the target's index may still be behind what was written to it."""

from __future__ import annotations

from dam_sync.engine.run_context import RunContext


async def lag_left(context: RunContext) -> float:
    """Seconds for which the target's index may still be behind the last run; 0 where none came to an end."""
    ended = [run.ended_at for run in await context.store.runs() if run.ended_at is not None]
    since = (context.clock.now() - ended[0]).total_seconds() if ended else None
    return 0.0 if since is None else max(0.0, context.target.limits.lag.total_seconds() - since)
