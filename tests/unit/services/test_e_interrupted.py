"""Uploads to service E that are broken off go on with the chunks the service has not got; downloads likewise."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.asset import AssetId, FileRef
from dam_sync.model.errors import DamSyncError, Disposition, InvalidValue, SessionGone, Transient
from dam_sync.model.limits import PartBounds
from dam_sync.model.ports import Stream
from dam_sync.model.service import Service
from dam_sync.model.validator import Validator
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.content import content_of
from tests.support.services.connected_e import TOKEN, Open, Tenant, asset, consent, draft, serving
from tests.support.services.connections import entries
from tests.support.state.memory_journal import Crash, MemoryJournal
from tests.support.transfer.interrupted_content import Breaking

CHUNK, SIZE = 1_000, 4_500
PARTS = 5
PUT = "POST /v2/uploads/chunks/upload"
START = "POST /v2/uploads/chunks/start"


@pytest.fixture(params=[1, 4], ids=["in-sequence", "four-at-once"])
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    bounds = PartBounds(preferred=CHUNK, least=CHUNK, most=CHUNK, count=10_000, at_once=request.param)
    async with serving() as start:

        def begin(*records: Json, **options: Json) -> Tenant:
            tenant = start(*records, **{"megabyte": CHUNK // 5, **options})  # chunks have five at least
            tenant.limits = replace(facts.LIMITS, single_bytes=CHUNK, parts=bounds)
            return tenant

        yield begin


async def create(tenant: Tenant, content: Breaking, journal: MemoryJournal, auth: dict[str, str] = TOKEN) -> AssetId:
    """As a run does it: trouble of the moment, and a session that ended, are tried again by a new connection."""
    for _ in range(8):
        try:
            return await tenant.connect(auth).create(draft(filename=content.name), content, journal)
        except Crash:
            continue
        except DamSyncError as error:
            if error.disposition not in (Disposition.RETRY, Disposition.RESTART):
                raise
    raise AssertionError("it does not come to an end")


def check(tenant: Tenant, made: AssetId, content: Breaking) -> None:
    """One asset with one version, all bytes in their places."""
    assert set(tenant.truth()) == {made}
    (version,) = tenant.truth()[made]["versions"]
    assert version["digests"]["md5"] == content.md5


@pytest.mark.parametrize("part", range(PARTS))
async def test_a_kill_at_a_border_of_chunks_sends_no_finished_chunk_twice(opened: Open, part: int) -> None:
    tenant = opened()
    content = Breaking("film.jpg", SIZE, at=part * CHUNK)
    made = await create(tenant, content, MemoryJournal())
    assert tenant.world.api_calls[START] == 1
    assert tenant.world.api_calls[PUT] <= PARTS + 3  # those in flight at the kill were not finished
    check(tenant, made, content)


@pytest.mark.parametrize("blow_at", range(1, 30))
async def test_a_kill_at_any_moment_makes_one_asset(opened: Open, blow_at: int) -> None:
    tenant = opened()
    content, journal = Breaking("film.jpg", SIZE), MemoryJournal(blow_at)
    made = await create(tenant, content, journal)
    assert tenant.world.api_calls[START] <= 2
    assert tenant.world.api_calls[PUT] <= PARTS + 4
    check(tenant, made, content)


@pytest.mark.parametrize("fault", ["reset_after", "truncate:0", "wrong_length:0.3"])
@pytest.mark.parametrize("part", range(1, PARTS + 1))
async def test_a_chunk_whose_response_was_lost_is_not_sent_again(opened: Open, part: int, fault: str) -> None:
    tenant = opened()
    content = Breaking("film.jpg", SIZE)
    tenant.faults.add([{"match": PUT, "nth": part, "do": fault}])
    made = await create(tenant, content, MemoryJournal())
    assert tenant.world.api_calls[PUT] == PARTS
    assert tenant.world.api_calls[START] == 1
    assert not tenant.faults.unhit()
    check(tenant, made, content)


@pytest.mark.parametrize("fault", ["reset_before", "status:503", "throttle:3", "html:502", "html", "empty"])
@pytest.mark.parametrize("part", [1, 3, PARTS])
async def test_a_chunk_that_never_arrived_is_sent_again(opened: Open, part: int, fault: str) -> None:
    tenant = opened()
    content = Breaking("film.jpg", SIZE)
    tenant.faults.add([{"match": PUT, "nth": part, "do": fault}])
    made = await tenant.connect().create(draft(filename=content.name), content, MemoryJournal())
    assert tenant.world.api_calls[PUT] == PARTS + 1
    check(tenant, made, content)


async def test_without_a_status_call_a_lost_chunk_is_sent_again(opened: Open) -> None:
    tenant = opened()
    content = Breaking("film.jpg", SIZE)
    tenant.faults.add([{"match": PUT, "nth": 2, "do": "reset_after"}])
    tenant.faults.add([{"match": "POST /v2/uploads/chunks/status", "do": "status:404"}])
    made = await tenant.connect().create(draft(filename=content.name), content, MemoryJournal())
    assert tenant.world.api_calls[PUT] == PARTS + 1
    check(tenant, made, content)


@pytest.mark.parametrize("part", range(1, PARTS + 1))
async def test_an_access_token_that_ends_in_mid_upload_is_renewed(opened: Open, part: int) -> None:
    tenant = opened()
    client = {"flow": "oauth", "client_id": "client-1", "client_secret": "client-secret-1"}
    auth = {**client, "refresh_token": consent(tenant.served.url)}
    content = Breaking("film.jpg", SIZE)
    tenant.faults.add([{"match": PUT, "nth": part, "do": "advance:28801"}])
    made = await tenant.connect(auth).create(draft(filename=content.name), content, MemoryJournal())
    assert tenant.world.api_calls["POST /v2/oauth/access-token"] == 3  # consent, the first token, the second
    assert tenant.world.api_calls[PUT] <= PARTS + 4
    check(tenant, made, content)


@pytest.mark.parametrize("part", range(1, PARTS + 1))
async def test_an_upload_whose_session_ended_starts_again(opened: Open, part: int) -> None:
    tenant = opened()
    content, journal = Breaking("film.jpg", SIZE), MemoryJournal()
    tenant.faults.add([{"match": PUT, "nth": part, "do": f"advance:{7 * 86400 + 1}"}])
    with pytest.raises(SessionGone):
        await tenant.connect().create(draft(filename=content.name), content, journal)
    made = await tenant.connect().create(draft(filename=content.name), content, journal)
    assert tenant.world.api_calls[START] == 2
    check(tenant, made, content)


async def test_an_upload_that_is_refused_again_raises_the_refusal(opened: Open) -> None:
    """A service may forget a session once its file is complete, so that any refusal looks like the end of it."""
    tenant = opened()
    content, journal = Breaking("film.jpg", SIZE), MemoryJournal()
    tenant.faults.add([{"match": "POST /v2/uploads", "do": "status:400"}])
    tenant.faults.add([{"match": "POST /v2/uploads/chunks/status", "do": "status:404"}])
    with pytest.raises(SessionGone) as first:
        await tenant.connect().create(draft(filename=content.name), content, journal)
    with pytest.raises(InvalidValue) as second:
        await tenant.connect().create(draft(filename=content.name), content, journal)
    assert second.value.message in first.value.message
    assert tenant.world.api_calls[START] == 2
    tenant.faults.clear()
    made = await tenant.connect().create(draft(filename=content.name), content, journal)
    assert tenant.world.api_calls[START] == 3
    check(tenant, made, content)


@pytest.mark.parametrize("call", ["start", "complete"])
@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
async def test_a_lost_response_around_the_chunks_sends_none_twice(opened: Open, call: str, fault: str) -> None:
    tenant = opened()
    content = Breaking("film.jpg", SIZE)
    tenant.faults.add([{"match": f"POST /v2/uploads/chunks/{call}", "nth": 1, "do": fault}])
    made = await create(tenant, content, MemoryJournal())
    assert tenant.world.api_calls[PUT] == PARTS
    check(tenant, made, content)


async def test_a_service_that_stays_down_is_trouble_of_the_moment(opened: Open) -> None:
    tenant = opened()
    content, journal = Breaking("film.jpg", SIZE), MemoryJournal()
    tenant.faults.add([{"match": PUT, "do": "status:503"}])
    with pytest.raises(Transient):
        await tenant.connect().create(draft(filename=content.name), content, journal)
    tenant.faults.clear()
    made = await tenant.connect().create(draft(filename=content.name), content, journal)
    assert tenant.world.api_calls[START] == 1
    check(tenant, made, content)


@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
async def test_a_version_in_chunks_goes_on_too(opened: Open, fault: str) -> None:
    for part in (1, 3, PARTS):
        tenant = opened(asset(1))
        (identity,) = tenant.truth()
        content, journal = Breaking("photo 1.jpg", SIZE, at=(part - 1) * CHUNK), MemoryJournal()
        tenant.faults.add([{"match": PUT, "nth": part, "do": fault}])
        for _ in range(3):
            try:
                await tenant.connect().replace(AssetId(identity), content, journal)
                break
            except Crash:
                continue
        assert tenant.world.api_calls[START] == 1
        assert [version["size"] for version in tenant.truth()[identity]["versions"]] == [1001, SIZE]


# -- as a source: a signed link that ends in mid-download --------------------------------------------------------------


async def test_a_download_goes_on_from_the_same_byte_by_a_new_link(opened: Open, tmp_path: Path) -> None:
    size = 6 << 20
    tenant = opened(asset(1, versions=[{"name": "photo 1.jpg", "generate": {"size": size, "seed": 5}}]))
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert entry.asset.file is not None
    starts: list[int] = []
    tenant.faults.add([{"match": "GET /objects/*", "nth": 1, "do": "truncate:0.5"}])
    tenant.faults.add([{"match": "GET /download-deferred/*", "nth": 2, "do": "advance:100000"}])
    assert await whole(service, entry.asset.file, starts, tmp_path) == md5(tenant, entry.id)
    assert starts[0] == 0
    assert 0 < starts[-1] <= size // 2
    assert not tenant.faults.unhit()


async def whole(service: Service, file: FileRef, starts: list[int], spool: Path) -> str:
    """The MD5 of a file as a run reads it; `starts` are the bytes at which streams really began."""

    async def opener(offset: int, validator: Validator) -> Stream:
        stream = await service.open(file, offset, validator)
        starts.append(stream.start)
        return stream

    digest = hashlib.md5()
    budget = MemoryBudget(64 << 20)
    async with content_of(
        opener, file, spool=spool, budget=budget, single_bytes=1 << 30, wanted=frozenset()
    ) as content:
        async for block in content.blocks():
            digest.update(block)
    return digest.hexdigest()


def md5(tenant: Tenant, identity: AssetId) -> str:
    return str(tenant.truth()[identity]["versions"][-1]["digests"]["md5"])
