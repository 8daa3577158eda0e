"""Service E as a target of new assets and versions, against its emulator over sockets."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dam_sync.model.asset import FileRef, Marker, Patch, Rights
from dam_sync.model.errors import Conflict, Rejected, TooLarge, Transient
from dam_sync.model.estimator import Estimator
from tests.support.services.connected_e import START, Open, asset, created, draft, serving
from tests.support.services.connections import Bytes, body, entries
from tests.support.state.memory_journal import Crash, MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_an_asset_is_created_with_everything(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    release, expiry = datetime(2020, 5, 1, tzinfo=UTC), datetime(2040, 5, 1, tzinfo=UTC)
    wanted = draft(rights=Rights(release, expiry, frozenset({"staff"})), tags=frozenset({"sea", "été"}))
    made = await created(service, wanted)
    found = await service.fetch(made)
    assert (found.filename, found.type) == ("new.jpg", "Photo")
    assert found.fields["srckey"] == "m-1"
    assert found.fields["shotDate"] == date(2022, 6, 19)
    assert [term.label for term in found.fields["colors"]] == ["Red", "Blue"]  # type: ignore[union-attr]
    assert found.rights == wanted.rights
    assert found.tags == wanted.tags
    assert found.file is not None
    assert await body(service, found.file) == b"abc" * 100
    assert tenant.truth()[made]["versions"][0]["digests"]["md5"] == hashlib.md5(b"abc" * 100).hexdigest()


@pytest.mark.parametrize(
    ("more", "size"),
    [
        ({}, 10),
        ({"tags": frozenset({"a"})}, 10),
        ({"rights": Rights(groups=frozenset({"public"}))}, 10),
        ({"rights": Rights(groups=frozenset({"staff"})), "tags": frozenset({"a"})}, 10),
        ({"tags": frozenset({"a"})}, 21_000_000),
    ],
)
async def test_a_create_costs_what_was_estimated(opened: Open, more: dict[str, Any], size: int) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    wanted = draft(**more)
    before, told = Counter(service.calls), Counter(Estimator(service).write(wanted, size))
    with tenant.costs() as spent:
        await created(service, wanted, bytes(size))
    assert Counter(service.calls) - before == told
    assert spent.total() == told.total()


@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
async def test_a_create_whose_response_was_lost_is_found_again(opened: Open, fault: str) -> None:
    tenant = opened(lag=20.0)
    service = tenant.connect()
    tenant.faults.add([{"match": "POST /v2/uploads", "nth": 1, "do": fault}])
    journal = MemoryJournal()
    with pytest.raises(Transient):
        await service.create(draft(), Bytes("new.jpg", b"1"), journal)
    made = await service.create(draft(), Bytes("new.jpg", b"1"), journal)
    assert list(tenant.truth()) == [made]
    assert len(tenant.truth()[made]["versions"]) == 1


async def test_no_crash_point_doubles_an_asset(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    for blow_at in range(1, 40):
        wanted = draft(f"m-{blow_at}", f"new {blow_at}.jpg", tags=frozenset({"a"}))
        journal = MemoryJournal(blow_at)
        try:
            await service.create(wanted, Bytes(wanted.filename, b"1"), journal)
            break
        except Crash:
            journal.blow_at = None
            made = await service.create(wanted, Bytes(wanted.filename, b"1"), journal)
        assert tenant.truth()[made]["tags"] == ["a"]
        assert len(tenant.truth()) == blow_at
        assert len(tenant.truth()[made]["versions"]) == 1
    else:
        raise AssertionError("no end of crash points")
    assert blow_at > 6


async def test_a_marker_is_found_once_the_index_knows_it(opened: Open) -> None:
    tenant = opened(lag=50.0)
    service = tenant.connect()
    made = await created(service, draft())
    assert await service.find(Marker("srckey", "m-1")) == made
    began = tenant.clock.monotonic()
    assert await service.find(Marker("srckey", "m-2")) is None
    assert tenant.clock.monotonic() - began >= 120


async def test_an_asset_in_the_trash_is_not_the_one_that_a_create_made(opened: Open) -> None:
    tenant = opened(lag=50.0)
    service = tenant.connect()
    old = await created(service, draft())
    await service.remove(old)
    tenant.world.advance(60)
    tenant.faults.add([{"match": "POST /v2/uploads", "nth": 1, "do": "reset_before"}])
    journal = MemoryJournal()
    with pytest.raises(Transient):
        await service.create(draft(filename="again.jpg"), Bytes("again.jpg", b"1"), journal)
    began = tenant.clock.monotonic()
    made = await service.create(draft(filename="again.jpg"), Bytes("again.jpg", b"1"), journal)
    assert tenant.clock.monotonic() - began >= 120
    assert made != old
    assert len(tenant.truth()) == 2
    assert await service.find(Marker("srckey", "m-1")) == made


async def test_a_large_file_goes_in_chunks_and_resumes(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    data = bytes(range(256)) * 160_000  # three chunks
    tenant.faults.add([{"match": "POST /v2/uploads/chunks/upload", "nth": 3, "do": "status:500", "times": 1}])
    journal = MemoryJournal(blow_at=5)
    with pytest.raises((Crash, BaseExceptionGroup)):
        await service.create(draft(), Bytes("new.jpg", data), journal)
    journal.blow_at = None
    content = Bytes("new.jpg", data)
    made = await service.create(draft(), content, journal)
    assert content.checked
    assert tenant.world.api_calls["POST /v2/uploads/chunks/start"] <= 2
    assert tenant.truth()[made]["versions"][0]["digests"]["md5"] == hashlib.md5(data).hexdigest()
    assert len(tenant.truth()) == 1


@pytest.mark.parametrize("status", [400, 402, 403, 404, 405, 409, 410, 422, 451, 501])
async def test_without_chunks_a_large_file_goes_as_a_form(opened: Open, status: int) -> None:
    """The status that refuses chunks to an account without them is not shown (spec 002, Errors, Service E)."""
    tenant = opened()
    tenant.faults.add([{"match": "POST /v2/uploads/chunks/start", "do": f"status:{status}"}])
    service = tenant.connect()
    data = bytes(20_000_001)
    content = Bytes("new.jpg", data)
    made = await service.create(draft(), content, MemoryJournal())
    assert content.checked
    assert tenant.truth()[made]["versions"][0]["size"] == len(data)
    off = tenant.connect(chunked=False)
    assert off.limits.parts is None
    await off.schema()
    assert Estimator(off).write(draft(), 30_000_000) == {"POST /v2/uploads": 1, "GET /v2/assets/{id}": 1}


BOTH = {"record": "profile", "name": "both", "type": "Photo", "groups": ["public"]}


@pytest.mark.parametrize("policy", ["file_only", "file_and_information"])
async def test_an_asset_of_others_is_not_taken_for_the_one_that_was_created(opened: Open, policy: str) -> None:
    """Somebody took the file name after names were listed, or the user cannot see the asset (wire E 6.7, 13)."""
    tenant = opened({**BOTH, "version_policy": policy}, asset(1))
    service = tenant.connect(version_policy=policy)
    (theirs,) = tenant.truth()
    before, journal = tenant.truth()[theirs], MemoryJournal()
    taken = draft(
        filename="Photo 1.JPG", profile="both", tags=frozenset({"ours"}), rights=Rights(groups=frozenset({"staff"}))
    )
    with pytest.raises(Conflict) as refused:
        await service.create(taken, Bytes("Photo 1.JPG", b"ours"), journal)
    assert refused.value.code == "name taken"
    after = tenant.truth()[theirs]
    assert (after["tags"], after["rights"]) == (before["tags"], before["rights"])
    assert await service.find_partial(Marker("srckey", "m-1"), journal) is None, "though it may have our marker now"
    with pytest.raises(Conflict):
        await service.create(taken, Bytes("Photo 1.JPG", b"ours"), journal)
    made = await service.create(replace(taken, filename="other.jpg"), Bytes("other.jpg", b"ours"), journal)
    assert (made != theirs, tenant.truth()[made]["tags"]) == (True, ["ours"])
    assert len(tenant.truth()[theirs]["versions"]) == 2, "no call takes the first one away, and no second one came"


class Promised(Bytes):
    """A file too large to be held; nobody may read it."""

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, b"")
        self.promised = size

    @property
    def size(self) -> int:
        return self.promised

    async def check(self) -> None:
        raise AssertionError("read though it cannot be sent")


@pytest.mark.parametrize(("variant", "size"), [("no_chunks", 5_000_000_001), ("", 500_000_000_001)])
async def test_a_file_that_no_call_takes_is_not_begun(opened: Open, variant: str, size: int) -> None:
    tenant = opened(variant=variant)
    with pytest.raises(TooLarge, match="has 5"):
        await tenant.connect().create(draft(), Promised("new.jpg", size), MemoryJournal())
    assert not tenant.world.api_calls["POST /v2/uploads"]
    assert not tenant.world.api_calls["POST /v2/uploads/chunks/upload"]


async def test_an_upload_under_the_same_name_is_a_version(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    made = await created(service, draft(tags=frozenset({"a"})))
    for number, data in enumerate((b"second", b"third")):
        tenant.world.advance(3600)
        tenant.clock.ahead += 3600
        before = Counter(service.calls)
        await service.replace(made, Bytes("new.jpg", data), MemoryJournal())
        assert Counter(service.calls) - before == Counter(Estimator(service).write(FileRef("", "new.jpg", 6), 6))
        assert len(tenant.truth()[made]["versions"]) == number + 2
    found = await service.fetch(made)
    assert [await body(service, file) for file in found.versions] == [b"abc" * 100, b"second", b"third"]
    assert found.fields["srckey"] == "m-1"
    assert found.tags == {"a"}


async def test_a_version_that_is_taken_up_later_is_waited_for(opened: Open) -> None:
    """Else a run would end while the asset still shows the old file."""
    tenant = opened(variant="late_versions", processing=20.0)
    service = tenant.connect()
    made = await created(service, draft(), b"first")
    for number, data in enumerate((b"second", b"third"), 2):
        await service.replace(made, Bytes("new.jpg", data), MemoryJournal())
        assert len(tenant.truth()[made]["versions"]) == number


async def test_a_version_that_is_never_taken_up_is_reported_and_not_sent_again(opened: Open) -> None:
    tenant = opened(variant="late_versions", processing=300.0)
    service, journal = tenant.connect(), MemoryJournal()
    made = await created(service, draft(), b"first")
    tenant.world.advance(400)
    began = tenant.clock.monotonic()
    with pytest.raises(Rejected, match="not visible 120 seconds") as refused:
        await service.replace(made, Bytes("new.jpg", b"second"), journal)
    assert 120 <= tenant.clock.monotonic() - began < 200
    assert "conflicted uploads" in refused.value.hint
    with pytest.raises(Rejected):
        await service.replace(made, Bytes("new.jpg", b"second"), journal)
    assert tenant.world.api_calls["POST /v2/uploads"] == 2


async def test_versions_right_after_the_create_keep_their_order(opened: Open) -> None:
    tenant = opened(lag=3.0)
    service = tenant.connect()
    made = await created(service, draft(), b"first")
    for data in (b"second", b"third"):
        await service.replace(made, Bytes("new.jpg", data), MemoryJournal())
    tenant.world.advance(60)
    found = await service.fetch(made)
    assert [await body(service, file) for file in found.versions] == [b"first", b"second", b"third"]


@pytest.mark.parametrize("fault", ["reset_before", "reset_after"])
async def test_a_version_whose_response_was_lost_is_not_doubled(opened: Open, fault: str) -> None:
    tenant = opened()
    service = tenant.connect()
    made = await created(service, draft())
    tenant.faults.add([{"match": "POST /v2/uploads", "nth": 1, "do": fault}])
    journal = MemoryJournal()
    with pytest.raises(Transient):
        await service.replace(made, Bytes("new.jpg", b"second"), journal)
    await service.replace(made, Bytes("new.jpg", b"second"), journal)
    assert len(tenant.truth()[made]["versions"]) == 2
    assert len(tenant.truth()) == 1


async def test_a_profile_that_makes_no_versions_is_found_out(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect(upload_profile={"Logo": "logos"})
    made = await created(service, draft(profile="logos"))
    with pytest.raises(Conflict, match="instead of a version"):
        await service.replace(made, Bytes("new.jpg", b"second"), MemoryJournal())


READINGS = ("", "second", "window", "binary", "small_forms", "subtree", "exclusive", "patch_empties", "empty_required",
            "strict_names", "ignore_unknown", "void_json", "no_chunks", "older")  # fmt: skip


@pytest.mark.parametrize("variant", READINGS)
async def test_every_reading_of_the_contract_is_lived_with(opened: Open, variant: str) -> None:
    press = {"kind": "category", "path": ["Press"], "id": ""}
    deep = {"kind": "category", "path": ["Press", "A/B"], "id": ""}
    inside = [asset(n, START + timedelta(seconds=n // 40), placements=[deep]) for n in range(90)]
    outside = [asset(n, START + timedelta(seconds=n // 40), placements=[press]) for n in range(90, 240)]
    tenant = opened(*inside, *outside, variant=variant)
    source = tenant.connect(read_only=True)
    assert {entry.id for entry in await entries(source)} == set(tenant.truth())
    sizes: Counter[str] = Counter()
    async for membership in source.members():
        sizes[membership.placement.text] += len(membership.assets) * (not membership.unsure)
    assert sizes == {"/Press": 150, "/Press/A\\/B": 90}
    target = tenant.connect()
    await target.schema()
    data = bytes(20_000_001)
    made = await created(target, draft(tags=frozenset({"a"})), data)
    await target.update(
        made, Patch(fields={"title": "Other", "legend": None}, rights=Rights(groups=frozenset({"staff"})))
    )
    await target.replace(made, Bytes("new.jpg", b"second"), MemoryJournal())
    found = await target.fetch(made)
    assert [await body(target, file) for file in found.versions] == [data, b"second"]
    assert (found.fields["title"], found.fields["shotDate"]) == ("Other", date(2022, 6, 19))
    assert found.rights.groups == {"staff"}
    assert tenant.truth()[made]["tags"] == ["a"]
