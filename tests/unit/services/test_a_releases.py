"""What a release of service A does not have yet is done another way, or refused in plain words."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping

import pytest

from dam_sync.model.asset import AssetId, FileRef, Patch
from dam_sync.model.errors import TooLarge
from dam_sync.model.estimator import Estimator
from dam_sync.model.values import Localized
from dam_sync.services.a_hypermedia.api.connection import EntryPoints
from tests.support.services.connected_a import Open, asset, draft_for, serving
from tests.support.services.connections import Bytes, body, entries
from tests.support.state.memory_journal import MemoryJournal

ONE_REQUEST = 50_000_000
OLDEST = "4.0.0"


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def plain(counted: Mapping[str, int]) -> Counter[str]:
    """Calls by road, the slots of their paths made alike."""
    found: Counter[str] = Counter()
    for name, number in counted.items():
        found["/".join("{}" if part.startswith("{") else part for part in name.split("/"))] += number
    return +found


@pytest.mark.parametrize("release", [OLDEST, "4.15.9", "4.19.9", "4.27.9", "4.30.9", "4.74.9", "4.123.9", "4.124.0"])
async def test_every_release_is_read_and_written_without_a_refusal(opened: Open, release: str) -> None:
    tenant = opened(*(asset(n) for n in range(1, 4)), release=release)
    source = tenant.connect(read_only=True)
    account = await source.probe()
    assert account.release == release
    schema = await source.schema()
    assert {"title", "legacy_id", "subject"} <= schema.fields.keys()
    assert {entry.id for entry in await entries(source)} == set(tenant.truth())
    for identity in tenant.truth():
        found = await source.fetch(AssetId(identity))
        assert found.file is not None
        assert len(await body(source, found.file)) == found.file.size
    target = tenant.connect()
    await target.probe()
    draft = await draft_for(target, rating=3, cleared=True, keywords=("a", "b"), legend=Localized({"en": "Far"}))
    told = Estimator(target).write(draft, 500)
    with tenant.costs() as spent:
        made = await target.create(draft, Bytes("new.jpg", b"x" * 500), MemoryJournal())
    assert plain(spent) == plain(told)
    await target.update(made, Patch(fields={"keywords": ("b",), "rating": None, "legend": Localized({"fr": "Loin"})}))
    fields = (await target.fetch(made)).fields
    assert fields["keywords"] == ("b",)
    assert "rating" not in fields
    assert fields["legend"] == Localized({"fr": "Loin"})
    assert not tenant.world.refused


@pytest.mark.parametrize("size", [20_000_001, ONE_REQUEST])
@pytest.mark.parametrize("variant", ["", "second"])
async def test_without_chunks_a_file_goes_in_one_request(opened: Open, size: int, variant: str) -> None:
    tenant = opened(release="4.30.9", variant=variant)
    service = tenant.connect()
    await service.probe()
    draft = await draft_for(service)
    told = Estimator(service).write(draft, size)
    with tenant.costs() as spent:
        made = await service.create(draft, Bytes("film.jpg", bytes(size)), MemoryJournal())
    assert plain(spent) == plain(told)
    assert spent["POST /api/dam/files"] == 1
    assert tenant.truth()[made]["versions"][0]["size"] == size


async def test_what_fits_into_no_request_is_refused_before_the_first_call(opened: Open) -> None:
    tenant = opened(asset(1), release="4.30.9")
    service = tenant.connect()
    account = await service.probe()
    assert any("4.31.0" in note for note in account.notes)
    limits = service.limits
    assert (limits.parts, limits.single_bytes, limits.largest_bytes) == (None, ONE_REQUEST, ONE_REQUEST)
    draft, large = await draft_for(service), Bytes("film.jpg", bytes(ONE_REQUEST + 1))
    assert not Estimator(service).write(draft, large.size)
    assert not Estimator(service).write(FileRef("", "film.jpg", large.size), large.size)
    with tenant.costs() as spent, pytest.raises(TooLarge) as refused:
        await service.create(draft, large, MemoryJournal())
    assert not spent
    assert "4.31.0" in refused.value.hint
    with tenant.costs() as spent, pytest.raises(TooLarge):
        await service.replace(AssetId(next(iter(tenant.truth()))), large, MemoryJournal())
    assert not spent


def test_a_release_that_nobody_can_read_is_taken_for_the_newest() -> None:
    assert EntryPoints(()).has((4, 124, 0))
    assert EntryPoints((4, 31, 0)).has((4, 31, 0))
    assert not EntryPoints((4, 9, 9)).has((4, 16, 0))  # numbers, not characters
