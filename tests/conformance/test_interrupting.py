"""The contract of a target: an upload in parts goes on wherever it was interrupted, and no finished part travels again.

Parts are made small by the service's own numbers, so that every moment can be tried. What is counted is what arrived
at the emulator.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count

import pytest

from dam_sync.model.asset import AssetId, Draft
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import DamSyncError, Disposition
from dam_sync.model.service import Service
from tests.conformance.catalogue import SCHEMA
from tests.conformance.conftest import Start
from tests.conformance.drafts import made, plain_draft
from tests.conformance.tenant import Tenant
from tests.conformance.wiring import VARIANTS, WIRED
from tests.support.network.fused_transport import FusedTransport
from tests.support.network.in_process_calls import InProcessCalls
from tests.support.network.received_bodies import Arrivals, noting
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.services.small_limits import small_parts
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.state.memory_journal import MemoryJournal
from tests.support.transfer.interrupted_content import Breaking
from tests.support.virtual.fuse import Crash as Killed
from tests.support.virtual.fuse import Fuse, Point

PARTS = 4
STEP = 1 if EVERYTHING else 5  # of the moments of an upload, one in so many
MOMENTS = range(1, 150, STEP)  # more than any upload has
TRIES = 8  # what a worker would do for one asset at most
LONG = timedelta(days=40)  # by then every session, link, batch and temporary file has ended
SEEDS = count(1)

READINGS = [(kind, variant) for kind in KINDS for variant in (VARIANTS if EVERYTHING else VARIANTS[:1])]
pytestmark = [pytest.mark.needs(Operation.CREATE, Operation.FIND, "limits:parts"), pytest.mark.calls(10_000)]
WAYS = ["create", pytest.param("replace", marks=pytest.mark.needs(Operation.REPLACE, "write:versions"))]


@pytest.fixture
def parted(which: tuple[str, str], start: Start, nearby: InProcessCalls) -> Tenant:
    """A new tenant whose files go in parts from a few bytes on: what is in it is looked at again and again."""
    tenant = start(SCHEMA, **WIRED[which[0]].parted_emulated)
    tenant.limits = small_parts(which[0])
    nearby.add(tenant.served, noting(tenant.served.app))
    return tenant


@dataclass
class Upload:
    """One file on its way to a new asset (`create`), or to one that is there (`replace`), through any number of
    processes that share what a run keeps: steps and credentials."""

    tenant: Tenant
    draft: Draft
    asset: AssetId | None
    content: Breaking
    wanted: list[str]
    before: frozenset[AssetId]
    arrivals: Arrivals
    credentials: MemoryCredentialStore = field(default_factory=MemoryCredentialStore)
    journal: MemoryJournal = field(default_factory=MemoryJournal)

    def connect(self) -> Service:
        """A new process."""
        return self.tenant.connect(credentials=self.credentials, options=self.tenant.wired.parted)

    async def attempt(self) -> AssetId:
        """One process, until it ends in one way or another."""
        service = self.connect()
        if self.asset is None:
            return await service.create(self.draft, self.content, self.journal)
        await service.replace(self.asset, self.content, self.journal)
        return self.asset

    async def interrupted(self) -> bool:
        """One process; whether it came to a bad end."""
        self.journal.now = self.tenant.world.now()
        try:
            self.asset = await self.attempt()
        except (Exception, Killed):  # noqa: BLE001 - whatever ended the first process, the others must end well
            return True
        return False

    async def finished(self) -> None:
        """As runs go on: again after what may pass and where a session has ended, each time in a new process."""
        self.journal.blow_at = None
        for left in reversed(range(TRIES)):
            try:
                self.asset = await self.attempt()
                break
            except DamSyncError as error:
                if error.disposition not in (Disposition.RETRY, Disposition.RESTART) or not left:
                    raise
        self.check()

    def check(self) -> None:
        """One asset, its versions in order and each right, and nothing else but in the trash."""
        rows = self.tenant.truth()
        assert {key for key, row in rows.items() if row["status"] != "trash"} == self.before | {self.asset}
        assert self.asset is not None
        versions = rows[self.asset]["versions"]
        assert [file["digests"]["md5"] for file in versions if file.get("status") != "trash"] == self.wanted

    @property
    def used_up(self) -> bool:
        """Whether the contract wants the file sent again, if no asset was made of it."""
        return self.tenant.wired.uses_up in self.journal.done

    def sent(self) -> Counter[int]:
        """How often each part arrived whole."""
        return self.arrivals.parts(self.content.data, self.tenant.wired.part)

    def recorded(self) -> set[int]:
        """The parts whose receipts were recorded."""
        return {int(name.rpartition(":")[2]) for name in self.journal.done if ":part:" in name}

    def check_sent(self, before: Counter[int], recorded: set[int], used_up: bool) -> None:
        """No finished part travelled again: at most those that were on their way."""
        sent = self.sent()
        assert set(sent) == set(range(1, PARTS + 1))
        assert min(sent.values()) >= 1
        if used_up:
            assert max(sent.values()) <= 2
            return
        finished = set(recorded)
        if self.at_once == 1:  # one after another: only the last that arrived may still have been under way
            finished |= set(sorted(+before)[:-1])
        assert {part: sent[part] for part in finished} == {part: before[part] for part in finished}
        assert sum(sent.values()) <= PARTS + self.at_once

    @property
    def life(self) -> float:
        """Seconds that an upload lives at the service."""
        life = self.tenant.kind.capabilities.limits.lifetimes.upload
        assert life is not None
        return life.total_seconds()

    def leap(self, *, finished: bool) -> float:
        """Seconds after which whatever ends has ended. Where a file that is `finished` goes silently when it is not
        used, only those that the contract grants it."""
        return self.life if finished and self.tenant.wired.uses_up else LONG.total_seconds()

    @property
    def at_once(self) -> int:
        """How many parts may be on their way."""
        bounds = self.tenant.connected[-1].limits.parts
        assert bounds is not None
        return bounds.at_once


@asynccontextmanager
async def upload(tenant: Tenant, way: str) -> AsyncGenerator[Upload, None]:
    """An upload that has not begun; at the end every scripted fault must have struck."""
    key = f"{way}-{next(SEEDS)}"
    service = tenant.connect()
    draft = await plain_draft(service, key)
    asset, wanted = None, []
    if way == "replace":
        asset, digest = await made(tenant, service, draft)
        wanted = [digest]
        tenant.advance(60)  # until the service has looked at the file
    await tenant.disconnect()
    content = Breaking(draft.filename, (PARTS - 1) * tenant.wired.part + tenant.wired.part // 2, seed=key)
    content.digests = {"md5": content.md5, "sha256": hashlib.sha256(content.data).hexdigest()}
    before = frozenset(key for key, row in tenant.truth().items() if row["status"] != "trash")
    arrivals = Arrivals(tenant.served)
    arrivals.clear()
    tenant.faults.clear()
    try:
        yield Upload(tenant, draft, asset, content, [*wanted, content.md5], before, arrivals)
    finally:
        await tenant.disconnect()
    assert not tenant.faults.unhit(), "a scripted fault never struck"


async def shape(tenant: Tenant, way: str) -> tuple[int, list[int]]:
    """How many writes an upload is, and which of them carry parts, numbered from 1."""
    async with upload(tenant, way) as first:
        assert not await first.interrupted()  # what a tenant is given once is there from now on
    async with upload(tenant, way) as one:
        assert not await one.interrupted()
        one.check()
        assert one.sent() == Counter(range(1, PARTS + 1))
        return len(one.arrivals.writes()), one.arrivals.carrying(one.content.data, tenant.wired.part)


# -- kills -------------------------------------------------------------------------------------------------------------


async def check_resumed(one: Upload) -> None:
    """Another process goes on, and nothing that was finished travels again."""
    before, recorded = one.sent(), one.recorded()
    used_up = one.used_up
    await one.finished()
    one.check_sent(before, recorded, used_up)


@pytest.mark.parametrize("way", WAYS)
async def test_a_kill_around_any_record_sends_no_finished_part_again(parted: Tenant, way: str) -> None:
    for blow_at in MOMENTS:
        async with upload(parted, way) as one:
            one.journal.blow_at = blow_at
            if not await one.interrupted():
                break
            await check_resumed(one)
    else:
        raise AssertionError("no end of moments")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_kill_around_any_call_sends_no_finished_part_again(parted: Tenant, way: str, when: str) -> None:
    """Reads and calls of the storage too; what the killed process had under way in other lanes goes nowhere."""
    for number in MOMENTS:
        async with upload(parted, way) as one:
            fuse = Fuse(Point("call", when, number))
            inner = parted.transport
            assert inner is not None
            parted.transport = FusedTransport(inner, fuse)
            ended = await one.interrupted()
            parted.transport = inner
            if not fuse.blown:
                assert not ended
                break
            await check_resumed(one)
    else:
        raise AssertionError("no end of calls")


@pytest.mark.parametrize("way", WAYS)
async def test_a_kill_at_any_border_of_parts_sends_no_finished_part_again(parted: Tenant, way: str) -> None:
    for part in range(PARTS):
        async with upload(parted, way) as one:
            one.content.at = part * parted.wired.part
            assert await one.interrupted()
            await check_resumed(one)


# -- what ended in between ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False], ids=["in-time", "too-early"])
@pytest.mark.parametrize("way", WAYS)
async def test_an_upload_that_expired_while_no_process_ran_starts_again(parted: Tenant, way: str, known: bool) -> None:
    """Sessions, batches, signed links and temporary files. `too-early`: our own record does not know yet."""
    for blow_at in MOMENTS:
        async with upload(parted, way) as one:
            one.journal.blow_at = blow_at
            if not await one.interrupted():
                break
            parted.advance(one.leap(finished=len(one.sent()) == PARTS and not known))
            if known:
                one.journal.now = parted.world.now()
            await one.finished()
            assert max(one.sent().values()) <= 3 - (known and not one.used_up)
    else:
        raise AssertionError("no end of moments")


@pytest.mark.parametrize("way", WAYS)
async def test_an_upload_whose_urls_were_in_a_lost_credential_store_starts_again(parted: Tenant, way: str) -> None:
    """URLs of sessions and signed links: a job moved to another host has none of them."""
    for blow_at in MOMENTS:
        async with upload(parted, way) as one:
            one.journal.blow_at = blow_at
            if not await one.interrupted():
                break
            one.credentials = MemoryCredentialStore()
            await one.finished()
            assert max(one.sent().values()) <= 3 - (not one.used_up)
    else:
        raise AssertionError("no end of moments")


@pytest.mark.parametrize("way", WAYS)
async def test_a_session_as_old_as_it_lives_is_not_built_upon(parted: Tenant, way: str) -> None:
    for blow_at in range(1, MOMENTS.stop, max(3, STEP)):
        async with upload(parted, way) as one:
            one.journal.blow_at = blow_at
            if not await one.interrupted():
                break
            parted.advance(one.life + 60)
            one.journal.now = parted.world.now()
            await one.finished()
            assert max(one.sent().values()) <= 3


@pytest.mark.parametrize("way", WAYS)
async def test_an_upload_whose_session_ends_midway_starts_again(parted: Tenant, way: str) -> None:
    """Before each write: a session, batch or signed link that was good at the last part is not at this one."""
    writes, carrying = await shape(parted, way)
    for number in range(1, writes + 1, STEP):
        async with upload(parted, way) as one:
            leap = one.leap(finished=number > carrying[-1])
            parted.fail({"match": "[PD]*", "nth": number, "do": f"advance:{leap:.0f}"})
            if await one.interrupted():
                await one.finished()
            one.check()
            assert max(one.sent().values()) <= 3


@pytest.mark.parametrize("status", [403, 404, 410])
@pytest.mark.parametrize("way", WAYS)
async def test_an_upload_whose_session_the_server_forgot_starts_again(parted: Tenant, way: str, status: int) -> None:
    _, carrying = await shape(parted, way)
    for number in carrying[::STEP]:
        async with upload(parted, way) as one:
            parted.fail({"match": "[PD]*", "nth": number, "do": f"status:{status}"})
            if await one.interrupted():
                await one.finished()
            one.check()
            assert max(one.sent().values()) <= 2


# -- lost responses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503", "truncate:0"])
@pytest.mark.parametrize("way", WAYS)
async def test_no_lost_call_sends_a_finished_part_again(parted: Tenant, way: str, fault: str) -> None:
    """Each write and each storage call of the upload in turn."""
    writes, _ = await shape(parted, way)
    for number in range(1, writes + 1, STEP):
        async with upload(parted, way) as one:
            parted.fail({"match": "[PD]*", "nth": number, "do": fault})
            if await one.interrupted():
                await check_resumed(one)
            one.check()
            assert sum(one.sent().values()) <= PARTS + 1 + PARTS * bool(parted.wired.uses_up)
