"""`check`: everything that can be known before anything moves, with all problems at once."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dam_sync.aio.threads import run_sync
from dam_sync.api.bootstrap import (
    MARKER_HINT,
    MEMORY_FOR_FILES,
    NO_MARKER,
    UNASKED,
    UNASKED_HINT,
    connect,
    opens_at,
    pulls_of,
    reading_of_job,
    refuse_unwritten,
)
from dam_sync.api.check_result import CheckedSides, CheckResult
from dam_sync.api.check_sample import about_assets
from dam_sync.api.job_file import job_of
from dam_sync.api.reachability import ATTEMPTS, PATIENCE, SECONDS, explained, refuse_unreachable
from dam_sync.api.service_notes import notes_about
from dam_sync.api.state_copies import last_export
from dam_sync.api.stored_job import existing_store, refuse_unwritable_state, state_exists
from dam_sync.api.target_schema import (
    about_missing_fields,
    about_missing_groups,
    about_missing_terms,
    with_given_groups,
)
from dam_sync.api.webhooks import webhooks_of
from dam_sync.config.job import JobConfig
from dam_sync.config.secrets import PROGRAM, may_wait, resolve_secret, slips_in
from dam_sync.config.side import SideConfig
from dam_sync.engine.guards.changed_rows import ROWS_HINT, about_changed_rows
from dam_sync.engine.guards.copies import FirstLook
from dam_sync.engine.guards.mass_deletion import NOTHING_HINT, NOTHING_SEEN
from dam_sync.engine.guards.one_library import HINT, POSSIBLE_HINT, overlap_between, overlap_by_ip_address
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.crosswalk import groups_written, run_tests
from dam_sync.mapping.document import refuse_faulty
from dam_sync.mapping.results import ValueOutcome
from dam_sync.mapping.wave_selection import WaveReading
from dam_sync.model.asset import path_text
from dam_sync.model.capabilities import Operation
from dam_sync.model.connector import Connector
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import (
    ConfigError,
    DamSyncError,
    Denied,
    MappingError,
    NotFound,
    SafetyStop,
    Transient,
)
from dam_sync.model.probed import Account, undecided, with_fields
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.service_time import MOST_OFF
from dam_sync.model.values import instant_text
from dam_sync.model.waits import waiting
from dam_sync.model.wording import against_ours, bytes_text, counted
from dam_sync.report.sentences import about_no_links, about_writer, unseen_parts
from dam_sync.services import discover
from dam_sync.transfer.content import MemoryBudget

LEAST_FREE = 1_000_000_000
BOTH = "source and target"
CONTAINERS = 5_000  # containers of the source searched for those that the mapping selects


async def check_job(path: Path | JobConfig, options: RunOptions | None = None) -> list[CheckResult]:
    """All results, including faults. Raises ConfigError if the job file itself cannot be read."""
    options = options or RunOptions()
    job = job_of(path, options.connectors)
    findings = [
        CheckResult("job file", f"{job.name}: {job.source.kind} to {job.target.kind}"),
        disk_result(job.state_path),
        *_about_secret_files(job),
    ]
    sides = CheckedSides(lookup=options.transport is None, options=options)
    findings.extend([finding async for finding in _about_state(job, options, sides)])
    async with AsyncExitStack() as stack:
        for role in ("source", "target"):
            findings.extend([finding async for finding in _about_side(job, role, options, sides, stack)])
        findings.extend(_about_undecided(job, sides))
        findings.extend(_about_pulls(job, sides))
        findings.extend([finding async for finding in _about_webhooks(job, options)])
        findings.extend(_about_notify(job))
        findings.extend(_about_mapping(job, sides))
        findings.extend(_about_waves(job, sides))
        for about in (
            _about_overlap,
            _about_own_files,
            _about_groups,
            _about_lacking,
            _about_containers,
            about_assets,
        ):
            options.progress.phase = "testing the mapping on a few assets"
            try:
                findings.extend([finding async for finding in about(job, sides)])
            except DamSyncError as error:
                findings.extend(CheckResult.of("source", error))
    return findings


async def _about_side(
    job: JobConfig, role: str, options: RunOptions, sides: CheckedSides, stack: AsyncExitStack
) -> AsyncIterator[CheckResult]:
    side = job.source if role == "source" else job.target
    try:
        await _refuse_unreachable(side, role, options)
        budget = MemoryBudget(MEMORY_FOR_FILES)
        service = await connect(job, role, options, budget, read_only=True, attempts=ATTEMPTS, patience=PATIENCE)
        stack.push_async_callback(service.close)
        account = await service.probe()
        account.refuse_as(role)
        for finding in _about(role, account, with_credential=side.auth is not None):
            yield finding
        if role == "source" and service.limits.undated:
            yield CheckResult("source deltas", unseen_parts(service.limits.undated), _hint_unseen(job.policy.rotation))
        for finding in await _asked(service, role, (options.connectors or discover())[side.kind]):
            yield finding
        sides.accounts[role] = account
        if role == "target" and "source" in sides.services:
            await service.adopt_schema(sides.services["source"][1])
        sides.services[role] = service, await service.schema()
    except DamSyncError as error:
        why = await explained(error, side, role, opens_at(job, role, options))
        for each in (why, *await _unresolved(side, why)):
            for finding in CheckResult.of(role, each):
                yield finding


async def _refuse_unreachable(side: SideConfig, role: str, options: RunOptions) -> None:
    urls = {side.tenant_url: "tenant_url", side.base_url: "base_url"} if options.transport is None else {}
    for url, key in sorted(urls.items(), key=lambda row: row[1]):
        if url:
            options.progress.phase = f"connecting to the {role}, {urlsplit(url).netloc}"
            with waiting(options.clock, 2 * SECONDS, "a connection", role):
                await refuse_unreachable(url, role, key)


async def _unresolved(side: SideConfig, why: DamSyncError) -> list[ConfigError]:
    """Secrets of a side that was not reached which cannot be read: they are asked for after its URL. why: what was
    found, which is not repeated."""
    found = list[ConfigError]()
    for text in side.auth.parameters.values() if side.auth is not None else ():
        try:
            await run_sync(resolve_secret, text)
        except ConfigError as error:
            found.extend([error] if str(error) != str(why) else [])
    return found


async def _about_own_files(job: JobConfig, sides: CheckedSides) -> AsyncIterator[CheckResult]:
    """Files of the job inside a library that is a folder: they would be read as assets, or handed over with it."""
    given = [("the mapping", job.mapping_path)] if job.given_mapping is None else []
    own = [*given, *([] if job.state_on_server else [("the state", job.state_path)])]
    for role, (service, _) in sides.services.items():
        library = await service.library()
        for what, path in own if library is not None else ():
            if library is not None and library.itself & {str(folder) for folder in path.resolve().parents}:
                message = f"{what} {path} lies in the library of the {role}, among its files"
                yield CheckResult(
                    f"{role} files", message, "keep job, mapping and state in a folder of their own", warns=True
                )


async def _asked(service: Service, role: str, connector: Connector) -> list[CheckResult]:
    """What is asked of a service only when a job is checked."""
    hint = "correct the option `locales`, or leave it out"
    notes = await notes_about(role, connector, service, needed=True)
    return [
        *(CheckResult.noted(replace(note, subject=f"{role} {note.subject}")) for note in notes),
        *(
            CheckResult(f"{role} options", f"locales: the {role} has no language {language}", hint, warns=True)
            for language in await service.unknown_languages()
        ),
    ]


async def _about_overlap(job: JobConfig, sides: CheckedSides) -> AsyncIterator[CheckResult]:
    """Whether a run would write into the library that it reads, or create what the target has already."""
    if len(sides.services) < 2:
        return
    source, target = (sides.services[role][0] for role in ("source", "target"))
    found = await overlap_between(source, target)
    if sides.lookup and (found is None or not found.overlap.is_certain):
        found = await overlap_by_ip_address(source, target) or found
    if found is not None and found.overlap.is_certain:
        yield CheckResult(BOTH, found.message, HINT, SafetyStop.exit_code)
        return
    selects = sides.crosswalk.selects if sides.crosswalk is not None else lambda asset: True
    look = FirstLook(source, target, sides.accounts["target"], selects, alike=job.source.kind == job.target.kind)
    copies = await look.finding() if not sides.linked else None
    if copies is not None:
        yield CheckResult(BOTH, copies.message, copies.hint, SafetyStop.exit_code)
    elif found is not None and not look.apart:
        yield CheckResult(BOTH, found.message, POSSIBLE_HINT, warns=True)


def _about_undecided(job: JobConfig, sides: CheckedSides) -> Iterator[CheckResult]:
    """What would be left behind because an option does not say what becomes of it."""
    if len(sides.services) < 2:
        return
    able, closing = sides.services["source"][0].capabilities, sides.services["target"][0].exposure_options().closing
    accounts = sides.accounts["source"], sides.accounts["target"]
    schemas = sides.services["source"][1], sides.services["target"][1]
    found = with_fields(undecided(*accounts, able, job.policy.versions, closing), *schemas)
    for role, parts in found.items():
        yield from (CheckResult(f"{role} options", one.text, one.hint, warns=True) for one in parts)


def _about_pulls(job: JobConfig, sides: CheckedSides) -> Iterator[CheckResult]:
    """Why the target can fetch no files, though the job says so."""
    if len(sides.services) < 2:
        return
    (source, _), (target, _) = sides.services["source"], sides.services["target"]
    for message in about_no_links(pulls_of(job, source, target).obstacle):
        hint = "all files go through this process: leave out `policy: {bytes: pull}` if that is meant"
        yield CheckResult("policy", message, hint, warns=True)


async def _about_webhooks(job: JobConfig, options: RunOptions) -> AsyncIterator[CheckResult]:
    """Whether a delivery of the source arrives."""
    options.progress.phase = "checking webhooks"
    try:
        webhooks = await webhooks_of(job, options)
        if webhooks is None:
            return
        try:
            seconds = await webhooks.prove()
        finally:
            await webhooks.close()
    except (Transient, NotFound, Denied) as error:
        more = f": {error.hint}" if error.hint else ""
        hint = f"start `dam-sync watch` with this job, and let your proxy pass on what arrives{more}"
        yield CheckResult("webhooks", f"no delivery can arrive: {error}", hint, warns=True)
    except DamSyncError as error:
        for finding in CheckResult.of("webhooks", error):
            yield finding
    else:
        what = "the URL leads to `watch`; the source offers no test delivery"
        yield CheckResult("webhooks", what if seconds is None else f"a test delivery arrived after {seconds:.1f} s")


def _hint_unseen(rotation: int | None) -> str:
    if rotation:
        return f"the rotation finds them within {counted(rotation, 'run')}"
    return (
        "set `policy: {rotation: 14}` to compare everything within 14 runs, or use `run JOB --full` from time to time"
    )


async def _about_state(job: JobConfig, options: RunOptions, sides: CheckedSides) -> AsyncIterator[CheckResult]:
    """Where the state is, and whether its last export is older than what was written."""
    named = "" if job.state else "; the job names none"
    try:
        await refuse_unwritable_state(job)
        if not await state_exists(job):
            yield CheckResult("state", f"{job.state_name}, created by the first run{named}")
            return
        yield CheckResult("state", f"{job.state_name}{named}")
        async with existing_store(job, options.clock, read_only=True, storage=options.storage) as store:
            links, runs = await store.link_count(), await store.runs(at_most=1)
            changed = await store.changed_rows()
        sides.linked = links > 0
        other = next((row.job for row in runs if row.job != job.name), "")
        for message in about_writer(job.state_name, other, job.name):
            yield CheckResult("state", message, "each job has a state of its own: name another file", warns=True)
    except DamSyncError as error:
        for finding in CheckResult.of("state", error):
            yield finding
        return
    if changed:
        yield CheckResult("state", about_changed_rows(changed), ROWS_HINT, SafetyStop.exit_code)
    export, ended = last_export(job), runs[0].ended_at if runs else None
    if links and (export is None or (ended is not None and export < ended)):
        when = "was never exported" if export is None else f"was exported before the last run, {instant_text(export)}"
        hint = "`dam-sync state JOB export -o FILE`: without an export, a lost state has to be rebuilt by `adopt`"
        yield CheckResult("state export", f"the state of {counted(links, 'asset')} {when}", hint, warns=True)


async def _about_groups(job: JobConfig, sides: CheckedSides) -> AsyncIterator[CheckResult]:
    """Groups that the mapping writes but the target lacks, if it does not list groups and each has to be looked up."""
    crosswalk = sides.crosswalk
    if crosswalk is None or sides.services["target"][1].groups is not None:
        return
    given = with_given_groups(*sides.services["source"])
    unknown = await sides.services["target"][0].unknown_groups(groups_written(crosswalk, given))
    if unknown and crosswalk.plan.groups is not None:
        parks = crosswalk.plan.groups.on_error is ValueOutcome.PARKED
        fate = "every asset with one of them is parked" if parks else "they are dropped, each as a named loss"
        hint = "create them at the target, or map `security: groups` to existing ones"
        message = f"the target has no group or user {', '.join(sorted(unknown))}; {fate}"
        yield CheckResult("target groups", message, hint, MappingError.exit_code if parks else 0, warns=True)


async def _about_lacking(job: JobConfig, sides: CheckedSides) -> AsyncIterator[CheckResult]:
    """Groups and terms that the mapping writes and the target does not list."""
    if sides.crosswalk is None:
        return
    source, target = (sides.services[role] for role in ("source", "target"))
    for note in about_missing_groups(sides.crosswalk, with_given_groups(*source), target[1]):
        yield CheckResult.noted(note)
    async for note in about_missing_terms(sides.crosswalk, source, target):
        yield CheckResult.noted(note)


async def _about_containers(job: JobConfig, sides: CheckedSides) -> AsyncIterator[CheckResult]:
    """Containers in `select` that the source does not have."""
    wanted = set(sides.crosswalk.selection.containers) if sides.crosswalk else set()
    source = sides.services["source"][0] if wanted else None
    if source is None or Operation.CONTAINERS not in source.capabilities:
        return
    known: set[tuple[str, ...]] = set()
    async for container in source.containers():
        known.add(container.path)
        wanted.discard(container.path)
        if not wanted or len(known) >= CONTAINERS:
            return
    paths = [path_text(path) for path in known]
    for path in sorted(wanted):
        text = path_text(path)
        hint = nearest(text, paths) or "correct `select.containers`"
        yield CheckResult("mapping", f"select.containers: the source has no {text}", hint, MappingError.exit_code)


def disk_result(state: Path, usage: Callable[[Path], Any] = shutil.disk_usage) -> CheckResult:
    """Whether the disk of the state has room."""
    folder = next(parent for parent in state.parents if parent.exists())
    free = usage(folder).free
    found = f"{bytes_text(free)} free in {folder}"
    if free < LEAST_FREE:
        return CheckResult("disk", found, "free some space, or move `state:` to another disk", exit_code=1)
    return CheckResult("disk", found)


def _about(role: str, account: Account, *, with_credential: bool) -> Iterator[CheckResult]:
    total = "" if account.total is None else f", sees {counted(account.total, 'asset')}"
    release = f", release {account.release}" if account.release else ""
    user = account.user or ("the given credential" if with_credential else "")
    yield CheckResult(role, f"{account.tenant}{' as ' if user else ''}{user}{release}{total}")
    if role == "source" and account.total == 0:
        hint = f"{NOTHING_HINT}, run with --accept-changes"
        yield CheckResult("source sight", NOTHING_SEEN, hint, exit_code=SafetyStop.exit_code)
    if abs(account.clock_skew) > MOST_OFF:
        hint = "set the clock of this computer; deltas and token lifetimes depend on it"
        yield CheckResult(f"{role} clock", against_ours(account.clock_skew), hint, exit_code=2)
    yield from (CheckResult(f"{role} notes", note) for note in account.notes_as(role))


def _about_waves(job: JobConfig, sides: CheckedSides) -> Iterator[CheckResult]:
    """What the waves select, compared with the schema of the source."""
    if not job.waves or sides.crosswalk is None:
        return
    try:
        waves = WaveReading(job.written, job.folder).compiled(sides.services["source"][1], sides.crosswalk.languages)
    except ConfigError as error:
        yield from CheckResult.of("waves", error)
        return
    yield CheckResult("waves", f"in their order: {', '.join(waves.names)}")


def _about_secret_files(job: JobConfig) -> Iterator[CheckResult]:
    for path in job.open_secret_files:
        message = f"every user of this computer can read the secret in {path}"
        yield CheckResult("secrets", message, f"`chmod 600 {shlex.quote(str(path))}`", warns=True)
    for side in (job.source, job.target):
        given = side.auth.parameters if side.auth is not None else {}
        for slip in slips_in({key: text for key, text in given.items() if not may_wait(text)}):
            yield CheckResult("secrets", slip, "leave it out, unless it belongs to the secret", warns=True)


def _about_notify(job: JobConfig) -> Iterator[CheckResult]:
    """Why `watch` could not notify anybody. A run does not need it."""
    program = next(iter(job.notify_command), "")
    if program and shutil.which(program) is None:
        yield CheckResult("notify", f"the command {program} of notify cannot be run by this user", PROGRAM, warns=True)
    try:
        for key in ("url", "secret"):
            job.notify_secret(key)
    except ConfigError as error:
        yield CheckResult("notify", error.message, error.hint, warns=True)


def _about_mapping(job: JobConfig, sides: CheckedSides) -> Iterator[CheckResult]:
    try:
        if len(sides.services) < 2:
            refuse_faulty(reading_of_job(job))
            yield CheckResult("mapping", "has valid syntax; not compiled, because a schema is missing", warns=True)
            return
        (_, source), (_, target) = sides.services["source"], sides.services["target"]
        document, crosswalk = compile_reading(reading_of_job(job), source, target)
        failures = run_tests(document, crosswalk)
        refuse_unwritten(job, crosswalk)
    except MappingError as error:
        yield from CheckResult.of("mapping", error)
        if len(sides.services) == 2:
            schemas = (schema for _, schema in sides.services.values())
            yield from map(CheckResult.noted, about_missing_fields(reading_of_job(job), *schemas))
        return
    except ConfigError as error:
        yield from CheckResult.of("policy", error)
        return
    sides.crosswalk = crosswalk
    yield from (
        CheckResult("mapping test", str(failure), "correct the field rule or the test", exit_code=2)
        for failure in failures
    )
    yield CheckResult(
        "mapping", f"writes {counted(len(crosswalk.writes), 'field')}, reads {counted(len(crosswalk.reads), 'path')}"
    )
    if not crosswalk.marked:
        yield CheckResult("mapping marker", NO_MARKER, MARKER_HINT, exit_code=MappingError.exit_code)
    if crosswalk.marked and crosswalk.marker is None:
        yield CheckResult("mapping marker", UNASKED, UNASKED_HINT, warns=True)
    warnings = frozenset(crosswalk.warnings)
    elsewhere = {crosswalk.about_unread, crosswalk.about_marker}  # with how many have values; as a fault of its own
    notes = [note for note in crosswalk.notes if note not in elsewhere]
    yield from (CheckResult("mapping", note, warns=note in warnings) for note in notes)
