"""From a job file to two connected services and a compiled mapping."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from dam_sync.api.processes.job_sharing import credential_store_of, identify_target, sharing
from dam_sync.api.reachability import PATIENCE, OpensAt, explained_in_run, login_of
from dam_sync.api.resolved_auth import resolved_auth
from dam_sync.config.job import JobConfig
from dam_sync.config.options import AuthMethod
from dam_sync.config.secrets import is_secret
from dam_sync.config.side import SideConfig, options_of
from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.job_mapping import JobMapping
from dam_sync.engine.context.libraries import Contents, Source, Target
from dam_sync.engine.context.phases import Phases
from dam_sync.engine.context.pulls import Pulls
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.context.stopping import Deadline, Stopping
from dam_sync.engine.guards.one_library import refuse_one_library
from dam_sync.engine.run.dry_run import DryTarget
from dam_sync.http.rates.shared import CredentialRate, JobRates
from dam_sync.http.redaction import lending
from dam_sync.http.urls import can_be_given, can_reach, one_spelling
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.document import MappingDocument, MappingReading, read_mapping, reading_of
from dam_sync.model.asset import FileLink, FileRef, digest_of
from dam_sync.model.capabilities import Feature
from dam_sync.model.connector import Context
from dam_sync.model.deletion_policy import policy_of
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError, DamSyncError, MappingError
from dam_sync.model.limits import RateStatus
from dam_sync.model.policy import Policy
from dam_sync.model.ports import Content
from dam_sync.model.probed import Account
from dam_sync.model.run_options import MOVING, PLANNING, RunOptions, seconds_of
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.service_time import RunTime
from dam_sync.model.shared_target import UNSHARED, SharedTarget
from dam_sync.services import discover
from dam_sync.store.rows import Run
from dam_sync.store.store import SqlStore
from dam_sync.transfer.arrivals import ArrivalCounter
from dam_sync.transfer.content import MemoryBudget, content_of
from dam_sync.transfer.digests import computable
from dam_sync.transfer.linked import LinkedContent

MEMORY_FOR_FILES = 48 * 1024 * 1024  # three parts of 16 MiB: one is read while two are sent
SINGLE_WITHOUT_LIMIT = 64 * 1024 * 1024
CODE = "code"  # of `auth`: a secret that is good once


@dataclass(slots=True)
class BothSides:
    """Both services of a job, connected and probed, and their schemas."""

    source: Service
    target: Service
    source_account: Account
    target_account: Account
    source_schema: Schema
    target_schema: Schema
    shared: SharedTarget
    time: RunTime


@dataclass(slots=True)
class ConnectedJob(BothSides):
    """A job with both sides, and the mapping compiled against their schemas."""

    job: JobConfig
    crosswalk: Crosswalk
    budget: MemoryBudget
    document: MappingDocument


NO_MARKER = (
    "no field is the marker: if the response to a create is lost, the asset is parked because it cannot be found again"
)
MARKER_HINT = "give an optional, searchable text field the line `{marker: true}`, or write `marker: none` to go without"

UNASKED = (
    "`marker: none`: the target is not asked for an asset before it is created. One whose response is lost is parked, "
    "and a state that was copied, or lacks what was written since an export, creates again what is there"
)
UNASKED_HINT = (
    "where a text field of the target can be searched and is free, give it the line `{marker: true}`; without one, use "
    "one state in one place, and after a loss of the state `adopt JOB` before the next run"
)


def refuse_unmarked(crosswalk: Crosswalk) -> None:
    """Raise MappingError for a mapping without a marker that does not say `marker: none`."""
    if not crosswalk.marked:
        raise MappingError(NO_MARKER, hint=MARKER_HINT)


def refuse_unwritten(job: JobConfig, crosswalk: Crosswalk) -> None:
    """Raise ConfigError for a conflict policy of a field that the mapping does not write."""
    written = crosswalk.plan.fields
    for key in sorted(job.policy.conflicts.rules.fields - set(written)):
        message = f"policy.conflicts.fields: the mapping does not write a field {key}"
        raise ConfigError(message, hint=nearest(key, written) or "name a field of the target that the mapping writes")


def reading_of_job(job: JobConfig) -> MappingReading:
    """The mapping of a job, read but not compiled. Raises MappingError for a file that is not YAML."""
    given = job.given_mapping
    return read_mapping(job.mapping_path) if given is None else reading_of(given.written, given.folder)


async def connect(
    job: JobConfig,
    role: str,
    options: RunOptions,
    budget: MemoryBudget,
    *,
    read_only: bool,
    planning: bool = False,
    may_write: Callable[[], None] | None = None,
    attempts: int | None = None,
    patience: float | None = None,
    shared: SharedTarget = UNSHARED,
    time: RunTime | None = None,
) -> Service:
    """One side of a job, not probed yet. Raises ConfigError if a secret does not resolve."""
    side = job.source if role == "source" else job.target
    limits, connector = job.limits, (options.connectors or discover())[side.kind]
    auth = await resolved_auth(connector, side.auth)
    context = Context(
        base_url=side.base_url,
        tenant_url=side.tenant_url or "",
        credential=credential_of(side, role),
        auth=auth,
        folder=job.folder,
        options=options_of(connector, side.options),
        clock=options.clock,
        transport=options.transport,
        credentials=credential_store_of(job, side, auth, options.storage),
        budget=budget,
        calls_per_second=limits.calls_per_second,
        concurrency=limits.concurrency,
        bandwidth=limits.bandwidth,
        read_only=read_only,
        planning=planning,
        max_calls=options.max_calls or limits.max_calls,
        attempts=attempts,
        patience=patience,
        may_write=may_write,
        rate=_rate_of(role, side, auth, options.rates),
        calls_per_day=limits.calls_per_day,
        processes=options.processes,
        shared=shared,
        hurries=lambda: options.stop_token.hurry,
        time=time,
        side=role,
    )
    return connector.connect(context)


def credential_of(side: SideConfig, role: str) -> str:
    """Where the job file names the secret of a side, and whose it is, for messages; no secret."""
    given = side.auth.parameters if side.auth is not None else {}
    secrets = [key for key in given if is_secret(key) or key == CODE]
    place = f"{role}.auth.{secrets[0]}" if len(secrets) == 1 else f"{role}.auth"
    login = login_of(side)
    return f"`{place}`{' of ' if login else ''}{login}" if given else ""


def opens_at(job: JobConfig, role: str, options: RunOptions) -> OpensAt:
    """Connects one side of a job at another base URL, to ask whether the service is there."""

    async def opens(base_url: str) -> Service:
        side = job.source if role == "source" else job.target
        other = job.model_copy(update={role: side.model_copy(update={"base_url": base_url})})
        other._folder = job._folder
        return await connect(other, role, options, MemoryBudget(1 << 20), read_only=True, attempts=1, patience=PATIENCE)

    return opens


async def _probed(service: Service, job: JobConfig, role: str, options: RunOptions) -> Account:
    """The first call to one side. Raises ConfigError if the service is not at its URL."""
    try:
        return await service.probe()
    except DamSyncError as error:
        side = job.source if role == "source" else job.target
        raise await explained_in_run(error, side, role, opens_at(job, role, options)) from None


def _rate_of(role: str, side: SideConfig, auth: AuthMethod | None, rates: JobRates | None) -> CredentialRate | None:
    """The rate of a credential; None: of this connection alone."""
    if rates is None:
        return None
    return rates.credential(role, _identity(side, auth), _account(side, auth), _shared_name(side, auth))


def _identity(side: SideConfig, auth: AuthMethod | None) -> str:
    """What tells one credential from another; contains secrets."""
    return json.dumps([side.kind, *_urls_of(side), auth.model_dump(mode="json") if auth else None])


async def source_secret(job: JobConfig, options: RunOptions) -> str:
    """What tells the credential of the source from others; contains it. Raises ConfigError if it does not resolve."""
    connector = (options.connectors or discover())[job.source.kind]
    return _identity(job.source, await resolved_auth(connector, job.source.auth))


def _account(side: SideConfig, auth: AuthMethod | None) -> str:
    """The name of a credential in the state, without secrets: users of one service may have different limits."""
    return digest_of([side.kind, side.base_url, side.tenant_url, _user_of(auth)])


def _shared_name(side: SideConfig, auth: AuthMethod | None) -> str:
    """The name under which processes share the limit of a credential: like `_account`, but with the token where the
    method has no user name. A password is never part of it, because it might be guessed from a digest."""
    user = _user_of(auth)
    given = user if any(user) or auth is None else auth.model_dump(mode="json")
    return json.dumps([side.kind, *_urls_of(side), given])


def _urls_of(side: SideConfig) -> list[str]:
    """The URLs of a side in one spelling, because a limit is that of the service, however a job writes its URL."""
    return [one_spelling(url) for url in (side.base_url, side.tenant_url)]


def _user_of(auth: AuthMethod | None) -> list[str]:
    return [str(getattr(auth, name, "")) for name in ("login", "username", "client_id")]


@asynccontextmanager
async def both_sides(
    job: JobConfig,
    options: RunOptions,
    budget: MemoryBudget | None = None,
    *,
    read_only: bool = True,
    planning: bool = False,
    may_write: Callable[[], None] | None = None,
) -> AsyncIterator[BothSides]:
    """Open both services of a job and read their schemas. The source is never written to, nor the target if
    `read_only`. planning: see `Context`. may_write: called before each call that may write to the target; raises if it
    must not be sent."""
    budget, progress = budget or MemoryBudget(MEMORY_FOR_FILES), options.progress
    async with AsyncExitStack() as stack:
        options, shared = await stack.enter_async_context(sharing(job, options, read_only=may_write is None))
        time = RunTime.of(options.clock)
        source = await connect(job, "source", options, budget, read_only=True, time=time)
        stack.push_async_callback(source.close)
        proven = None if may_write is None else partial(_prove, may_write, shared.prove_claimed, time.refuse_wrong)
        mode = {"read_only": read_only, "planning": planning}
        target = await connect(job, "target", options, budget, may_write=proven, shared=shared, time=time, **mode)
        stack.push_async_callback(target.close)
        progress.source_calls = lambda: sum(source.calls.values())
        progress.target_calls = lambda: sum(target.calls.values())
        progress.begin("connecting")
        source_account = await _probed(source, job, "source", options)
        source_account.refuse_as("source")  # before the target may be changed
        await refuse_one_library(source, target)
        target_account = await _probed(target, job, "target", options)
        target_account.refuse_as("target")
        await refuse_one_library(source, target, lookup=options.transport is None)
        await identify_target(shared, job, target, target_account)
        progress.expected = source_account.total
        progress.source_rates = partial(_rates_of, source, "source", options.rates)
        progress.target_rates = partial(_rates_of, target, "target", options.rates)
        schema = await source.schema()
        await target.adopt_schema(schema)
        yield BothSides(source, target, source_account, target_account, schema, await target.schema(), shared, time)


@asynccontextmanager
async def connected(
    job: JobConfig,
    options: RunOptions,
    *,
    dry: bool = False,
    planning: bool = False,
    may_write: Callable[[], None] | None = None,
) -> AsyncIterator[ConnectedJob]:
    """Both sides, and the mapping compiled. In a dry run neither side can write. planning: see `Context`; may_write:
    see `both_sides`."""
    budget = MemoryBudget(MEMORY_FOR_FILES)
    async with both_sides(job, options, budget, read_only=dry, planning=planning, may_write=may_write) as sides:
        document, crosswalk = compile_reading(reading_of_job(job), sides.source_schema, sides.target_schema)
        refuse_unwritten(job, crosswalk)
        target = _dry(sides, options) if dry else sides.target
        accounts = sides.source_account, sides.target_account
        schemas = sides.source_schema, sides.target_schema
        common = sides.shared, sides.time
        yield ConnectedJob(sides.source, target, *accounts, *schemas, *common, job, crosswalk, budget, document)


def _prove(*proofs: Callable[[], None]) -> None:
    for prove in proofs:
        prove()


def _dry(sides: BothSides, options: RunOptions) -> DryTarget:
    """The target as a dry run sees it."""
    return DryTarget.of(sides.target, lambda: (options.clock.monotonic(), sum(sides.source.calls.values())))


def _rates_of(side: Service, role: str, rates: JobRates | None) -> RateStatus:
    today = None if rates is None else rates.today(role)
    return RateStatus(side.measured_pace.pace.per_second, side.limits.pace.per_second, today)


async def run_context_of(
    opened: ConnectedJob, store: SqlStore, run: Run, options: RunOptions, *, stores_names: bool = True
) -> RunContext:
    """The context that the engine works with. stores_names: whether what is learnt of names is kept in the state; not
    in a dry run."""
    job, clock, dry = opened.job, options.clock, isinstance(opened.target, DryTarget)
    single_bytes = opened.target.limits.single_bytes or SINGLE_WITHOUT_LIMIT
    state = RunState(store, run, job.state_on_server)
    task = RunTask(_policy(job), options, repair=options.repair, dry=dry)
    return RunContext(
        source=Source(
            opened.source,
            opened.source_schema,
            opened.source_account,
            _contents(opened, opened.source, single_bytes, options),
            scope_of(job.source),
        ),
        target=Target(
            opened.target,
            opened.target_schema,
            opened.target_account,
            _contents(opened, opened.target, 0, options),
            counterparts=await Counterparts.load(store, dry=dry or not stores_names, shared=opened.shared),
            time=opened.time,
            shared=opened.shared,
            alike=job.source.kind == job.target.kind,
        ),
        mapping=JobMapping(opened.crosswalk, store),
        state=state,
        task=task,
        stopping=Stopping(options.stop_token, clock, _deadline(options)),
        accepted=Accepted(task, state),
        phases=Phases(options.progress, state, clock, PLANNING if dry else MOVING),
        clock=clock,
        pulls=pulls_of(job, opened.source, opened.target),
    )


def _policy(job: JobConfig) -> Policy:
    return Policy(
        versions=job.policy.versions,
        conflicts=job.policy.conflicts.rules,
        extras=job.policy.extras,
        rotation=job.policy.rotation,
        drift=job.policy.drift,
        ledger=job.policy.ledger,
        exposure=job.policy.exposure.waivers,
        deletions=policy_of(job.policy.deletes, job.policy.max_deletes, job.policy.grace),
    )


def _deadline(options: RunOptions) -> Deadline | None:
    longest = options.max_duration
    return Deadline(options.clock.monotonic() + seconds_of(longest)) if longest else None


def pulls_of(job: JobConfig, source: Service, target: Service) -> Pulls:
    """The links of a job. Judged by the addresses of both services, so that a plan and its run come to the same
    result."""
    opens = partial(can_be_given, job.target.base_url)
    dry, near = isinstance(target, DryTarget), can_reach(job.target.base_url, job.source.base_url)
    return Pulls(source, target, job.policy.bytes, dry=dry, near=near, opens=opens)


def scope_of(side: SideConfig) -> str:
    """A digest of what the job lists there, whoever asks for it."""
    return digest_of([side.kind, side.base_url, side.tenant_url, dict(side.options)])


def _contents(opened: ConnectedJob, side: Service, single_bytes: int, options: RunOptions) -> Contents:
    """Reads the files of one side: checked, and within the memory budget."""
    spool = opened.job.state_path.parent / "spool"
    late = side.capabilities.reads(Feature.DIGESTS)  # it may publish one later, which tells the same file then
    computed = frozenset({"sha256", "md5"} if late else {"sha256"})

    @asynccontextmanager
    async def contents(file: FileRef, name: str, link: FileLink | None = None) -> AsyncIterator[Content]:
        named = FileRef(file.id, name, file.size, file.media_type, file.digests)
        counter = ArrivalCounter(lambda offset, validator: side.open(file, offset, validator))

        def opened_content() -> AbstractAsyncContextManager[Content]:
            return content_of(
                counter.open,
                named,
                spool=spool,
                budget=opened.budget,
                single_bytes=single_bytes,
                wanted=frozenset() if computable(file.digests) else computed,
            )

        with options.progress.arriving(counter):
            if link is None:
                async with opened_content() as content:
                    yield content
                    options.progress.arrived(counter, content.size)
                return
            with lending(link.url):
                async with LinkedContent.of(named, link, opened_content) as linked:
                    yield linked
                    options.progress.arrived(counter, linked.size if linked.is_open else 0)

    return contents
