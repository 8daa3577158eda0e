"""Waiting: until a call has a result, an event is set, or time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, repeat
from typing import TypeVar

from dam_sync.model.clock import Clock
from dam_sync.model.waits import waiting

T = TypeVar("T")


LOOK_SECONDS = 2.0  # between two looks whether a wait is still wanted


async def poll_until(
    clock: Clock,
    ask: Callable[[], Awaitable[T | None]],
    seconds: float,
    pauses: Sequence[float],
    what: str,
    side: str = "target",
    *,
    delay: float = 0.0,
    look: Callable[[], None] | None = None,
) -> T | None:
    """The first result that is not None, or None after `seconds`; the last attempt is made when time is up.

    pauses: the waits between attempts, the last one repeated. what: is waited for, see `model.waits.waiting`. delay:
    the wait before the first attempt. look: called every `LOOK_SECONDS` while it waits. Errors raised by `ask` or
    `look` end the polling.
    """
    end = clock.monotonic() + seconds
    rest = chain(pauses, repeat(pauses[-1]))
    with waiting(clock, seconds, what, side):
        if delay > 0:
            await _slept(clock, min(delay, seconds), look)
        while (result := await ask()) is None and (left := end - clock.monotonic()) > 0:
            await _slept(clock, min(next(rest), left), look)
    return result


async def sleep_looking(
    clock: Clock, seconds: float, look: Callable[[], None] | None, what: str, side: str = "target"
) -> None:
    """Sleep so long, unless `look`, called every `LOOK_SECONDS`, raises. what: see `model.waits.waiting`."""
    with waiting(clock, seconds, what, side):
        await _slept(clock, seconds, look)


async def _slept(clock: Clock, seconds: float, look: Callable[[], None] | None) -> None:
    while look is not None and seconds > LOOK_SECONDS:
        look()
        await clock.sleep(LOOK_SECONDS)
        seconds -= LOOK_SECONDS
    if look is not None:
        look()
    await clock.sleep(seconds)


async def while_wanted(call: Awaitable[T], look: Callable[[], None], every: float = LOOK_SECONDS) -> T:
    """The result of a call, unless `look`, called `every` few seconds meanwhile, raises: the call is then cancelled,
    and its outcome unknown."""
    task = asyncio.ensure_future(call)
    try:
        while not task.done():
            look()
            await asyncio.wait((task,), timeout=every)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


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
