"""How long one question may take in all: the attempts share it, so that a service that accepts each of them and then
drips or says nothing does not get the whole time again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from dam_sync.model.errors import Transient

T = TypeVar("T")


class PatienceOver(Transient):
    """The service accepted a call, and did not complete its response while anybody waited; not retried."""


class Patience:
    """What is left of the time for one question. What we wait for by ourselves, as a permit or a pause that the service
    asked for, is not counted."""

    def __init__(self, seconds: float) -> None:
        self._seconds = self._left = seconds

    async def bounds(self, response: Coroutine[Any, Any, T], host: str) -> T:
        """The response, if it is complete in time. Raises PatienceOver."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout(max(0.0, self._left)) as deadline:
                return await response
        except TimeoutError:
            if not deadline.expired():
                raise
            raise PatienceOver(
                f"{host} was reached, and did not complete its response within {self._seconds:.0f} s",
                hint="the service is slow or stands still, or something else is there: check the URL, and try again",
            ) from None
        finally:
            self._left -= clock() - began
