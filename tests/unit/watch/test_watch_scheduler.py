"""When the next run begins: schedules in time zones, missed runs, back-off, hours, budgets, clocks that jump."""

from __future__ import annotations

import random
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.config.schedule import HoursWindow
from dam_sync.model.errors import (
    ConfigError,
    ContractBroken,
    DamSyncError,
    Denied,
    DiskFull,
    SafetyStop,
    StopKind,
    StopRequested,
    StoreBusy,
    Throttled,
    Transient,
    TruncatedListing,
)
from dam_sync.watch.scheduler import (
    LONGEST_PAUSE,
    RunResult,
    WatchRecord,
    decide,
    one_line,
    pause_after,
    result_of,
)
from dam_sync.watch.timetable import LATEST, Timetable

PARIS = ZoneInfo("Europe/Paris")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NIGHT = (HoursWindow(time(20), time(6)),)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def done(at: datetime, *, took: timedelta = MINUTE, chance: float = 0.0) -> WatchRecord:
    return WatchRecord(at).begun(at).ended_with(RunResult.DONE, at + took, chance)


# -- schedules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "runs",
    [
        # 02:30 does not exist on that day: the run begins when the clock has jumped to 03:00 of Paris, and once
        pytest.param(["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"], id="clock goes forward"),
        pytest.param(["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"], id="clock goes back"),
    ],
)
def test_a_night_in_which_the_clock_is_changed_has_one_run(runs: list[str]) -> None:
    table = Timetable(cron="30 2 * * *", zone=PARIS)
    for run, following in pairwise(runs):
        assert table.after(utc(run)) == utc(following)


@pytest.mark.parametrize("day", ["2026-03-28T12:00", "2026-10-24T12:00"])
def test_every_quarter_of_an_hour_stays_so(day: str) -> None:
    table, at = Timetable(cron="*/15 * * * *", zone=PARIS), utc(day)
    for _ in range(4 * 24):
        following = table.after(at)
        assert following - at == 15 * MINUTE
        at = following


def test_an_expression_may_never_match_again() -> None:
    assert Timetable(cron="0 0 29 2 *").after(utc("2026-01-01")) == utc("2028-02-29")
    assert Timetable(cron="0 0 30 2 1-5/7").after(utc("2026-01-01")) <= LATEST


def test_a_new_job_begins_at_once_by_interval_and_on_time_by_cron() -> None:
    now = utc("2026-06-01T12:34")
    assert decide(Timetable(every=HOUR), WatchRecord(now), now).at == now
    assert decide(Timetable(cron="0 3 * * *", zone=PARIS), WatchRecord(now), now).at == utc("2026-06-02T01:00")


def test_missed_runs_are_caught_up_once() -> None:
    table, last = Timetable(cron="0 * * * *"), utc("2026-06-01T12:00")
    now = utc("2026-06-04T09:20")
    assert decide(table, done(last), now).is_due(now)
    assert decide(table, done(now), now + MINUTE).at == utc("2026-06-04T10:00")


def test_a_run_that_outlasts_its_interval_is_followed_at_once_by_the_next() -> None:
    at = utc("2026-06-01T12:00")
    record = done(at, took=3 * HOUR)
    assert decide(Timetable(every=HOUR), record, at + 3 * HOUR).at == at + 3 * HOUR
    assert decide(Timetable(cron="0 * * * *"), record, at + 3 * HOUR).is_due(at + 3 * HOUR)


def test_jitter_delays_within_its_bound() -> None:
    table, at = Timetable(cron="0 * * * *", jitter=10 * MINUTE), utc("2026-06-01T12:00")
    assert decide(table, done(at, chance=0.5), at + MINUTE).at == at + HOUR + 5 * MINUTE


