"""Estimates the duration of a run: measured time for what the dry run did, call counts for what it simulated."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dam_sync.config.job import JobConfig
from dam_sync.engine.run.dry_run import DryFiles, DryTarget
from dam_sync.http.rates.limiters import sustained
from dam_sync.model.limits import Pace, SmallFile
from dam_sync.model.service import Service
from dam_sync.model.wording import counted
from dam_sync.report import sentences
from dam_sync.report.parts import DiskNeed, Estimate, TimePart

CALL_SECONDS = 0.2  # seconds that a call is expected to take if none was measured
LEAST, MOST = 0.96, 1.12  # of the estimate: the bounds between which a run is expected
SLACK = 4.0  # seconds that a run may take longer, however short it is; new file versions, which wait, took up to 2.5
SOURCE, TARGET = "source", "target"
RATE_LIMIT, CONCURRENCY, BANDWIDTH = "rate limit", "concurrency", "bandwidth"
PROCESSING, READING, ONE_BY_ONE = "processing", "reading", "one after another"


@dataclass(frozen=True, slots=True)
class Speed:
    """One service as far as time goes. call_seconds: mean seconds of a call; workers: assets at once; processing_time,
    small_file: see `Limits`, the first in seconds."""

    pace: Pace
    call_seconds: float
    workers: int
    processing_time: float = 0.0
    small_file: SmallFile = field(default_factory=SmallFile)

    @classmethod
    def of(cls, service: Service, workers: int) -> Speed:
        """The speed measured by the plan, for a service that reads or writes so many assets at once."""
        tempo = service.measured_pace
        call_seconds = CALL_SECONDS if tempo.call_seconds is None else tempo.call_seconds
        limits = service.limits
        ready = limits.processing_time.total_seconds()
        return cls(tempo.pace, call_seconds, workers, ready, limits.small_file)

    @property
    def at_best(self) -> Speed:
        """With as many calls at once as may be learned, if their number is not known yet."""
        return replace(self, pace=replace(self.pace, at_once=self.pace.most))

    @property
    def each(self) -> float:
        """Seconds per call when calls are made one after another."""
        return max(self.call_seconds, self.at_rate(1))

    def at_rate(self, calls: int) -> float:
        """Seconds needed at the service's rate limit; 0 without a limit."""
        return calls / sustained(self.pace.per_second, self.call_seconds) if self.pace.per_second else 0.0

    def at_once(self, calls: int, together: int) -> float:
        """Seconds for calls of which `workers` are under way at once."""
        return calls * self.call_seconds / max(1, min(together, self.pace.at_once))

    def in_storage(self, calls: int, together: int) -> float:
        """The same for calls to its storage."""
        return calls * self.call_seconds / max(1, min(together, self.pace.storage_at_once))


@dataclass(frozen=True, slots=True)
class PlannedTime:
    """What a plan came to. began, ended: seconds from its start until the first write came up, and until all was read.
    assets: to be written. waits: how often they wait until a file is usable. files, size: to be moved, and their
    bytes."""

    began: float
    ended: float
    assets: int
    waits: int
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
        waited_for = target.limits.small_file.waited_for
        unready = counts["created"] if waited_for else target.grown + files.fetched
        return cls(
            began=began - started,
            ended=ended - started,
            assets=counts["created"] + counts["updated"],
            waits=unready + target.versions,
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
    out. If the number of calls at once is still to be learned, the band is as wide as what it may come to."""
    seconds = estimate_duration(planned, *sides, bandwidth)
    fastest = estimate_duration(planned, sides[0].at_best, sides[1].at_best, bandwidth)
    parts = tuple(part for phase in _parts(planned, *sides, bandwidth) for part in phase if part.seconds > 0)
    return Estimate(
        p50=fastest * LEAST,
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
    here = 0 if job.state_on_server else state
    return DiskNeed(str(job.state_path.parent), shutil.disk_usage(folder).free, here, files.largest)


def _last_versions(planned: PlannedTime, target: Speed) -> float:
    """Seconds for which the assets that come last may wait for each other: the versions of one follow one another."""
    return 2 * target.processing_time if planned.versions else 0.0


def _parts(
    planned: PlannedTime, source: Speed, target: Speed, bandwidth: float | None
) -> tuple[list[TimePart], list[TimePart], list[TimePart]]:
    """What reading, writing and finishing take. Reading, as measured by the plan, and writing overlap; memberships and
    relations come after both."""
    reading = [
        TimePart(READING, SOURCE, planned.ended - planned.began, "as long as the plan read"),
        _rate(SOURCE, source, planned.source_calls),
        TimePart(CONCURRENCY, SOURCE, source.at_once(planned.source_calls, source.workers), _latency(source)),
    ]
    writing = [
        _rate(TARGET, target, planned.moving + planned.making),
        _moved(planned, source, target),
        TimePart(ONE_BY_ONE, TARGET, planned.making * target.each, "terms and containers"),
        TimePart(
            BANDWIDTH, "", planned.size / bandwidth if bandwidth else 0.0, "all files, at the bandwidth of the job"
        ),
    ]
    finishing = [TimePart(ONE_BY_ONE, TARGET, planned.finishing * target.each, "memberships and relations")]
    return reading, writing, finishing


def _moved(planned: PlannedTime, source: Speed, target: Speed) -> TimePart:
    """What assets written concurrently take. Where each waits for its file, those who waited go on together and queue
    up for calls and storage; otherwise each makes its calls while others make theirs."""
    workers = max(1, min(target.workers, planned.assets))
    rounds = -(-planned.assets // workers)
    uneven = rounds * workers / planned.assets if planned.assets else 1.0  # in the last round some workers are idle
    downloads, uploads = planned.files * source.small_file.downloads, planned.files * target.small_file.uploads
    calling, loading = target.at_once(planned.moving, workers), target.in_storage(uploads, workers)
    reading = source.in_storage(downloads, workers)
    if target.small_file.waited_for:
        calls, fetching = calling + loading, reading + source.at_once(planned.open_calls, workers)
    else:
        calls = (planned.moving + uploads) * target.call_seconds / workers
        fetching = (planned.open_calls + downloads) * source.call_seconds / workers
    waiting = -(-planned.waits // workers) * target.processing_time
    seconds = max((calls + fetching) * uneven + waiting, calling, loading, reading)
    if waiting >= max(calls, fetching, calling, loading, reading):
        return TimePart(PROCESSING, TARGET, seconds, "until new files are usable at the target")
    side = TARGET if max(calls, calling, loading) >= max(fetching, reading) else SOURCE
    return TimePart(
        CONCURRENCY, side, seconds, f"{counted(workers, 'asset')} at once, {target.call_seconds:.2f} s for each call"
    )


def _together(parts: Iterable[TimePart]) -> float:
    """Parts that overlap take as long as the longest."""
    return max((part.seconds for part in parts), default=0.0)


def _rate(side: str, speed: Speed, calls: int) -> TimePart:
    pace = speed.pace.per_second
    rate = f"{pace:g} {'call' if pace == 1 else 'calls'} per second" if pace else ""
    return TimePart(RATE_LIMIT, side, speed.at_rate(calls), rate)


def _latency(speed: Speed) -> str:
    return f"{counted(min(speed.workers, speed.pace.at_once), 'call')} at once, {speed.call_seconds:.2f} s for each"
