"""`status`: where a job stands, read without a database layer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dam_sync.api.stored_job import existing_state, existing_store, refusing_strange_values, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.deletion_policy import DeletionPolicy, policy_of
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.model.waits import note_text
from dam_sync.report.sentences import about_writer
from dam_sync.store.file.lock_holder import process_exists
from dam_sync.store.note_keys import PHASE, REFUSED_RUN, WAITING, WATERMARK, plan_key, tenant_key
from dam_sync.store.rollbacks import rollback_of
from dam_sync.store.status_facts import (
    DELETIONS,
    DONE,
    MAINTENANCE,
    RUNNING,
    SIDES,
    GoneAsset,
    StatusFacts,
    StatusRun,
    last_moving,
    shown_state,
    status_facts_of,
    why_it_ended,
)

if TYPE_CHECKING:
    from dam_sync.store.rows import Deletion, RunRow
    from dam_sync.store.store import SqlStore

REASONS = {"trash": "in the trash", "unlisted": "not listed"}  # see `rows.IN_TRASH`, `rows.UNLISTED`


async def job_status(path: Path | JobConfig, clock: Clock = SYSTEM_CLOCK) -> dict[str, Any]:
    """`status`: where the job stands, without calling a service."""
    job = stored_job_of(path)
    facts = await _facts(job, clock)
    rows = [_row(row, clock) for row in facts.runs]
    now: dict[str, Any] = {
        **facts.tenants,
        "linked": facts.linked,
        **facts.tally,
        "watermark": facts.watermark or "none",
    }
    now |= _rolled_back(facts)
    waves = await _waves(job, clock) if job.waves else {}
    if facts.corrections > 0:
        now["values corrected by hand"] = facts.corrections
    policy = policy_of(job.policy.deletes, job.policy.max_deletes, job.policy.grace)
    gone = gone_rows(facts.gone, policy) if policy is not None else []
    return {
        "job": job.name,
        **_written_by(job, facts),
        **_notes(job, facts, waves.pop("former", ())),
        "now": now,
        **_phase(facts, rows),
        **_waiting(facts, rows),
        "runs": rows,
        **_stopped(facts, rows),
        **waves,
        **({"gone": gone} if gone else {}),
    }


def _row(row: StatusRun | RunRow, clock: Clock) -> dict[str, Any]:
    shown = shown_state(row, clock.now(), process_exists)
    return {
        "run": row.id,
        "command": row.command,
        "started": instant_text(row.started_at),
        "ended": instant_text(row.ended_at) if row.ended_at else "",
        "result": shown,
        **_why(why_it_ended(row, shown)),
    }


def _why(kept: Json) -> dict[str, Any]:
    """The reason and the hint of what ended a run; nothing for a complete one."""
    if not kept:
        return {}
    return {"reason": kept["stopped"], "hint": kept.get("hint", ""), "exit code": kept.get("exit_code")}


def _stopped(facts: StatusFacts, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the last run was stopped by, unless it is complete or under way: of one that left no row as well."""
    if facts.refused:
        kept = facts.refused
        times = {name: instant_text(parse_instant(kept[name])) for name in ("started", "ended")}
        return {"stopped": {"run": None, "command": kept["command"], **times, **_why(kept)}}
    last: Mapping[str, Any] = next((row for row in rows if row["command"] not in MAINTENANCE), {})
    if "reason" in last:
        followed = {"follows a plan": True} if facts.planned else {}
        return {"stopped": {key: part for key, part in last.items() if key != "result"} | followed}
    return {}


