"""`run --plan`: a run that does what a plan file says, and refuses a plan that is out of date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from dam_sync import __version__
from dam_sync.api.bootstrap import ConnectedJob
from dam_sync.api.plans.plan_file import (
    PlanHeader,
    PlanOptions,
    PlanSchemas,
    PlanSides,
    PlanState,
    read_header,
    read_rows,
)
from dam_sync.api.reports.run_record import LedgerSummary
from dam_sync.api.reports.run_report import hashes_of
from dam_sync.engine.context.planned import NEW_PLAN, PlannedWork, forget_plan
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.drift import schema_facts
from dam_sync.engine.guards.schema_usage import changes_between
from dam_sync.model.asset import digest_of
from dam_sync.model.errors import ConfigError, SafetyStop
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json, instant_text
from dam_sync.report import sentences
from dam_sync.report.report import Report
from dam_sync.store.note_keys import plan_key
from dam_sync.store.store import SqlStore
from dam_sync.store.waves import NOT_DONE

BATCH = 500
OPTIONS = ("full", "repair", "only", "limit")
ALONE = "--plan says what to do; leave out {}"


@dataclass(frozen=True, slots=True)
class GivenPlan:
    """A plan file that a run is to follow, as read before anything is opened. digest: of the whole file."""

    path: Path
    header: PlanHeader
    digest: str


def plan_given(options: RunOptions) -> tuple[GivenPlan | None, RunOptions]:
    """The plan that the options name, and the options with those that it was made with. Raises ConfigError for a file
    that is not a plan, or that cannot be run, and for options that contradict it."""
    if options.plan is None:
        return None, options
    if clash := [f"--{name}" for name in OPTIONS if getattr(options, name)]:
        raise ConfigError(ALONE.format(", ".join(clash)))
    header, digest = read_header(options.plan)
    made_with = header.options
    if made_with.sample:
        hint = "make a plan of the whole library, or of its first assets with --limit"
        raise ConfigError(f"{options.plan} is the plan of a sample, which is an estimate and cannot be run", hint=hint)
    if options.wave not in ("", made_with.wave):
        made_of = f"of wave {made_with.wave}" if made_with.wave else "of no wave"
        raise ConfigError(f"{options.plan} is a plan {made_of}, not of wave {options.wave}", hint="leave out --wave")
    given = replace(
        options,
        wave=made_with.wave,
        full=made_with.full,
        repair=made_with.repair,
        only=frozenset(made_with.only),
        limit=made_with.limit,
    )
    return GivenPlan(options.plan, header, digest), given


async def state_facts(store: SqlStore, plan: GivenPlan | None = None) -> PlanState:
    """Where a state stands, before a run is begun: a plan can only be run from there. plan: an interrupted run that was
    begun after it, and left nothing, does not count."""
    runs = await store.runs(at_most=2)
    if plan is not None and runs and runs[0].id > plan.header.state.run and await store.left_nothing(runs[0].id):
        runs = runs[1:]
    runs = runs[:1]
    unfinished = [row.id for row in runs if row.state != "done"]
    return PlanState(
        run=runs[0].id if runs else 0,
        unfinished=unfinished,
        ledger=await store.ledger_count(),
        links=await store.link_count(),
    )


async def header_of(opened: ConnectedJob, context: RunContext, state: PlanState, report: Report) -> PlanHeader:
    """What a plan was made of, for its file."""
    options = context.task.options
    return PlanHeader(
        job=opened.job.name,
        made=instant_text(context.clock.now().replace(microsecond=0)),
        tool=__version__,
        options=PlanOptions(
            full=options.full,
            repair=context.task.repair,
            only=sorted(options.only),
            limit=options.limit,
            sample=options.sample,
            **({} if context.task.wave is None else {"wave": context.task.wave.name}),
        ),
        sides=PlanSides.model_validate(_sides(opened)),
        mapping=context.mapping.crosswalk.digest,
        policy=hashes_of(opened, context)["policy"],
        schemas=PlanSchemas.model_validate(schema_facts(context.source, context.target, context.mapping.crosswalk)),
        state=state,
        listing=report.origin.hashes.get("listing", ""),
        operations=report.digest,
    )


async def follow(
    plan: GivenPlan | None, opened: ConnectedJob, context: RunContext, state: PlanState
) -> PlannedWork | None:
    """The plan that the run follows: the one that is given, or that of the run that is resumed. Raises SafetyStop if it
    is out of date, before anything is written."""
    store, run = context.state.store, context.state.run
    known: Json = await store.get_meta(plan_key(run.id))
    if plan is None:
        return await _continued(context, known)
    header = plan.header
    resumes = known is not None and known["digest"] == plan.digest
    found = [*_changes(header, opened, context), *([] if resumes else _state_changes(header.state, state))]
    if found:
        raise SafetyStop(f"the plan is out of date: {'; '.join(found)}", hint=NEW_PLAN)
    if not resumes:
        await _load(plan, store)
        known = {
            "listing": header.listing,
            "whole": header.options.limit is None,
            "operations": header.operations,
            "after": state.ledger,
            "done": await _done(context),
        }
        await store.set_meta(plan_key(run.id), {"digest": plan.digest, **known})
    return _work(context, known)


async def limit_left(context: RunContext) -> int | None:
    """How many assets of a plan with a limit are left, if the run follows one."""
    planned, limit = context.task.planned, context.task.options.limit
    if planned is None or limit is None:
        return limit
    known = await context.state.store.get_meta(plan_key(context.state.run.id)) or {}
    return max(0, limit - (await _done(context) - int(known.get("done", 0))))


async def _done(context: RunContext) -> int:
    """How many assets the run did, also before it followed a plan."""
    counts = await context.state.store.tally(context.state.run.id)
    return sum(number for name, number in counts.items() if name not in NOT_DONE)


async def _continued(context: RunContext, known: Json) -> PlannedWork | None:
    """The plan of an interrupted run; --accept-changes continues without it."""
    if known is None or not known["whole"]:
        return None
    if context.task.options.accept_changes:
        await context.accepted.accept(["the rest of the run does not follow its plan"])
        await forget_plan(context.state.store, context.state.run.id)
        return None
    return _work(context, known)


def _work(context: RunContext, known: Json) -> PlannedWork:
    return PlannedWork(
        context.state.store,
        context.state.run.id,
        listing=known["listing"],
        whole=known["whole"],
        operations=known["operations"],
        after=known["after"],
        resumed=context.state.run.resumed,
    )


async def about_plan(context: RunContext) -> list[str]:
    """For the report of a run: whether it did exactly what its plan lists; nothing without a plan."""
    planned = context.task.planned
    if planned is None:
        return []
    done = await LedgerSummary.of(context.state.store, context.state.run.id, planned.after)
    return sentences.about_followed(same=done.digest == planned.operations)


async def _load(plan: GivenPlan, store: SqlStore) -> None:
    await store.drop_plan()
    rows = read_rows(plan.path)
    while batch := list(islice(rows, BATCH)):
        await store.add_planned(batch)


def _sides(opened: ConnectedJob) -> dict[str, Json]:
    job, accounts = opened.job, (opened.source_account, opened.target_account)
    sides = zip(("source", "target"), (job.source, job.target), accounts, strict=True)
    return {
        role: {"kind": side.kind, "tenant": found.tenant, "user": found.user, "options": dict(side.options)}
        for role, side, found in sides
    }


def _changes(header: PlanHeader, opened: ConnectedJob, context: RunContext) -> Iterator[str]:
    """What is not as it was when the plan was made: the services, their options, the mapping, the policy, the
    schemas."""
    if header.job != opened.job.name:
        yield f"it is a plan of the job {header.job}"
    accounts = {"source": opened.source_account, "target": opened.target_account}
    sides = header.sides.as_json()
    for role, side in _sides(opened).items():
        then = sides[role]
        if then["tenant"] == accounts[role].unnamed:
            side["tenant"] = then["tenant"]
        changed = [name for name, value in side.items() if then.get(name, value) != value]  # old plans have no options
        for name in changed:
            which = f" ({', '.join(_different(then[name], side[name]))})" if name == "options" else ""
            yield f"the {name} of the {role} changed{which}"
    if header.mapping != context.mapping.crosswalk.digest:
        yield "the mapping changed"
        return  # the parts of the schemas that it uses are others, too
    if header.policy != hashes_of(opened, context)["policy"]:
        yield "the policy of the job changed"
    then, now = header.schemas.as_json(), schema_facts(context.source, context.target, context.mapping.crosswalk)
    if digest_of(now) != digest_of(then):
        roles = [role for role in ("source", "target") if digest_of(now[role]) != digest_of(then[role])]
        changed = _narrowed(then, now)
        yield from changed or (f"the schema of the {role} changed in fields that the mapping uses" for role in roles)


def _narrowed(then: Mapping[str, Json], now: Mapping[str, Json]) -> list[str]:
    """See `changes_between`; nothing for a plan that was edited."""
    try:
        return list(changes_between(then, now))
    except (AttributeError, LookupError, TypeError):
        return []


def _different(then: Mapping[str, Json], now: Mapping[str, Json]) -> list[str]:
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _state_changes(planned: PlanState, now: PlanState) -> Iterator[str]:
    if planned != now:
        runs = now.run - planned.run
        yield f"the job ran since: run {now.run}" if runs > 0 else "the state of the job changed since"
