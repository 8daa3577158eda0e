"""A job that is watched for weeks, in process after process, while everything happens that happens in weeks."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
from sqlalchemy import Engine

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.api.jobs import verify_job
from dam_sync.emulators.kit.app import Application
from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.errors import DiskFull
from dam_sync.model.run_options import RunOptions, StopToken
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Localized
from dam_sync.store.file.threads import GroupWriter
from dam_sync.watch.metrics import health_of
from dam_sync.watch.scheduler import RunResult, WatchRecord
from dam_sync.watch.watcher import Watcher
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.services.profiles import marker_in, profile_of
from tests.support.services.small_limits import small_parts
from tests.support.virtual.clock import EPOCH, VirtualClock
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.moves import TITLE, options_of
from tests.support.virtual.reply import Reply
from tests.support.virtual.small_library import library, receiving
from tests.support.virtual.state_location import job_in, state_for
from tests.support.virtual.store_writer import VirtualWriter
from tests.support.virtual.universe import FUSE, LAGS, Tenant, Universe
from tests.support.virtual.wire import VirtualTransport

HOUR = 3600.0
BEGIN = datetime(2026, 3, 27, 8, tzinfo=UTC)  # the clocks of Paris go forward on the 29th
ZONE, OPENS, CLOSES = ZoneInfo("Europe/Paris"), time(20), time(8)
WATCHED: dict[str, Any] = {
    "schedule": {"cron": "30 2,21 * * *", "zone": ZONE.key, "jitter": "10m"},  # 02:30 does not exist on the 29th
    "limits": {"hours": f"{OPENS:%H:%M}-{CLOSES:%H:%M}"},
    "policy": ACCEPTED,
}
EXPIRING = ("oauth", "client_credentials")  # ways in by a token that lives for hours
PROMPT = timedelta(seconds=2)
CLEAN_END = 600.0  # seconds within which a process that is asked to ends
QUIET = 26 * HOUR  # after the last trouble


class MachineClock:
    """The clock of the computer that watches, which somebody may set. slow: how far it is behind. A
    `dam_sync.model.clock.Clock`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.slow = timedelta()
        self.monotonic, self.sleep, self.chance, self.token = clock.monotonic, clock.sleep, clock.chance, clock.token

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._clock.now() - self.slow


@dataclass
class Computer:
    """What surrounds the process: the clock, the network, the disk, and services that are under maintenance."""

    clock: MachineClock
    offline: bool = False
    is_full: bool = False
    closed: set[Application] = field(default_factory=set)


class MachineTransport(VirtualTransport):
    """Connections of that computer."""

    machine: Computer

    async def replied(self, request: httpx.Request) -> Reply:
        """See `VirtualTransport.replied`."""
        if self.machine.offline:
            raise httpx.ConnectError("the network is down")
        if self._network.called(request) in self.machine.closed:
            return Reply(503, [(b"content-type", b"text/html")], [b"<html>Back soon</html>"])
        return await super().replied(request)


class MachineWriter(VirtualWriter):
    """Writes to the disk of that computer."""

    machine: Computer

    def _alone(self, job: Any) -> Any:
        if self.machine.is_full:
            raise DiskFull("no room left for the state")
        return super()._alone(job)


@dataclass(frozen=True)
class WithToken(Emulated):
    """A tenant that is opened by a token which expires."""

    def as_job(self) -> dict[str, Any]:
        methods = profile_of(self.kind).auth
        chosen = next((auth for auth in methods if auth["flow"] in EXPIRING), methods[0])
        return {**super().as_job(), "auth": {key: text.format(url=self.url) for key, text in chosen.items()}}


@dataclass(frozen=True, slots=True)
class Edit:
    """Somebody gave an asset of the source another title."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A run of which the end was shown. troubles: how many had begun or passed by then; promised: the next run."""

    at: datetime
    record: WatchRecord
    promised: datetime | None
    troubles: int


