"""Options of one command invocation, and its progress."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dam_sync.engine.run_context import COMPARING, MATCHING, MOVING, PLANNING, Progress, RunControl
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.errors import ConfigError, StopRequested, Transient, first_cause
from dam_sync.model.ports import Transport
from dam_sync.model.service import Connector
from dam_sync.report.terminal import duration

WITH_ASSETS = frozenset({MOVING, PLANNING, COMPARING, MATCHING})
DURATION = re.compile(r"^(\d+(?:\.\d+)?)([smhd])$")
PERCENTAGE = re.compile(r"^(\d+(?:\.\d+)?)\s*%$")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SIGNALS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", "SIGHUP": "SIGHUP, the terminal was closed"}
INTERRUPTED = "stopped by {}; writes in progress were finished"


@dataclass(slots=True)
class RunOptions:
    """Options of one command, its progress, and how to stop it.

    clock, transport and connectors replace those of the system: time, the network (an `httpx.AsyncBaseTransport`, which
    the caller closes) and the installed services.
    """

    full: bool = False
    repair: bool = False
    only: frozenset[str] = frozenset()
    accept_changes: bool = False
    continue_parked: bool = False
    limit: int | None = None
    max_calls: int | None = None
    max_duration: str | None = None
    output: Path | None = None
    html: Path | None = None
    interrupted: bool = False
    control: RunControl = field(default_factory=RunControl)
    progress: Progress = field(default_factory=Progress)
    clock: Clock = SYSTEM_CLOCK
    transport: Transport | None = None
    connectors: Mapping[str, Connector] | None = None
    began: float = field(init=False)

    def __post_init__(self) -> None:
        """Raises ConfigError for an invalid option before anything is opened."""
        self.began = self.clock.monotonic()
        if self.max_duration is not None:
            seconds_of(self.max_duration)

    def to_control(self) -> RunControl:
        """The engine's control; always the same object, so that it can be stopped."""
        control = self.control
        control.full, control.only, control.assets = self.full, self.only, self.limit
        control.repair, control.accept_changes = self.repair, self.accept_changes
        control.continue_parked = self.continue_parked
        if self.max_duration:
            control.deadline = self.clock.monotonic() + seconds_of(self.max_duration)
        return control

    def stop(self, reason: str = "stopped by the caller") -> None:
        """Start nothing new and finish writes in progress; the call then raises StopRequested with this reason. Safe
        to repeat."""
        self.control.stop(reason, hurry=True)

    def snapshot(self) -> Mapping[str, Any]:
        """The counters for the progress line."""
        progress = self.progress
        elapsed = max(0.001, self.clock.monotonic() - self.began)
        source, target = progress.source_calls(), progress.target_calls()
        still = (progress.expected or 0) - progress.done
        left = duration(elapsed / progress.done * still) if progress.done > 20 and still > 0 else ""
        return {
            "phase": progress.phase,
            "expected": progress.expected,
            "done": progress.done,
            "moves": progress.phase in WITH_ASSETS,
            "bytes": progress.bytes,
            "source_calls": source,
            "target_calls": target,
            "rate": (source + target) / elapsed,
            "parked": progress.parked,
            "left": left,
        }


def run_async(options: RunOptions, act: Callable[[RunOptions], Coroutine[Any, Any, int]]) -> int:
    """Run a command's coroutine and return its exit code. Ctrl-C and termination signals stop it cleanly, a second one
    at once. A hangup that is ignored (`nohup`) stays ignored."""
    last = ""

    async def main() -> int:
        task = asyncio.current_task()

        def on_signal(name: str) -> None:
            nonlocal last
            last = SIGNALS[name]
            if options.interrupted and task is not None:
                task.cancel()
            options.interrupted = True
            options.control.stop(INTERRUPTED.format(last), hurry=True)

        _listen(on_signal)
        try:
            return await act(options)
        except asyncio.CancelledError:
            raise Transient(f"aborted by {last}") from None
        except (StopRequested, BaseExceptionGroup) as error:
            raise cause_of(error) from error

    return asyncio.run(main())


def _listen(on_signal: Callable[[str], None]) -> None:
    for name in SIGNALS:
        number = signal.Signals[name]
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, on_signal, name)


def cause_of(error: BaseException) -> BaseException:
    """The error that ended a command; after a signal, the command can be run again."""
    cause = first_cause(error)
    if isinstance(cause, StopRequested) and cause.message in map(INTERRUPTED.format, SIGNALS.values()):
        return Transient(cause.message)
    return cause


def seconds_of(text: str, option: str = "--max-duration") -> float:
    """`90s`, `30m`, `8h` in seconds. Raises ConfigError."""
    match = DURATION.match(text.strip())
    if match is None or not float(match[1]):
        raise ConfigError(f"{option} expects a duration, not {text!r}", hint="write 90s, 30m, 8h or 2d")
    return float(match[1]) * SECONDS[match[2]]


def part_of(sample: str) -> float:
    """`2%` as 0.02. Raises ConfigError."""
    match = PERCENTAGE.match(sample.strip())
    part = float(match[1]) / 100 if match else 0.0
    if not 0 < part <= 1:
        hint = "write 2% for two of a hundred assets, at most 100%"
        raise ConfigError(f"--sample expects a percentage with its sign, not {sample!r}", hint=hint)
    return part
