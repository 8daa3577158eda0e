"""The commands that need only the state, besides status: errors, state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dam_sync.api.stored_job import existing_store, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError
from dam_sync.model.parking import ParkCause
from dam_sync.report.causes import cause_of
from dam_sync.store.file.lock_holder import process_exists
from dam_sync.store.rollbacks import rollback_of
from dam_sync.store.rows import CauseRow, ParkedRow
from dam_sync.store.status_facts import DONE, RUNNING, shown_state

if TYPE_CHECKING:
    from dam_sync.store.base import Storage
    from dam_sync.store.store import SqlStore

PAGE = 20_000  # rows; each page passes over those before it
NAMED = ("filename", "title", "url")  # how people know a parked asset


async def job_errors(
    path: Path | JobConfig,
    causes: Sequence[str],
    retry: bool,
    clock: Clock = SYSTEM_CLOCK,
    storage: Storage | None = None,
    *,
    at_most: int | None = None,
) -> dict[str, Any]:
    """`errors`: parked assets by cause; `retry` puts them back into the queue. at_most: how many of them are returned;
    count: of all; values: whether any is parked for values. unfinished: the last run, if it was stopped or killed,
    otherwise 0; running: the last run, if it is under way, otherwise 0; rollback: the run of which the rollback is not
    finished, otherwise 0; waiting: how many assets the next run will write or try again."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=not retry, storage=storage) as store:
        known = await causes_of(store)
        chosen = _chosen(causes, known)
        groups = [
            {
                "cause": str(row.cause),
                "operation": row.operation,
                "hint": row.hint,
                "count": row.count,
                "example": row.example,
            }
            for row in known
            if not chosen or row.cause in chosen
        ]
        rows, values = await _parked(store, chosen, at_most), await store.any_failed(chosen)
        count = sum(row.count for row in known if not chosen or row.cause in chosen)
        retried = await store.unpark(chosen or None) if retry else 0
        last = await store.runs(at_most=1)
        shown = shown_state(last[0], clock.now(), process_exists) if last else DONE
        running = last[0].id if shown == RUNNING else 0
        stopped = last[0].id if shown not in (RUNNING, DONE) else 0
        waiting = await store.open_work(last[0].id) if last else 0
        unfinished = {
            "waiting": waiting,
            "unfinished": stopped,
            "running": running,
            "rollback": await _open_rollback(store),
        }
        return {"count": count, "causes": groups, "assets": rows, "values": values, "retried": retried, **unfinished}


async def open_rollback(path: Path | JobConfig, clock: Clock = SYSTEM_CLOCK, storage: Storage | None = None) -> int:
    """The run of which the rollback is not finished, otherwise 0."""
    async with existing_store(stored_job_of(path), clock, read_only=True, storage=storage) as store:
        return await _open_rollback(store)


async def _open_rollback(store: SqlStore) -> int:
    return next((rollback_of(each) or 0 for each in await store.rollbacks() if each.state != "done"), 0)


def _chosen(given: Sequence[str], known: Sequence[CauseRow]) -> list[ParkCause]:
    """The causes that are called so. Raises ConfigError for one for which nothing is parked."""
    chosen, causes = list[ParkCause](), {row.cause for row in known}
    for words in given:
        cause = cause_of(words, causes)
        if cause is None:
            names = {str(each) for each in causes}
            hint = nearest(words, names) or ("`errors JOB` lists the causes" if names else "nothing is parked")
            raise ConfigError(f"no asset is parked for the cause {words!r}", hint=hint)
        chosen.append(cause)
    return chosen


async def job_state(path: Path | JobConfig, clock: Clock = SYSTEM_CLOCK) -> dict[str, Any]:
    """`state JOB show`: what the state contains."""
    job = stored_job_of(path)
    async with existing_store(job, clock, read_only=True) as store:
        shown: dict[str, Any] = await store.show()
        return shown


async def causes_of(store: SqlStore) -> list[CauseRow]:
    """Why assets are parked, and why memberships and relations of moved assets are missing."""
    return [*await store.parked_causes(), *await store.refused_causes()]


async def _parked(store: SqlStore, causes: Sequence[ParkCause], at_most: int | None) -> list[dict[str, Any]]:
    page = PAGE if causes or at_most is None else min(PAGE, at_most)
    found: list[dict[str, Any]] = []
    for listing in (store.parked, store.refused):
        offset = 0
        while (at_most is None or len(found) < at_most) and (rows := await listing(limit=page, offset=offset)):
            offset += len(rows)
            failed = await _failed_values(store, [row.asset for row in rows])
            found += [{**row, "failed": failed.get(row["asset"], [])} for row in _shown(rows, causes)]
    return found[:at_most]


async def _failed_values(store: SqlStore, assets: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The failed values of parked assets, with what was given in their place."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in await store.correction_rows(assets):
        correction = {"field": row.path, "rule": row.rule, "value": row.failed, "corrected": list(row.corrected)}
        found.setdefault(row.asset, []).append(correction)
    return found


def _shown(rows: Iterable[ParkedRow], causes: Sequence[ParkCause]) -> list[dict[str, Any]]:
    return [
        {
            "asset": row.asset,
            **{key: row.named.get(key, "") for key in NAMED},
            "cause": str(row.cause),
            "operation": row.operation,
            "message": row.message,
            "hint": row.hint,
        }
        for row in rows
        if not causes or row.cause in causes
    ]
