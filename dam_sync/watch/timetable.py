"""When a job may run: the occurrences of its schedule, and the hours of its time zone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Self

from cronsim import CronSim

from dam_sync.config.job import JobConfig
from dam_sync.config.schedule import HoursWindow
from dam_sync.model.errors import ConfigError

LATEST = datetime(9000, 1, 1, tzinfo=UTC)  # an expression that never matches again, e.g. of one leap day


@dataclass(frozen=True, slots=True)
class Timetable:
    """A schedule and the hours of a job. All times are aware and in UTC; `zone` is that of cron and hours."""

    cron: str = ""
    every: timedelta = timedelta()
    zone: tzinfo = UTC
    jitter: timedelta = timedelta()
    hours: tuple[HoursWindow, ...] = ()

    @classmethod
    def of(cls, job: JobConfig) -> Self:
        """That of a job file. Raises ConfigError for a job without a schedule."""
        given = job.schedule
        if given is None:
            raise ConfigError(
                f"the job {job.name} has no schedule", hint="add `schedule: {every: 15m}` to the job file"
            )
        jitter = given.jitter or timedelta()
        return cls(given.cron or "", given.every or timedelta(), given.zone, jitter, job.limits.hours or ())

    def first(self, since: datetime) -> datetime:
        """The first occurrence of a job that is watched since then: at once for an interval."""
        return self._cron_after(since) if self.cron else since

    def after(self, began: datetime) -> datetime:
        """The occurrence after a run that began then; those in between are skipped."""
        return self._cron_after(began) if self.cron else began + self.every

    def opening(self, at: datetime) -> datetime:
        """This time if it is within the hours, otherwise when they begin."""
        if not self.hours:
            return at
        windows = list(self._windows(at))
        if any(start <= at < end for start, end in windows):
            return at
        return min(start for start, _ in windows if start > at)

    def closing(self, at: datetime) -> datetime | None:
        """When the hours end in which this time is; None if there is no end."""
        end = at
        for _ in self.hours:  # windows may follow one another
            end = max([end, *(closes for opens, closes in self._windows(end) if opens <= end < closes)])
        return end if self.hours and end > at else None

    def _cron_after(self, moment: datetime) -> datetime:
        found = next(CronSim(self.cron, moment.astimezone(self.zone)), None)
        return LATEST if found is None else found.astimezone(UTC)

    def _windows(self, around: datetime) -> Iterator[tuple[datetime, datetime]]:
        today = around.astimezone(self.zone).date()
        for day in (today + timedelta(days=offset) for offset in (-1, 0, 1, 2)):
            for window in self.hours:
                end = day if window.end > window.start else day + timedelta(days=1)
                yield self._at(day, window.start), self._at(end, window.end)

    def _at(self, day: date, local: time) -> datetime:
        return datetime.combine(day, local, self.zone).astimezone(UTC)
