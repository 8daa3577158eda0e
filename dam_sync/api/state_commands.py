"""The commands that need only the state: status, errors, state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from dam_sync.api.stored_job import existing_store, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.deletion_policy import DeletionPolicy, policy_of
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError
from dam_sync.model.values import instant_text
from dam_sync.store.base import Storage
from dam_sync.store.note_keys import WATERMARK
from dam_sync.store.rows import IN_TRASH, UNLISTED, ParkedRow
from dam_sync.store.runs import rollback_of
from dam_sync.store.store import SqlStore

PAGE = 500
GONE_SHOWN = 1000
REASONS = {IN_TRASH: "in the trash", UNLISTED: "not listed"}
NAMED = ("filename", "title", "url")  # how people know a parked asset


async def job_status(path: Path | JobConfig, clock: Clock = SYSTEM_CLOCK) -> dict[str, Any]:
    """`status`: where the job stands, without calling a service."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=True) as store:
        runs = await store.runs()
        tally = await store.tally(runs[0].id) if runs else {}
        rows = [
            {
                "run": row.number,
                "command": row.command,
                "started": instant_text(row.started_at),
                "ended": instant_text(row.ended_at) if row.ended_at else "",
                "result": row.state,
            }
            for row in runs
        ]
        now = {"linked": await store.link_count(), **tally, "watermark": await store.get_meta(WATERMARK) or "none"}
        now |= await _rolled_back(store)
        if (given := (await store.correction_count())[0]) > 0:
            now["values corrected by hand"] = given
        gone = await gone_from_source(store, policy_of(job.policy.deletes, job.policy.max_deletes, job.policy.grace))
        return {
            "job": job.name,
            "now": now,
            "runs": rows,
            **(await _waves(job, store, clock) if job.waves else {}),
            **({"gone": gone} if gone else {}),
        }


async def _waves(job: JobConfig, store: SqlStore, clock: Clock) -> dict[str, Any]:
    from dam_sync.api.waves import WaveBook, rows_of  # loads the mapping language

    book = await WaveBook.of(job, store, clock.now())
    return {"waves": rows_of(book), "in no wave": book.in_no_wave}


async def _rolled_back(store: SqlStore) -> dict[str, Any]:
    """Runs that were rolled back, and the last one that was not; nothing if there are none."""
    done = [rollback_of(row) for row in await store.rollbacks() if row.state == "done"]
    if not done:
        return {}
    stands = [row.number for row in await store.runs() if rollback_of(row) is None and row.number not in done]
    numbers = ", ".join(str(number) for number in sorted({number for number in done if number is not None}))
    return {"rolled back": f"run {numbers}", "stands at": f"run {stands[0]}" if stands else "no run"}


async def gone_from_source(store: SqlStore, policy: DeletionPolicy | None) -> list[dict[str, Any]]:
    """Assets that are gone from the source and are to be removed at the target, the first ones; none if the policy
    removes nothing."""
    rows = await store.deletions(at_most=GONE_SHOWN) if policy is not None else []
    return [
        {
            "asset": row.source,
            "target": row.target,
            "reason": REASONS[row.reason],
            "since": _to_the_second(row.since),
            "until": _to_the_second(policy.until(row.since)) if policy is not None else "",
        }
        for row in rows
    ]


def _to_the_second(moment: datetime) -> str:
    return instant_text(moment.replace(microsecond=0))


async def job_errors(
    path: Path | JobConfig,
    causes: Sequence[str],
    retry: bool,
    clock: Clock = SYSTEM_CLOCK,
    storage: Storage | None = None,
) -> dict[str, Any]:
    """`errors`: parked assets by cause; `retry` puts them back into the queue. unfinished: the last run, if it was
    stopped, otherwise 0."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=not retry, storage=storage) as store:
        known = await causes_of(store)
        _refuse_unknown(causes, {cause for cause, *_ in known})
        groups = [
            {"cause": cause, "operation": operation, "hint": hint, "count": count, "example": example}
            for cause, operation, hint, count, example in known
            if not causes or cause in causes
        ]
        rows = await _parked(store, causes)
        retried = await store.unpark(list(causes) or None) if retry else 0
        last = await store.runs(at_most=1)
        stopped = last[0].number if last and last[0].state != "done" else 0
        return {"count": len(rows), "causes": groups, "assets": rows, "retried": retried, "unfinished": stopped}


def _refuse_unknown(causes: Sequence[str], known: set[str]) -> None:
    for cause in causes:
        if cause not in known:
            hint = nearest(cause, known) or ("`errors JOB` lists the causes" if known else "nothing is parked")
            raise ConfigError(f"no asset is parked for the cause {cause!r}", hint=hint)


async def job_state(path: Path | JobConfig, clock: Clock = SYSTEM_CLOCK) -> dict[str, Any]:
    """`state JOB show`: what the state contains."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=True) as store:
        shown: dict[str, Any] = await store.show()
        return shown


async def causes_of(store: SqlStore) -> list[tuple[str, str, str, int, str]]:
    """Why assets are parked, and why memberships and relations of moved assets are missing: cause, operation, hint,
    count, example."""
    return [*await store.parked_causes(), *await store.refused_causes()]


async def _parked(store: SqlStore, causes: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for listing in (store.parked, store.refused):
        offset = 0
        while rows := await listing(limit=PAGE, offset=offset):
            offset += len(rows)
            failed = await _failed_values(store, [row.asset for row in rows])
            found += [{**row, "failed": failed.get(row["asset"], [])} for row in _shown(rows, causes)]
    return found


async def _failed_values(store: SqlStore, assets: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The failed values of parked assets, with what was given in their place."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in await store.correction_rows(assets):
        correction = {"field": row.path, "rule": row.rule, "value": row.failed, "corrected": list(row.corrected)}
        found.setdefault(row.asset, []).append(correction)
    return found


def _shown(rows: Iterable[ParkedRow], causes: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "asset": row.asset,
            **{key: row.named.get(key, "") for key in NAMED},
            "cause": row.cause,
            "operation": row.operation,
            "message": row.message,
            "hint": row.hint,
        }
        for row in rows
        if not causes or row.cause in causes
    ]
