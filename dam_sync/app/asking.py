"""The verbs that work on the state alone: status, errors, state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dam_sync.app.connecting import existing_store, job_of
from dam_sync.model.errors import ConfigError
from dam_sync.model.faults import nearest
from dam_sync.model.values import instant_text
from dam_sync.store.store import SqlStore

PAGE = 500
NAMED = ("filename", "title", "url")  # how people know a parked asset


async def job_status(path: Path) -> dict[str, Any]:
    """`status`: where the job stands, without asking the services."""
    job = job_of(path)
    async with existing_store(job, read_only=True) as store:
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
        now = {"linked": await store.link_count(), **tally, "watermark": await store.noted("watermark") or "none"}
        return {"job": job.name, "now": now, "runs": rows}


async def job_errors(path: Path, causes: list[str], retry: bool) -> dict[str, Any]:
    """`errors`: parked assets by cause; `retry` puts them back into the queue."""
    job = job_of(path)
    async with existing_store(job, read_only=not retry) as store:
        _refuse_unknown(causes, {cause for cause, *_ in await store.parked_causes()})
        groups = [
            {"cause": cause, "operation": operation, "hint": hint, "count": count, "example": example}
            for cause, operation, hint, count, example in await store.parked_causes()
            if not causes or cause in causes
        ]
        rows = await _parked(store, causes)
        retried = await store.unpark(causes or None) if retry else 0
        return {"count": len(rows), "causes": groups, "assets": rows, "retried": retried}


def _refuse_unknown(causes: list[str], known: set[str]) -> None:
    for cause in causes:
        if cause not in known:
            hint = nearest(cause, known) or ("`errors JOB` lists the causes" if known else "nothing is parked")
            raise ConfigError(f"no asset is parked for the cause {cause!r}", hint=hint)


async def job_state(path: Path) -> dict[str, Any]:
    """`state JOB show`: what the store holds."""
    job = job_of(path)
    async with existing_store(job, read_only=True) as store:
        shown: dict[str, Any] = await store.show()
        return shown


async def _parked(store: SqlStore, causes: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    offset = 0
    while rows := await store.parked(limit=PAGE, offset=offset):
        offset += len(rows)
        found += [
            {
                "asset": r.asset,
                **{key: r.named.get(key, "") for key in NAMED},
                "cause": r.cause,
                "operation": r.operation,
                "message": r.message,
                "hint": r.hint,
            }
            for r in rows
            if not causes or r.cause in causes
        ]
    return found
