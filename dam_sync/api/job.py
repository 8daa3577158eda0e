"""The Python interface to a job: what the commands do, as methods."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from dam_sync.api.job_file import job_of
from dam_sync.api.mapping import Mapping
from dam_sync.api.running import cause_of, snapshots
from dam_sync.config.job import JobConfig, job_of_code
from dam_sync.model.clock import Clock
from dam_sync.model.connector import Connector
from dam_sync.model.errors import StopRequested
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import visible
from dam_sync.model.waits import showing
from dam_sync.services import discover

if TYPE_CHECKING:
    from dam_sync.api.adopt import Adoption
    from dam_sync.api.check_result import CheckResult
    from dam_sync.api.conflicts import ConflictRequest
    from dam_sync.api.emulation.rehearsal import Rehearsal, RehearsalReport
    from dam_sync.model.inventory import Inventory
    from dam_sync.report.redirects import RedirectReport
    from dam_sync.report.report import Report
    from dam_sync.report.rollback import RollbackReport

T = TypeVar("T")
ProgressCallback = Callable[[Dictionary[str, Any]], None]
"""Called with the counters of a call about once a second, and once when it has ended."""
PROGRESS_SECONDS = 1.0


class Job:
    """Migrates the library of one service to another and keeps it in sync.

    `Job.load("job.yaml")` reads a job file. In code, `source` and `target` have the same keys as in a job file;
    `settings` are its keys `state`, `limits` and `policy`. A secret in `auth` is a value or a reference such as
    `${env:NAME}`; it is never stored. What is a path in a job file may be a `Path`; relative ones are resolved against
    `folder`. `connectors` replace the installed services.

    Every method can be repeated; `run` resumes where an earlier one stopped. Use new `RunOptions` for every call.
    """

    def __init__(
        self,
        *,
        source: Dictionary[str, Any],
        target: Dictionary[str, Any],
        mapping: Mapping | Path | str,
        name: str = "job",
        folder: Path | str = ".",
        connectors: Dictionary[str, Connector] | None = None,
        **settings: Any,
    ) -> None:
        """Raises ConfigError with every diagnostic; no service is called."""
        given = mapping.given if isinstance(mapping, Mapping) else None
        body = {"version": 1, "name": name, "source": dict(source), "target": dict(target), **settings}
        body["mapping"] = given.written.file if given is not None else mapping
        self._config = job_of_code(body, Path(folder).absolute(), connectors or discover(), given)
        self._connectors = connectors

    @classmethod
    def load(cls, path: Path | str, connectors: Dictionary[str, Connector] | None = None) -> Job:
        """The job of a job file. Raises ConfigError with every diagnostic, its file and line."""
        made = cls.__new__(cls)
        made._config, made._connectors = job_of(Path(path), connectors), connectors
        return made

    def __repr__(self) -> str:
        sides = f"{self._config.source.kind} to {self._config.target.kind}"
        return f"<Job {visible(self.name)}: {sides}>"

    @property
    def config(self) -> JobConfig:
        """The keys of the job file."""
        return self._config

    @property
    def name(self) -> str:
        """The name of the job."""
        return self._config.name

    async def check(
        self, options: RunOptions | None = None, *, progress: ProgressCallback | None = None
    ) -> list[CheckResult]:
        """Check everything that can be known before anything moves. Problems are in the result, not raised."""
        from dam_sync.api.check import check_job

        return await self._watched(check_job, options, progress)

    async def inspect(
        self,
        sample: str = "2000",
        side: str = "",
        options: RunOptions | None = None,
        *,
        progress: ProgressCallback | None = None,
    ) -> Inventory:
        """What both libraries hold, or one (`source` or `target`). Neither is written to, and no file is downloaded.

        sample: the share of the assets that is read, such as `2%`, or how many of the first.
        """
        from dam_sync.api.inspection import inspect_job

        async def inspected(config: JobConfig, given: RunOptions) -> Inventory:
            return await inspect_job(config, given, sample, side)

        return await self._watched(inspected, options, progress)

    async def plan(self, options: RunOptions | None = None, *, progress: ProgressCallback | None = None) -> Report:
        """A dry run: what `run` would do, with the calls and the time it would take. Nothing is written."""
        from dam_sync.api.jobs import plan_job

        return await self._watched(plan_job, options, progress)

    async def rehearse(
        self,
        rehearsal: Rehearsal | None = None,
        options: RunOptions | None = None,
        *,
        progress: ProgressCallback | None = None,
    ) -> RehearsalReport:
        """Run and verify against an emulated target with the target's own schema. Neither service is written to."""
        from dam_sync.api.emulation.rehearsal import rehearse_job

        async def rehearsed(config: JobConfig, given: RunOptions) -> RehearsalReport:
            return await rehearse_job(config, given, rehearsal)

        return await self._watched(rehearsed, options, progress)

    async def run(self, options: RunOptions | None = None, *, progress: ProgressCallback | None = None) -> Report:
        """Migrate, or bring the target up to date. Safe to repeat; call it again to resume.

        Raises StopRequested if it was stopped or reached a limit of the options, otherwise the error that made it fail.
        """
        from dam_sync.api.jobs import run_job

        return await self._watched(run_job, options, progress)

    async def verify(
        self,
        level: str | None = None,
        sample: str = "100%",
        options: RunOptions | None = None,
        *,
        differences: Path | None = None,
        progress: ProgressCallback | None = None,
    ) -> Report:
        """Read both services back and compare them at a level: count, fields, digest or bytes. differences: a CSV file
        for every difference and addition."""
        from dam_sync.api.jobs import verify_job

        async def verified(config: JobConfig, given: RunOptions) -> Report:
            return await verify_job(config, given, level, sample, differences)

        return await self._watched(verified, options, progress)

    async def adopt(
        self,
        adoption: Adoption | None = None,
        options: RunOptions | None = None,
        *,
        progress: ProgressCallback | None = None,
    ) -> Report:
        """Link assets that are already in both libraries. Neither service is written to."""
        from dam_sync.api.adopt import Adoption, adopt_job

        async def adopted(config: JobConfig, given: RunOptions) -> Report:
            return await adopt_job(config, given, adoption or Adoption())

        return await self._watched(adopted, options, progress)

    async def status(self) -> dict[str, Any]:
        """Where the job stands, without calling a service. Raises ConfigError if it never ran."""
        from dam_sync.api.job_status import job_status

        return await job_status(self._config)

    async def errors(self, causes: Sequence[str] = (), *, retry: bool = False) -> dict[str, Any]:
        """Parked assets grouped by cause; with `retry` the next run tries them again."""
        from dam_sync.api.state_commands import job_errors

        return await job_errors(self._config, causes, retry)

    async def sign_off(
        self, wave: str, by: str = "", note: str = "", options: RunOptions | None = None, *, revoke: bool = False
    ) -> dict[str, Any]:
        """Sign a wave off, so that the waves after it may run, or take that back. Raises SafetyStop while it is not
        moved, verified and free of parked assets; `accept_changes` accepts all but the first."""
        from dam_sync.api.sign_off import SignOffRequest, sign_off

        return await sign_off(self._config, SignOffRequest(wave, by, note, revoke), options or RunOptions())

    async def rollback(
        self,
        run: int,
        options: RunOptions | None = None,
        *,
        dry_run: bool = False,
        max_deletes: str = "",
        progress: ProgressCallback | None = None,
    ) -> RollbackReport:
        """Undo one run, without a question; with `dry_run` nothing is written. Call it again to resume.

        Raises SafetyStop before anything is written if more assets would go to the trash than allowed.
        """
        from dam_sync.api.rollback import RollbackRequest, rollback_job

        request = RollbackRequest(run, dry_run, max_deletes)

        async def undone(config: JobConfig, given: RunOptions) -> RollbackReport:
            return await rollback_job(config, given, request)

        return await self._watched(undone, options, progress)

    async def redirects(
        self,
        table: Path | None = None,
        options: RunOptions | None = None,
        *,
        probe: bool = False,
        progress: ProgressCallback | None = None,
    ) -> RedirectReport:
        """Old public links and those that take their place, all of them in the CSV file `table`. Neither service is
        written to."""
        from dam_sync.api.redirects import RedirectRequest, job_redirects

        async def listed(config: JobConfig, given: RunOptions) -> RedirectReport:
            return await job_redirects(config, given, RedirectRequest(table, probe=probe))

        return await self._watched(listed, options, progress)

    async def conflicts(self, request: ConflictRequest | None = None) -> dict[str, Any]:
        """Both sides of each open conflict, after the decisions of `request` were taken; the next run applies them."""
        from dam_sync.api.conflicts import job_conflicts

        return await job_conflicts(self._config, request)

    async def explain(
        self, called: str, by: str = "", options: RunOptions | None = None, *, live: bool = False
    ) -> dict[str, Any]:
        """Everything that the state knows about the asset with this id at one of the services, or with this file name;
        with `live` also its records at both services. `candidates` if several are called so."""
        from dam_sync.api.explain import job_explain
        from dam_sync.api.explain_live import job_explain_live

        if not live:
            return await job_explain(self._config, called, by)

        async def explained(config: JobConfig, given: RunOptions) -> dict[str, Any]:
            return await job_explain_live(config, called, by, given)

        return await self._watched(explained, options, None)

    async def reports(self) -> dict[str, Any]:
        """Every run and verification, newest first, and whether its report is kept."""
        from dam_sync.api.reports.kept_reports import job_reports

        return await job_reports(self._config)

    async def report(self, run: int | None = None, kind: str = "") -> dict[str, Any]:
        """A report that the state keeps, as JSON: of a run, or the last one. Raises ConfigError if there is none."""
        from dam_sync.api.reports.kept_reports import job_report

        return await job_report(self._config, run, kind)

    async def _watched(
        self,
        work: Callable[[JobConfig, RunOptions], Coroutine[Any, Any, T]],
        options: RunOptions | None,
        progress: ProgressCallback | None,
    ) -> T:
        """The result of the coroutine, with its progress reported meanwhile. Raises the first error, never a group."""
        given = options or RunOptions()
        given = replace(given, connectors=given.connectors or self._connectors)
        snapshot = snapshots(given)
        try:
            async with anyio.create_task_group() as group:
                if progress is not None:
                    group.start_soon(_report_progress, progress, snapshot, given.clock)
                with showing(given.progress.waits):
                    result = await work(self._config, given)
                group.cancel_scope.cancel()
        except (StopRequested, BaseExceptionGroup) as error:
            raise cause_of(error) from error
        if progress is not None:
            progress(snapshot())
        return result


async def _report_progress(
    progress: ProgressCallback, snapshot: Callable[[], Dictionary[str, Any]], clock: Clock
) -> None:
    while True:
        await clock.sleep(PROGRESS_SECONDS)
        progress(snapshot())