# -- outcomes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "stopping", "result"),
    [
        (SafetyStop("the mapping changed"), False, RunResult.BLOCKED),
        (ConfigError("unknown key"), False, RunResult.BLOCKED),
        (Denied("refused"), True, RunResult.BLOCKED),
        (Transient("a broken connection"), False, RunResult.FAILED),
        (TruncatedListing("rows are missing"), False, RunResult.FAILED),
        (DiskFull("no space left"), False, RunResult.FAILED),
        (ContractBroken("a page of HTML"), False, RunResult.FAILED),
        (StoreBusy("another process"), False, RunResult.BUSY),
        (StopRequested("end of the hours"), True, RunResult.INTERRUPTED),
        (StopRequested("the limit of 5 calls is reached"), False, RunResult.LIMIT),
        (StopRequested("the calls of the day", kind=StopKind.DAILY_BUDGET), True, RunResult.BUDGET),
        (StopRequested("the calls of the month", kind=StopKind.MONTHLY_ALLOWANCE), True, RunResult.ALLOWANCE),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, DamSyncError) else str(given),
)
def test_what_an_error_means_for_the_next_run(error: DamSyncError, stopping: bool, result: RunResult) -> None:
    assert result_of(error, stopping=stopping) is result


def test_a_job_that_waits_for_a_person_says_so_and_is_released() -> None:
    at = utc("2026-06-01T12:00")
    record = WatchRecord(at).begun(at).ended_with(RunResult.BLOCKED, at, 0.5, SafetyStop("the mapping changed"))
    decision = decide(Timetable(every=HOUR), record, at + 90 * DAY)
    assert (decision.at, decision.reason) == (None, "waits for you: the mapping changed")
    assert decide(Timetable(every=HOUR), record.released(), at + DAY).is_due(at + DAY)


def test_pauses_grow_with_failures_and_end_with_a_success() -> None:
    at = utc("2026-06-01T12:00")
    record, pauses = WatchRecord(at), []
    for _ in range(9):
        record = record.begun(at).ended_with(RunResult.FAILED, at, 0.0, Transient("x"))
        pauses.append(pause_after(record))
    assert pauses[:4] == [MINUTE, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE]
    assert pauses[-1] == LONGEST_PAUSE
    assert decide(Timetable(cron="0 0 1 1 *"), record, at).at == at + HOUR  # not only in the next year
    assert record.begun(at).ended_with(RunResult.DONE, at, 0.0).failures == 0
    assert record.begun(at).ended_with(RunResult.BUSY, at, 0.0).failures == 9


def test_a_pause_that_a_service_requests_is_respected() -> None:
    at = utc("2026-06-01T12:00")
    record = WatchRecord(at).begun(at).ended_with(RunResult.FAILED, at, 0.9, Throttled("later", retry_after=7200))
    assert decide(Timetable(every=HOUR), record, at).at == at + 2 * HOUR


def test_a_busy_state_is_waited_for() -> None:
    at = utc("2026-06-01T12:00")
    record = WatchRecord(at).begun(at).ended_with(RunResult.BUSY, at, 0.9)
    assert decide(Timetable(cron="0 0 1 1 *"), record, at).at == at + timedelta(seconds=30)


@pytest.mark.parametrize("result", [RunResult.BUDGET, RunResult.ALLOWANCE])
def test_a_used_up_budget_is_looked_at_again_at_midnight_of_utc(result: RunResult) -> None:
    at = utc("2026-06-01T22:30")
    record = WatchRecord(at).begun(at).ended_with(result, at, 0.9)
    assert decide(Timetable(every=HOUR, zone=PARIS), record, at).at == utc("2026-06-02")


def test_a_killed_run_is_resumed_at_once() -> None:
    at = utc("2026-06-01T12:00")
    assert decide(Timetable(cron="0 0 1 1 *"), WatchRecord(at).begun(at), at + MINUTE).is_due(at + MINUTE)


def test_a_record_survives_being_stored() -> None:
    at = utc("2026-06-01T12:00:01.5")
    record = WatchRecord(at).begun(at).ended_with(RunResult.FAILED, at + MINUTE, 0.25, Transient("x", hint="y"))
    assert WatchRecord.of_json(record.as_json(), at + DAY) == record
    for broken in (None, {}, {**record.as_json(), "result": "new"}, {**record.as_json(), "began": 7}, []):
        assert WatchRecord.of_json(broken, at) == WatchRecord(at)


# -- hours -------------------------------------------------------------------------------------------------------------


