"""Files that service E fetches by a link: what becomes of an asset whose file is not what was announced, and of a
response that was lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dam_sync.model.asset import AssetId, FileLink, FileRef
from dam_sync.model.errors import Conflict, DamSyncError, Denied, Transient
from dam_sync.model.ports import Content, Journal
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.uploads.pull import GIVEN_UP, PULL, PULLED_AT
from dam_sync.transfer.linked import LinkedContent
from tests.support.services.connected_e import Open, Tenant, asset, draft, serving
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal

DATA = b"abc" * 100
LINK = FileLink("https://files.source.example/secret/new.jpg", "one")
UPLOAD, SEARCH = "POST /v2/uploads", "GET /v2/assets/search"


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


class Given:
    """A file with a link; `sent` says whether it went through us."""

    sent = False

    async def created(
        self, tenant: Tenant, journal: Journal, filename: str = "new.jpg", *, link: bool = True, **options: object
    ) -> AssetId:
        content: Content = Bytes(filename, DATA)

        @asynccontextmanager
        async def opening() -> AsyncIterator[Content]:
            self.sent = True
            yield content

        service = tenant.connect(fetch_seconds=60, **options)
        if not link:
            return await service.create(draft(filename=filename), content, journal)
        async with LinkedContent.of(FileRef("1", filename, len(DATA)), LINK, opening) as linked:
            return await service.create(draft(filename=filename), linked, journal)


def serves(tenant: Tenant, data: bytes | None, seconds: float = 0.0) -> None:
    """What the service gets that fetches the file, after so many seconds."""

    async def fetch(url: str) -> AsyncIterator[bytes]:
        assert url == LINK.url
        tenant.world.advance(seconds)
        if data is None:
            raise ConnectionError("403")
        yield data

    tenant.world.fetch = fetch


def living(tenant: Tenant) -> dict[str, list[int]]:
    """The sizes of the versions of all assets outside the trash."""
    return {
        key: [version["size"] for version in row["versions"]]
        for key, row in tenant.truth().items()
        if row["status"] != "trash"
    }


@pytest.mark.parametrize("fault", ["status:400", "status:403", "status:413", "status:422"])
async def test_an_upload_that_is_refused_with_a_link_is_tried_with_the_bytes(opened: Open, fault: str) -> None:
    tenant, given = opened(), Given()
    serves(tenant, DATA)
    tenant.faults.add([{"match": UPLOAD, "nth": 1, "do": fault}])
    made = await given.created(tenant, MemoryJournal())
    assert given.sent
    assert living(tenant) == {made: [len(DATA)]}


async def test_a_credential_that_may_not_upload_at_all_is_denied(opened: Open) -> None:
    tenant, given = opened(), Given()
    tenant.faults.add([{"match": UPLOAD, "do": "status:403"}])
    with pytest.raises(Denied):
        await given.created(tenant, MemoryJournal())
    assert living(tenant) == {}


@pytest.mark.parametrize("data", [DATA[:-1], b"<html>Sign in</html>"], ids=["cut", "page"])
async def test_an_asset_with_another_file_is_given_up(opened: Open, data: bytes) -> None:
    tenant, given, journal = opened(), Given(), MemoryJournal()
    serves(tenant, data)
    made = await given.created(tenant, journal)
    assert given.sent
    assert living(tenant) == {made: [len(DATA)]}
    assert await journal.get(GIVEN_UP) not in (None, made)


async def test_an_asset_of_others_that_got_the_file_as_a_version_is_left_to_people(opened: Open) -> None:
    theirs = asset(1, filename="new.jpg", versions=[{"name": "new.jpg", "generate": {"size": 777, "seed": 1}}])
    tenant, given = opened(theirs), Given()
    serves(tenant, DATA[:-1])
    with pytest.raises(Conflict, match="was not fetched as announced") as caught:
        await given.created(tenant, MemoryJournal())
    assert "--retry" in caught.value.hint
    assert not given.sent
    assert [sorted(sizes) for sizes in living(tenant).values()] == [[len(DATA) - 1, 777]], "nothing was trashed"


@pytest.mark.parametrize("link", [True, False], ids=["link", "no-link"])
async def test_a_lost_response_is_waited_for_as_long_as_a_fetch_may_take(opened: Open, link: bool) -> None:
    """The asset appears only when the file was fetched, long after the call was given up."""
    tenant, given, journal = opened(), Given(), MemoryJournal()
    serves(tenant, DATA)
    tenant.faults.add([{"match": UPLOAD, "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await given.created(tenant, journal)
    assert await journal.get(PULLED_AT) is not None
    made = await given.created(tenant, journal, link=link)
    assert living(tenant) == {made: [len(DATA)]}
    assert tenant.world.api_calls[UPLOAD] == (1 if link else 2)
    assert await journal.get(PULL) == LINK.file


@pytest.mark.parametrize("fault", ["status:400", "status:403"])
async def test_an_asset_that_cannot_be_looked_for_is_not_uploaded_again(opened: Open, fault: str) -> None:
    tenant, given, journal = opened(), Given(), MemoryJournal()
    serves(tenant, DATA)
    tenant.faults.add([{"match": UPLOAD, "nth": 1, "do": "reset_after"}, {"match": SEARCH, "do": fault}])
    for _ in range(3):
        with pytest.raises(DamSyncError):
            await given.created(tenant, journal)
    assert not given.sent
    assert len(living(tenant)) == 1


async def test_the_wait_ends_with_the_time_that_the_job_allows(opened: Open) -> None:
    tenant, given, journal = opened(), Given(), MemoryJournal()
    serves(tenant, DATA)
    tenant.faults.add([{"match": UPLOAD, "nth": 1, "do": "reset_before"}])
    with pytest.raises(DamSyncError):
        await given.created(tenant, journal)
    before = tenant.clock.monotonic()
    made = await given.created(tenant, journal, index_lag=5)
    assert living(tenant) == {made: [len(DATA)]}
    assert not given.sent
    waited = tenant.clock.monotonic() - before
    assert 60 <= waited + 1 <= facts.FETCH_SECONDS
