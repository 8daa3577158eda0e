"""The guards before a run, a plan or a verification: nothing is listed yet, and one stop reports everything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.stopping import Stopping
from dam_sync.engine.guards.changed_rows import changed_rows
from dam_sync.engine.guards.clocks import wrong_clock
from dam_sync.engine.guards.drift import changed_mapping, changed_schema, schema_facts
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.identity import changed_identity, use_origin
from dam_sync.engine.guards.mass_deletion import emptied_target, unseen_source
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.errors import SafetyStop
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.model.wording import agreed, counted
from dam_sync.store.note_keys import HELD_BACK, MAPPING, ORIGIN, SCHEMA, UNDECIDED, tenant_key, user_key
from dam_sync.store.rollbacks import rollback_of
from dam_sync.store.store import SqlStore

VERIFY_HINT = "bring the target up to date with `run JOB --full`, or compare as things are now with --accept-changes"


async def refuse_before_run(context: RunContext, *, adopting: bool = False) -> None:
    """Raises SafetyStop if continuing may be a mistake; otherwise stores what the operator accepted. adopting: nothing
    will be created."""
    facts = await _facts(context.source, context.target, context.mapping.crosswalk)
    found = await _findings(context)
    lost: list[GuardFinding] = []
    if not adopting:
        undecided = [finding async for finding in undecided_matches(context.state.store)]
        facts |= {UNDECIDED: 0, HELD_BACK: 0} if undecided else {}
        lost = [finding async for finding in changed_rows(context.state.store)]
        found += [*undecided, *lost]
    await context.accepted.accept(refuse(found, context.accepted.options))
    if lost:
        await context.state.store.accept_rows()
    context.target.time.accept()
    facts[ORIGIN] = await use_origin(context.source, context.state.store)
    known = {key: await context.state.store.get_meta(key) for key in facts}
    fresh = {key: value for key, value in facts.items() if value != known[key]}
    if context.task.options.only:  # only some assets were written with it
        fresh = {key: value for key, value in fresh.items() if known[key] is None}
    async with asyncio.TaskGroup() as group:  # one commit
        for key, value in fresh.items():
            group.create_task(context.state.store.set_meta(key, value))


async def refuse_before_verify(context: RunContext) -> None:
    """Like `refuse_before_run` for a verification, which stores nothing."""
    found = await _findings(context)
    found = [replace(finding, hint=VERIFY_HINT, full=False) if finding.full else finding for finding in found]
    await context.accepted.accept(refuse(found, context.accepted.options))
    context.target.time.accept()
    await use_origin(context.source, context.state.store)


async def refuse_other_services(
    source: Source, target: Target, state: RunState, stopping: Stopping, accepted: Accepted
) -> None:
    """Raises SafetyStop for another tenant or user, a wrong clock, and a target that lost what was moved to it. Stores
    nothing."""
    found = [
        *[one async for one in wrong_clock(target)],
        *[one async for one in changed_identity(source, target, state)],
        *[one async for one in emptied_target(target, state, stopping)],
        *[one async for one in changed_rows(state.store)],
    ]
    await accepted.accept(refuse(found, accepted.options))
    target.time.accept()
    await use_origin(source, state.store)


async def refuse_in_between(store: SqlStore, only: frozenset[str]) -> None:
    """Raises SafetyStop if single assets are requested while a whole run is unfinished."""
    if only and (unfinished := await store.unfinished("run")) is not None:
        raise SafetyStop(
            f"run {unfinished.id} is not finished, so --only cannot be used",
            hint="first finish that run: run the job without --only",
        )


async def refuse_half_rolled_back(store: SqlStore, options: RunOptions) -> list[str]:
    """Raises SafetyStop while a rollback is unfinished; one that the operator gives up is closed. Returns what was
    accepted."""
    accepted = list[str]()
    for row in await store.rollbacks():
        number = rollback_of(row)
        if row.state != "done" and number is not None:
            hint = f"`rollback JOB --run {number}` finishes it; --accept-changes gives it up"
            accepted += refuse([GuardFinding(f"the rollback of run {number} was interrupted", hint)], options)
            await store.close_interrupted(row.id, 0)
    return accepted


async def undecided_matches(store: SqlStore) -> AsyncIterator[GuardFinding]:
    """Source assets that `adopt` left without a link because it could not tell which asset of the target they are."""
    number = await store.get_meta(UNDECIDED)
    if number:
        assets = f"{counted(number, 'source asset')} that {agreed(number, 'matches', 'match')} assets of the target"
        yield GuardFinding(
            f"`adopt` left {assets} undecided, and a run would create {agreed(number, 'it', 'them')} again",
            "repeat the adoption with --csv FILE, write `link` or `skip` into the column `decision`, and pass the file "
            "to `adopt JOB --decisions FILE`; or continue with --accept-changes, which creates them",
        )
    if held := await store.get_meta(HELD_BACK):
        yield GuardFinding(
            f"`adopt` did not link {counted(held, 'source asset')} that {agreed(held, 'is', 'are')} at the target, "
            f"where more people see {agreed(held, 'it', 'them')} than at the source: a run that may show them would "
            f"create {agreed(held, 'it', 'them')} again",
            "restrict them at the target, or let the job `close` their exposure rules, so that the next run hides them "
            "(`dam-sync help exposure`), then `adopt JOB` again; accept the rules only if these people may see them; "
            "--accept-changes leaves them without a link",
        )


async def _findings(context: RunContext) -> list[GuardFinding]:
    return [
        *[one async for one in wrong_clock(context.target)],
        *[one async for one in changed_identity(context.source, context.target, context.state)],
        *[one async for one in unseen_source(context.source, context.state.store, context.task.options)],
        *[one async for one in emptied_target(context.target, context.state, context.stopping)],
        *[one async for one in changed_mapping(context.mapping.crosswalk, context.state.store)],
        *[
            one
            async for one in changed_schema(
                context.source, context.target, context.mapping.crosswalk, context.state.store
            )
        ],
    ]


async def _facts(source: Source, target: Target, crosswalk: Crosswalk) -> dict[str, Json]:
    facts: dict[str, Json] = {MAPPING: crosswalk.digest, SCHEMA: schema_facts(source, target, crosswalk)}
    for side, account in (("source", source.account), ("target", target.account)):
        facts[tenant_key(side)] = account.tenant
        if account.user:
            facts[user_key(side)] = account.user
    return facts
