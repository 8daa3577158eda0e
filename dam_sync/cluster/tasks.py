"""What Dask runs in a worker process: every function takes a message as bytes and returns a `WorkerResult` as bytes.
None of them raises, because Dask logs the arguments of a task that fails."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from dam_sync.cluster.cancellation import is_cancelled
from dam_sync.cluster.messages import Joining, LongestWait, Order, Participant, WorkerResult, program
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import ConfigError, DamSyncError, InternalError, WorkerLost
from dam_sync.model.waits import Waits, showing

SAME = "install the same version on every host of the cluster"
_log = structlog.get_logger(__name__)
_taking_part: dict[str, Participant] = {}  # by run
_waits: dict[str, Waits] = {}  # by run, of those that this worker takes part in or is about to
_opening = asyncio.Lock()


async def join(message: bytes) -> bytes:
    """Take part in the run of a `Joining`; safe to repeat. The result is the `WorkerProcess`."""

    async def joined() -> Any:
        joining = _read(message)
        if joining.version != program():
            raise ConfigError(f"it has dam-sync {program()}, the coordinator {joining.version}", hint=SAME)
        async with _opening:
            await _forget_former()
            known = _taking_part.get(joining.run)
            if known is None:
                known = _taking_part[joining.run] = await _opened(joining)
        return known.process

    return await _replied(joined, None)


async def _opened(joining: Joining) -> Participant:
    with showing(_waits.setdefault(joining.run, Waits())):
        try:
            return await joining.open(joining.given)
        except BaseException:
            _waits.pop(joining.run, None)
            raise


def _read(message: bytes) -> Joining:
    """Raises ConfigError for a message that names what this version does not have."""
    try:
        joining: Joining = pickle.loads(message)
    except Exception as error:  # noqa: BLE001 -- unpickling raises whatever the classes of that version do
        why = f"its dam-sync {program()} cannot read what the coordinator sent ({error})"
        raise ConfigError(why, hint=SAME) from None
    return joining


async def write(message: bytes) -> bytes:
    """Write the asset of an `Order`. The result is its outcome."""
    order: Order = pickle.loads(message)
    part = _taking_part.get(order.run)

    async def written() -> Any:
        if part is None:
            raise WorkerLost("this worker does not take part in the run")
        return await part.write(order)

    return await _replied(written, part, order.run)


async def longest_wait(run: str) -> bytes:
    """What this worker waits for longest. The result is a `LongestWait`; None if nothing takes long."""

    async def found() -> Any:
        now = SYSTEM_CLOCK.monotonic()
        wait = _waits[run].longest(now) if run in _waits else None
        if wait is None:
            return None
        left = None if wait.until is None else wait.until - now
        by = f"worker process {os.getpid()} on {socket.gethostname()}"
        return LongestWait(wait.what, wait.side, now - wait.since, left, wait.number, by)

    return await _replied(found, _taking_part.get(run))


async def end_shared(run: str) -> bytes:
    part = _taking_part.get(run)
    return await _replied(part.end_shared if part is not None else _nothing, part, run)


async def sweep(run: str) -> bytes:
    """See `RemoteWriters`. The result is the number of uploads."""
    part = _taking_part.get(run)
    return await _replied(part.sweep if part is not None else _nothing, part, run)


async def hurry(run: str) -> bytes:
    """The run is to end soon; safe to repeat."""
    part = _taking_part.get(run)
    return await _replied(part.hurry if part is not None else _nothing, part, run)


async def leave(run: str) -> bytes:
    """Leave the run; safe to repeat."""
    part = _taking_part.pop(run, None)
    try:
        return await _replied(part.close if part is not None else _nothing, part, run)
    finally:
        _waits.pop(run, None)


async def _forget_former() -> None:
    """Runs that this worker lost."""
    for run in [run for run, part in _taking_part.items() if part.has_left]:
        await _taking_part.pop(run).close()
        _waits.pop(run, None)


async def _nothing() -> None:
    return None


async def _replied(act: Callable[[], Awaitable[Any]], part: Participant | None, run: str = "") -> bytes:
    result, error = None, None
    try:
        with showing(_waits.get(run) or Waits()):
            result = await act()
    except DamSyncError as known:
        error = known
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        error = WorkerLost("this worker lost the run")
    except Exception as problem:  # noqa: BLE001 -- a bug of ours is reported by the coordinator
        _log.error("internal.error", exc_info=problem)
        error = InternalError.of(problem)
    left = part is None or part.has_left
    spent = {} if part is None else {"spent": part.spent()}
    return pickle.dumps(WorkerResult(result, _portable(error), left=left, **spent))


def _portable(error: DamSyncError | None) -> DamSyncError | None:
    """Without the exception behind it, which may not be carried to another process."""
    if isinstance(error, InternalError):
        error.problem = None
    return error
