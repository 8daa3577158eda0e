"""What the live page shows of jobs while they run, sampled from their counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Protocol

from dam_sync.api.running import WITH_ASSETS
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import Clock
from dam_sync.model.errors import DamSyncError
from dam_sync.model.limits import RateStatus
from dam_sync.model.run_options import Progress, RunOptions
from dam_sync.model.values import Json
from dam_sync.report.remaining import RemainingTime
from dam_sync.watch.metrics import health_of
from dam_sync.watch.scheduler import RunResult, whole_error
from dam_sync.watch.timetable import LATEST
from dam_sync.watch.watched_job import WatchedJob

RATE_SECONDS = 10.0  # over which rates are measured
PHASES = 20  # shown at most
NEXT_RUNS = 3
COUNTED = ("created", "updated", "unchanged", "removed", "skipped", "parked")


class ShownJob(Protocol):
    """A job as the page sees it."""

    @property
    def config(self) -> JobConfig:
        """Its job file."""

    @property
    def progress(self) -> Progress | None:
        """That of the run under way; another object for each run."""

    def situation(self) -> dict[str, Json]:
        """What happened last and what happens next: the keys of `health_of`, and `next_runs`."""


class ShownWatchedJob:
    """A job of `watch`."""

    def __init__(self, job: WatchedJob, clock: Clock) -> None:
        self._job = job
        self._clock = clock

    @property
    def config(self) -> JobConfig:
        return self._job.job.config

    @property
    def progress(self) -> Progress | None:
        return self._job.progress

    def situation(self) -> dict[str, Json]:
        health: dict[str, Json] = health_of([self._job])["jobs"][0]
        moments = [moment.isoformat(timespec="seconds") for moment in self._next_runs()]
        error = whole_error(self._job.record.error)
        return {**health, "error": error, "next_runs": moments, "ended_run": False}

    def _next_runs(self) -> Iterator[datetime]:
        """As scheduled, provided that each run is complete before the next one."""
        timetable, record = self._job.timetable, self._job.record
        moment = self._job.decision.at
        if self._job.progress is not None:
            moment = timetable.opening(timetable.after(record.began or self._clock.now()))
        for _ in range(NEXT_RUNS):
            if moment is None or moment >= LATEST:
                return
            yield moment
            moment = timetable.opening(timetable.after(moment))


class SingleRun:
    """A run that `run` makes, from now on."""

    def __init__(self, config: JobConfig, options: RunOptions) -> None:
        self.config = config
        self._options = options
        self._began = options.clock.now()
        self._ended: datetime | None = None
        self._error: DamSyncError | None = None

    @property
    def progress(self) -> Progress | None:
        return self._options.progress if self._ended is None else None

    def end(self, error: DamSyncError | None) -> None:
        """The run is complete, or this error ended it."""
        self._ended, self._error = self._options.clock.now(), error

    def situation(self) -> dict[str, Json]:
        ended, error = self._ended, self._error
        result = RunResult.RUNNING if ended is None else RunResult.DONE if error is None else RunResult.FAILED
        return {
            "job": self.config.name,
            "ok": error is None,
            "running": ended is None,
            "result": result.value,
            "began": self._began.isoformat(timespec="seconds"),
            "ended": ended.isoformat(timespec="seconds") if ended else None,
            "error": {"message": str(error), "hint": error.hint} if error else None,
            "bounds": [text for text in map(self._bound, ("limit", "max_calls", "max_duration")) if text],
            "ended_run": ended is not None,
        }

    def _bound(self, name: str) -> str:
        given = getattr(self._options, name)
        return f"--{name.replace('_', '-')} {given}" if given is not None else ""


class RunSampler:
    """One run under way. `sample` about twice a second, so that no phase is missed that matters."""

    def __init__(self, job: ShownJob, progress: Progress, clock: Clock) -> None:
        self.progress = progress
        self._config = job.config
        self._clock = clock
        self._phases: deque[tuple[str, float]] = deque(maxlen=PHASES)
        self._counters: deque[tuple[float, int, int, int]] = deque()
        self._remaining = RemainingTime()
        self._began = clock.monotonic()

    def sample(self) -> None:
        """Look at the counters."""
        progress, now = self.progress, self._clock.monotonic()
        if not self._phases or self._phases[-1][0] != progress.phase:
            self._phases.append((progress.phase, now))
            self._remaining = RemainingTime()
        if progress.phase in WITH_ASSETS:
            self._remaining.add(now, progress.done)
        self._counters.append((now, progress.source_calls(), progress.target_calls(), progress.bytes_so_far))
        while len(self._counters) > 2 and self._counters[1][0] <= now - RATE_SECONDS:
            self._counters.popleft()

    def as_json(self) -> dict[str, Json]:
        """What was seen of the run."""
        progress, limits, now = self.progress, self._config.limits, self._clock.monotonic()
        starts = [*(since for _, since in self._phases), now]
        of_source, of_target, of_bytes = self._rates()
        return {
            "seconds": int(now - self._began),
            "phase": self._phases[-1][0],
            "phases": [
                {"name": name, "seconds": int(end - since)}
                for (name, since), end in zip(self._phases, starts[1:], strict=True)
            ],
            "moves": self._phases[-1][0] in WITH_ASSETS,
            "done": progress.done,
            "total": None if progress.total is None else progress.foreseen,
            "at_most": progress.foreseen,
            "left": self._left(),
            "waiting": None if (wait := progress.waits.longest(now)) is None else wait.as_json(now),
            **{name: getattr(progress, name) for name in COUNTED},
            "bytes": {"number": progress.bytes_so_far, "rate": of_bytes, "limit": limits.bandwidth},
            "sides": [
                _side("source", self._config.source.kind, progress.source_calls(), of_source, progress.source_rates()),
                _side("target", self._config.target.kind, progress.target_calls(), of_target, progress.target_rates()),
            ],
            "calls_per_day": limits.calls_per_day,
            "dashboard": progress.dashboard,
        }

    def _rates(self) -> tuple[float, ...]:
        """Per second: calls to the source and to the target, bytes."""
        if len(self._counters) < 2:
            return 0.0, 0.0, 0.0
        (since, *before), (at, *after) = self._counters[0], self._counters[-1]
        span = max(at - since, 0.001)
        return tuple(round(max(0, new - old) / span, 1) for old, new in zip(before, after, strict=True))

    def _left(self) -> Json:
        """The remaining time of the phase: between what is listed and what the source has."""
        progress = self.progress
        if self._phases[-1][0] not in WITH_ASSETS:
            return None
        most = progress.foreseen
        listed = min(progress.listed, progress.expected or progress.listed)
        least = listed if most is None or progress.total is None else most
        still = max(0, least - progress.done)
        left = self._remaining.range(still, None if most is None else max(still, most - progress.done))
        return None if left is None else {"text": left.text, "least": left.least, "most": left.most}


def _side(role: str, kind: str, calls: int, rate: float, status: RateStatus) -> dict[str, Json]:
    return {"role": role, "kind": kind, "calls": calls, "rate": rate, **asdict(status)}


class LiveState:
    """All jobs of a page."""

    def __init__(self, jobs: Sequence[ShownJob], clock: Clock) -> None:
        self.jobs = jobs
        self._clock = clock
        self._samplers: dict[int, RunSampler] = {}

    def sample(self) -> None:
        """Look at the counters of all runs under way."""
        for number, job in enumerate(self.jobs):
            progress, sampler = job.progress, self._samplers.get(number)
            if progress is None:
                self._samplers.pop(number, None)
                continue
            if sampler is None or sampler.progress is not progress:
                sampler = self._samplers[number] = RunSampler(job, progress, self._clock)
            sampler.sample()

    def as_json(self) -> list[Json]:
        """What the page shows of each job."""
        return [
            {
                **job.situation(),
                "source": job.config.source.kind,
                "target": job.config.target.kind,
                "run": self._samplers[number].as_json() if number in self._samplers else None,
            }
            for number, job in enumerate(self.jobs)
        ]
