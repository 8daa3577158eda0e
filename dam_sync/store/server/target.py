"""What jobs whose states are in one database tell each other about a target: see `model.shared_target`.

Creates of a scope follow each other by an advisory lock. Each is recorded before it is made, so that whoever comes
after a process that is gone knows what may exist.

A process that loses its lock may still have a call under way. While it has one, it renews its claim by another session;
if it cannot for `trusted`, it cancels the call, and sends nothing more for it. Whoever comes next waits until the claim
is settled, or not renewed for `ending`, or its process does not exist any more, and looks at the target then.

Who has a file name, or uses a term, is asked of the states of the other jobs: a claim on a name that the state of its
job no longer has is void.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from psycopg import errors, sql

from dam_sync.aio.single_flight import KeyedLock
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.counterpart import CONTAINER, PLACED, TERM
from dam_sync.model.errors import StoreUnreachable, Transient
from dam_sync.model.shared_target import SharedPart, SharedTarget
from dam_sync.model.state_server import StateServer
from dam_sync.model.waits import waiting
from dam_sync.store.base import Storage, from_text, to_text
from dam_sync.store.note_keys import MET_TERMS
from dam_sync.store.server.lock import ServerLock
from dam_sync.store.server.notices import ServerNotices, tell
from dam_sync.store.server.shared_schema import PART, SCHEMA, UNIQUE_NAME, WRITER_JOB, open_shared
from dam_sync.store.server.threads import ServerConnection, ServerSession
from dam_sync.store.tables import COUNTERPART, META, NAME

LATELY: Final = timedelta(seconds=10)  # besides the lag of the target: what its listings may lack
LONGEST: Final = timedelta(minutes=3)  # that a process may take to create something
LOOK_SECONDS: Final = 5.0  # between two looks for what others created
PROMPT_LOOK_SECONDS: Final = 60.0  # the same, while notifications are heard
WAIT_SECONDS: Final = 0.2
KEPT: Final = timedelta(days=30)  # longer than any process goes without looking: then the target itself says it
MOST_REMOVED: Final = 10_000  # rows, by a process that begins
ENDED: Final = 0  # instead of the number of a process that has nothing under way
_NOW = "extract(epoch FROM clock_timestamp())"
_BEGIN = (
    f"INSERT INTO {PART} (target, scope, key, place, path, job, process, at)"
    f" VALUES (%s, %s, %s, %s, %s, %s, %s, {_NOW}) ON CONFLICT (target, scope, key) DO UPDATE"
    " SET value = NULL, before = '[]', job = excluded.job, process = excluded.process, at = excluded.at"
)
_CREATED = (
    f"INSERT INTO {PART} (target, scope, key, place, path, job, process, value, before, at)"
    f" VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, {_NOW}) ON CONFLICT (target, scope, key) DO UPDATE"
    " SET value = excluded.value, before = excluded.before, job = excluded.job, process = excluded.process,"
    " at = excluded.at, seq = DEFAULT"
)
_GONE = f"DELETE FROM {PART} WHERE target = %s AND scope = %s AND key = %s"
_SINCE = (
    f"SELECT seq, place, path, value, before, process FROM {PART} WHERE target = %s AND scope = %s AND seq > %s"
    " AND (at >= %s OR (job <> %s AND at >= %s)) ORDER BY seq"
)
_OPEN = (
    f"SELECT place, path, process, {_NOW} - at FROM {PART} WHERE target = %s AND scope = %s AND value IS NULL"
    " AND split_part(process, '/', 3) <> %s"
)
_RENEWED = f"UPDATE {PART} SET at = {_NOW} WHERE target = %s AND scope = %s AND value IS NULL AND process = %s"
_OLD = (
    f"DELETE FROM {PART} WHERE ctid = ANY (ARRAY(SELECT ctid FROM {PART} WHERE at < {_NOW} - %s LIMIT %s))",
    (KEPT.total_seconds(), MOST_REMOVED),
)
_ENDED = f"UPDATE {PART} SET process = %s WHERE target = %s AND scope = %s AND value IS NULL AND process = %s"


@dataclass(frozen=True, slots=True)
class ClaimTimes:
    """Seconds. renewal: between two renewals of what is being created; trusted: without one a process makes no call for
    it; ending: without one others may go on. A call that was cancelled may be processed until then."""

    renewal: float = 2.0
    trusted: float = 8.0
    ending: float = 15.0


@dataclass(slots=True)
class Claim:
    """What a process is creating in a scope. until: when it ends unless it is renewed, None while nothing is created;
    then what it does is cancelled."""

    deadline: asyncio.Timeout
    until: float | None = None

    def renew(self, until: float | None) -> None:
        """Let it end at another time."""
        self.until = until
        if not self.deadline.expired():
            now = asyncio.get_running_loop().time()
            self.deadline.reschedule(None if until is None else now + until - SYSTEM_CLOCK.monotonic())


_CLAIM: ContextVar[Claim | None] = ContextVar("claim", default=None)


class ServerTarget(SharedTarget):
    """Implements `model.shared_target.SharedTarget` for one process of a job. read_only: nothing is claimed or told,
    and nobody is waited for."""

    def __init__(
        self,
        link: ServerConnection,
        server: StateServer,
        storage: Storage,
        notices: ServerNotices | None = None,
        *,
        read_only: bool,
        times: ClaimTimes = ClaimTimes(),
    ) -> None:
        self._times, self._claims = times, dict[str, Claim]()  # by scope
        self._session, self._notices = ServerSession(link, "target"), notices
        self._server, self._storage, self._read_only = server, storage, read_only
        self._token = SYSTEM_CLOCK.token()
        self._process = f"{socket.gethostname()}/{os.getpid()}/{self._token}"
        self._target, self._began, self._lag = "", 0.0, timedelta(0)
        self._turns = KeyedLock()
        self._locks: dict[str, ServerLock] = {}
        self._open: set[tuple[str, ...]] = set()  # what was begun, by the keys of the rows
        self._seen: dict[str, int] = {}
        self._opened, self._heard = SYSTEM_CLOCK.monotonic(), 0
        self._looked: dict[str, tuple[float, int]] = {}  # by scope: when, and what was heard by then

    @classmethod
    async def open(
        cls,
        server: StateServer,
        storage: Storage | None = None,
        notices: ServerNotices | None = None,
        *,
        read_only: bool,
        times: ClaimTimes = ClaimTimes(),
    ) -> ServerTarget:
        """That of a job whose state is there. notices: by which other processes tell of creates at once. Raises
        ConfigError, StoreUnreachable."""
        storage = storage or Storage()
        link, _ = await asyncio.to_thread(open_shared, replace(server, schema=SCHEMA), storage.patience)
        return cls(link, server, storage, notices, read_only=read_only, times=times)

    async def identify(self, name: str, lag: timedelta) -> None:
        self._target = hashlib.sha256(name.encode()).hexdigest()
        job, read_only = self._server.schema, self._read_only
        if self._notices is not None:
            self._notices.on(self._topic, self._process, self._told)

        def enter(raw: Any) -> float:
            if not read_only:
                raw.execute(*_OLD)
                raw.execute(f"INSERT INTO {WRITER_JOB} VALUES (%s, %s) ON CONFLICT DO NOTHING", (self._target, job))
            return float(raw.execute(f"SELECT {_NOW}").fetchone()[0])

        self._began, self._lag = await self._session.run(enter), lag + LATELY

    async def close(self) -> None:
        """Let everything go; safe to repeat."""
        for lock in self._locks.values():
            await lock.close()
        self._locks.clear()
        await self._session.close()

    def has_news(self, scope: str) -> bool:
        prompt = self._notices is not None and self._notices.is_listening
        waits = PROMPT_LOOK_SECONDS if prompt else LOOK_SECONDS
        at, heard = self._looked.get(scope, (self._opened, 0))
        return heard < self._heard or SYSTEM_CLOCK.monotonic() - at >= waits

    @asynccontextmanager
    async def creating(self, scope: str) -> AsyncIterator[None]:
        if self._read_only:
            yield
            return
        async with self._turns.of(scope), self._lock(scope), self._claimed(scope):
            yield

    @asynccontextmanager
    async def _claimed(self, scope: str) -> AsyncIterator[None]:
        """What is created within is claimed until it is known to exist or not."""
        try:
            async with asyncio.timeout(None) as deadline:
                claim = self._claims[scope] = Claim(deadline)
                keeper, token = asyncio.ensure_future(self._renew(scope, claim)), _CLAIM.set(claim)
                try:
                    yield
                finally:
                    _CLAIM.reset(token)
                    keeper.cancel()
                    await asyncio.wait([keeper])
        except TimeoutError as error:
            if not deadline.expired():
                raise
            self._open = {row for row in self._open if row[1] != scope}  # others wait until it is certain to have ended
            raise _lost() from error
        except asyncio.CancelledError:
            self._open = {row for row in self._open if row[1] != scope}
            raise
        finally:
            del self._claims[scope]
            await self._end(scope)

    async def _renew(self, scope: str, claim: Claim) -> None:
        """Renew the claim as long as something is created."""
        given = (self._target, scope, self._process)
        while not claim.deadline.expired():
            await SYSTEM_CLOCK.sleep(self._times.renewal)
            if claim.until is not None:
                began = SYSTEM_CLOCK.monotonic()
                with suppress(StoreUnreachable):  # then it ends
                    await self._session.run(lambda raw: raw.execute(_RENEWED, given))
                    if claim.until is not None:
                        claim.renew(began + self._times.trusted)

    def prove_claimed(self) -> None:
        claim = _CLAIM.get()
        if claim is not None and claim.until is not None and SYSTEM_CLOCK.monotonic() >= claim.until:
            raise _lost()

    async def created_by_others(self, scope: str) -> Sequence[SharedPart]:
        self._looked[scope] = SYSTEM_CLOCK.monotonic(), self._heard
        left = await self._left_open(scope) if scope in self._claims else []
        lately = self._began - self._lag.total_seconds()  # what this job did before is in its state
        given = (self._target, scope, self._seen.get(scope, 0), self._began, self._server.schema, lately)
        rows = await self._session.run(lambda raw: raw.execute(_SINCE, given).fetchall())
        if rows:
            self._seen[scope] = rows[-1][0]
        found = [
            SharedPart(place, tuple(from_text(path)), from_text(value), tuple(from_text(before)))
            for _, place, path, value, before, process in rows
            if process != self._process and value is not None
        ]
        return [*found, *left]

    async def begin(self, scope: str, parts: Sequence[SharedPart]) -> None:
        """See `SharedTarget.begin`. Raises Transient if the lock was lost."""
        began = SYSTEM_CLOCK.monotonic()
        for part in () if self._read_only else parts:
            row = self._row(scope, part)
            self._open.add(row[:3])
            await self._locks[scope].execute(_BEGIN, row)
        if parts and not self._read_only:
            self._claims[scope].renew(began + self._times.trusted)

    async def created(self, scope: str, parts: Sequence[SharedPart]) -> None:
        if self._read_only:
            return

        def record(raw: Any) -> None:
            with raw.transaction():
                for part in parts:
                    row = self._row(scope, part)
                    if part.value is None:
                        raw.execute(_GONE, row[:3])
                    else:
                        raw.execute(_CREATED, (*row, to_text(part.value), to_text(list(part.before))))
                if parts:
                    tell(raw, self._topic, self._process)

        known = {self._row(scope, part)[:3] for part in parts}
        if scope in self._claims and not any(row[1] == scope for row in self._open - known):
            self._claims[scope].renew(None)
        await self._session.run(record)
        self._open -= known

    async def reserve_name(self, folded: str, owner: str) -> bool:
        return await self._session.run(lambda raw: self._reserve(raw, folded, owner))

    async def is_used_elsewhere(self, part: str, place: str, target: str) -> bool:
        """See `SharedTarget.is_used_elsewhere`. A state that this user may not read counts as one that uses it."""

        def look(raw: Any) -> bool:
            others = raw.execute(f"SELECT job FROM {WRITER_JOB} WHERE target = %s", (self._target,)).fetchall()
            return any(_uses(raw, job, part, place, target) for (job,) in others if job != self._server.schema)

        return await self._session.run(look)

    def _told(self) -> None:
        self._heard += 1

    @property
    def _topic(self) -> str:
        """Of notifications about this target."""
        return f"target {self._target}"

    def _row(self, scope: str, part: SharedPart) -> tuple[str, ...]:
        named = (self._target, scope, _key(part), part.place, to_text(list(part.path)))
        return (*named, self._server.schema, self._process)

    def _lock(self, scope: str) -> ServerLock:
        if scope not in self._locks:
            purpose = f"create {scope} at {self._target}"
            shared = replace(self._server, schema=SCHEMA)
            name = f"creates {scope} at the target"
            self._locks[scope] = ServerLock(shared, purpose, name, LONGEST, self._storage.patience)
        return self._locks[scope]

    async def _end(self, scope: str) -> None:
        """Nothing is under way any more: others need not wait for what was begun and failed."""
        failed = {row for row in self._open if row[1] == scope}
        self._open -= failed
        if failed:
            given = (f"{socket.gethostname()}/{ENDED}/{self._token}", self._target, scope, self._process)
            with suppress(StoreUnreachable):  # then they wait
                await self._session.run(lambda raw: raw.execute(_ENDED, given))

    async def _left_open(self, scope: str) -> list[SharedPart]:
        """What processes that no longer hold the lock began to create, once their calls have certainly ended. Raises
        Transient if one of them does not end."""
        until, given = SYSTEM_CLOCK.monotonic() + LONGEST.total_seconds(), (self._target, scope, self._token)
        with waiting(SYSTEM_CLOCK, LONGEST.total_seconds(), f"another process, which creates {scope} at the target"):
            while True:
                rows = await self._session.run(lambda raw: raw.execute(_OPEN, given).fetchall())
                if all(age >= self._times.ending or self._is_gone(process) for _, _, process, age in rows):
                    return [SharedPart(place, tuple(from_text(path))) for place, path, *_ in rows]
                if SYSTEM_CLOCK.monotonic() >= until:
                    raise Transient(f"another process creates {scope} at the target, and does not finish")
                await SYSTEM_CLOCK.sleep(WAIT_SECONDS)

    def _is_gone(self, process: str) -> bool:
        host, pid, _ = process.rsplit("/", 2)
        return int(pid) == ENDED or (host == socket.gethostname() and not self._storage.process_exists(int(pid)))

    def _reserve(self, raw: Any, folded: str, owner: str) -> bool:
        mine, job = (self._target, folded), self._server.schema
        with raw.transaction():
            if not self._read_only:
                added = f"INSERT INTO {UNIQUE_NAME} VALUES (%s, %s, %s, %s) ON CONFLICT (target, folded) DO UPDATE"
                raw.execute(f"{added} SET folded = excluded.folded", (*mine, job, owner))  # locks the row
            chosen = f"SELECT job, owner FROM {UNIQUE_NAME} WHERE target = %s AND folded = %s"
            row = raw.execute(chosen, mine).fetchone()
            if row is None or row == (job, owner):
                return True
            if row[0] != job and _is_in_state(raw, row[0], NAME.name, "folded = %s AND owner = %s", (folded, row[1])):
                return False
            if not self._read_only:
                taken = f"UPDATE {UNIQUE_NAME} SET job = %s, owner = %s WHERE target = %s AND folded = %s"
                raw.execute(taken, (job, owner, *mine))
            return True


def _lost() -> Transient:
    return Transient("the connection to the state was lost while something was created: the next attempt looks for it")


def _key(part: SharedPart) -> str:
    return hashlib.sha256(to_text([part.place, list(part.path)]).encode()).hexdigest()


def _is_in_state(raw: Any, job: str, table: str, where: str, values: tuple[str, ...]) -> bool:
    """Whether the state of a job has such a row; assumed if this user may not read it."""
    return _in_state(raw, job, table, "1", where, values) != []


def _uses(raw: Any, job: str, part: str, place: str, target: str) -> bool:
    """Whether something of the source of a job stands for it, or its mapping names it, or whether earlier runs found it
    for one."""
    named = (part, PLACED if part == CONTAINER else part, place, target)
    if _is_in_state(raw, job, COUNTERPART.name, "part IN (%s, %s) AND place = %s AND target = %s", named):
        return True
    rows = _in_state(raw, job, META.name, "value", "key = %s", (MET_TERMS,)) if part == TERM else []
    met = [(from_text(value) or {"terms": {}})["terms"].get(place, {}) for (value,) in rows or []]
    return any(term.get("id") == target for terms in met for term in terms.values())


def _in_state(
    raw: Any, job: str, table: str, column: str, where: str, values: tuple[str, ...]
) -> list[tuple[Any, ...]] | None:
    """Rows of the state of a job, none if it is gone; None if this user may not read it."""
    chosen = sql.SQL(f"SELECT {column} FROM {{}} WHERE {where} LIMIT 1").format(sql.Identifier(job, table))
    try:
        with raw.transaction():
            known = raw.execute("SELECT to_regclass(%s)", (f'"{job}".{table}',)).fetchone()
            return [] if known == (None,) else list(raw.execute(chosen, values).fetchall())
    except errors.InsufficientPrivilege:
        return None
