"""Waiting: until a call has a result, an event is set, or time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, repeat
from typing import TypeVar

from dam_sync.model.clock import Clock

T = TypeVar("T")


async def poll_until(
    clock: Clock, ask: Callable[[], Awaitable[T | None]], seconds: float, pauses: Sequence[float], *, delay: float = 0.0
) -> T | None:
    """The first result that is not None, or None after `seconds`; the last attempt is made when time is up.

    pauses: the waits between attempts, the last one repeated. delay: the wait before the first attempt. Errors raised
    by `ask` end the polling.
    """
    end = clock.monotonic() + seconds
    waits = chain(pauses, repeat(pauses[-1]))
    if delay > 0:
        await clock.sleep(min(delay, seconds))
    while (result := await ask()) is None and (left := end - clock.monotonic()) > 0:
        await clock.sleep(min(next(waits), left))
    return result


async def sleep_until_set(clock: Clock, seconds: float, event: asyncio.Event) -> None:
    """Sleep for `seconds`, or until the event is set if that is earlier; the event is cleared."""
    sleeping = asyncio.ensure_future(clock.sleep(seconds))
    woken = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((sleeping, woken), return_when=asyncio.FIRST_COMPLETED)
    finally:
        sleeping.cancel()
        woken.cancel()
    event.clear()
