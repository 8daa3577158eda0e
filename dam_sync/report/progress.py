"""Progress of a command: a live line on a terminal, plain lines in a pipe; hidden while results are printed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, RLock, Thread
from typing import Any, TextIO

from dam_sync.model.safe_text import visible
from dam_sync.model.wording import bytes_text, counted

Snapshot = Callable[[], Mapping[str, Any]]
LIVE_SECONDS = 0.25
PLAIN_SECONDS = 10.0
WAIT_SECONDS, MOST_WAIT_SECONDS = 20.0, 300.0  # between two plain lines about a wait: doubled while nothing moves
WAITING = "waiting for the database of the state"
ERASE = "\r\x1b[2K"


class ProgressLine:
    """Shows a snapshot on stderr, from `start` to `stop`. Nothing is shown before the first call. One that is not
    enabled, and one in a pipe, say now and then what is waited for, if that takes long."""

    def __init__(
        self, snapshot: Snapshot, *, enabled: bool, stream: TextIO | None = None, live_seconds: float = LIVE_SECONDS
    ) -> None:
        self._snapshot, self._enabled, self._live_seconds = snapshot, enabled, live_seconds
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._ended = Event()
        self._lock = RLock()
        self._drawn = False
        self._thread: Thread | None = None
        self._reported = ReportedWaits()

    def start(self) -> None:
        """Start showing the line."""
        self._thread = Thread(target=self._show, name="progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Erase the line and stop showing it; safe to repeat."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
        with self._lock:
            self._erase()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the line while results are printed."""
        with self._lock:
            self._erase()
            yield

    def _show(self) -> None:
        looks, waited = 0, False
        while not self._ended.wait(self._live_seconds):
            state, looks = self._snapshot(), looks + 1
            if not (self._enabled and self._live) and (text := self._reported.due(state, self._live_seconds)):
                self._write(text, live=False)
            if not self._enabled:
                continue
            begins, waited = state["waits"] and not waited, state["waits"]
            due = self._live or begins or looks * self._live_seconds >= PLAIN_SECONDS
            if not due or not (state["waits"] or state["source_calls"] + state["target_calls"]):
                continue
            looks = 0
            self._write(self._fitting(state), live=self._live)

    def _fitting(self, state: Mapping[str, Any]) -> str:
        """The line, with shorter words for the calls if a terminal is too narrow for it."""
        whole = line(state)
        return line(state, short=True) if self._live and len(whole) >= shutil.get_terminal_size().columns else whole

    def _write(self, text: str, *, live: bool) -> None:
        with self._lock:
            if not self._ended.is_set():
                self._draw(text, live=live)

    def _draw(self, text: str, *, live: bool) -> None:
        if live:
            width = shutil.get_terminal_size().columns - 1
            text = f"{ERASE}{text if len(text) <= width else text[: width - 1] + '…'}"
            self._drawn = True
        else:
            text = f"{text}\n"
        self._stream.write(text)
        self._stream.flush()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(ERASE)
            self._stream.flush()
            self._drawn = False


class ReportedWaits:
    """When to say in a line of its own what is waited for: at growing intervals, as long as nothing is completed."""

    def __init__(self) -> None:
        self._interval, self._since, self._moved = WAIT_SECONDS, WAIT_SECONDS, (0, 0)

    def due(self, state: Mapping[str, Any], seconds: float) -> str:
        """The line, if it is due now; empty otherwise. seconds: since the last look."""
        moved, self._since = (state["done"], state["bytes"]), self._since + seconds
        if moved != self._moved:
            self._moved, self._interval = moved, WAIT_SECONDS
        wait = state.get("waiting")
        if wait is None or wait["seconds"] < WAIT_SECONDS or self._since < self._interval:
            return ""
        self._since, self._interval = 0.0, min(MOST_WAIT_SECONDS, 2 * self._interval)
        return visible(f"{state['phase']} · {wait['text']}")


def line(state: Mapping[str, Any], *, short: bool = False) -> str:
    """Phase, assets, time left, parked assets, bytes, calls and their rate, in one line: what is cut off at the end of
    a narrow terminal is what people miss least. short: the calls of both services without words."""
    parts = [WAITING if state["waits"] else str(state["phase"])]
    if state.get("waiting"):
        parts.append(str(state["waiting"]["text"]))
    if state["done"] or state["moves"]:
        done, expected = state["done"], state["expected"]
        parts.append(f"{done:,} of {counted(expected, 'asset')}" if expected else counted(done, "asset"))
    if state["left"]:
        parts.append(f"{state['left']} left")
    if state["parked"]:
        parts.append(f"{state['parked']:,} parked")
    if state["bytes"]:
        parts.append(bytes_text(state["bytes"]))
    parts.append(_calls(state, short=short))
    return visible(" · ".join(parts))


def _calls(state: Mapping[str, Any], *, short: bool) -> str:
    source, target, rate = state["source_calls"], state["target_calls"], state["rate"]
    if short:
        return f"calls {source:,} + {target:,}" + (f", {rate:.0f}/s" if rate >= 1 else "")
    return f"calls: source {source:,}, target {target:,}" + (f", {rate:.0f} per second" if rate >= 1 else "")
