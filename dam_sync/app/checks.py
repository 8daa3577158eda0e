"""`check`: everything that can be known before anything moves, every fault at once."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from dam_sync.app.connecting import MEMORY_FOR_FILES, connect, job_of
from dam_sync.app.wish import Wish
from dam_sync.engine.guards.sight import NOTHING_HINT, NOTHING_SEEN
from dam_sync.mapping.compile import compile_file, compile_mapping
from dam_sync.mapping.crosswalk import groups_written, run_tests
from dam_sync.mapping.document import load_mapping
from dam_sync.mapping.shapes import Fate
from dam_sync.model.errors import DamSyncError, MappingError, SafetyStop
from dam_sync.model.schema import Schema
from dam_sync.model.service import Account, Service
from dam_sync.settings import Job
from dam_sync.transfer.content import MemoryBudget

LEAST_FREE = 1_000_000_000
MOST_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a check; an exit code above 0 makes it a fault."""

    subject: str
    message: str
    hint: str = ""
    exit_code: int = 0

    @classmethod
    def of(cls, subject: str, error: DamSyncError) -> Finding:
        """A fault."""
        return cls(subject, str(error), error.hint, error.exit_code)

    @property
    def mark(self) -> str:
        """`ok` or `FAULT`."""
        return "FAULT" if self.exit_code else "ok"

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"ok": not self.exit_code}


async def check_job(path: Path) -> list[Finding]:
    """Findings, faults among them. Raises ConfigError when the job file itself cannot be read."""
    job = job_of(path)
    findings = [Finding("job file", f"{job.name}: {job.source.kind} to {job.target.kind}"), _disk(job)]
    schemas: dict[str, tuple[Service, Schema]] = {}
    async with AsyncExitStack() as stack:
        for role in ("source", "target"):
            try:
                service = connect(job, role, Wish(), MemoryBudget(MEMORY_FOR_FILES), read_only=True)
                stack.push_async_callback(service.close)
                findings.extend(_about(role, await service.probe()))
                schemas[role] = service, await service.schema()
            except DamSyncError as error:
                findings.append(Finding.of(role, error))
        findings.extend(_about_mapping(job, schemas))
        findings.extend([finding async for finding in _about_groups(job, schemas)])
    return findings


async def _about_groups(job: Job, schemas: dict[str, tuple[Service, Schema]]) -> AsyncIterator[Finding]:
    """Groups that the mapping writes and the target does not have, where it lists none and each is looked up."""
    if len(schemas) < 2 or schemas["target"][1].groups is not None:
        return
    (_, source), (target_service, target) = schemas["source"], schemas["target"]
    try:
        crosswalk = compile_mapping(
            load_mapping(job.mapping_path), source, target, unique_names=target_service.limits.names_identify
        )
        unknown = await target_service.unknown_groups(groups_written(crosswalk, source))
    except MappingError:
        return
    except DamSyncError as error:
        yield Finding.of("target groups", error)
        return
    if unknown and crosswalk.plan.groups is not None:
        parks = crosswalk.plan.groups.on_error is Fate.PARKED
        fate = "every asset with one of them is parked" if parks else "they are dropped, each as a named loss"
        hint = "make them at the target, or map `security: groups` to those it has"
        message = f"the target has no group or user {', '.join(sorted(unknown))}; {fate}"
        yield Finding("target groups", message, hint, exit_code=MappingError.exit_code if parks else 0)


def _disk(job: Job) -> Finding:
    folder = next(parent for parent in (job.state_path.parent, *job.state_path.parents) if parent.exists())
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        hint = "free some room, or move `state:` to another disk"
        return Finding("disk", f"{free / 1e9:.1f} GB free in {folder}", hint, exit_code=1)
    return Finding("disk", f"{free / 1e9:.0f} GB free in {folder}")


def _about(role: str, account: Account) -> Iterator[Finding]:
    total = "" if account.total is None else f", sees {account.total:,} assets"
    release = f", release {account.release}" if account.release else ""
    yield Finding(role, f"{account.tenant} as {account.user or 'the given credential'}{release}{total}")
    if role == "source" and account.total == 0:
        hint = f"{NOTHING_HINT}, run with --accept-changes"
        yield Finding("source sight", NOTHING_SEEN, hint, exit_code=SafetyStop.exit_code)
    if abs(account.clock_skew) > MOST_SKEW:
        hint = "set this machine's clock; deltas and token lifetimes depend on it"
        yield Finding(f"{role} clock", f"differs from ours by {account.clock_skew}", hint, exit_code=2)
    yield from (Finding(f"{role} rights", note) for note in account.notes)


def _about_mapping(job: Job, schemas: dict[str, tuple[Service, Schema]]) -> Iterator[Finding]:
    try:
        if len(schemas) < 2:
            load_mapping(job.mapping_path)
            yield Finding("mapping", "reads well; not compared, for a schema is missing")
            return
        (_, source), (target_service, target) = schemas["source"], schemas["target"]
        unique = target_service.limits.names_identify
        document, crosswalk = compile_file(job.mapping_path, source, target, unique_names=unique)
        failures = run_tests(document, crosswalk)
    except MappingError as error:
        yield Finding.of("mapping", error)
        return
    yield from (Finding("mapping test", str(failure), "mend the line or the test", exit_code=2) for failure in failures)
    yield Finding("mapping", f"writes {len(crosswalk.writes)} fields, reads {len(crosswalk.reads)} paths")
    if not crosswalk.marked:
        hint = "mark an optional, searchable text field by `{marker: true}`; to go without one, write `marker: none`"
        text = "no field is the marker: a create whose answer is lost would be parked, never found again"
        yield Finding("mapping marker", text, hint, exit_code=MappingError.exit_code)
    yield from (Finding("mapping", note) for note in crosswalk.notes)
