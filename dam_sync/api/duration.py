"""Estimates the duration of a run: measured time for what the dry run did, call counts for what it simulated."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dam_sync.config.job import JobConfig
from dam_sync.engine.dry_run import DryFiles, DryTarget
from dam_sync.http.limiters import sustained
from dam_sync.model.limits import Pace
from dam_sync.model.service import Service
from dam_sync.report import sentences
from dam_sync.report.parts import DiskNeed, Estimate, TimePart

CALL_SECONDS = 0.2  # seconds that a call is expected to take if none was measured
LEAST, MOST = 0.94, 1.18  # of the estimate: the bounds between which a run is expected
SLACK = 4.0  # seconds that a run may take longer, however short it is
SOURCE, TARGET = "source", "target"
RATE_LIMIT, CONCURRENCY, BANDWIDTH = "rate limit", "concurrency", "bandwidth"
PROCESSING, READING, ONE_BY_ONE = "processing", "reading", "one after another"
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
    versions: int = 0  # file versions, each added when the one before it is usable

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
            versions=target.versions,
        )


def estimate_notes(files: DryFiles, target: Service, estimate: Estimate) -> list[str]:
    """Notes of a plan about what the estimated duration leaves out or assumes, and the disk that files need here."""
    assumed = CALL_SECONDS if target.measured_pace.call_seconds is None else None
    room = estimate.disk.free if estimate.disk is not None else files.largest
    return sentences.about_estimate(estimate.untimed, assumed, files.largest, room)


def estimate_of(
    planned: PlannedTime, sides: tuple[Speed, Speed], files: DryFiles, bandwidth: float | None, disk: DiskNeed
) -> Estimate:
    """The duration of a run with its parts. bandwidth: bytes a second of each side; without it, what bytes take is left
    out."""
    seconds = estimate_duration(planned, *sides, bandwidth)
    parts = tuple(part for phase in _parts(planned, *sides, bandwidth) for part in phase if part.seconds > 0)
    return Estimate(
        p50=seconds * LEAST,
        p90=seconds * MOST + SLACK + _last_versions(planned, sides[1]),
        bottleneck=max(parts, key=lambda part: part.seconds, default=None),
        parts=parts,
        files=files.opened,
        bytes=files.size,
        largest=files.largest,
        untimed=0 if bandwidth is not None else files.size,
        disk=disk,
    )


def estimate_duration(planned: PlannedTime, source: Speed, target: Speed, bandwidth: float | None = None) -> float:
    """Seconds that the run will take, without a band."""
    reading, writing, finishing = _parts(planned, source, target, bandwidth)
    return planned.began + max(_together(reading), _together(writing)) + _together(finishing)


def disk_of(job: JobConfig, state: int, files: DryFiles) -> DiskNeed:
    """The bytes that a run needs on the disk of the state. state: by which the state of the plan grew."""
    folder = next(parent for parent in job.state_path.parents if parent.exists())
    return DiskNeed(str(job.state_path.parent), shutil.disk_usage(folder).free, state, files.largest)


def _last_versions(planned: PlannedTime, target: Speed) -> float:
    """Seconds for which the assets that come last may wait for each other: the versions of one follow one another."""
    return 2 * target.processing_time if planned.versions else 0.0


def _parts(
    planned: PlannedTime, source: Speed, target: Speed, bandwidth: float | None
) -> tuple[list[TimePart], list[TimePart], list[TimePart]]:
    """What reading, writing and finishing take. Reading, as measured by the plan, and writing overlap; memberships and
    relations come after both."""
    workers = max(1, min(target.workers, planned.assets))
    rounds = -(-planned.assets // workers)
    uneven = rounds * workers / planned.assets if planned.assets else 1.0  # in the last round some workers are idle
    waiting = -(-(planned.made + planned.versions) // workers) * target.processing_time
    fetching = (planned.open_calls + planned.files * HOPS) * source.call_seconds / workers
    calls = target.at_once(planned.moving, workers)
    latency = f"{workers} assets at once, {target.call_seconds:.2f} s for each call"
    reading = [
        TimePart(READING, SOURCE, planned.ended - planned.began, "as long as the plan read"),
        _rate(SOURCE, source, planned.source_calls),
        TimePart(CONCURRENCY, SOURCE, source.at_once(planned.source_calls, source.workers), _latency(source)),
    ]
    moved = (calls + fetching) * uneven + waiting
    slowest = max((calls, CONCURRENCY, TARGET), (fetching, CONCURRENCY, SOURCE), (waiting, PROCESSING, TARGET))
    text = latency if slowest[1] == CONCURRENCY else "until new files are usable at the target"
    writing = [
        _rate(TARGET, target, planned.moving + planned.making),
        TimePart(slowest[1], slowest[2], moved, text),
        TimePart(ONE_BY_ONE, TARGET, planned.making * target.each, "terms and containers"),
        TimePart(
            BANDWIDTH, "", planned.size / bandwidth if bandwidth else 0.0, "all files, at the bandwidth of the job"
        ),
    ]
    finishing = [TimePart(ONE_BY_ONE, TARGET, planned.finishing * target.each, "memberships and relations")]
    return reading, writing, finishing


def _together(parts: Iterable[TimePart]) -> float:
    """Parts that overlap take as long as the longest."""
    return max((part.seconds for part in parts), default=0.0)


def _rate(side: str, speed: Speed, calls: int) -> TimePart:
    rate = f"{speed.pace.per_second:g} calls per second" if speed.pace.per_second else ""
    return TimePart(RATE_LIMIT, side, speed.at_rate(calls), rate)


def _latency(speed: Speed) -> str:
    return f"{speed.workers} calls at once, {speed.call_seconds:.2f} s for each"
