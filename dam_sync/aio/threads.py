"""Blocking calls in worker threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from anyio import CancelScope

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def run_sync(call: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Its result. The call runs to its end even if the caller is cancelled, so that a descriptor is never closed while
    a thread writes to it. Not `anyio.to_thread`: its threads are out of reach of the virtual clock."""
    future = asyncio.get_running_loop().run_in_executor(None, call, *arguments)
    cancelled: asyncio.CancelledError | None = None
    with CancelScope(shield=True):
        while not future.done():
            try:
                await asyncio.wait((future,))
            except asyncio.CancelledError as error:  # of the task itself, which no scope holds back
                cancelled = error
    if cancelled is not None:
        future.exception()  # the caller is gone: nobody else is to hear of it
        raise cancelled
    return future.result()
