"""The guards that stand before a run, a plan or a verification: nothing was listed yet, and one stop tells all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TypeAlias

from dam_sync.engine.guards.drift import MAPPING, SCHEMA, changed_mapping, changed_schema, schema_facts
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.identity import ORIGIN, changed_identity, tenant_key, use_origin, user_key
from dam_sync.engine.guards.mass_deletion import emptied_target, unseen_source
from dam_sync.engine.run_context import RunContext
from dam_sync.model.errors import SafetyStop
from dam_sync.model.values import Json
from dam_sync.store.store import SqlStore

Guard: TypeAlias = Callable[[RunContext], AsyncIterator[GuardFinding]]
GUARDS: tuple[Guard, ...] = (changed_identity, unseen_source, emptied_target, changed_mapping, changed_schema)
VERIFY_HINT = "bring the target up to date with `run JOB --full`, or compare as things are now with --accept-changes"


async def refuse_before_run(session: RunContext) -> None:
    """Raises SafetyStop where going on would be a mistake; else remembers what is gone on with."""
    facts = await _facts(session)
    session.accept(refuse([finding async for finding in _findings(session)], session.ask))
    facts[ORIGIN] = await use_origin(session)
    known = {key: await session.store.noted(key) for key in facts}
    fresh = {key: value for key, value in facts.items() if value != known[key]}
    if session.ask.only:  # some assets alone went by it
        fresh = {key: value for key, value in fresh.items() if known[key] is None}
    async with asyncio.TaskGroup() as group:  # one commit
        for key, value in fresh.items():
            group.create_task(session.store.note(key, value))


async def refuse_before_verify(session: RunContext) -> None:
    """The same for a verification, which leaves what is remembered as it is."""
    found = [finding async for finding in _findings(session)]
    found = [replace(finding, hint=VERIFY_HINT, full=False) if finding.full else finding for finding in found]
    session.accept(refuse(found, session.ask))
    await use_origin(session)


async def refuse_in_between(store: SqlStore, only: frozenset[str]) -> None:
    """Raises SafetyStop when single assets are asked for while a whole run is unfinished."""
    unfinished = [row for row in await store.runs() if row.command == "run" and row.state != "done"]
    if only and unfinished:
        raise SafetyStop(
            f"run {unfinished[0].number} is not finished; --only would get in between",
            hint="run the job without --only first, to its end",
        )


async def _findings(session: RunContext) -> AsyncIterator[GuardFinding]:
    for guard in GUARDS:
        async for finding in guard(session):
            yield finding


async def _facts(session: RunContext) -> dict[str, Json]:
    facts: dict[str, Json] = {MAPPING: session.crosswalk.digest, SCHEMA: schema_facts(session)}
    for side, account in (("source", session.source_account), ("target", session.target_account)):
        facts[tenant_key(side)] = account.tenant
        if account.user:
            facts[user_key(side)] = account.user
    return facts