@dataclass
class WatchedMonth:
    """The world, the job, and everything that was reported. wrong: reports that were not true."""

    universe: Universe
    source: Tenant
    target: Tenant
    job: Path
    machine: Computer
    rng: random.Random
    edits: dict[str, Edit] = field(default_factory=dict)  # the last of each asset
    ended: list[Ended] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    watcher: Watcher | None = None
    is_well: bool = False  # at the end, by `/health`
    _fuse: Fuse = field(default_factory=Fuse)
    _token: StopToken = field(default_factory=StopToken)
    _process: asyncio.Future[None] | None = None
    _numbers: int = 0

    @property
    def clock(self) -> VirtualClock:
        """That of the world."""
        return self.universe.clock

    @property
    def health(self) -> Any:
        """What `/health` shows of the job now."""
        assert self.watcher is not None
        return health_of(self.watcher.jobs)["jobs"][0]

    async def lives(self, days: float) -> None:
        """Watch the job for so long, and until each trouble has come once. Then everything works again for a day, and
        the process ends cleanly."""
        end = self.clock.now() + timedelta(days=days)
        self.start()
        editing = asyncio.ensure_future(self._edit_again_and_again(end))
        await self._trouble_again_and_again(end)
        await editing
        await asyncio.sleep(QUIET)
        assert self._process is not None
        assert not self._process.done(), self._process
        self.is_well = self.health["ok"]
        await self.stop()

    def start(self) -> None:
        """A new process watches the job."""
        self._fuse, self._token = Fuse(), StopToken()
        self._process = asyncio.ensure_future(self._watch(self._fuse, self._token))

    async def stop(self) -> None:
        """The process is asked to end."""
        assert self._process is not None
        self._token.stop("SIGTERM", hurry=True)
        async with asyncio.timeout(CLEAN_END):
            await self._process
        await self.universe.network.calm()

    async def kill(self) -> None:
        """The process is gone at once."""
        assert self._process is not None
        self._fuse.blown = True
        self._process.cancel()
        await asyncio.gather(self._process, return_exceptions=True)
        self.universe.end_connections(self._fuse)
        await self.universe.network.calm()

    async def _watch(self, fuse: Fuse, token: StopToken) -> None:
        FUSE.set(fuse)
        watcher = self.watcher = Watcher([self.job], self._options(fuse, token), lambda _: self._shown(watcher))
        await watcher.remember()
        await watcher.run()

    def _options(self, fuse: Fuse, token: StopToken) -> RunOptions:
        transport = MachineTransport(self.universe.network, fuse)
        transport.machine = self.machine

        def writer(engine: Engine, path: Path) -> MachineWriter:
            made = MachineWriter(engine, path, fuse)
            made.machine = self.machine
            return made

        def server_writer(server: StateServer, patience: timedelta) -> GroupWriter:
            made: Any = self.universe.storage.server_writer(server, patience)
            made.is_full = lambda: self.machine.is_full
            return made  # type: ignore[no-any-return]

        return replace(
            self.universe.options(fuse, stop_token=token),
            clock=self.machine.clock,
            transport=transport,
            storage=replace(self.universe.storage, writer=writer, server_writer=server_writer),
        )

    # -- what must be true -------------------------------------------------------------------------------------------

    def _shown(self, watcher: Watcher) -> None:
        job = watcher.jobs[0]
        now = Ended(self.clock.now(), job.record, job.decision.at, self.happened.total())
        before = self.ended[-1] if self.ended else None
        self.ended.append(now)
        self._look_at_hours(now)
        if before is not None:
            self._look_at_promise(before, now)
        if now.record.result is RunResult.DONE and not now.record.parked:
            self._look_at_edits()

    def _look_at_hours(self, now: Ended) -> None:
        assert now.record.began is not None
        local = now.record.began.astimezone(ZONE).time()
        if CLOSES <= local < OPENS:
            self.wrong.append(f"a run began at {local}, outside its hours")

    def _look_at_promise(self, before: Ended, now: Ended) -> None:
        began = now.record.began
        if before.troubles == now.troubles and (began is None or before.promised is None):
            self.wrong.append(f"a run began that nobody expected: {before} {now}")
        elif before.troubles == now.troubles and abs(began - before.promised) > PROMPT:  # type: ignore[operator]
            self.wrong.append(f"a run was said to begin at {before.promised} and began at {began}")

    def _look_at_edits(self) -> None:
        """What was edited before the last complete run ended is at the target when this one has ended."""
        done = [each.at for each in self.ended if each.record.result is RunResult.DONE]
        if len(done) > 1:
            seen = done[-2] - timedelta(seconds=LAGS)
            self.wrong += [f"{text!r} is missing" for text in self.missing(seen)]

    def missing(self, until: datetime) -> list[str]:
        """Edits until then that are not at the target."""
        there = json.dumps([row for row in self.target.assets if row["status"] != "trash"])
        return [edit.text for edit in self.edits.values() if edit.at <= until and edit.text not in there]

    def verdict(self) -> Any:
        """What a verification of every byte finds."""
        return self.universe.do(verify_job(self.job, self.universe.options(), "digest", "100%")).verdict

    # -- what happens ------------------------------------------------------------------------------------------------

    async def _edit_again_and_again(self, end: datetime) -> None:
        while self.clock.now() < end:
            await asyncio.sleep(self.rng.uniform(4, 20) * HOUR)
            await self._edit()

    async def _edit(self) -> None:
        async with self.universe.service(self.job, "source") as service:
            await service.schema()
            key = profile_of(self.source.kind).prefix + TITLE
            names = sorted(row["id"] for row in self.source.assets if row["status"] != "trash")
            asset = await service.fetch(AssetId(self.rng.choice(names)))
            self._numbers += 1
            text, given = f"Edit {self._numbers}.", asset.fields[key]
            value = Localized(dict.fromkeys(given.texts, text)) if isinstance(given, Localized) else text
            await service.update(asset.id, Patch(fields={key: value}))
            self.edits[asset.id] = Edit(self.clock.now(), text)

    async def _trouble_again_and_again(self, end: datetime) -> None:
        troubles: dict[str, Callable[[], Awaitable[None]]] = {
            "restart": self._restart,
            "kill": self._crash,
            "outage": self._outage,
            "maintenance": self._maintenance,
            "full disk": self._full_disk,
            "clock": self._set_clock,
            "sleep": self._sleep,
        }
        waiting = list[str]()
        while self.clock.now() < end or waiting:
            await asyncio.sleep(self.rng.uniform(1, 14) * HOUR)
            waiting = waiting or self.rng.sample(sorted(troubles), len(troubles))
            name = waiting.pop()
            self.happened[name] += 1
            await troubles[name]()
            self.happened[f"{name} is over"] += 1

    async def _restart(self) -> None:
        await self.stop()
        await asyncio.sleep(self.rng.choice((1.0, 600.0, 20 * HOUR)))
        self.start()

    async def _crash(self) -> None:
        """During a run."""
        assert self.watcher is not None
        job = self.watcher.jobs[0]
        while job.progress is None:
            at = job.decision.at
            assert at is not None, job.record
            await asyncio.sleep(max(0.01, (at - self.machine.clock.now()).total_seconds()))
        await asyncio.sleep(self.rng.uniform(0, 1))
        self.happened["killed run"] += job.progress is not None
        await self.kill()
        await asyncio.sleep(self.rng.choice((0.0, 40.0, 5 * HOUR)))
        self.start()

    async def _outage(self) -> None:
        self.machine.offline = True
        await asyncio.sleep(self.rng.uniform(1, 30) * HOUR)
        self.machine.offline = False

    async def _maintenance(self) -> None:
        self.machine.closed = {self.rng.choice((self.source, self.target)).app}
        await asyncio.sleep(self.rng.uniform(1, 12) * HOUR)
        self.machine.closed = set()

    async def _full_disk(self) -> None:
        self.machine.is_full = True
        await asyncio.sleep(self.rng.uniform(1, 24) * HOUR)
        self.machine.is_full = False

    async def _set_clock(self) -> None:
        self.machine.clock.slow = timedelta(hours=self.rng.uniform(-2, 2))
        await asyncio.sleep(self.rng.uniform(1, 12) * HOUR)
        self.machine.clock.slow = timedelta()

    async def _sleep(self) -> None:
        self.clock.jump(self.rng.uniform(1, 14) * HOUR)
        await asyncio.sleep(0)


@contextmanager
def month(folder: Path, kinds: tuple[str, str], seed: int) -> Iterator[WatchedMonth]:
    """A job between two tenants, not run yet."""
    with Universe(seed) as universe:
        universe.clock.jump((BEGIN - EPOCH).total_seconds())
        universe.limits = {kind: small_parts(kind) for kind in kinds}
        filled = library(max(profile_of(kind).part for kind in kinds))
        source, target = (
            universe.tenant(kind, rows, **options_of(kind))
            for kind, rows in zip(kinds, (filled, receiving()), strict=True)
        )
        here, there = (WithToken(each.kind, each.url, profile_of(each.kind).parted) for each in (source, target))
        job = job_in(folder)
        mapping = job.with_name("mapping.yaml")
        write_job(job, "month", here, there, mapping, state=state_for(job), **WATCHED)
        universe.do(write_suggested_mapping(job, mapping, marker_in(kinds[1], OWN_MARKS), universe.options()))
        universe.network.weather.most = 1_000_000
        yield WatchedMonth(universe, source, target, job, Computer(MachineClock(universe.clock)), random.Random(seed))
