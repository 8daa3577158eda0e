"""Worker processes that write assets of a run which another process, the coordinator, holds. Only on a server.

**What a worker may record.** A worker takes over a claimed row by writing its own ticket into the holder of the row, in
a transaction that finds the row held by the coordinator, in the same attempt, and by no worker. Every write of the
journal of an asset (intents, results, discards) is made in a transaction that checks the ticket. The coordinator takes
an asset back by writing itself into the holder again: from then on a worker that was taken for lost cannot record an
intent, and so begins no call that must not be made twice.

**What it may send.** Calls that were begun before that may still be under way, or follow an intent that was recorded
before. A worker sends calls that write only while it has seen, within `STILL`, a new heartbeat of the coordinator by
the session of its own that holds its place; it looks once a second, and cancels everything when the session is lost or
the run is no longer held. So before an asset is tried again, the coordinator (and a process that takes over its run)
waits until the worker is certainly gone: its process does not exist any more on this host, or its session has ended and
`STILL` has passed since. What was begun is then reconciled by the journal, as after a crash.

**How many.** Each worker holds one of the numbered places of a run by an advisory lock of its session, because the
limits of the services are divided by their number.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, bindparam, delete, or_, select, update

from dam_sync.model.errors import SafetyStop, StoreUnreachable, WorkerLost
from dam_sync.model.waits import waiting
from dam_sync.store.base import Database, Repository, from_text
from dam_sync.store.note_keys import WORKERS
from dam_sync.store.notes import put_note
from dam_sync.store.rows import Work
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import META, RUN, WORK

STILL = timedelta(seconds=15)  # without a new heartbeat a worker sends nothing that writes; less than `ALIVE`
WAIT_SECONDS = 0.1  # between two looks at the processes of workers
_OWNER = PreparedStatement(select(RUN.c.owner, RUN.c.state, RUN.c.beat_at).where(RUN.c.id == bindparam("run")))


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """Where a worker process is: its host, its number there, and its place among the workers of the run."""

    host: str
    pid: int
    place: int

    def is_gone(self, process_exists: Callable[[int], bool]) -> bool:
        """Whether it certainly does not exist any more."""
        return self.host == socket.gethostname() and not process_exists(self.pid)


def leased_by(holder: str) -> ColumnElement[bool]:
    """The condition for rows that this process claimed, also if one of its workers has them."""
    return or_(WORK.c.holder == holder, WORK.c.holder.startswith(f"{holder}/", autoescape=True))


def is_leased_by(found: str, holder: str) -> bool:
    """The same for a row that was read."""
    return found == holder or found.startswith(f"{holder}/")


class WorkerRepository(Repository):
    """What the coordinator and its workers do to the state because there are several of them."""

    # -- in the coordinator -------------------------------------------------------------------------------------------

    async def note_workers(self, processes: Sequence[WorkerProcess]) -> None:
        """Remember where the workers of this run are, for a process that takes it over; none if all ended cleanly."""
        none, noted = delete(META).where(META.c.key == WORKERS), [list(astuple(each)) for each in processes]
        await self._write(lambda c: put_note(c, WORKERS, noted) if noted else c.execute(none) and None)

    async def take_back(self, work: Work) -> bool:
        """Take an asset back from the worker that has it; what that one tries to record from now on is refused. Returns
        whether a worker had begun it."""
        own = self._database.holder
        mine = (WORK.c.asset == work.asset, WORK.c.seq == work.seq, WORK.c.state == "claimed", leased_by(own))

        def job(c: Connection) -> bool:
            found = c.execute(select(WORK.c.holder).where(*mine)).scalar()
            c.execute(update(WORK).where(*mine).values(holder=f"{own}/"))  # which no worker takes over
            return found not in (None, own, f"{own}/")

        return await self._write(job)

    async def until_gone(self, processes: Sequence[WorkerProcess]) -> None:
        """Wait until these workers certainly send nothing any more: see the module. Sessions of those that are still
        there are ended."""
        clock, exists = self._database.clock, self._database.storage.process_exists
        until, ended = clock.monotonic() + STILL.total_seconds(), False
        with waiting(clock, 2 * STILL.total_seconds(), "the end of worker processes"):
            while not all(each.is_gone(exists) for each in processes):
                if clock.monotonic() >= until:
                    if ended or not await self._end_sessions([each.place for each in processes]):
                        return
                    until, ended = clock.monotonic() + STILL.total_seconds(), True
                await clock.sleep(WAIT_SECONDS)

    async def _end_sessions(self, places: Sequence[int]) -> bool:
        """End the sessions that hold these places; returns whether there were any."""
        from dam_sync.store.server.database import end_sessions  # loads the driver

        server = self._database.server
        assert server is not None
        return await self._write(lambda c: end_sessions(c, server, places))

    async def await_former_workers(self) -> None:
        """Wait until the workers of a run that ended uncleanly certainly send nothing any more, and forget them. Does
        nothing for a state in a file, which has none."""
        if self._database.server is None:
            return
        chosen = select(META.c.value).where(META.c.key == WORKERS)
        known = await self._read(lambda c: c.execute(chosen).scalar())
        if known is not None:
            await self.until_gone([WorkerProcess(*each) for each in from_text(known)])
            await self.note_workers([])

    # -- in a worker --------------------------------------------------------------------------------------------------

    async def take_over(self, work: Work, ticket: str) -> None:
        """Hold an asset with this ticket, from now until it is taken back. Raises WorkerLost if it was handed to
        somebody else, or taken back already."""
        database = self._database
        assert database.tickets is not None
        held = f"{database.holder}/{ticket}"
        row = (WORK.c.asset == work.asset, WORK.c.seq == work.seq, WORK.c.state == "claimed")
        taken = update(WORK).where(*row, WORK.c.holder == database.holder, WORK.c.attempt == work.attempt)

        def job(c: Connection) -> None:
            if c.execute(taken.values(holder=held)).rowcount != 1:
                raise WorkerLost("the asset was taken back, or handed to another worker", asset=work.asset)

        await self._write(job)
        database.tickets[work.asset] = held

    def let_go(self, work: Work) -> None:
        """This worker is done with an asset; safe to repeat."""
        assert self._database.tickets is not None
        self._database.tickets.pop(work.asset, None)

    async def look(self, seen: str) -> str:
        """Look, by the session that holds the place of this worker, whether the coordinator still holds the run, and
        return the time of its last heartbeat; another one than `seen` lets this worker write for `STILL`. Raises
        SafetyStop if it does not, StoreUnreachable if the session is lost."""
        found = await self._write(lambda c: refuse_stranger(c, self._database))
        if found != seen:
            self._database.beat_at = self._database.clock.now()
        return found


def refuse_stranger(c: Connection, database: Database) -> str:
    """The last heartbeat of the run. Raises SafetyStop unless the coordinator of this worker holds it."""
    row = _OWNER.first(c, run=database.run)
    if row is None or row.owner != database.holder or row.state != "running":
        raise SafetyStop("the run of this worker has ended, or another process has taken it over")
    return str(row.beat_at)


def no_place(number: int) -> StoreUnreachable:
    """The error for more workers than places."""
    return StoreUnreachable(f"all {number} places of the run are taken by other workers")
