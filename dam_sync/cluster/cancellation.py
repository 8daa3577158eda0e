"""Whether a CancelledError is meant for the task that gets it."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Whether somebody cancels the present task. Otherwise a CancelledError is that of what it waited for; let through,
    it would end the task without an error, and whoever waits for its work would wait for ever."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
