"""Where a job stands, for `status`: read through the driver alone, because importing SQLAlchemy and all tables takes
longer than everything else that the command does. A test compares it with what the repositories return."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from dam_sync.model.errors import ConfigError
from dam_sync.model.values import Json
from dam_sync.store.file.database import path_of, read_connection, refuse_link, transaction, translate_errors
from dam_sync.store.migrations import VERSION, checked_version
from dam_sync.store.note_keys import PHASE, REFUSED_RUN, WAITING, WATERMARK, plan_key, tenant_key
from dam_sync.store.rollbacks import ROLLBACK

if TYPE_CHECKING:
    from dam_sync.store.rows import Deletion, RunRow

HISTORY = 1_000  # runs
ALIVE = timedelta(seconds=30)  # a heartbeat older than this is that of a dead process
RUNNING, INTERRUPTED, STOPPED, DONE = "running", "interrupted", "stopped", "done"
DELETIONS = 1_000
SIDES = ("source", "target")
OUTDATED = "which an older dam-sync made and this one has to bring up to date"
UNTIL_DONE = "wait until that process is done, or stop it; then give the same command again"
MAINTENANCE = frozenset({"gc", "import"})  # recorded as runs, because no other may go on meanwhile; they move nothing
USUAL = ("created", "updated", "unchanged", "skipped", "parked")
DONE_AGAIN = "done, to be read again"
"""In the tally of a run: assets that it wrote and is about to read again; they are counted as what was done, too."""

_WHY = "CASE WHEN state = 'stopped' THEN outcome END"
_OF_RUNS = f"SELECT id, command, started_at, ended_at, state, beat_at, host, pid, job, {_WHY} FROM run"
_RUNS = f"{_OF_RUNS} ORDER BY id DESC LIMIT ?"
_ROLLBACKS = f"{_OF_RUNS} WHERE command LIKE '{ROLLBACK}%' ORDER BY id DESC"
_GONE = (
    "SELECT deletion.source, link.target, deletion.reason, deletion.since FROM deletion"
    " JOIN link ON link.source = deletion.source ORDER BY deletion.source LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class StatusRun:
    """A run in the history; see `rows.RunRow`. outcome: only of a run that was stopped."""

    id: int
    command: str
    started_at: datetime
    ended_at: datetime | None
    state: str
    beat_at: datetime | None
    host: str
    pid: int
    job: str = ""
    outcome: Json = None


@dataclass(frozen=True, slots=True)
class GoneAsset:
    """An asset that is gone from the source; see `rows.Deletion`."""

    source: str
    target: str
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """Where a job stands. runs, rollbacks: newest first; tally: of the last run that may have moved something;
    corrections: how many values people gave; refused: why the last run did nothing, if none began since;
    tenants: by side, the tenant that the state belongs to; phase: the last one of a run, with its number; planned:
    whether the last run follows a plan, to its end if it is not complete; waiting: what the phase waits for, if it
    takes long."""

    runs: Sequence[StatusRun | RunRow]
    rollbacks: Sequence[StatusRun | RunRow]
    tally: Mapping[str, int]
    linked: int
    watermark: Json
    corrections: int
    gone: Sequence[GoneAsset | Deletion]
    tenants: Mapping[str, str]
    refused: Json = None
    phase: Json = None
    planned: bool = False
    waiting: Json = None


def status_facts_of(where: Path | str) -> StatusFacts | None:
    """Where the job of this state stands; None if the state has to be migrated before it can be read. Raises what
    `SqlStore.open` does."""
    path = path_of(where)
    refuse_link(path)
    if not path.exists():
        raise ConfigError(f"there is no state at {path}", hint="run the job first, or correct `state:`")
    with translate_errors(path), closing(read_connection(path)) as raw, transaction(raw, "DEFERRED"):
        return _facts(raw) if checked_version(raw, path) == VERSION else None


def _facts(raw: sqlite3.Connection) -> StatusFacts:
    runs = [_run(row) for row in raw.execute(_RUNS, (HISTORY,))]
    last = last_moving(runs)
    return StatusFacts(
        runs=runs,
        rollbacks=[_run(row) for row in raw.execute(_ROLLBACKS)],
        tally=_tally(raw, last) if last is not None else {},
        linked=_number(raw, "SELECT count(*) FROM link"),
        watermark=_noted(raw, WATERMARK),
        corrections=_number(raw, "SELECT count(*) FROM correction WHERE corrected <> 'null'"),
        gone=[_gone(*row) for row in raw.execute(_GONE, (DELETIONS,))],
        tenants={side: str(known) for side in SIDES if (known := _noted(raw, tenant_key(side))) is not None},
        refused=_noted(raw, REFUSED_RUN),
        phase=_noted(raw, PHASE),
        planned=last is not None and _noted(raw, plan_key(last)) is not None,
        waiting=_noted(raw, WAITING),
    )


def last_moving(runs: Sequence[StatusRun | RunRow]) -> int | None:
    """The number of the last of these runs, newest first, that may have moved something; None without one."""
    return next((row.id for row in runs if row.command not in MAINTENANCE), None)


def shown_state(row: StatusRun | RunRow, now: datetime, process_exists: Callable[[int], bool]) -> str:
    """The state of a run as people know it: one whose process was killed is interrupted, not running."""
    if row.state != RUNNING:
        return row.state
    is_late = row.beat_at is None or row.beat_at < now - ALIVE
    return INTERRUPTED if is_late or (row.host == socket.gethostname() and not process_exists(row.pid)) else RUNNING


def why_it_ended(row: StatusRun | RunRow, shown: str) -> Json:
    """Why a run in this `shown_state` is not complete, as `stopped_by` keeps it; None while it runs, or if it is
    complete."""
    if shown == INTERRUPTED:
        return {
            "stopped": f"its process has stopped reporting (process {row.pid} on {row.host}, last heartbeat "
            f"{row.beat_at:%Y-%m-%d %H:%M:%S} UTC): it was killed or suspended, or its host was restarted or cut off"
        }
    kept = row.outcome if row.state == STOPPED else None
    return kept if isinstance(kept, dict) and kept.get("stopped") else None


def _run(row: tuple[int, str, str, str | None, str, str, str, int, str, str | None]) -> StatusRun:
    number, command, started, ended, state, beat, host, pid, job, why = row
    ended_at = datetime.fromisoformat(ended) if ended else None
    lease = (datetime.fromisoformat(beat), host, pid, job, json.loads(why or "null"))
    return StatusRun(number, command, datetime.fromisoformat(started), ended_at, state, *lease)


def _gone(source: str, target: str, reason: str, since: str) -> GoneAsset:
    return GoneAsset(source, target, reason, datetime.fromisoformat(since))


def _tally(raw: sqlite3.Connection, run: int) -> dict[str, int]:
    listed, unchanged = raw.execute("SELECT listed, unchanged FROM run WHERE id = ?", (run,)).fetchone()
    counts = {"listed": listed, "open": 0, **dict.fromkeys(USUAL, 0), "unchanged": unchanged}
    for label, number in raw.execute("SELECT label, n FROM tally WHERE run = ? AND n > 0", (run,)):
        counts[label] = counts.get(label, 0) + number
    if counts["open"]:
        again = raw.execute(
            "SELECT action, count(*) FROM work WHERE state IN ('pending', 'claimed') AND run = ?"
            " AND action IN ('created', 'updated')"
            " AND EXISTS (SELECT 1 FROM link WHERE source = work.asset AND source_revision = work.revision)"
            " GROUP BY action",
            (run,),
        )
        with_done_again(counts, again)
    return counts


def with_done_again(counts: dict[str, int], again: Iterable[tuple[str, int]]) -> None:
    """Count open rows of assets that their run wrote as they are listed, by what was done, as done: they are read again
    because the listing of the run was begun again."""
    for action, number in again:
        counts["open"] -= number
        counts[action] = counts.get(action, 0) + number
        counts[DONE_AGAIN] = counts.get(DONE_AGAIN, 0) + number


def _noted(raw: sqlite3.Connection, key: str) -> Json:
    found = raw.execute("SELECT value FROM note WHERE key = ?", (key,)).fetchone()
    return json.loads(found[0]) if found is not None else None


def _number(raw: sqlite3.Connection, statement: str) -> int:
    return int(raw.execute(statement).fetchone()[0])
