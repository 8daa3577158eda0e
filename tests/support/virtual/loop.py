"""An event loop whose time jumps to the next thing that is due, and whose threads are none."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Mapping
from typing import Any

SKIP = 1e-6  # seconds more than asked for, so that a timer is due when the loop looks


class Stuck(AssertionError):
    """Everybody waits, and nothing will ever happen."""


class _Jumping(selectors.BaseSelector):
    """Watches no file; instead of waiting it moves the loop's time on."""

    def __init__(self) -> None:
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("everybody waits and no timer is set")
        if timeout > 0:
            self.now += timeout + SKIP
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, 0, None)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {}

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        raise KeyError(fileobj)


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 0 and passes only while everybody waits. What would run in a thread runs at once, its caller
    continues one turn of the loop later. Raises Stuck where a real loop would never end."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)
        self._clock_resolution = 1e-6  # after half a year of seconds, one of a nanosecond is lost in rounding

    def time(self) -> float:
        """Seconds since this world began."""
        return self._jumping.now

    def jump(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self._jumping.now += seconds

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """See `VirtualLoop`."""
        future = self.create_future()
        try:
            result = func(*args)
        except BaseException as error:  # noqa: BLE001 -- it is the caller's
            self.call_soon(_unless_done, future.set_exception, future, error)
        else:
            self.call_soon(_unless_done, future.set_result, future, result)
        return future


def _unless_done(settle: Callable[[Any], None], future: asyncio.Future[Any], outcome: Any) -> None:
    if not future.done():
        settle(outcome)
