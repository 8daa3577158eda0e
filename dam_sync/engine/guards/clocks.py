"""Clocks that differ from each other: whoever is wrong, release dates and periods of grace would be, too."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dam_sync.engine.context.libraries import Target
from dam_sync.engine.guards.finding import GuardFinding


async def wrong_clock(target: Target) -> AsyncIterator[GuardFinding]:
    """By the responses that came until now; without a call."""
    if (fault := target.time.fault) is not None:
        yield GuardFinding(fault.message, fault.hint, passing=True)
