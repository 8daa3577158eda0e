"""The wait for a lock that a process holds while it renews a credential."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import Transient
from dam_sync.model.waits import waiting

RENEWAL_SECONDS: Final = 120.0  # how long another process may take to renew a credential


async def take_renewal(taken: Callable[[], Awaitable[bool]], pause: float) -> None:
    """Try the lock again and again. Raises Transient if another process holds it for very long."""
    until = SYSTEM_CLOCK.monotonic() + RENEWAL_SECONDS
    with waiting(SYSTEM_CLOCK, RENEWAL_SECONDS, "a credential that another process renews"):
        while not await taken():
            if SYSTEM_CLOCK.monotonic() >= until:
                raise Transient("another process renews the credential, and does not finish")
            await SYSTEM_CLOCK.sleep(pause)
