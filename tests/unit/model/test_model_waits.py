"""What a call waits for is registered while it lasts, and the longest wait is shown."""

from __future__ import annotations

import asyncio

import pytest

from dam_sync.model.waits import SHOWN_AFTER, Wait, Waits, note_text, showing, sleep_for, waiting
from tests.support.stepped_clock import SteppedClock


@pytest.mark.parametrize(
    ("wait", "now", "text"),
    [
        (Wait("GET assets", "source", 0, 300), 40, "source: waiting for GET assets since 40 s, at most 5 min"),
        (Wait("its index", "target", 10, 160), 100, "target: waiting for its index since 90 s, at most 2 min 30 s"),
        (Wait("another process", "", 0, None), 7_500, "waiting for another process since 2 h 5 min"),
        (Wait("a file", "target", 0, 9, "worker 7"), 8, "target: waiting for a file since 8 s, at most 9 s (worker 7)"),
    ],
)  # fmt: skip
def test_a_wait_says_for_what_since_when_and_until_when(wait: Wait, now: float, text: str) -> None:
    assert wait.text(now) == text
    shown = wait.as_json(now)
    assert (shown["text"], shown["for"], shown["side"], shown["by"]) == (text, wait.what, wait.side, wait.by)
    assert shown["seconds"] == now - wait.since
    assert shown["at_most"] == (None if wait.until is None else wait.until - wait.since)


def test_the_wait_that_began_first_is_shown_and_what_is_over_soon_is_not() -> None:
    waits = Waits()
    first, second = waits.begin("one", "source", 0.0, 60.0), waits.begin("two", "target", 1.0, 60.0)
    assert waits.longest(SHOWN_AFTER - 0.1) is None
    assert waits.longest(SHOWN_AFTER) is first
    waits.end(first)
    waits.end(first)
    assert waits.longest(SHOWN_AFTER) is None
    assert waits.longest(SHOWN_AFTER + 1.0) is second


def test_of_waits_that_began_together_the_last_one_is_the_most_exact() -> None:
    waits = Waits()
    waits.begin("an asset", "", 0.0, None)
    exact = waits.begin("POST assets", "target", 0.0, None)
    assert waits.longest(10.0) is exact


async def test_a_sleep_is_registered_with_the_call_that_it_belongs_to() -> None:
    clock, ours, others = SteppedClock(), Waits(), Waits()
    with showing(ours):
        task = asyncio.ensure_future(sleep_for(clock, 30.0, "its search index", "target"))
    with showing(others):
        await asyncio.sleep(0)
    await clock.advance(20.0)
    found = ours.longest(clock.monotonic())
    assert found is not None
    assert found.text(clock.monotonic()) == "target: waiting for its search index since 20 s, at most 30 s"
    assert others.longest(clock.monotonic()) is None
    await clock.advance(10.0)
    await task
    assert ours.longest(clock.monotonic(), 0.0) is None


def test_a_wait_that_fails_is_over() -> None:
    clock, waits = SteppedClock(), Waits()
    with showing(waits), pytest.raises(ValueError), waiting(clock, 5.0, "a file"):
        raise ValueError
    assert waits.longest(clock.monotonic(), 0.0) is None


async def test_another_process_reads_times_of_the_day() -> None:
    clock, waits = SteppedClock(), Waits()
    await clock.advance(100.0)
    wait = waits.begin("GET assets", "source", 60.0, 240.0)
    note = wait.as_note(clock)
    assert note_text(note) == (
        f"source: waiting for GET assets since {note['since']}, until {note['until']} at the latest"
    )
    assert note["since"] < note["until"]
    of_worker = waits.begin("a file", "", 60.0, None, "worker 7").as_note(clock)
    assert note_text(of_worker) == f"waiting for a file since {note['since']} (worker 7)"


def test_a_note_of_an_earlier_version_names_no_process() -> None:
    note = {"side": "", "for": "a file", "since": "2026-03-01T12:00:00Z", "until": None}
    assert note_text(note) == "waiting for a file since 2026-03-01T12:00:00Z"
