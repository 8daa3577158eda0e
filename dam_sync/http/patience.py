"""How long one question may take in all: the attempts share it, so that a service that accepts each of them and then
drips or says nothing does not get the whole time again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.errors import Transient
from dam_sync.model.waits import Wait, current_waits

T = TypeVar("T")
LEAST = 1.0  # seconds for the last attempt of a body with a source, which may need its time to be sent


class PatienceOver(Transient):
    """The service accepted a call, and did not complete its response while anybody waited; not retried."""


class Patience:
    """What is left of the time for one question. What we wait for by ourselves, as a permit or a pause that the service
    asked for, is not counted, and neither is a body that is sent as long as it moves. what, side: of the question, to
    be shown while a response is waited for."""

    def __init__(self, seconds: float, what: str = "a response", side: str = "", clock: Clock = SYSTEM_CLOCK) -> None:
        self._seconds = self._left = seconds
        self.what, self.side, self._clock = what, side, clock
        self._since: float | None = None
        self._wait: Wait | None = None
        self._moved = 0.0  # when the last block of a body was sent or read, on the scale of the event loop

    @property
    def since(self) -> float:
        """When the first attempt was sent; now, if none was."""
        return self._clock.monotonic() if self._since is None else self._since

    def share(self, seconds: float) -> float:
        """Of these seconds, those that an attempt may still take."""
        return min(seconds, max(LEAST, self._left))

    def moved(self) -> None:
        """A block of the body was sent, or is read: nobody waits for the response."""
        self._moved = asyncio.get_running_loop().time()
        if self._wait is not None:
            now = self._clock.monotonic()
            self._wait.since, self._wait.until = now, now + self._left

    async def bounds(self, response: Coroutine[Any, Any, T], host: str, longest: float = float("inf")) -> T:
        """The response, if it is complete in time. longest: seconds after which the attempt ends by itself. Raises
        PatienceOver."""
        if self._left <= 0:
            response.close()
            raise self._over(host)
        clock = asyncio.get_running_loop().time
        began = clock()
        waits, since = current_waits(), self.since
        self._since = since
        self._wait = wait = waits.begin(self.what, self.side, since, self._clock.monotonic() + self._left)
        try:
            if longest <= self._left:
                return await response
            async with asyncio.timeout(self._left) as deadline:
                return await response
        except TimeoutError:
            if not deadline.expired():
                raise
            raise self._over(host) from None
        finally:
            waits.end(wait)
            self._left -= clock() - max(began, self._moved)

    def _over(self, host: str) -> PatienceOver:
        return PatienceOver(
            f"{host} was reached, and did not complete its response within {self._seconds:.0f} s",
            hint="the service is slow or stands still, or something else is there: check the URL, and try again",
        )
