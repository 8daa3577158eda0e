"""Permits leased from PostgreSQL: one rate limit for each credential, whatever jobs, processes and hosts use it.

They are kept in a schema of their own that all jobs of a database share. A credential is named by a keyed digest.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from typing import Any, Final

from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql import psycopg as postgresql

from dam_sync.aio.polling import sleep_until_set
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import DamSyncError
from dam_sync.model.permits import (
    CALLS_KEPT,
    CallLease,
    CallRequest,
    CredentialPermits,
    Lease,
    LeaseRequest,
    PermitStore,
    calls_of,
)
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Json
from dam_sync.store.base import Storage
from dam_sync.store.server import permit_schedule as schedule
from dam_sync.store.server.notices import ServerNotices, tell
from dam_sync.store.server.shared_schema import SCHEMA, open_shared
from dam_sync.store.server.threads import ServerConnection, ServerSession

BEAT_SECONDS: Final = 2.0
STORED: Final = "stored"  # in place of a process: calls that a job sent while its state was elsewhere
GONE_SECONDS: Final = 30.0  # without a sign of life, after which a process has no share any more


class ServerPermits(PermitStore):
    """Implements `model.permits.PermitStore` on a connection and a thread of its own."""

    def __init__(self, link: ServerConnection, key: bytes, notices: ServerNotices | None = None, job: str = "") -> None:
        self._session, self._key, self._notices, self._job = ServerSession(link, "permits"), key, notices, job
        self._process = SYSTEM_CLOCK.token()
        self._beating: asyncio.Task[None] | None = None
        self._on_beat: list[Callable[[], Awaitable[None]]] = []
        self._due = asyncio.Event()  # the next beat

    @classmethod
    async def open(
        cls, server: StateServer, storage: Storage | None = None, notices: ServerNotices | None = None
    ) -> ServerPermits:
        """Those of the database in which a state is. notices: by which other processes tell of changes at once. Raises
        ConfigError, StoreUnreachable."""
        patience = (storage or Storage()).patience
        shared = await asyncio.to_thread(open_shared, replace(server, schema=SCHEMA), patience)
        return cls(*shared, notices, server.schema)

    def credential(self, identity: str) -> CredentialPermits:
        digest = hmac.new(self._key, identity.encode(), hashlib.sha256).hexdigest()
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat())
        if self._notices is not None:
            self._notices.on(_topic(digest), self._process, self._due.set)
        return _Schedule(self._session.run, digest, self._process, self._job, self._on_beat, self._notices)

    async def close(self) -> None:
        if self._beating is not None and not self._beating.done():
            self._beating.cancel()
            await asyncio.wait([self._beating])
        gone = f"{self._process}-%"

        def leave(raw: Any) -> None:
            left = "DELETE FROM participant WHERE process LIKE %s RETURNING credential"
            for (credential,) in raw.execute(left, (gone,)).fetchall():
                tell(raw, _topic(credential), self._process)

        await self._session.close(leave)

    async def _beat(self) -> None:
        """Keep the shares of this process, also while its calls take long. It outlives every call, so that no task
        group could hold it."""
        seen = "UPDATE participant SET seen = extract(epoch FROM clock_timestamp()) WHERE process LIKE %s"
        while True:
            await sleep_until_set(SYSTEM_CLOCK, BEAT_SECONDS, self._due)
            with suppress(DamSyncError):  # the next lease raises it if it lasts
                await self._session.run(lambda raw: raw.execute(seen, (f"{self._process}-%",)))
                for job in self._on_beat:
                    await job()


class _Schedule(CredentialPermits):
    """One row; see `CredentialPermits`."""

    def __init__(
        self,
        run: Callable[[Callable[[Any], Any]], Any],
        key: str,
        process: str,
        job: str,
        jobs: list[Callable[[], Awaitable[None]]],
        notices: ServerNotices | None,
    ) -> None:
        self._run, self._key, self._process, self._job = run, key, process, job
        self._jobs, self._notices = jobs, notices

    @property
    def is_prompt(self) -> bool:
        return self._notices is not None and self._notices.is_listening

    def on_change(self, changed: Callable[[], None]) -> None:
        if self._notices is not None:
            self._notices.on(_topic(self._key), self._process, changed)

    def on_beat(self, job: Callable[[], Awaitable[None]]) -> None:
        self._jobs.append(job)

    async def lease(self, request: LeaseRequest) -> Lease:
        number, at = request.late or (-1, 0.0)
        given = asdict(request) | {"given_spacing": request.spacing, "late_number": number, "late_at": at}
        return lease_from(await self._row(schedule.lease_of, given))

    async def look(self) -> Lease:
        return lease_from(await self._row(schedule.look_of, {}), granted=False)

    async def pause(self, seconds: float) -> Lease:
        lease = lease_from(await self._row(schedule.pause_of, {"seconds": seconds}))
        await self._run(lambda raw: tell(raw, _topic(self._key), self._process))
        return lease

    async def learn(self, version: int, learned: Mapping[str, Json], spacing: float) -> Lease | None:
        given = {"known_version": version, "new_learned": json.dumps(learned), "given_spacing": spacing}
        row = await self._run(lambda raw: _fetched(raw, schedule.learn_of, {**given, "key": self._key}))
        return None if row is None else lease_from(row)

    async def lease_calls(self, request: CallRequest) -> CallLease:
        def job(raw: Any) -> CallLease:
            with raw.transaction():
                raw.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"calls {self._key}",))
                self._add_earlier(raw, request.earlier)
                for at, number in {request.slice: 0, **request.sent}.items():
                    self._count(raw, at, self._process, number)
                counted = [self._counted(raw, budget.since) for budget in request.budgets]
                calls = calls_of(request, counted)
                if calls:
                    self._count(raw, request.slice, self._process, request.sent.get(request.slice, 0) + calls)
                old = "DELETE FROM call_count WHERE credential = %s AND slice <= %s"
                raw.execute(old, (self._key, request.slice - CALLS_KEPT))
            return CallLease(calls, tuple(number + calls for number in counted))

        return await self._run(job)  # type: ignore[no-any-return]

    def _counted(self, raw: Any, since: int) -> int:
        text = "SELECT coalesce(sum(calls), 0) FROM call_count WHERE credential = %s AND slice >= %s"
        return int(raw.execute(text, (self._key, since)).fetchone()[0])

    def _count(self, raw: Any, at: int, process: str, calls: int) -> None:
        text = (
            "INSERT INTO call_count VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (credential, slice, job, process) DO UPDATE SET calls = excluded.calls"
        )
        raw.execute(text, (self._key, at, self._job, process, calls))

    def _add_earlier(self, raw: Any, earlier: Mapping[int, int]) -> None:
        text = (
            "SELECT coalesce(sum(calls), 0), coalesce(sum(calls) FILTER (WHERE process = %s), 0) FROM call_count"
            " WHERE credential = %s AND slice = %s AND job = %s"
        )
        for at, number in earlier.items():
            known, stored = raw.execute(text, (STORED, self._key, at, self._job)).fetchone()
            if number > known:
                self._count(raw, at, STORED, int(stored + number - known))

    async def share(self, participant: str, most: int, under_way: int) -> int:
        return int(await self._run(lambda raw: self._shared(raw, f"{self._process}-{participant}", most, under_way)))

    async def _row(self, made: Callable[..., ClauseElement], given: Mapping[str, Any]) -> Any:
        """The row, which is made at the first request."""

        def job(raw: Any) -> Any:
            values = {**given, "key": self._key}
            row = _fetched(raw, made, values)
            if row is None:
                raw.execute("INSERT INTO permit (credential) VALUES (%s) ON CONFLICT DO NOTHING", (self._key,))
                row = _fetched(raw, made, values)
            return row

        return await self._run(job)

    def _shared(self, raw: Any, participant: str, most: int, under_way: int) -> int:
        with raw.transaction():
            raw.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"share {self._key}",))
            raw.execute(
                "DELETE FROM participant WHERE credential = %s AND seen < extract(epoch FROM clock_timestamp()) - %s",
                (self._key, GONE_SECONDS),
            )
            rows = dict(raw.execute("SELECT process, held FROM participant WHERE credential = %s", (self._key,)))
            is_new, held = participant not in rows, rows.pop(participant, 0)
            share = schedule.share_of(most, len(rows), sum(rows.values()), held, under_way)
            if share < held or (is_new and not share):  # others may have more, or must give something back
                tell(raw, _topic(self._key), self._process)
            raw.execute(
                "INSERT INTO participant VALUES (%s, %s, extract(epoch FROM clock_timestamp()), %s)"
                " ON CONFLICT (credential, process) DO UPDATE SET seen = excluded.seen, held = excluded.held",
                (self._key, participant, share),
            )
        return min(share, schedule.part_of(most, len(rows)))  # it begins nothing in place of what exceeds its part


def _topic(credential: str) -> str:
    """Of notifications about a credential, by its digest."""
    return f"permit {credential}"


def lease_from(row: Any, *, granted: bool = True) -> Lease:
    """A row as the statements of `permit_schedule` return it."""
    now, free, issued, number, spacing, paused_until, version, learned = row
    number = int(number) if granted else 0
    due = tuple(free - (number - each) * spacing for each in range(number))
    return Lease(now, free, issued, paused_until, version, json.loads(learned), due)


def _fetched(raw: Any, made: Callable[..., ClauseElement], values: Mapping[str, Any]) -> Any:
    text, defaults = _compiled(made)
    return raw.execute(text, {**defaults, **{key: values[key] for key in defaults if key in values}}).fetchone()


@cache
def _compiled(made: Callable[..., ClauseElement]) -> tuple[str, Mapping[str, Any]]:
    """The text for the driver, and the values of its constants."""
    dialect: Any = postgresql.dialect()  # type: ignore[no-untyped-call]
    compiled: Any = made(schedule.server_now()).compile(dialect=dialect)
    return str(compiled), dict(compiled.params)