def _phase(facts: StatusFacts, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the last run does, or was doing when it ended before its end; nothing of a complete one."""
    kept, last = facts.phase, rows[0] if rows else None
    if not kept or last is None or last["run"] != kept["run"] or last["result"] == DONE:
        return {}
    listed = facts.tally.get("listed", 0)
    return {"phase": {**kept, "listed": listed, "completed": listed - facts.tally.get("open", 0)}}


def _waiting(facts: StatusFacts, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the run under way waits for, if that takes long; nothing of one that ended."""
    kept, last = facts.waiting, rows[0] if rows else None
    if not kept or last is None or last["run"] != kept["run"] or last["result"] != RUNNING:
        return {}
    return {"waiting": {**kept, "text": note_text(kept)}}


async def _facts(job: JobConfig, clock: Clock) -> StatusFacts:
    if job.state_on_server:
        async with existing_store(job, clock, read_only=True) as store:
            return await _facts_in(store)
    await existing_state(job)
    with refusing_strange_values(job.state_path):
        while (facts := await asyncio.to_thread(status_facts_of, job.state_path)) is None:
            async with existing_store(job, clock, read_only=True):
                pass  # opening it migrates it
    return facts


async def _facts_in(store: SqlStore) -> StatusFacts:
    """The same of a state on a server, whose driver alone would take a form of its own."""
    runs = await store.runs()
    last = last_moving(runs)
    return StatusFacts(
        runs=runs,
        rollbacks=await store.rollbacks(),
        tally=await store.tally(last) if last is not None else {},
        linked=await store.link_count(),
        watermark=await store.get_meta(WATERMARK),
        corrections=(await store.correction_count())[0],
        gone=await store.deletions(at_most=DELETIONS),
        tenants={side: str(known) for side in SIDES if (known := await store.get_meta(tenant_key(side))) is not None},
        refused=await store.get_meta(REFUSED_RUN),
        phase=await store.get_meta(PHASE),
        planned=last is not None and await store.get_meta(plan_key(last)) is not None,
        waiting=await store.get_meta(WAITING),
    )


async def _waves(job: JobConfig, clock: Clock) -> dict[str, Any]:
    from dam_sync.api.waves import WaveBook, rows_of  # loads the mapping language

    async with existing_store(job, clock, read_only=True) as store:
        book = await WaveBook.of(job, store, clock.now())
    return {"waves": rows_of(book), "in no wave": book.in_no_wave, "former": book.former}


def _written_by(job: JobConfig, facts: StatusFacts) -> dict[str, Any]:
    """The job that wrote the state, if it has another name; nothing otherwise."""
    writer = facts.runs[0].job if facts.runs else ""
    return {} if writer in ("", job.name) else {"written by": writer}


def _notes(job: JobConfig, facts: StatusFacts, former: Sequence[str]) -> dict[str, Any]:
    """What does not fit between the state and the job file; nothing otherwise."""
    notes = about_writer(job.state_name, _written_by(job, facts).get("written by", ""), job.name)
    if former:
        notes.append(
            f"the library was sorted into waves that the job file does not have any more ({', '.join(former)}): a wave "
            "that was renamed has no runs and no numbers yet, and the next run sorts into the waves of the job file"
        )
    return {"notes": notes} if notes else {}


def _rolled_back(facts: StatusFacts) -> dict[str, Any]:
    """Runs that were rolled back, and the last one that was not; nothing if there are none."""
    done = [rollback_of(row) for row in facts.rollbacks if row.state == "done"]
    if not done:
        return {}
    moved = [row for row in facts.runs if row.command not in MAINTENANCE and rollback_of(row) is None]
    stands = [row.id for row in moved if row.id not in done]
    numbers = ", ".join(str(number) for number in sorted({number for number in done if number is not None}))
    return {"rolled back": f"run {numbers}", "stands at": f"run {stands[0]}" if stands else "no run"}


def gone_rows(found: Iterable[GoneAsset | Deletion], policy: DeletionPolicy) -> list[dict[str, Any]]:
    """Assets that are gone from the source and are to be removed at the target, as they are shown."""
    return [
        {
            "asset": row.source,
            "target": row.target,
            "reason": REASONS[row.reason],
            "since": _to_the_second(row.since),
            "until": _to_the_second(policy.until(row.since)),
        }
        for row in found
    ]


def _to_the_second(moment: datetime) -> str:
    return instant_text(moment.replace(microsecond=0))
