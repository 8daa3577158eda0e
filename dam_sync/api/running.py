"""Runs one call: its signals, its first error, its progress."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from dam_sync.model.errors import StopKind, StopRequested, Transient, first_cause
from dam_sync.model.outage import show_outage
from dam_sync.model.run_options import COMPARING, MATCHING, MOVING, PLANNING, RunOptions
from dam_sync.model.waits import showing
from dam_sync.report.terminal import duration

WITH_ASSETS = frozenset({MOVING, PLANNING, COMPARING, MATCHING})
SIGNALS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", "SIGHUP": "SIGHUP, the terminal was closed"}
INTERRUPTED = "stopped by {}; writes in progress were finished"
STOPPING = "stopping after {}: writes in progress are finished first; a second one stops at once, and loses nothing"
REPEATED = "stopped by {}; nothing was written to the services"
AGAIN = "run the same command again; it starts from the beginning"


def run_async(
    options: RunOptions,
    act: Callable[[RunOptions], Coroutine[Any, Any, int]],
    on_hangup: Callable[[], None] | None = None,
    *,
    on_stop: Callable[[str], None] | None = None,
    repeats: bool = False,
) -> int:
    """Run a command's coroutine and return its exit code. Ctrl-C and termination signals stop it cleanly, a second one
    at once. A hangup is one of them unless `on_hangup` is called for it; one that is ignored (`nohup`) stays
    ignored. on_stop: is given a sentence at the first signal. repeats: the command only reads both services and has
    nothing to resume, so the first signal ends it at once."""
    received: list[str] = []

    async def main() -> int:
        task = asyncio.current_task()
        show_outage(options.progress.outage)

        def on_signal(name: str) -> None:
            if (received or repeats) and task is not None:
                task.cancel()
            elif on_stop is not None:
                on_stop(STOPPING.format(SIGNALS[name]))
            received.append(SIGNALS[name])
            options.stop_token.stop(INTERRUPTED.format(SIGNALS[name]), StopKind.SIGNAL, hurry=True)

        handlers = {name: partial(on_signal, name) for name in SIGNALS}
        _handle(handlers if on_hangup is None else {**handlers, "SIGHUP": on_hangup})
        try:
            with showing(options.progress.waits):
                return await act(options)
        except asyncio.CancelledError:
            by = received[-1] if received else ""
            if repeats:
                raise Transient(REPEATED.format(by), hint=AGAIN) from None
            raise Transient(f"aborted by {by}") from None
        except (StopRequested, BaseExceptionGroup) as error:
            raise cause_of(error) from error

    return asyncio.run(main())


def _handle(handlers: Mapping[str, Callable[[], None]]) -> None:
    for name, handler in handlers.items():
        number = signal.Signals[name]
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, handler)


def cause_of(error: BaseException) -> BaseException:
    """The error that ended a call; after a signal, the call can be made again."""
    cause = first_cause(error)
    if isinstance(cause, StopRequested) and cause.kind is StopKind.SIGNAL:
        return Transient(cause.message)
    return cause


def snapshots(options: RunOptions) -> Callable[[], Mapping[str, Any]]:
    """The counters for the progress line of a call that starts now."""
    began = options.clock.monotonic()

    def snapshot() -> Mapping[str, Any]:
        progress, now = options.progress, options.clock.monotonic()
        elapsed, wait = max(0.001, now - began), progress.waits.longest(now)
        source, target = progress.source_calls(), progress.target_calls()
        expected = progress.foreseen
        still = (expected or 0) - progress.done
        left = duration(elapsed / progress.done * still) if progress.done > 20 and still > 0 else ""
        return {
            "phase": progress.phase,
            "expected": expected,
            "done": progress.done,
            "moves": progress.phase in WITH_ASSETS,
            "bytes": progress.bytes_so_far,
            "source_calls": source,
            "target_calls": target,
            "rate": (source + target) / elapsed,
            "parked": progress.parked,
            "left": left,
            "waiting": None if wait is None else wait.as_json(now),
            "waits": progress.outage.is_on,
        }

    return snapshot
