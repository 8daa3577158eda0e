"""The memory of `watch` does not grow with the number of runs."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from dam_sync.model.run_options import RunOptions
from dam_sync.watch.watcher import Watcher
from tests.support.stepped_clock import SteppedClock
from tests.unit.watch.test_watch_loop import write


class Left:
    """Refers to itself, as statements and connections of a run do."""

    def __init__(self) -> None:
        self.itself = self


def test_what_a_run_left_in_reference_cycles_is_freed_when_it_ends(tmp_path: Path) -> None:
    """The command looks for cycles so rarely by itself that 300 runs would have left 250 MB."""
    watcher = Watcher([write(tmp_path, "{every: 1h}")], RunOptions(clock=SteppedClock()), lambda _: None)
    gc.disable()
    try:
        left = weakref.ref(Left())
        assert left() is not None
        watcher._run_ended(watcher.jobs[0], watcher.jobs[0].record, None)
        assert left() is None
    finally:
        gc.enable()
