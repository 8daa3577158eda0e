"""Runs: beginning, resuming, refusing a second one, closing."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from dam_sync.model.clock import Clock
from dam_sync.model.errors import SafetyStop, StoreBusy
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.store.rows import Run, RunRow
from dam_sync.store.tables import RUN, SHARD, WORK

LEASE = timedelta(seconds=30)
OPEN = ("pending", "claimed")


@dataclass(frozen=True, slots=True)
class Runs:
    """The run table; each method is one job for the writer."""

    clock: Clock

    def begin(self, connection: Connection, job: str, command: str) -> Run:
        """A new run, or the unfinished one taken over. Raises StoreBusy naming a run that is alive."""
        now = self.clock.now()
        open_run = connection.execute(
            select(RUN).where(RUN.c.state != "done", RUN.c.command == command).order_by(RUN.c.id.desc())
        ).first()
        owner = self.clock.token()
        mine = {"owner": owner, "host": socket.gethostname(), "pid": os.getpid(), "beat_at": instant_text(now)}
        if open_run is not None:
            _refuse_alive(open_run, now)
            connection.execute(update(WORK).where(WORK.c.state == "claimed").values(state="pending", lease_until=0.0))
            connection.execute(update(RUN).where(RUN.c.id == open_run.id).values(state="running", **mine))
            started = parse_instant(open_run.started_at)
            return Run(open_run.id, open_run.id, job, command, started, resumed=True, owner=owner)
        row = {"job": job, "command": command, "state": "running", "started_at": instant_text(now), **mine}
        key: int = connection.execute(insert(RUN).values(row).returning(RUN.c.id)).scalar_one()
        return Run(key, key, job, command, parse_instant(instant_text(now)), owner=owner)

    def beat(self, connection: Connection, run: int, owner: str) -> None:
        """Renew the lease. Raises SafetyStop when somebody else has taken the run over."""
        changed = connection.execute(
            update(RUN).where(RUN.c.id == run, RUN.c.owner == owner).values(beat_at=instant_text(self.clock.now()))
        )
        if changed.rowcount != 1:
            raise SafetyStop("another process has taken this run over", hint="look at `status JOB` before you go on")

    def finish(self, connection: Connection, run: int, outcome: Json) -> None:
        """Close the run. Raises SafetyStop while shards or rows are open."""
        shards = connection.execute(
            select(func.count()).select_from(SHARD).where(SHARD.c.run == run, SHARD.c.done.is_(False))
        ).scalar_one()
        rows = connection.execute(
            select(func.count()).select_from(WORK).where(WORK.c.run == run, WORK.c.state.in_(OPEN))
        ).scalar_one()
        if shards or rows:
            raise SafetyStop(f"the run cannot be closed: {shards} listings and {rows} assets are open")
        self._end(connection, run, "done", outcome)

    def stop(self, connection: Connection, run: int, reason: str) -> None:
        """Give the run back so that it can be resumed at once."""
        connection.execute(update(WORK).where(WORK.c.state == "claimed").values(state="pending", lease_until=0.0))
        self._end(connection, run, "stopped", {"reason": reason[:500]})

    def history(self, connection: Connection) -> list[RunRow]:
        """Newest first."""
        rows = connection.execute(select(RUN).order_by(RUN.c.id.desc())).all()
        return [
            RunRow(
                row.id,
                row.id,
                row.command,
                parse_instant(row.started_at),
                parse_instant(row.ended_at) if row.ended_at else None,
                row.state,
                json.loads(row.outcome) if row.outcome else None,
            )
            for row in rows
        ]

    def _end(self, connection: Connection, run: int, state: str, outcome: Json) -> None:
        ended = instant_text(self.clock.now())
        values = {"state": state, "ended_at": ended, "outcome": json.dumps(outcome), "owner": "", "pid": 0}
        connection.execute(update(RUN).where(RUN.c.id == run).values(**values))


def _refuse_alive(row: Any, now: datetime) -> None:
    """A run is alive while its lease is fresh, or its process still runs on this machine."""
    if row.state != "running" or row.pid == 0:
        return
    here = row.host == socket.gethostname()
    alive = _process_runs(row.pid) if here else now - parse_instant(row.beat_at) < LEASE
    if alive and not (here and row.pid == os.getpid() and now - parse_instant(row.beat_at) >= LEASE):
        raise StoreBusy(
            f"run {row.id} of this job is going on: process {row.pid} on {row.host}, since {row.started_at}",
            hint="wait for it, or stop that process and run again",
        )


def _process_runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
