"""How far a run is: a live line on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from dam_sync.model.shown import visible

Snapshot = Callable[[], Mapping[str, Any]]
LIVE_SECONDS = 0.25
PLAIN_SECONDS = 10.0


@contextmanager
def showing(snapshot: Snapshot, *, enabled: bool) -> Iterator[None]:
    """Show the snapshot on stderr for as long as the block runs."""
    if not enabled:
        yield
        return
    ended = Event()
    show = _live if sys.stderr.isatty() else _plain
    thread = Thread(target=show, args=(snapshot, ended), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=2)


def line(state: Mapping[str, Any]) -> str:
    """One line that says it all."""
    expected = state["expected"]
    of = f"/{expected:,}" if expected else ""
    parts = [
        str(state["phase"]),
        f"{state['done']:,}{of} assets",
        f"{state['bytes'] / 1_000_000:,.1f} MB",
        f"calls {state['source_calls']:,} + {state['target_calls']:,}",
    ]
    if state["rate"]:
        parts.append(f"{state['rate']:.0f} calls/s")
    if state["parked"]:
        parts.append(f"{state['parked']:,} parked")
    if state["left"]:
        parts.append(f"{state['left']} left")
    return visible(" · ".join(parts))


def _live(snapshot: Snapshot, ended: Event) -> None:
    console = Console(stderr=True)
    with Live(console=console, transient=True, refresh_per_second=4) as live:
        while not ended.wait(LIVE_SECONDS):
            live.update(Text(line(snapshot()), overflow="ellipsis", no_wrap=True))


def _plain(snapshot: Snapshot, ended: Event) -> None:
    while not ended.wait(PLAIN_SECONDS):
        print(line(snapshot()), file=sys.stderr, flush=True)  # noqa: T201 -- a pipe gets plain lines
