"""Uploads to service A that are broken off go on behind the last byte the service has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft
from dam_sync.model.errors import DamSyncError, Disposition, Rejected, SessionGone, Transient
from dam_sync.model.limits import PartBounds
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia import facts
from tests.support.services.connected_a import PASSWORD, Open, Tenant, asset, draft_for, serving
from tests.support.services.connections import Bytes, HastyClock
from tests.support.state.memory_journal import Crash, MemoryJournal
from tests.support.transfer.interrupted_content import Breaking

CHUNK, SIZE = 1_000, 4_500
PARTS = 5
PUT = "PUT /api/dam/files/{id}"
SCRIPT = "PUT /api/dam/files/*"


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    limits = replace(facts.LIMITS, single_bytes=CHUNK, parts=PartBounds(CHUNK, CHUNK))
    async with serving() as start:

        def begin(*records: Json, **options: Json) -> Tenant:
            tenant = start(*records, **options)
            tenant.limits = limits
            return tenant

        yield begin


def connect(tenant: Tenant, auth: Any = PASSWORD) -> Service:
    return tenant.connect(auth, clock=HastyClock(tenant.world))


def check(tenant: Tenant, made: AssetId, content: Breaking) -> None:
    """One media, with all bytes in their places."""
    assert set(tenant.truth()) == {made}
    (version,) = tenant.truth()[made]["versions"]
    assert version["digests"]["md5"] == content.md5


async def create(tenant: Tenant, draft: Draft, content: Breaking, journal: MemoryJournal) -> AssetId:
    """As a run does it: trouble of the moment, and a session that ended, are tried again by a new connection."""
    for _ in range(6):
        try:
            return await connect(tenant).create(draft, content, journal)
        except Crash:
            continue
        except DamSyncError as error:
            if error.disposition not in (Disposition.RETRY, Disposition.RESTART):
                raise
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize("part", range(PARTS))
async def test_a_kill_at_a_border_of_parts_sends_no_part_twice(opened: Open, part: int) -> None:
    tenant = opened()
    content = Breaking("film.jpg", SIZE, at=part * CHUNK)
    made = await create(tenant, await draft_for(connect(tenant)), content, MemoryJournal())
    assert tenant.world.api_calls[PUT] == PARTS
    assert not tenant.world.refused
    check(tenant, made, content)


@pytest.mark.parametrize("fault", ["reset_after", "truncate:0", "html:502", "wrong_length:0.3"])
@pytest.mark.parametrize("part", range(1, PARTS + 1))
async def test_a_part_whose_response_was_lost_is_not_sent_again(opened: Open, part: int, fault: str) -> None:
    """But for a response of a proxy: that part never came to the service."""
    tenant = opened()
    content = Breaking("film.jpg", SIZE)
    tenant.faults.add([{"match": SCRIPT, "nth": part, "do": fault}])
    made = await create(tenant, await draft_for(connect(tenant)), content, MemoryJournal())
    assert tenant.world.api_calls[PUT] == PARTS + fault.startswith("html")
    assert "416" not in tenant.world.refused
    assert not tenant.faults.unhit()
    check(tenant, made, content)


@pytest.mark.parametrize("fault", ["reset_before", "status:503", "throttle:3", "status:401"])
@pytest.mark.parametrize("part", range(1, PARTS + 1))
async def test_a_part_that_never_arrived_is_sent_again(opened: Open, part: int, fault: str) -> None:
    tenant = opened()
    content = Breaking("film.jpg", SIZE)
    tenant.faults.add([{"match": SCRIPT, "nth": part, "do": fault}])
    signed = {"flow": "signed_token", "client_id": "demo-instance-id", "login": "dam-sync", "key": "sharedkey123"}
    made = await connect(tenant, {**signed, "algorithm": "HS256"}).create(
        await draft_for(connect(tenant)), content, MemoryJournal()
    )
    assert tenant.world.api_calls[PUT] == PARTS + 1
    check(tenant, made, content)


@pytest.mark.parametrize("part", range(1, PARTS + 1))
async def test_an_access_token_that_ends_in_mid_upload_is_renewed(opened: Open, part: int) -> None:
    tenant = opened(oidc=True)
    client = {"flow": "client_credentials", "client_id": "client-1", "client_secret": "client-secret-1"}
    address = f"{tenant.served.url}/auth/realms/demo/protocol/openid-connect/token"
    content = Breaking("film.jpg", SIZE)
    draft = await draft_for(connect(tenant))
    tenant.faults.add([{"match": SCRIPT, "nth": part, "do": "advance:301"}])
    service = tenant.connect({**client, "token_url": address})
    made = await service.create(draft, content, MemoryJournal())
    assert tenant.world.api_calls[PUT] == PARTS + 1
    check(tenant, made, content)


@pytest.mark.parametrize("part", range(1, PARTS + 1))
async def test_an_upload_whose_descriptor_ended_starts_again(opened: Open, part: int) -> None:
    tenant = opened()
    content, journal = Breaking("film.jpg", SIZE), MemoryJournal()
    draft = await draft_for(connect(tenant))
    tenant.faults.add([{"match": SCRIPT, "nth": part, "do": "play:expire"}])
    with pytest.raises(SessionGone):
        await connect(tenant).create(draft, content, journal)
    made = await connect(tenant).create(draft, content, journal)
    assert tenant.world.api_calls[PUT] <= part + 1 + PARTS  # the part read ahead may be on its way
    check(tenant, made, content)


async def test_a_service_that_stays_down_is_trouble_of_the_moment(opened: Open) -> None:
    tenant = opened()
    content, journal = Breaking("film.jpg", SIZE), MemoryJournal()
    draft = await draft_for(connect(tenant))
    tenant.faults.add([{"match": SCRIPT, "do": "status:503"}])
    with pytest.raises(Transient):
        await connect(tenant).create(draft, content, journal)
    tenant.faults.clear()
    before = tenant.world.api_calls[PUT]
    made = await connect(tenant).create(draft, content, journal)
    assert tenant.world.api_calls[PUT] == before + PARTS
    check(tenant, made, content)


@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
async def test_a_version_in_parts_goes_on_too(opened: Open, fault: str) -> None:
    for part in range(1, PARTS + 1):
        tenant = opened(asset(1))
        (identity,) = tenant.truth()
        content, journal = Breaking("photo 1.jpg", SIZE, at=part * CHUNK), MemoryJournal()
        tenant.faults.add([{"match": SCRIPT, "nth": part, "do": fault}])
        for _ in range(3):
            try:
                await connect(tenant).replace(AssetId(identity), content, journal)
                break
            except Crash:
                continue
        assert tenant.world.api_calls[PUT] == PARTS + (fault == "reset_before")
        assert [version["size"] for version in tenant.truth()[identity]["versions"]] == [1001, SIZE]


# -- attachments: bytes go to a signed link of another host ------------------------------------------------------------


async def test_an_upload_link_that_ended_is_requested_again(opened: Open) -> None:
    tenant = opened(asset(1))
    (identity,) = tenant.truth()
    tenant.faults.add([{"match": "PUT /uploads/*", "nth": 1, "do": "advance:1000"}])
    await connect(tenant).attach(AssetId(identity), Bytes("plan.pdf", b"x" * 300), MemoryJournal())
    (attached,) = tenant.truth()[identity]["attachments"]
    assert (attached["name"], attached["size"]) == ("plan.pdf", 300)
    assert tenant.world.api_calls["POST /api/dam/medias/{id}/attachments"] == 1


async def test_an_upload_link_refused_twice_parks_and_shows_no_link(opened: Open) -> None:
    tenant = opened(asset(1))
    (identity,) = tenant.truth()
    tenant.faults.add([{"match": "PUT /uploads/*", "do": "status:403"}])
    with pytest.raises(Rejected) as refused:
        await connect(tenant).attach(AssetId(identity), Bytes("plan.pdf", b"x" * 300), MemoryJournal())
    assert "Signature" not in f"{refused.value!r} {refused.value} {refused.value.hint}"


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503"])
async def test_an_attachment_whose_response_was_lost_is_one(opened: Open, fault: str) -> None:
    for call in ("POST /api/dam/medias/*/attachments", "PUT /uploads/*"):
        tenant = opened(asset(1))
        (identity,) = tenant.truth()
        journal = MemoryJournal()
        tenant.faults.add([{"match": call, "nth": 1, "do": fault}])
        for _ in range(3):
            try:
                await connect(tenant).attach(AssetId(identity), Bytes("plan.pdf", b"x" * 300), journal)
                break
            except Transient:
                continue
        assert [file["size"] for file in tenant.truth()[identity]["attachments"]] == [300]
        assert not tenant.faults.unhit()


async def test_an_attachment_that_was_announced_twice_is_there_with_its_bytes(opened: Open) -> None:
    """A network that delivers the announcement twice leaves a second one without bytes beside it."""
    tenant = opened(asset(1))
    (identity,) = tenant.truth()
    tenant.faults.add([{"match": "POST /api/dam/medias/*/attachments", "do": "twice"}])
    await connect(tenant).attach(AssetId(identity), Bytes("plan.pdf", b"x" * 300), MemoryJournal())
    assert [file["size"] for file in tenant.truth()[identity]["attachments"] if file["digests"]] == [300]


async def test_an_attachment_that_came_before_a_crash_is_not_asked_for_again(opened: Open) -> None:
    """The announcement was recorded, the bytes came, and the process had ended before it could say so."""
    tenant = opened(asset(1))
    (identity,) = tenant.truth()
    journal = MemoryJournal()
    for _ in range(2):
        await connect(tenant).attach(AssetId(identity), Bytes("plan.pdf", b"x" * 300), journal)
    assert [file["size"] for file in tenant.truth()[identity]["attachments"]] == [300]
    assert tenant.world.api_calls["POST /api/dam/medias/{id}/attachments"] == 1


# -- as a source -------------------------------------------------------------------------------------------------------


async def test_a_url_that_changed_is_read_again_from_the_same_byte(opened: Open) -> None:
    """The random part of a static URL changes with each file version (wire A 4); the old one leads nowhere."""
    tenant = opened(asset(1))
    service = connect(tenant)
    (identity,) = tenant.truth()
    found = await service.fetch(AssetId(identity))
    assert found.file is not None
    tenant.faults.add([{"match": "GET /medias/*", "nth": 1, "do": "status:404"}])
    stream = await service.open(found.file, 600)
    data = b"".join([block async for block in stream])
    await stream.aclose()
    assert stream.start == 600
    assert data == tenant.served.app.state.objects.generated(1001, 1).read(600)
