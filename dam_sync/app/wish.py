"""What was asked on the command line, and how far the doing of it is."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dam_sync.engine.run import first_cause
from dam_sync.engine.session import Ask, Progress
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, StopRequested, Transient
from dam_sync.render.terminal import duration

DURATION = re.compile(r"^(\d+(?:\.\d+)?)([smhd])$")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
INTERRUPTED = "stopped by Ctrl-C; what was in hand is finished"


@dataclass(slots=True)
class Wish:
    """One command's options, its progress, and the means to stop it."""

    full: bool = False
    only: frozenset[str] = frozenset()
    accept_changes: bool = False
    limit: int | None = None
    max_calls: int | None = None
    max_duration: str | None = None
    output: Path | None = None
    html: Path | None = None
    interrupted: bool = False
    ask: Ask = field(default_factory=Ask)
    progress: Progress = field(default_factory=Progress)
    began: float = field(default_factory=lambda: SystemClock().monotonic())

    def to_ask(self) -> Ask:
        """For the engine; the same object every time, so that it can be stopped."""
        ask = self.ask
        ask.full, ask.only, ask.assets = self.full, self.only, self.limit
        ask.accept_changes = self.accept_changes
        if self.max_duration:
            ask.deadline = SystemClock().monotonic() + seconds_of(self.max_duration)
        return ask

    def snapshot(self) -> Mapping[str, Any]:
        """For the progress line."""
        progress = self.progress
        elapsed = max(0.001, SystemClock().monotonic() - self.began)
        source, target = progress.source_calls(), progress.target_calls()
        still = (progress.expected or 0) - progress.done
        left = duration(elapsed / progress.done * still) if progress.done > 20 and still > 0 else ""
        return {
            "phase": progress.phase,
            "expected": progress.expected,
            "done": progress.done,
            "bytes": progress.bytes,
            "source_calls": source,
            "target_calls": target,
            "rate": (source + target) / elapsed,
            "parked": progress.parked,
            "left": left,
        }


def run_async(wish: Wish, act: Callable[[Wish], Coroutine[Any, Any, int]]) -> int:
    """Run a verb's coroutine to its exit code. Ctrl-C ends it cleanly, a second one at once."""

    async def main() -> int:
        task = asyncio.current_task()

        def on_interrupt() -> None:
            if wish.interrupted and task is not None:
                task.cancel()
            wish.interrupted = True
            wish.ask.stop(INTERRUPTED, hurry=True)

        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, on_interrupt)
        try:
            return await act(wish)
        except asyncio.CancelledError:
            raise Transient("stopped at once by a second Ctrl-C") from None
        except (StopRequested, BaseExceptionGroup) as error:
            cause = first_cause(error)
            if isinstance(cause, StopRequested) and cause.message == INTERRUPTED:
                raise Transient(cause.message) from error
            raise cause from error

    return asyncio.run(main())


def seconds_of(text: str) -> float:
    """`90s`, `30m`, `8h` in seconds. Raises ConfigError."""
    match = DURATION.match(text.strip())
    if match is None:
        raise ConfigError(f"{text!r} is not a duration", hint="write 90s, 30m, 8h or 2d")
    return float(match[1]) * SECONDS[match[2]]


def part_of(sample: str) -> float:
    """`2%` as 0.02. Raises ConfigError."""
    try:
        part = float(sample.rstrip("%")) / 100
    except ValueError:
        part = -1.0
    if not 0 < part <= 1:
        raise ConfigError(f"--sample takes a percentage above 0 and up to 100%, not {sample}")
    return part
