"""The clocks of both services, followed without a call between their responses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dam_sync.model.errors import WrongClock
from dam_sync.model.service_time import RunTime, ServiceTime

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY, HOUR, SECOND = timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)


class TwoClocks:
    """A clock that may be set, and a monotonic one that stands still while the computer sleeps."""

    def __init__(self) -> None:
        self.wall, self.running = NOW, 0.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.running

    def passes(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.running += seconds

    async def sleep(self, seconds: float) -> None:
        self.passes(seconds)

    def chance(self) -> float:
        return 0.5

    def token(self) -> str:
        return "0" * 32


def run_time(source: timedelta | None, target: timedelta | None) -> tuple[TwoClocks, RunTime]:
    """The clocks of both sides, ahead of ours by so much; None: a folder, which has none."""
    clock = TwoClocks()
    time = RunTime.of(clock)
    for role, ahead in (("source", source), ("target", target)):
        if ahead is not None:
            time.services[role].saw(NOW + ahead, 0.0)
    return clock, time


@pytest.mark.parametrize(
    ("source", "target", "words", "earliest", "latest"),
    [
        (SECOND, -SECOND, "", NOW, NOW),
        (None, None, "", NOW, NOW),
        (-DAY, -DAY, "the clock of this computer is 23:59:59 ahead of those of both", NOW - DAY, NOW - DAY),
        (DAY, DAY, "the clock of this computer is 1 day, 0:00:00 behind those of both", NOW + DAY, NOW + DAY),
        (DAY, SECOND, "the source is 1 day, 0:00:00 ahead of ours, which that of the target agrees", NOW, NOW + DAY),
        (SECOND, -DAY, "the target is 23:59:59 behind ours, which that of the source agrees", NOW - DAY, NOW),
        (DAY, -DAY, "no other clock says which of them is wrong", NOW - DAY, NOW + DAY),
        (None, -DAY, "no other clock says which of them is wrong", NOW - DAY, NOW),
    ],
)
def test_three_clocks_say_which_is_wrong(
    source: timedelta | None, target: timedelta | None, words: str, earliest: datetime, latest: datetime
) -> None:
    _, time = run_time(source, target)
    fault = time.fault
    assert (fault is not None) == bool(words)
    assert fault is None or words in fault.message
    assert (time.earliest(), time.latest()) == (earliest, latest)


def test_a_clock_that_is_set_is_noticed_and_followed_by_the_monotonic_one() -> None:
    clock, time = run_time(SECOND, SECOND)
    time.accept()
    clock.passes(3600)
    time.refuse_wrong()
    clock.wall += DAY
    assert time.earliest() == NOW + HOUR + SECOND
    time.services["source"].saw(NOW + HOUR, clock.running)
    with pytest.raises(WrongClock, match="the clock of the source is 23:59:59 behind ours"):
        time.refuse_wrong()


def test_a_computer_that_slept_waits_for_the_next_response() -> None:
    clock, time = run_time(SECOND, SECOND)
    time.accept()
    clock.wall += HOUR
    time.refuse_wrong()
    assert time.earliest() == NOW + SECOND, "not later than it may be"
    for side in time.services.values():
        side.saw(NOW + HOUR, clock.running)
    time.refuse_wrong()
    assert time.earliest() == NOW + HOUR


def test_nothing_is_compared_before_the_run_may_write_and_what_was_accepted_stays_so() -> None:
    clock, time = run_time(DAY, SECOND)
    time.refuse_wrong()
    time.accept()
    time.refuse_wrong()
    clock.passes(60)
    time.refuse_wrong()
    time.services["source"].saw(NOW + 2 * DAY, clock.running)
    with pytest.raises(WrongClock):
        time.refuse_wrong()


def test_a_response_that_took_long_says_no_more_than_it_can() -> None:
    clock = TwoClocks()
    side = ServiceTime(clock)
    clock.passes(600)
    side.saw(NOW + SECOND, 0.0)  # it may have been sent at once
    assert side.ahead == timedelta(0)
