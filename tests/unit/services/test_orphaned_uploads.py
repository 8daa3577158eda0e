"""Uploads that a killed process left open are ended, and their links are kept no longer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.emulators import profile_of
from dam_sync.model.asset import Draft, Marker
from dam_sync.model.limits import PartBounds
from dam_sync.model.ports import IsReferenced
from dam_sync.model.service import Service
from dam_sync.services.d_templates import facts
from tests.conformance.catalogue import MARKER, SCHEMA
from tests.conformance.tenant import Tenant, content, started
from tests.support.services.connections import Bytes
from tests.support.services.scripted_d import Opened, draft, scripted
from tests.support.services.small_limits import small_parts
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.state.memory_journal import Crash, MemoryJournal

C = "c_brandlibrary"


def said_in(steps: MemoryJournal) -> IsReferenced:
    """As the store responds for journal entries of work that will be resumed."""

    async def recorded(text: str) -> bool:
        return text in json.dumps([result for result, _ in steps.done.values()])

    return recorded


async def nowhere(text: str) -> bool:
    """No work is resumed."""
    return False


# -- sessions of which only the credential store knows -----------------------------------------------------------------


@pytest.fixture
async def tenant(tmp_path: Path) -> AsyncIterator[Tenant]:
    one = started(C, SCHEMA, tmp_path)
    one.limits = small_parts(C)
    yield one
    await one.disconnect()
    one.served.stop()


def connected(tenant: Tenant, credentials: MemoryCredentialStore) -> Service:
    return tenant.connect(credentials=credentials, options=dict(profile_of(C).parted))


def orphans(tenant: Tenant) -> Counter[str]:
    return Counter(row["kind"] for row in tenant.served.app.state.orphans())


async def test_a_session_begun_in_a_crash_is_ended_by_the_run_after_it(tenant: Tenant) -> None:
    credentials, steps = MemoryCredentialStore(), MemoryJournal(blow_at=2)  # begun, and not recorded
    wanted = Draft(Marker(MARKER, "one"), "one.jpg", fields={"title": "One", MARKER: "one"})
    async with content(tenant, wanted.filename, 3 << 18) as (given, _):
        with pytest.raises(Crash):
            await connected(tenant, credentials).create(wanted, given, steps)
        steps.blow_at = None
        service = connected(tenant, credentials)
        await service.create(wanted, given, steps)
        assert orphans(tenant)["upload session"] == 1
        assert await service.sweep(said_in(steps)) == 1
    assert not orphans(tenant)["upload session"]
    assert not await credentials.names("")
    assert await service.sweep(nowhere) == 0


async def test_a_session_that_work_will_resume_is_left_open(tenant: Tenant) -> None:
    credentials, steps = MemoryCredentialStore(), MemoryJournal(blow_at=3)
    wanted = Draft(Marker(MARKER, "one"), "one.jpg", fields={"title": "One", MARKER: "one"})
    async with content(tenant, wanted.filename, 3 << 18) as (given, _):
        with pytest.raises(Crash):
            await connected(tenant, credentials).create(wanted, given, steps)
    assert await connected(tenant, credentials).sweep(said_in(steps)) == 0
    assert orphans(tenant)["upload session"] == len(await credentials.names("")) == 1


# -- records that come with their links --------------------------------------------------------------------------------


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    async with scripted() as one:
        one.limits = replace(facts.LIMITS, single_bytes=1000, parts=PartBounds(1000, 1000, 1000, 10, 1))
        one.script.part = 1000
        yield one


@pytest.mark.parametrize("size", [4, 2500], ids=["whole", "in parts"])
async def test_a_record_made_in_a_crash_is_resumed_where_its_links_were_stored(opened: Opened, size: int) -> None:
    """It was put into the bin, and created again, though nothing was lost but our record that it was made."""
    credentials, steps, given = (
        MemoryCredentialStore(),
        MemoryJournal(blow_at=2),
        Bytes("src-1.jpg", bytes(size), known=True),
    )
    with pytest.raises(Crash):
        await opened.connect(credentials=credentials).create(draft(), given, steps)
    steps.blow_at = None
    await opened.connect(credentials=credentials).create(draft(), given, steps)
    assert [told for told in opened.script.story if told.startswith(("create", "delete"))] == ["create object-0001"]
    assert opened.script.bytes["object-0001"] == given.data


async def test_links_of_finished_uploads_are_deleted(opened: Opened) -> None:
    credentials, steps = MemoryCredentialStore(), MemoryJournal()
    service = opened.connect(credentials=credentials)
    await service.create(draft(), Bytes("src-1.jpg", b"data", known=True), steps)
    assert await opened.connect(credentials=credentials).sweep(nowhere) == 0
    assert not await credentials.names("")


async def test_parts_of_an_upload_that_nobody_resumes_are_cancelled(opened: Opened) -> None:
    """The source has the asset no longer: nothing comes after the crash but the end of the run."""
    credentials, steps = MemoryCredentialStore(), MemoryJournal(blow_at=7)
    with pytest.raises(Crash):
        await opened.connect(credentials=credentials).create(
            draft(), Bytes("src-1.jpg", bytes(2500), known=True), steps
        )
    assert await opened.connect(credentials=credentials).sweep(said_in(steps)) == 0
    assert await credentials.names("")
    assert await opened.connect(credentials=credentials).sweep(nowhere) == 1
    assert opened.script.story[-1] == "cancel object-0001"
    assert not await credentials.names("")


async def test_an_upload_whose_links_ended_is_cancelled_before_its_record_is_trashed(opened: Opened) -> None:
    """Its parts would lie in the storage permanently: no call lists them (wire D 6.3)."""
    opened.script.vanish = 1
    await opened.connect(credentials=MemoryCredentialStore()).create(
        draft(), Bytes("src-1.jpg", bytes(2500), known=True), MemoryJournal()
    )
    story = [told for told in opened.script.story if not told.startswith("put")]
    assert story[:3] == ["create object-0001", "cancel object-0001", "delete object-0001"]