def test_hours_that_cross_midnight() -> None:
    table = Timetable(every=HOUR, zone=PARIS, hours=NIGHT)
    noon, evening, early = utc("2026-06-01T10:00"), utc("2026-06-01T18:00"), utc("2026-06-02T04:00")
    assert (table.opening(noon), table.opening(evening), table.closing(evening)) == (evening, evening, early)
    assert table.opening(early) == evening + DAY
    assert table.closing(noon) is None
    decision = decide(table, done(noon - 2 * HOUR), noon)
    assert (decision.at, decision.reason) == (evening, "on schedule, outside its hours until then")


def test_windows_that_follow_one_another_are_one() -> None:
    table = Timetable(every=HOUR, hours=(HoursWindow(time(8), time(12)), HoursWindow(time(12), time(17))))
    assert table.closing(utc("2026-06-01T09:00")) == utc("2026-06-01T17:00")


def test_hours_keep_to_local_time_when_the_clock_changes() -> None:
    table = Timetable(every=HOUR, zone=PARIS, hours=NIGHT)
    assert table.closing(utc("2026-03-28T20:00")) == utc("2026-03-29T04:00")  # nine hours
    assert table.closing(utc("2026-10-24T20:00")) == utc("2026-10-25T05:00")  # eleven


# -- a month -----------------------------------------------------------------------------------------------------------

TABLES = st.sampled_from(
    [
        Timetable(cron="*/15 * * * *", zone=PARIS),
        Timetable(cron="30 2 * * *", zone=PARIS, jitter=20 * MINUTE),
        Timetable(cron="0 * * * 1-5", zone=PARIS, hours=NIGHT),
        Timetable(every=40 * MINUTE, jitter=5 * MINUTE),
        Timetable(every=6 * HOUR, zone=PARIS, hours=(HoursWindow(time(1, 30), time(3, 15)),)),
    ]
)
OTHERS = ("failed", "busy", "budget", "limit", "interrupted")
RESULTS = [*[RunResult.DONE] * 12, *map(RunResult, OTHERS)]


@settings(max_examples=25, deadline=None)
@given(TABLES, st.sampled_from(["2026-03-10", "2026-10-10"]), st.integers(0, 2**32))
def test_a_month_with_outages_restarts_and_clock_changes(table: Timetable, begin: str, seed: int) -> None:
    """Every run begins when it may; none begins twice for an occurrence; nothing is forgotten, whatever the clock."""
    rng, now = random.Random(seed), utc(begin)
    until, record = now + 31 * DAY, WatchRecord(now, chance=rng.random())
    while now < until:
        decision = decide(table, record, now)
        assert decision.at is not None
        if not decision.is_due(now):
            assert decide(table, record, decision.at - timedelta(microseconds=1)).at == decision.at
            assert decision.at - now <= 7 * DAY, "nothing is planned further away than the schedule goes"
            now = decision.at
        if rng.random() < 0.03:  # the computer sleeps, or the process has ended
            now += rng.random() * DAY
            record = WatchRecord.of_json(record.as_json(), now)
        if rng.random() < 0.02:  # the clock is set back
            now -= rng.random() * HOUR
            record = record.rebased(now)
        if not decide(table, record, now).is_due(now):
            continue
        assert table.opening(now) == now, "outside the hours"
        if record.result is RunResult.DONE:
            assert record.began is not None
            assert table.after(record.began) <= now, "twice for one occurrence"
        record = record.begun(now)
        now += timedelta(seconds=rng.uniform(1, 600))
        record = record.ended_with(rng.choice(RESULTS), now, rng.random())


def test_what_a_job_waits_for_names_the_service_and_the_call() -> None:
    """`watch` reported "returned 401 Unauthorized" of a job with two services."""
    at = utc("2026-06-01T12:00")
    error = Denied("returned 401 Unauthorized", service="e_profiles", operation="GET /v2/user", asset="7")
    record = WatchRecord(at).begun(at).ended_with(RunResult.BLOCKED, at, 0.5, error)
    stored = WatchRecord.of_json(record.as_json(), at)
    shown = "e_profiles, GET /v2/user, asset 7: returned 401 Unauthorized"
    assert one_line(stored.error) == str(error) == shown
    assert one_line({"message": "kept by an older release"}) == "kept by an older release"
    assert one_line({"message": "2 reasons:\n1. one\n2. two"}) == "2 reasons: 1. one; 2. two"
