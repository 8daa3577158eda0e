"""The progress line: what it says, and that it is never beside a result."""

from __future__ import annotations

import io
import itertools
import threading
import time
from typing import Any

from dam_sync.api.running import snapshots
from dam_sync.model.run_options import MOVING, Progress, RunOptions
from dam_sync.report.progress import ERASE, MOST_WAIT_SECONDS, WAIT_SECONDS, ProgressLine, ReportedWaits, line
from tests.support.stepped_clock import SteppedClock

STATE = {
    "phase": "comparing",
    "moves": True,
    "expected": 200,
    "done": 120,
    "bytes": 0,
    "source_calls": 12,
    "target_calls": 1_311,
    "rate": 29.4,
    "parked": 0,
    "left": "",
    "waits": False,
}


def test_a_run_that_waits_for_its_database_says_so_at_once_also_in_a_pipe() -> None:
    stream, state = io.StringIO(), {**STATE, "source_calls": 0, "target_calls": 0}
    shown = ProgressLine(lambda: state, enabled=True, stream=stream, live_seconds=0.01)
    shown.start()
    for waits in (True, False):
        state["waits"] = waits
        until = time.monotonic() + 60
        while stream.getvalue().count("\n") < 1 and time.monotonic() < until:
            time.sleep(0.01)
    shown.stop()
    assert stream.getvalue().startswith("waiting for the database of the state · 120 of 200 assets")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_names_what_is_done_and_whose_calls_are_counted() -> None:
    assert line(STATE) == "comparing · 120 of 200 assets · calls: source 12, target 1,311, 29 per second"


def test_no_more_assets_are_done_than_there_are() -> None:
    """More may be listed than the source counted before; a delta has fewer."""
    progress = Progress(phase=MOVING, expected=45, unchanged=40, created=7)
    shown = snapshots(RunOptions(progress=progress))
    assert line(shown()).startswith(f"{MOVING} · 47 of 47 assets")
    progress.total = 50
    assert line(shown()).startswith(f"{MOVING} · 47 of 50 assets")
    progress.created = 11
    assert line(shown()).startswith(f"{MOVING} · 51 of 51 assets")
    progress.begin(MOVING)
    progress.expected, progress.total = 45, 3
    assert line(shown()).startswith(f"{MOVING} · 0 of 3 assets")


WAITING = {"seconds": 40.0, "text": "target: waiting for POST assets since 40 s, at most 3 min"}


def test_it_names_what_is_waited_for() -> None:
    assert line({**STATE, "waiting": WAITING}).startswith(f"comparing · {WAITING['text']} · 120 of 200 assets")


def test_a_snapshot_has_the_longest_wait() -> None:
    progress, clock = Progress(), SteppedClock(auto=True)
    shown = snapshots(RunOptions(progress=progress, clock=clock))
    assert shown()["waiting"] is None
    progress.waits.begin("GET assets", "source", -40.0, 140.0)
    assert shown()["waiting"]["text"] == "source: waiting for GET assets since 40 s, at most 3 min"


def test_a_line_of_its_own_comes_after_twenty_seconds_and_then_ever_later() -> None:
    told = ReportedWaits()
    states = [(second, {**STATE, "waiting": {**WAITING, "seconds": float(second)}}) for second in range(1, 2_000)]
    at = [second for second, state in states if told.due(state, 1.0)]
    assert at[0] == WAIT_SECONDS
    gaps = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert gaps == [40, 80, 160, *[MOST_WAIT_SECONDS] * (len(gaps) - 3)]


def test_lines_about_waits_come_soon_again_once_something_was_completed() -> None:
    told, at = ReportedWaits(), []
    for second in range(1, 200):
        state = {**STATE, "done": 1 + second // 100, "waiting": {**WAITING, "seconds": 60.0}}
        if told.due(state, 1.0):
            at.append(second)
    assert at == [1, 41, 100, 140]


def test_without_progress_only_waits_are_reported() -> None:
    stream, waiting = Terminal(), {**STATE, "waiting": WAITING}
    shown = ProgressLine(lambda: waiting, enabled=False, stream=stream, live_seconds=0.01)
    shown.start()
    until = time.monotonic() + 60
    while not stream.getvalue() and time.monotonic() < until:
        time.sleep(0.01)
    shown.stop()
    assert stream.getvalue() == f"comparing · {WAITING['text']}\n"


def test_a_command_that_moves_nothing_counts_no_assets() -> None:
    asking = {**STATE, "phase": "asking the services", "moves": False, "done": 0, "rate": 0.2}
    assert line(asking) == "asking the services · calls: source 12, target 1,311"


def drawn(state: dict[str, Any], stream: io.StringIO) -> ProgressLine:
    shown = ProgressLine(lambda: state, enabled=False, stream=stream)
    shown._draw(line(state), live=stream.isatty())
    return shown


def test_the_line_is_erased_before_a_result_and_at_the_end() -> None:
    stream = Terminal()
    shown = drawn(STATE, stream)
    with shown.hidden():
        assert stream.getvalue().endswith(ERASE)
        stream.write("result\n")
    shown.stop()
    assert stream.getvalue().endswith("result\n"), "nothing is erased twice"


def test_a_line_is_never_longer_than_the_terminal(monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    drawn(STATE, stream)
    assert len(stream.getvalue().removeprefix(ERASE)) == 39
    assert stream.getvalue().endswith("…")


def test_at_eighty_columns_the_time_left_and_the_parked_assets_are_seen(monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    state = {**STATE, "phase": "moving assets", "expected": 12_000, "done": 7_500, "bytes": 7_100_000, "parked": 12}
    state |= {"left": "2 h 5 min", "source_calls": 8_123}
    stream = Terminal()
    shown = ProgressLine(lambda: state, enabled=True, stream=stream)
    shown._draw(shown._fitting(state), live=True)
    text = stream.getvalue().removeprefix(ERASE)
    assert text.startswith("moving assets · 7,500 of 12,000 assets · 2 h 5 min left · 12 parked · 7.1 MB ·")
    assert len(text) == 79
    assert line(state, short=True).endswith(" · calls 8,123 + 1,311, 29/s")
    assert line(state).endswith(" · calls: source 8,123, target 1,311, 29 per second")


def test_a_pipe_gets_whole_lines() -> None:
    stream = io.StringIO()
    drawn(STATE, stream).stop()
    assert stream.getvalue() == line(STATE) + "\n"


def test_nothing_is_shown_before_a_service_was_asked() -> None:
    stream = Terminal()
    waiting = threading.Event()

    def snapshot() -> dict[str, Any]:
        waiting.set()
        return {**STATE, "source_calls": 0, "target_calls": 0}

    shown = ProgressLine(snapshot, enabled=True, stream=stream)
    shown.start()
    assert waiting.wait(60)
    shown.stop()
    assert stream.getvalue() == ""
