"""The schedule of permits in virtual time: the statements of the product on SQLite, and processes with clocks of their
own."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import BindParameter, Double, bindparam
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from dam_sync.model.permits import CallLease, CallRequest, Lease, LeaseRequest, calls_of
from dam_sync.model.values import Json
from dam_sync.store.server import permit_schedule as schedule
from dam_sync.store.server.permits import lease_from
from dam_sync.store.server.shared_schema import PERMIT
from tests.support.stepped_clock import SteppedClock

NOW: BindParameter[float] = bindparam("now", type_=Double())
KEY = "credential"
T = TypeVar("T")
EPOCH = 1_800_000_000.0
LEASE, LOOK, PAUSE, LEARN = schedule.lease_of, schedule.look_of, schedule.pause_of, schedule.learn_of
DIALECT: Any = sqlite.dialect(paramstyle="named")
TEXTS = {
    made: str(made(NOW).compile(dialect=DIALECT, compile_kwargs={"render_postcompile": True}))
    for made in (LEASE, LOOK, PAUSE, LEARN)
}
CONSTANTS, NAMES = {}, {}
for made in TEXTS:
    params = made(NOW).compile(dialect=DIALECT).params
    NAMES[made] = list(params)
    CONSTANTS[made] = {name: value for name, value in params.items() if value is not None}


class SharedCalls:
    """The calls of one credential by slice and process, as the table of the product has them."""

    def __init__(self) -> None:
        self.sent: dict[tuple[int, str, str], int] = {}
        self.requests = 0

    def leased(self, process: str, request: CallRequest, job: str = "") -> CallLease:
        """A lease of a process at this moment."""
        self.requests += 1
        for at, number in request.earlier.items():
            known = sum(n for (each, of, _), n in self.sent.items() if (each, of) == (at, job))
            stored = self.sent.get((at, job, "stored"), 0)
            self.sent[at, job, "stored"] = stored + max(0, number - known)
        sent = {request.slice: 0, **request.sent}
        self.sent |= {(at, job, process): number for at, number in sent.items()}
        counted = [sum(n for (at, *_), n in self.sent.items() if at >= each.since) for each in request.budgets]
        calls = calls_of(request, counted)
        self.sent[request.slice, job, process] = sent[request.slice] + calls
        return CallLease(calls, tuple(number + calls for number in counted))


class SharedSchedule:
    """The row of one credential. Its clock is that of the test plus `EPOCH`."""

    def __init__(self, clock: SteppedClock) -> None:
        self.clock = clock
        self.leases = 0
        self.calls = SharedCalls()
        self._raw = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._raw.close)  # of tests that do not call `close`, in any thread
        self._raw.execute(str(CreateTable(PERMIT).compile(dialect=DIALECT)))
        self._raw.execute("INSERT INTO permit (credential) VALUES (?)", (KEY,))

    def run(self, statement: Any, **given: Any) -> Any:
        """The row that a statement returns."""
        self.leases += statement is LEASE
        values = {"key": KEY, "now": self.clock.monotonic() + EPOCH, **given}
        values = {**{name: values[name] for name in NAMES[statement] if name in values}, **CONSTANTS[statement]}
        return self._raw.execute(TEXTS[statement], values).fetchone()

    def lease(self, request: LeaseRequest) -> Lease:
        """A lease at this moment."""
        number, at = request.late or (-1, 0.0)
        given = asdict(request) | {"given_spacing": request.spacing, "late_number": number, "late_at": at}
        return lease_from(self.run(LEASE, **given))

    def close(self) -> None:
        """Release the database."""
        self._raw.close()


class Lessee:
    """`CredentialPermits` of one process. seconds: what a message takes there, and back."""

    def __init__(self, shared: SharedSchedule, there: float = 0.0, back: float = 0.0) -> None:
        self.shared, self.there, self.back = shared, there, back
        self.process, self.beats = shared.clock.token(), list[Any]()

    async def lease(self, request: LeaseRequest) -> Lease:
        await self._sent()
        return await self._received(self.shared.lease(request))

    async def look(self) -> Lease:
        await self._sent()
        return await self._received(lease_from(self.shared.run(LOOK), granted=False))

    async def pause(self, seconds: float) -> Lease:
        await self._sent()
        return await self._received(lease_from(self.shared.run(PAUSE, seconds=seconds)))

    async def learn(self, version: int, learned: Mapping[str, Json], spacing: float) -> Lease | None:
        await self._sent()
        given = {"known_version": version, "new_learned": json.dumps(learned), "given_spacing": spacing}
        row = self.shared.run(LEARN, **given)
        await self._received(None)
        return None if row is None else lease_from(row)

    async def lease_calls(self, request: CallRequest) -> CallLease:
        await self._sent()
        return await self._received(self.shared.calls.leased(self.process, request))

    async def share(self, participant: str, most: int, under_way: int) -> int:
        return most

    def on_beat(self, job: Any) -> None:
        """Only where a test says so."""
        self.beats.append(job)

    @property
    def is_prompt(self) -> bool:
        return False

    def on_change(self, changed: Any) -> None:
        """Never: nobody reports a change."""

    async def _sent(self) -> None:
        if self.there:
            await self.shared.clock.sleep(self.there)

    async def _received(self, lease: T) -> T:
        if self.back:
            await self.shared.clock.sleep(self.back)
        return lease


class OwnClock:
    """The clock of one process: that of the test, with another zero."""

    def __init__(self, clock: SteppedClock, offset: float) -> None:
        self._clock, self._offset = clock, offset

    def monotonic(self) -> float:
        return self._clock.monotonic() + self._offset

    def now(self) -> datetime:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    def chance(self) -> float:
        return self._clock.chance()

    def token(self) -> str:
        return self._clock.token()
