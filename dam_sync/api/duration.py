"""How long a run will take, told by its plan: what the plan did itself took its time, what it only pretended is counted
in calls."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.config.job import JobConfig
from dam_sync.engine.dry_run import DryFiles, DryTarget
from dam_sync.http.limiters import sustained
from dam_sync.model.limits import Pace
from dam_sync.model.service import Service

ANSWERING = 0.2  # seconds that a call is expected to take where none was made
HOPS = 2  # answers of storage before a file comes: links mostly lead to others


@dataclass(frozen=True, slots=True)
class Speed:
    """One service as far as time goes. answering: mean seconds of a call; workers: assets at once; readies: see
    `Limits`, in seconds."""

    pace: Pace
    answering: float
    workers: int
    processing_time: float = 0.0

    @classmethod
    def of(cls, service: Service) -> Speed:
        """As the plan found it."""
        tempo = service.measured_pace
        answering = ANSWERING if tempo.answering is None else tempo.answering
        return cls(tempo.pace, answering, service.limits.pace.at_once, service.limits.processing_time.total_seconds())

    @property
    def each(self) -> float:
        """Seconds a call where one goes after the other."""
        return max(self.answering, self.at_rate(1))

    def at_rate(self, calls: int) -> float:
        """Seconds that the service's rate asks for; 0 where it has none."""
        return calls / sustained(self.pace.per_second) if self.pace.per_second else 0.0

    def at_once(self, calls: int, together: int) -> float:
        """Seconds of calls of which so many are under way together."""
        return calls * self.answering / max(1, min(together, self.pace.at_once))


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
    source_calls: int  # from `began` on, those that opening the files will cost among them
    open_calls: int  # those
    moving: int  # calls to the target of works that go on together
    making: int  # of terms and containers, one after the other while assets are moved
    finishing: int  # of memberships and relations, one after the other when all assets are there

    @classmethod
    def of(
        cls, target: DryTarget, files: DryFiles, counts: Mapping[str, int], span: tuple[float, float]
    ) -> PlannedTime:
        """From what the pretending sides kept; counts: of assets by what becomes of them; span: when the plan started
        and ended, by the clock."""
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
    """What a plan says of bytes, of the room they need here, and of what the estimate of time leaves out."""
    room = shutil.disk_usage(next(parent for parent in job.state_path.parents if parent.exists())).free
    notes = []
    if files.size and job.limits.bandwidth is None:
        notes.append(
            f"the estimate of time leaves out the transfer of {megabytes(files.size)}, for no speed is known: set "
            "`limits: {bandwidth: 50MB/s}` to include it"
        )
    if target.measured_pace.answering is None:
        notes.append(f"no call to the target was measured: the estimate takes {ANSWERING} s for each")
    if files.largest > room:
        notes.append(
            f"the largest file has {megabytes(files.largest)} and the disk of the state has {megabytes(room)} free: a "
            "file that cannot be read by ranges is kept there while it is moved"
        )
    return notes


def megabytes(size: int) -> str:
    """`12.3 MB`, `4.5 GB`."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def estimate_duration(planned: PlannedTime, source: Speed, target: Speed, bandwidth: float | None = None) -> float:
    """Seconds that the run will take; what bytes take only where a bandwidth is set, bytes a second of each side.

    Reading, as it went in the plan, and writing go on side by side; memberships and relations come after both.
    """
    reading = max(
        planned.ended - planned.began,
        source.at_rate(planned.source_calls),
        source.at_once(planned.source_calls, source.workers),
    )
    workers = max(1, min(target.workers, planned.assets))
    rounds = -(-planned.assets // workers)
    uneven = rounds * workers / planned.assets if planned.assets else 1.0  # in the last round some have nothing to do
    waiting = -(-planned.made // workers) * target.processing_time
    fetching = (planned.open_calls + planned.files * HOPS) * source.answering / workers
    writing = max(
        target.at_rate(planned.moving + planned.making),
        (target.at_once(planned.moving, workers) + fetching) * uneven + waiting,
        planned.making * target.each,
        planned.size / bandwidth if bandwidth else 0.0,
    )
    return planned.began + max(reading, writing) + planned.finishing * target.each
