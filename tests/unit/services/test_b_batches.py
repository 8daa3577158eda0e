"""Service B: files of assets that are written at the same time share an upload batch, and nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import httpx
import pytest

from dam_sync.model.asset import AssetId, Draft, Marker
from dam_sync.model.errors import DamSyncError, IntegrityError, InvalidValue
from dam_sync.model.limits import MIB
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.uploads.batches import BatchRoom
from tests.conformance.drafts import worked
from tests.conformance.tenant import Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.state.memory_journal import Crash, MemoryJournal

KIND = "b_documents"
NEW, UPLOAD = "POST /api/v1/upload/new/default", "POST /api/v1/upload/{}/{}"
DROP, DROP_FILE = "DELETE /api/v1/upload/{}", "DELETE /api/v1/upload/{}/{}"
CREATE = "POST /api/v1/id/*"
SENT = "POST /api/v1/upload/*/*"
NAMES = ("one", "two", "three")


def draft(key: str) -> Draft:
    return Draft(Marker("lib:srckey", key), f"{key}.jpg", profile="Photo", fields={"lib:srckey": key, "lib:title": key})


async def created(tenant: Tenant, service: Service, key: str, journal: MemoryJournal) -> AssetId:
    async with content(tenant, f"{key}.jpg", seed=key) as (given, _):
        return await worked(lambda: service.create(draft(key), given, journal), journal)


async def together(tenant: Tenant, service: Service, names: Sequence[str] = NAMES) -> list[AssetId | BaseException]:
    """Assets that are created at the same time, and the end of the run."""
    await service.schema()
    calls = [created(tenant, service, name, MemoryJournal()) for name in names]
    found = await asyncio.gather(*calls, return_exceptions=True)
    await service.end_shared()
    return found


def orphans(tenant: Tenant) -> Counter[str]:
    return Counter(row["kind"] for row in tenant.served.app.state.orphans())


async def digests(tenant: Tenant, names: Sequence[str]) -> dict[str, str]:
    """What the files are that the source has."""
    found = {}
    for name in names:
        async with content(tenant, f"{name}.jpg", seed=name) as (_, digest):
            found[name] = digest
    return found


async def stored(tenant: Tenant, names: Sequence[str]) -> None:
    """Each asset is there once, with its own file and no other."""
    for name, digest in (await digests(tenant, names)).items():
        (row,) = tenant.marked(name)
        (file,) = row["versions"]
        assert file["digests"]["md5"] == digest, name


async def test_assets_written_at_the_same_time_share_a_batch(tenant: Tenant) -> None:
    with tenant.costs() as spent:
        await together(tenant, tenant.connect())
    assert [spent[call] for call in (NEW, UPLOAD, DROP)] == [1, 3, 1]
    await stored(tenant, NAMES)
    assert not orphans(tenant)


async def test_assets_written_one_after_the_other_share_it_too_and_nobody_waits(tenant: Tenant) -> None:
    service = tenant.connect()
    await service.schema()
    before = tenant.world.now()
    with tenant.costs() as spent:
        for name in NAMES:
            await created(tenant, service, name, MemoryJournal())
        assert orphans(tenant) == {"batch": 1}
        await service.end_shared()
    assert [spent[call] for call in (NEW, UPLOAD, DROP)] == [1, 3, 1]
    assert tenant.world.now() - before < timedelta(seconds=1)


async def test_a_full_batch_is_dropped_when_its_last_file_is_used(tenant: Tenant) -> None:
    files = facts.BATCH_FILES + 1
    with tenant.costs() as spent:
        await together(tenant, tenant.connect(), [f"file {number}" for number in range(files)])
    assert [spent[call] for call in (NEW, UPLOAD, DROP)] == [2, files, 2]
    assert not orphans(tenant)


def test_a_batch_takes_so_many_files_of_so_many_bytes() -> None:
    room = BatchRoom()
    assert room.takes(facts.BATCH_BYTES + 1)
    for _ in range(facts.BATCH_FILES):
        assert room.takes(MIB)
        room = room.with_file(MIB)
    assert not room.takes(MIB)
    assert not BatchRoom(1, facts.BATCH_BYTES).takes(1)


async def test_a_refused_asset_fails_alone(tenant: Tenant) -> None:
    tenant.fail({"match": CREATE, "nth": 2, "do": "status:422"})
    found = await together(tenant, tenant.connect())
    (refused,) = [each for each in found if isinstance(each, BaseException)]
    assert isinstance(refused, InvalidValue)
    there = [name for name, each in zip(NAMES, found, strict=True) if each is not refused]
    await stored(tenant, there)
    assert not [row for name in NAMES if name not in there for row in tenant.marked(name)]
    assert not orphans(tenant), "the batch waits for nobody"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"match": SENT, "nth": 2, "do": "status:413"}, id="file"),
        # the others ask for another batch
        pytest.param({"match": "POST /api/v1/upload/new/default", "nth": 1, "do": "status:400"}, id="batch"),
    ],
)
async def test_a_refusal_fails_only_the_asset_of_the_call_and_the_batch_is_dropped(
    tenant: Tenant, fault: dict[str, Json]
) -> None:
    tenant.fail(fault)
    found = await together(tenant, tenant.connect())
    assert sum(isinstance(each, DamSyncError) for each in found) == 1
    assert not orphans(tenant)


@pytest.mark.parametrize("call", [CREATE, SENT, "POST /api/v1/upload/new/default"])
async def test_a_lost_response_leaves_each_asset_once(tenant: Tenant, call: str) -> None:
    tenant.fail({"match": call, "nth": 1, "do": "reset_after"})
    await together(tenant, tenant.connect())
    await stored(tenant, NAMES)


class DamagingTransport(AlteredTransport):
    """Some files arrive with other bytes, by the number of their upload."""

    def __init__(self, *damaged: int) -> None:
        super().__init__()
        self.files, self.damaged = 0, damaged

    def sent(self, request: httpx.Request) -> httpx.Request:
        if request.method == "POST" and request.url.path.rpartition("/")[2].isdigit():
            self.files += 1
            if self.files in self.damaged:
                headers = {**request.headers, "content-length": "6"}
                return httpx.Request("POST", request.url, headers=headers, content=b"broken")
        return request


async def test_a_damaged_file_is_sent_again_alone(tenant: Tenant) -> None:
    tenant.transport = DamagingTransport(2)
    with tenant.costs() as spent:
        found = await together(tenant, tenant.connect())
    assert not [each for each in found if isinstance(each, BaseException)]
    await stored(tenant, NAMES)
    assert [spent[call] for call in (NEW, UPLOAD, DROP)] == [2, 4, 2]
    assert not orphans(tenant)


async def test_an_asset_whose_file_arrives_damaged_again_fails_alone(tenant: Tenant) -> None:
    tenant.transport = DamagingTransport(2, 4)
    found = await together(tenant, tenant.connect())
    (failed,) = [each for each in found if isinstance(each, BaseException)]
    assert isinstance(failed, IntegrityError)
    await stored(tenant, [name for name, each in zip(NAMES, found, strict=True) if each is not failed])
    assert not orphans(tenant), "no batch waits for it"


class DroppingTransport(AlteredTransport):
    """A batch goes with the call that names one of its files."""

    def sent(self, request: httpx.Request) -> httpx.Request:
        request.headers.pop("X-Batch-No-Drop", None)
        return request


async def test_a_server_that_loses_batches_gets_one_for_each_file(tenant: Tenant) -> None:
    tenant.transport = DroppingTransport()
    service = tenant.connect()
    for number in range(facts.BATCH_LOSSES):
        names = [f"{name} {number}" for name in NAMES]
        await together(tenant, service, names)
        await stored(tenant, names)
    later = ("four", "five", "six")
    with tenant.costs() as spent:
        await together(tenant, service, later)
    assert [spent[call] for call in (NEW, UPLOAD)] == [3, 3]
    await stored(tenant, later)


async def test_a_batch_that_ended_in_between_is_not_used_any_more(tenant: Tenant) -> None:
    service = tenant.connect()
    await service.schema()
    await created(tenant, service, "one", MemoryJournal())
    tenant.served.app.state.server.batches.drop_all()
    await created(tenant, service, "two", MemoryJournal())
    await created(tenant, service, "three", MemoryJournal())
    await stored(tenant, NAMES)


@pytest.mark.parametrize("moment", range(1, 12))
async def test_a_process_killed_at_any_record_leaves_each_asset_once(tenant: Tenant, moment: int) -> None:
    """The first asset gets so far, the others as far as they come meanwhile; the next process completes all three."""
    journals = {name: MemoryJournal(blow_at=moment if name == "one" else None) for name in NAMES}
    await killed(tenant, journals)
    for journal in journals.values():
        journal.blow_at = None
    service = tenant.connect()
    await service.schema()
    for name, journal in journals.items():
        await created(tenant, service, name, journal)
    await service.end_shared()
    await stored(tenant, NAMES)
    assert sum(orphans(tenant).values()) <= 1, "at most the batch whose name nobody recorded"


async def killed(tenant: Tenant, journals: dict[str, MemoryJournal]) -> None:
    """The process ends when the first of them blows."""
    service = tenant.connect()
    await service.schema()
    tasks = [asyncio.ensure_future(created(tenant, service, name, journal)) for name, journal in journals.items()]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert not [each for each in ended if isinstance(each, Exception) and not isinstance(each, Crash)]


async def test_files_of_a_killed_process_are_used_and_its_batch_goes_with_the_last(tenant: Tenant) -> None:
    journals = {name: MemoryJournal() for name in NAMES}
    service = tenant.connect()
    await service.schema()
    for name, journal in journals.items():
        tenant.fail({"match": CREATE, "nth": 1, "do": "status:503"})
        journal.blow_at = journal.moments + 6
        with pytest.raises(Crash):
            await created(tenant, service, name, journal)
        journal.blow_at = None
    assert orphans(tenant)["batch"] == 1
    later = tenant.connect()
    await later.schema()
    with tenant.costs() as spent:
        for name, journal in journals.items():
            await created(tenant, later, name, journal)
    assert [spent[call] for call in (NEW, UPLOAD, DROP, DROP_FILE)] == [0, 0, 1, 3]
    await stored(tenant, NAMES)
    assert not orphans(tenant)
