"""Rollbacks of runs in a virtual world, and what is at the target before and after."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dam_sync.api.rollback import RollbackRequest, preview_rollback, rollback_job
from dam_sync.report.rollback import RollbackReport
from tests.support.jobs.rollbacks import ALL, assets_of, differing
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.removals import Removals
from tests.support.virtual.state_location import beside
from tests.support.virtual.two_tenants import TwoTenants
from tests.support.virtual.universe import FUSE, LAGS

__all__ = ["ALL", "RollbackProcess", "RunProcess", "assets_of", "differing", "preview", "roll_back", "stays"]


@dataclass
class RunProcess:
    """A process that runs a job over everything, and may be killed."""

    of: TwoTenants

    @property
    def job(self) -> Path:
        """The job file."""
        return self.of.job

    @property
    def folders(self) -> Sequence[Path]:
        """All that is written to in this world."""
        return [beside(self.job), self.of.source.folder, self.of.target.folder]

    def live(self, fuse: Fuse | None = None) -> Fuse:
        """One run behind `fuse`, or one that never blows; that fuse."""
        return self.of.universe.live(self.job, fuse, full=True)


@dataclass
class RollbackProcess:
    """A process that rolls back one run of a job, and may be killed."""

    of: Removals | TwoTenants
    run: int

    @property
    def job(self) -> Path:
        """The job file."""
        return self.of.job

    @property
    def folders(self) -> Sequence[Path]:
        """All that is written to in this world."""
        return [beside(self.job), self.of.source.folder, self.of.target.folder]

    def live(self, fuse: Fuse | None = None) -> Fuse:
        """One rollback behind `fuse`, or one that never blows; that fuse."""
        return self.of.universe.live_through(self._process, fuse)

    async def _process(self, fuse: Fuse) -> RollbackReport:
        FUSE.set(fuse)
        asked = RollbackRequest(self.run, False, ALL, self.job.parent / "stays.csv")
        return await rollback_job(self.job, self.of.universe.options(fuse), asked)


def preview(job: Removals | TwoTenants, run: int) -> RollbackReport:
    """What a rollback would do, by the state."""
    return job.universe.do(preview_rollback(job.job, job.universe.options(), RollbackRequest(run)))


def roll_back(
    job: Removals | TwoTenants, run: int, most: str = ALL, *, dry_run: bool = False, **options: Any
) -> RollbackReport:
    """One rollback, and time for every index to catch up."""
    stays = job.job.parent / "stays.csv"
    asked = RollbackRequest(run, dry_run, most, stays)
    report = job.universe.do(rollback_job(job.job, job.universe.options(**options), asked))
    job.universe.do(job.universe.clock.sleep(LAGS))
    return report


def stays(job: Removals | TwoTenants) -> set[str]:
    """Ids at the target of assets of which something stayed in the last rollback."""
    with (job.job.parent / "stays.csv").open(encoding="utf-8-sig", newline="") as rows:
        return {row["target"] for row in csv.DictReader(rows)} - {""}
