"""Decides when the next run of a job begins. Pure: the clock, chance and the last outcome are arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Any, Self

from dam_sync.model.errors import DamSyncError, StopKind, StopRequested, StoreBusy, Throttled
from dam_sync.model.values import Json
from dam_sync.watch.timetable import Timetable

BUSY_PAUSE = timedelta(seconds=30)  # the lease of a killed process ends after as much
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
PERSON = frozenset({2, 6, 7})  # exit codes of errors that only a person can resolve


class RunResult(StrEnum):
    """How the last run of a job ended."""

    NONE = "none"  # it never ran
    RUNNING = "running"  # or its process was killed
    DONE = "done"
    INTERRUPTED = "interrupted"  # stopped by `watch`, to be resumed as soon as it may run
    LIMIT = "limit"  # stopped by a limit of its job file
    BUDGET = "budget"  # the calls of the day are used up
    ALLOWANCE = "allowance"  # those of the month are used up
    BUSY = "busy"  # another process runs it
    FAILED = "failed"  # is tried again after a pause
    BLOCKED = "blocked"  # waits for a person


WHICH = "`dam-sync status JOB` says which, and what to do"
KEPT = ("failures", "chance", "pause", "error", "parked")
USED_UP = {StopKind.DAILY_BUDGET: RunResult.BUDGET, StopKind.MONTHLY_ALLOWANCE: RunResult.ALLOWANCE}
RESUMED = frozenset({RunResult.RUNNING, RunResult.INTERRUPTED})


@dataclass(frozen=True, slots=True)
class WatchRecord:
    """What is remembered of a job between runs, stored in its state. since: watched for the first time; began, ended:
    of the last run; done: end of the last complete run; failures: in a row; chance: draws jitter and pauses;
    parked: assets by cause at the end of the last complete run."""

    since: datetime
    began: datetime | None = None
    ended: datetime | None = None
    done: datetime | None = None
    result: RunResult = RunResult.NONE
    failures: int = 0
    chance: float = 0.0
    pause: float = 0.0  # seconds that a service asked for
    error: Mapping[str, Json] = field(default_factory=dict)
    parked: Mapping[str, int] = field(default_factory=dict)

    def begun(self, now: datetime) -> Self:
        """A run begins."""
        return replace(self, began=now, ended=None, result=RunResult.RUNNING)

    def ended_with(self, result: RunResult, now: datetime, chance: float, error: DamSyncError | None = None) -> Self:
        """The run has ended."""
        failures = self.failures + 1 if result is RunResult.FAILED else self.failures if result in RESUMED else 0
        if result is RunResult.BUSY:
            failures = self.failures
        pause = error.retry_after or 0.0 if isinstance(error, Throttled) else 0.0
        return replace(
            self,
            ended=now,
            done=now if result is RunResult.DONE else self.done,
            result=result,
            failures=failures,
            chance=chance,
            pause=pause,
            error={} if error is None else error.as_json(),
        )

    def released(self) -> Self:
        """Somebody has dealt with what the job waited for: it is tried again at once."""
        return replace(self, result=RunResult.INTERRUPTED) if self.result is RunResult.BLOCKED else self

    def rebased(self, now: datetime) -> Self:
        """The same after the clock was set back: nothing lies in the future."""
        times = {name: getattr(self, name) for name in ("since", "began", "ended", "done")}
        late: dict[str, Any] = {name: now for name, moment in times.items() if moment is not None and moment > now}
        return replace(self, **late) if late else self

    def as_json(self) -> dict[str, Json]:
        """As it is stored."""
        times = {name: getattr(self, name) for name in ("since", "began", "ended", "done")}
        return {
            **{name: moment.isoformat() if moment else None for name, moment in times.items()},
            "result": self.result.value,
            "failures": self.failures,
            "chance": self.chance,
            "pause": self.pause,
            "error": dict(self.error),
            "parked": dict(self.parked),
        }

    @classmethod
    def of_json(cls, stored: Json, now: datetime) -> Self:
        """What was stored; a new record if nothing, or nothing readable, was."""
        try:
            times: dict[str, Any] = {name: _time(stored[name]) for name in ("since", "began", "ended", "done")}
            since = times.pop("since") or now
            rest: dict[str, Any] = {name: stored[name] for name in KEPT}
            return cls(since=since, result=RunResult(stored["result"]), **times, **rest)
        except (KeyError, TypeError, ValueError):
            return cls(since=now)


@dataclass(frozen=True, slots=True)
class Decision:
    """When the next run begins, None if a person has to do something first; and why then."""

    at: datetime | None
    reason: str

    def is_due(self, now: datetime) -> bool:
        """Whether the run may begin."""
        return self.at is not None and self.at <= now


def decide(timetable: Timetable, record: WatchRecord, now: datetime) -> Decision:
    """When the next run of a job begins. Occurrences missed meanwhile are one occurrence that is due now."""
    record = record.rebased(now)
    if record.result is RunResult.BLOCKED:
        return Decision(None, f"waits for you: {(reported_error(record.error) or {}).get('message', '')}")
    due, reason = _due(timetable, record)
    opening = timetable.opening(max(due, now))
    return Decision(due, reason) if opening <= now else Decision(opening, _limited(reason, opening, max(due, now)))


def one_line(error: Mapping[str, Json], part: str = "message") -> str:
    """The message of an error, with its service, call and asset, or its hint, as a part of a line: either may have a
    line for each reason."""
    asset = f"asset {error['asset']}" if error.get("asset") else ""
    where = ", ".join(str(one) for one in (error.get("service"), error.get("operation"), asset) if one)
    prefix = f"{where}: " if where and part == "message" else ""
    first, *others = str(error.get(part, "")).split("\n")
    return prefix + " ".join((first, "; ".join(others)) if others else (first,))


def whole_error(error: Mapping[str, Json]) -> Json:
    """The error of a run for its operator; None without an error."""
    return (
        {"error": error.get("error", ""), "message": one_line(error), "hint": error.get("hint", "")} if error else None
    )


def reported_error(error: Mapping[str, Json]) -> Json:
    """The error of a run for notifications and for pages without a key, which more people read than see the assets: it
    names none of them, and no value; None without an error."""
    if not error:
        return None
    told = {**error, "asset": ""}
    if error.get("public"):
        told["message"] = error["public"]
    elif error.get("asset"):
        told |= {"message": f"{error.get('error', '')} about one asset", "hint": WHICH}
    return {"error": error.get("error", ""), "message": one_line(told), "hint": told.get("hint", "")}


def _limited(reason: str, opening: datetime, due: datetime) -> str:
    return reason if opening == due else f"{reason}, outside its hours until then"


def _due(timetable: Timetable, record: WatchRecord) -> tuple[datetime, str]:
    ended, began = record.ended or record.since, record.began or record.since
    match record.result:
        case RunResult.NONE:
            return timetable.first(record.since) + timetable.jitter * record.chance, "first run"
        case RunResult.RUNNING | RunResult.INTERRUPTED:
            return ended, "resumes the interrupted run"
        case RunResult.BUDGET:
            return next_day(ended), "the calls of the day are used up"
        case RunResult.ALLOWANCE:
            return next_day(ended), "the calls of the month are used up; the counter is read again"
        case RunResult.BUSY:
            return ended + BUSY_PAUSE, "another process runs this job"
        case RunResult.FAILED:
            return ended + pause_after(record), f"failed {record.failures} times in a row"
        case _:
            return max(ended, timetable.after(began) + timetable.jitter * record.chance), "on schedule"


def pause_after(record: WatchRecord) -> timedelta:
    """Pause after failures: doubled with each, up to an hour, shortened at random by up to a half; never shorter than
    a service asked for."""
    return max(doubled_pause(record.failures) * (1 - record.chance / 2), timedelta(seconds=record.pause))


def doubled_pause(failures: int) -> timedelta:
    """The pause after so many failures in a row: a minute, doubled with each, up to an hour."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * (1 << min(failures - 1, 16)))


def next_day(moment: datetime) -> datetime:
    """The midnight after it, in UTC, as services count days."""
    return datetime.combine(moment.astimezone(UTC).date() + timedelta(days=1), time(), UTC)


def result_of(error: DamSyncError, *, stopping: bool) -> RunResult:
    """What an error of a run means for the next one. stopping: `watch` itself asked the run to stop."""
    if isinstance(error, StoreBusy):
        return RunResult.BUSY
    if isinstance(error, StopRequested):
        if error.kind in USED_UP:
            return USED_UP[error.kind]
        return RunResult.INTERRUPTED if stopping else RunResult.LIMIT
    if not error.passing and error.exit_code in PERSON:
        return RunResult.BLOCKED
    return RunResult.FAILED


def _time(stored: Json) -> datetime | None:
    return None if stored is None else datetime.fromisoformat(stored)
