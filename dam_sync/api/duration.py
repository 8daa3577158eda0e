"""Estimates the duration of a run: measured time for what the dry run did, call counts for what it simulated."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.config.job import JobConfig
from dam_sync.engine.dry_run import DryFiles, DryTarget
from dam_sync.http.limiters import sustained
from dam_sync.model.limits import Pace
from dam_sync.model.service import Service
from dam_sync.report import sentences

CALL_SECONDS = 0.2  # seconds that a call is expected to take if none was measured
HOPS = 2  # responses of storage before a file arrives: most links redirect


@dataclass(frozen=True, slots=True)
class Speed:
    """One service as far as time goes. call_seconds: mean seconds of a call; workers: assets at once; readies: see
    `Limits`, in seconds."""

    pace: Pace
    call_seconds: float
    workers: int
    processing_time: float = 0.0

    @classmethod
    def of(cls, service: Service) -> Speed:
        """The speed measured by the plan."""
        tempo = service.measured_pace
        call_seconds = CALL_SECONDS if tempo.call_seconds is None else tempo.call_seconds
        return cls(
            tempo.pace, call_seconds, service.limits.pace.at_once, service.limits.processing_time.total_seconds()
        )

    @property
    def each(self) -> float:
        """Seconds per call when calls are made one after another."""
        return max(self.call_seconds, self.at_rate(1))

    def at_rate(self, calls: int) -> float:
        """Seconds needed at the service's rate limit; 0 without a limit."""
        return calls / sustained(self.pace.per_second) if self.pace.per_second else 0.0

    def at_once(self, calls: int, together: int) -> float:
        """Seconds for calls of which `workers` are under way at once."""
        return calls * self.call_seconds / max(1, min(together, self.pace.at_once))


@dataclass(frozen=True, slots=True)
class PlannedTime:
    """What a plan came to. began, ended: seconds from its start until the first write came up, and until all was read.
    assets: to be written, of which `made` are new. files, size: to be moved, and their bytes."""

    began: float
    ended: float
    assets: int
    made: int
    files: int
    size: int
    source_calls: int  # from `began` on, including those that open files
    open_calls: int  # those that open files
    moving: int  # calls to the target by assets written concurrently
    making: int  # for terms and containers, one after another while assets are moved
    finishing: int  # for memberships and relations, one after another once all assets exist

    @classmethod
    def of(
        cls, target: DryTarget, files: DryFiles, counts: Mapping[str, int], span: tuple[float, float]
    ) -> PlannedTime:
        """From what the simulated sides counted; counts: assets by outcome; span: start and end of the plan by the
        clock."""
        open_calls, calls = sum(files.estimated.values()), sum(files.source.calls.values())
        started, ended = span
        began, before = target.began or (ended, calls)
        return cls(
            began=began - started,
            ended=ended - started,
            assets=counts["created"] + counts["updated"],
            made=counts["created"],
            files=files.opened,
            size=files.size,
            source_calls=calls - before + open_calls,
            open_calls=open_calls,
            moving=target.estimated.total() - target.making - target.finishing,
            making=target.making,
            finishing=target.finishing,
        )


def estimate_notes(job: JobConfig, target: Service, files: DryFiles) -> list[str]:
    """Notes of a plan about bytes, the disk space they need here, and what the estimated duration leaves out."""
    room = shutil.disk_usage(next(parent for parent in job.state_path.parents if parent.exists())).free
    untimed = files.size if job.limits.bandwidth is None else 0
    assumed = CALL_SECONDS if target.measured_pace.call_seconds is None else None
    return sentences.about_estimate(untimed, assumed, files.largest, room)


def estimate_duration(planned: PlannedTime, source: Speed, target: Speed, bandwidth: float | None = None) -> float:
    """Seconds that the run will take; what bytes take only where a bandwidth is set, bytes a second of each side.

    Reading, as measured by the plan, and writing overlap; memberships and relations come after both.
    """
    reading = max(
        planned.ended - planned.began,
        source.at_rate(planned.source_calls),
        source.at_once(planned.source_calls, source.workers),
    )
    workers = max(1, min(target.workers, planned.assets))
    rounds = -(-planned.assets // workers)
    uneven = rounds * workers / planned.assets if planned.assets else 1.0  # in the last round some workers are idle
    waiting = -(-planned.made // workers) * target.processing_time
    fetching = (planned.open_calls + planned.files * HOPS) * source.call_seconds / workers
    writing = max(
        target.at_rate(planned.moving + planned.making),
        (target.at_once(planned.moving, workers) + fetching) * uneven + waiting,
        planned.making * target.each,
        planned.size / bandwidth if bandwidth else 0.0,
    )
    return planned.began + max(reading, writing) + planned.finishing * target.each
