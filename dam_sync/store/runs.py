"""Runs: one at a time, held by a lease that its process renews, resumed if that process is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    update,
)

from dam_sync.model import journal_names
from dam_sync.model.errors import SafetyStop, StoreBusy, Throttled
from dam_sync.model.values import Json
from dam_sync.model.waits import sleep_for
from dam_sync.model.wording import counted
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.note_keys import REFUSED_RUN, accepted_key, keys_of_run, wave_key
from dam_sync.store.rollbacks import ROLLBACK
from dam_sync.store.row_counts import compare_row_counts, keep_row_counts
from dam_sync.store.rows import Run, RunRow
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.status_facts import ALIVE, HISTORY, MAINTENANCE
from dam_sync.store.tables import JOURNAL, LEDGER, META, OPEN, RUN, SHARD, WAVE, WORK, instant

HEARTBEAT_SECONDS = 5.0
MOVING = ("run", "only")  # the commands of runs that move assets: all that is selected, or some that are named
RUN_SCOPE = "run:"  # journal entries of a run rather than of an asset
UNDO_SCOPE = f"{RUN_SCOPE}undo:"  # those of rollbacks
PLACES, RELATES = "place:", "relate:"  # before the number of a run: its journals of memberships and of relations

ONE_LESS = case((WORK.c.attempt > 0, WORK.c.attempt - 1), else_=0)  # an attempt that was not made
_BEAT = PreparedStatement(
    update(RUN)
    .where(RUN.c.id == bindparam("run"), RUN.c.owner == bindparam("holder"), RUN.c.state == "running")
    .values(beat_at=bindparam("now"))
)
_OWNER = PreparedStatement(select(RUN.c.owner).where(RUN.c.id == bindparam("run")))


class Runs(Repository):
    """The life cycle of runs."""

    async def begin(self, job: str, command: str) -> Run:
        """Begin a run, or resume the unfinished one of this command. Raises StoreBusy while another process holds
        it. Takes half a minute if the last heartbeat of that process lies in the future."""
        silent = await self._silent_in_future()

        def job_(c: Connection) -> Run:
            for live in self._of_others(c, self._now(-ALIVE)):
                if (live.id, live.beat_at) not in silent:
                    raise _busy(live)
            self._hold(c)
            compare_row_counts(c)
            c.execute(update(RUN).where(*_held_by_another(self._database.holder)).values(owner=""))
            row = _unfinished(c, command)
            lease = self._lease()
            put_back = (text(OPEN), WORK.c.state == "pending")
            c.execute(update(WORK).where(*put_back).values(attempt=0, due=""))  # what failed then may succeed now
            release_claims(c)
            if command not in MAINTENANCE:
                c.execute(delete(META).where(META.c.key == REFUSED_RUN))
            if row is None:
                fresh = {"job": job, "command": command, "started_at": lease["beat_at"], **lease}
                number = int(c.execute(insert(RUN).values(fresh).returning(RUN.c.id)).scalar_one())
                return Run(number, job, command, instant(lease["beat_at"]), owner=self._database.holder)
            c.execute(update(RUN).where(RUN.c.id == row.id).values(ended_at=None, **lease))
            return Run(row.id, row.job, row.command, instant(row.started_at), True, self._database.holder)

        now = self._database.clock.now()
        run = await self._write(job_)
        self._database.run, self._database.beat_at = run.id, now
        if self._database.writer is not None:
            self._database.writer.guard = self._refuse_when_taken_over
        return run

    async def beat(self, run: int) -> None:
        """Renew the lease. Raises SafetyStop if another process has taken the run over."""

        def job(c: Connection) -> None:
            if _BEAT.run(c, run=run, holder=self._database.holder, now=self._now()) == 0:
                raise _taken_over(c.execute(select(RUN).where(RUN.c.id == run)).first(), run)

        now = self._database.clock.now()
        await self._write(job)
        self._database.beat_at = now

    def prove_held(self) -> None:
        """Raises Throttled, for the length of a heartbeat, if this process was suspended so long that another may have
        taken its run over: what was about to be sent to a target must wait until a heartbeat succeeds."""
        beat = self._database.beat_at
        still = (self._database.clock.now() - beat).total_seconds() if self._database.run and beat is not None else 0.0
        if still > self._database.storage.still.total_seconds():
            raise Throttled(
                f"this process was suspended for {still:.0f} s and another may have taken its run over: nothing is "
                f"sent",
                retry_after=HEARTBEAT_SECONDS,
            )

    async def finish(self, run: int, outcome: Json, *, listed: bool = True) -> None:
        """Close the run. Raises SafetyStop while a shard or a row is open, unless it listed nothing; safe to
        repeat."""

        def job(c: Connection) -> None:
            shards, rows = open_shards(c, run), open_rows(c, self._database.wave)
            if listed and (shards or rows):
                parts = f"{counted(shards, 'part')} of the listing and {counted(rows, 'asset')}"
                raise SafetyStop(
                    f"run {run} is not complete, with {parts} left open",
                    hint="run the same command again; it resumes where it stopped",
                )
            closed = {"state": "done", "ended_at": self._now(), "outcome": to_text(outcome), "owner": "", "pid": 0}
            c.execute(update(RUN).where(RUN.c.id == run, RUN.c.state != "done").values(closed))
            _clear(c, run)
            keep_row_counts(c)
            self._release(c)

        await self._write(job)
        self._let_go()

    async def stop(self, run: int, why: str | Mapping[str, Json]) -> None:
        """Release the lease and leave the run to be resumed; does nothing if it is not (or no longer) ours. why: what
        `status` shows; see `stopped_by`."""
        outcome = to_text({"stopped": why} if isinstance(why, str) else dict(why))
        self._let_go()

        def job(c: Connection) -> None:
            mine = (RUN.c.id == run) & (RUN.c.owner == self._database.holder) & (RUN.c.state == "running")
            stopped = {"state": "stopped", "ended_at": self._now(), "owner": "", "pid": 0}
            if c.execute(update(RUN).where(mine).values(outcome=outcome, **stopped)).rowcount:
                release_claims(c, untried=True)
                keep_row_counts(c)
            self._release(c)

        await self._write(job)

    async def withdraw(self, run: int, why: str | Mapping[str, Json]) -> None:
        """Like `stop`, for a run that was refused before it did anything: one that recorded nothing leaves no row. What
        refused it is noted until the next run begins, unless `why` is only a text."""
        self._let_go()

        def job(c: Connection) -> bool:
            mine = (RUN.c.id == run) & (RUN.c.owner == self._database.holder) & (RUN.c.state == "running")
            if _has_recorded(c, run):
                return False
            c.execute(delete(META).where(META.c.key.in_(keys_of_run(run))))
            self._release(c)
            row = c.execute(select(RUN.c.command, RUN.c.started_at).where(mine)).first()
            if row is not None and not isinstance(why, str):
                _note(c, {"command": row.command, "started": row.started_at, "ended": self._now(), **why})
            withdrawn = bool(c.execute(delete(RUN).where(mine)).rowcount)
            if withdrawn:
                keep_row_counts(c)
            return withdrawn

        if not await self._write(job):
            await self.stop(run, why)

    async def left_nothing(self, run: int) -> bool:
        """Whether a run that moves assets was not completed and ended before it decided what to list, and before it
        recorded or sent anything: as if it had not been."""
        noted = select(META.c.key).where(META.c.key.in_({*keys_of_run(run)} - {wave_key(run), accepted_key(run)}))
        written = select(JOURNAL.c.name).where(JOURNAL.c.at >= RUN.c.started_at, RUN.c.id == run)

        def job(c: Connection) -> bool:
            row = c.execute(select(RUN).where(RUN.c.id == run)).first()
            if row is None or row.state == "done" or row.command not in MOVING or _has_recorded(c, run):
                return False
            return all(c.execute(trace.limit(1)).first() is None for trace in (noted, written))

        return await self._read(job)

    async def runs(self, at_most: int = HISTORY) -> list[RunRow]:
        """The last runs of the history, newest first: a job that is watched has far more than anyone reads."""

        def job(c: Connection) -> list[RunRow]:
            rows = c.execute(select(RUN).order_by(RUN.c.id.desc()).limit(at_most))
            return [_run_row(row) for row in rows]

        return await self._read(job)

    async def run_row(self, number: int) -> RunRow | None:
        """One run of the history."""
        chosen = select(RUN).where(RUN.c.id == number)

        def job(c: Connection) -> RunRow | None:
            row = c.execute(chosen).first()
            return None if row is None else _run_row(row)

        return await self._read(job)

    async def runs_numbered(self, numbers: Iterable[int]) -> dict[int, RunRow]:
        """These runs of the history by number, however long ago; a number without a run is left out."""
        chosen = [select(RUN).where(RUN.c.id.in_(piece)) for piece in pieces(set(numbers))]

        def job(c: Connection) -> dict[int, RunRow]:
            return {row.id: _run_row(row) for each in chosen for row in c.execute(each)}

        return await self._read(job)

    async def unfinished(self, command: str) -> RunRow | None:
        """The run of this command that a next one resumes."""

        def job(c: Connection) -> RunRow | None:
            row = _unfinished(c, command)
            return None if row is None else _run_row(row)

        return await self._read(job)

    async def rollbacks(self) -> list[RunRow]:
        """The runs that rolled back another, newest first."""
        chosen = select(RUN).where(RUN.c.command.startswith(ROLLBACK, autoescape=True)).order_by(RUN.c.id.desc())
        return await self._read(lambda c: [_run_row(row) for row in c.execute(chosen)])

    async def _silent_in_future(self) -> frozenset[tuple[int, str]]:
        """The runs whose last heartbeat lies in the future, with that heartbeat; they are silent if none follows: the
        clock of this host was set back, or the state was copied from a host whose clock is ahead."""
        future = self._now(ALIVE)
        rows = await self._read(lambda c: self._of_others(c, future))
        if rows:
            await sleep_for(self._database.clock, ALIVE.total_seconds(), "a sign of life of another process")
        return frozenset((row.id, row.beat_at) for row in rows)

    def _of_others(self, c: Connection, since: str) -> list[Row[Any]]:
        rows = live_runs(c, since, self._database.storage.process_exists)
        return [row for row in rows if row.owner != self._database.holder]

    def _lease(self) -> dict[str, Any]:
        now, host = self._now(), socket.gethostname()
        return {"state": "running", "beat_at": now, "owner": self._database.holder, "host": host, "pid": os.getpid()}

    def _hold(self, c: Connection) -> None:
        """On a server, the session holds the run too, and one that held it before is ended."""
        if self._database.server is not None:
            from dam_sync.store.server.database import hold_run

            hold_run(c, self._database.server)

    def _release(self, c: Connection) -> None:
        if self._database.server is not None:
            from dam_sync.store.server.database import release_run

            release_run(c, self._database.server)

    def _let_go(self) -> None:
        self._database.run = 0
        if self._database.writer is not None:
            self._database.writer.guard = None

    def _refuse_when_taken_over(self, c: Connection) -> None:
        """Called before every commit of a process that believes it holds a run."""
        run = self._database.run
        owner = _OWNER.value(c, run=run) if run else None
        if owner is not None and owner != self._database.holder:
            raise _taken_over(c.execute(select(RUN).where(RUN.c.id == run)).first(), run)


def _has_recorded(c: Connection, run: int) -> bool:
    """Whether the run recorded a part of a listing, or work."""
    traces = (
        select(SHARD.c.seq).where(SHARD.c.run == run),
        select(WORK.c.seq).where(WORK.c.run >= run, (WORK.c.run == run) | (WORK.c.listed_run == run)),
        select(LEDGER.c.seq).where(LEDGER.c.run == run),
    )
    return any(c.execute(trace.limit(1)).first() is not None for trace in traces)


def _note(c: Connection, refused: Json) -> None:
    c.execute(delete(META).where(META.c.key == REFUSED_RUN))
    c.execute(insert(META).values(key=REFUSED_RUN, value=to_text(refused)))


def release_claims(c: Connection, *, untried: bool = False) -> None:
    """Make everything claimed claimable again; `untried` takes the attempt back, after a clean stop."""
    back: dict[str, Any] = {"state": "pending", "due": "", "holder": "", "again": False}
    if untried:
        back["attempt"] = ONE_LESS
    c.execute(update(WORK).where(text(OPEN), WORK.c.state == "claimed").values(back))


def let_go_of_runs(c: Connection, now: str) -> None:
    """In a copy of a state: release all runs."""
    free = {"state": "stopped", "ended_at": now, "owner": "", "pid": 0}
    c.execute(update(RUN).where(RUN.c.state == "running").values(free))
    release_claims(c, untried=True)


def live_runs(c: Connection, since: str, process_exists: Callable[[int], bool]) -> list[Row[Any]]:
    """The active runs, by a heartbeat after `since` and an existing process: one at most, beside rows of a clock that
    is ahead. Those of killed processes, which nobody resumed yet, are none."""
    rows = c.execute(select(RUN).where(RUN.c.state == "running", RUN.c.owner != "", RUN.c.beat_at >= since))
    return [row for row in rows if row.host != socket.gethostname() or process_exists(row.pid)]


def open_shards(c: Connection, run: int) -> int:
    """Shards of a run that are not read completely."""
    return int(c.execute(select(func.count()).select_from(SHARD).where(SHARD.c.run == run, ~SHARD.c.done)).scalar_one())


def open_rows(c: Connection, wave: str = "") -> int:
    """Unfinished rows, whichever run listed them; of a wave, if one is named."""
    return int(_OPEN_OF_WAVE.value(c, wave=wave) if wave else _OPEN_ROWS.value(c))


def not_of_other_wave() -> ColumnElement[bool]:
    """The condition for work that a run of the wave passed as `wave` may take: all but that of other waves."""
    return ~exists().where(WAVE.c.asset == WORK.c.asset, WAVE.c.wave != bindparam("wave"))


_OPEN_WORK = select(func.count()).select_from(WORK).where(text(OPEN))
_OPEN_ROWS, _OPEN_OF_WAVE = PreparedStatement(_OPEN_WORK), PreparedStatement(_OPEN_WORK.where(not_of_other_wave()))


def _clear(c: Connection, run: int) -> None:
    """When a run is closed: forget the listings of all closed runs but this, and what was made for many assets; not
    what an interrupted run or rollback needs when it is resumed, nor what other runs were about to change and no
    rollback undid."""
    closed = exists().where(RUN.c.id == SHARD.c.run, RUN.c.state == "done")
    c.execute(delete(SHARD).where(SHARD.c.run != run, closed))
    if c.execute(select(RUN.c.command).where(RUN.c.id == run)).scalar() in MAINTENANCE:
        return
    made = [JOURNAL.c.scope.startswith(RUN_SCOPE, autoescape=True), JOURNAL.c.state == "done"]
    about = JOURNAL.c.name.startswith(journal_names.placing(""), autoescape=True)
    made.append(~about | (JOURNAL.c.scope == f"{RUN_SCOPE}{PLACES}{run}"))
    undone = JOURNAL.c.scope.startswith(UNDO_SCOPE, autoescape=True)
    for row in c.execute(select(RUN.c.command, RUN.c.started_at).where(RUN.c.state != "done")):
        if row.command.startswith(ROLLBACK):
            made.append(~undone)
        elif row.command == "run":
            made.append(undone | (JOURNAL.c.at < row.started_at))
    c.execute(delete(JOURNAL).where(*made))


def _held_by_another(holder: str) -> tuple[ColumnElement[bool], ...]:
    """The condition for runs that a process left without ending them: from now on it can neither renew its lease nor
    write, even if it was only suspended and another command is begun than its own."""
    return RUN.c.state == "running", RUN.c.owner != holder


def _unfinished(c: Connection, command: str) -> Row[Any] | None:
    chosen = select(RUN).where(RUN.c.state != "done", RUN.c.command == command)
    return c.execute(chosen.order_by(RUN.c.id.desc()).limit(1)).first()


def _busy(row: Row[Any]) -> StoreBusy:
    return StoreBusy(
        f"run {row.id} of this job is active: process {row.pid} on {row.host}, since {row.started_at},"
        f" last heartbeat {row.beat_at}",
        hint="wait until it is done, or stop that process and run again; the run is resumed",
    )


def _taken_over(row: Row[Any] | None, run: int) -> SafetyStop:
    by = f"process {row.pid} on {row.host}" if row is not None and row.owner else "another process"
    return SafetyStop(
        f"{by} has taken this run over (run {run}); this one stops, so that nothing is done twice",
        hint="let the other process continue, or stop it and run again",
    )


def _run_row(row: Row[Any]) -> RunRow:
    ended = instant(row.ended_at) if row.ended_at else None
    outcome = from_text(row.outcome)
    lease = (instant(row.beat_at), row.host, row.pid)
    return RunRow(row.id, row.command, instant(row.started_at), ended, row.state, outcome, row.job, *lease)
