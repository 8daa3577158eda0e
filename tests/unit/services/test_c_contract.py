"""Service C: what its contract allows a client to send, and what a client has to survive, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.errors import DamSyncError, Denied, Disposition, NotFound
from dam_sync.model.service import Window
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Start, Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_c_clients import Recording
from tests.unit.services.test_c_service import draft, made

KIND = "c_brandlibrary"
LISTED = {"created_at", "updated_at", "cdn_url", "availability"}  # wire C 2.1: `fields` of a list of assets
SINGLE = LISTED | {"availability_start", "availability_end"}


class Whitelist(AlteredTransport):
    """Refuses fields that the table of reads does not have, as a strict server does (wire C 2, 2.1, 12.7)."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        found = re.fullmatch(r"/api/v4/(?:\w+/[^/]+/)?assets(/[^/]+)?", request.url.path)
        if request.method == "GET" and found:
            allowed = SINGLE if found[1] else LISTED
            if strange := set(filter(None, request.url.params.get("fields", "").split(","))) - allowed:
                self.refused.append(request.url.path)
                return httpx.Response(400, json={"errors": [{"status": "400", "detail": f"{sorted(strange)}"}]})
        return await super().handle_async_request(request)


@pytest.mark.parametrize("more", [{}, {"asset_type": "Color"}])
async def test_a_server_that_refuses_undocumented_fields_is_read_without_them(start: Start, more: Any) -> None:
    """`asset_data` is undocumented: its absence is tolerated (wire C 3.1)."""
    tenant = start([*SCHEMA, *(asset(number, versions=[]) for number in range(1, 4))], **more)
    tenant.transport = Whitelist()
    service = tenant.connect(read_only=True)
    found = await entries(service)
    assert {entry.id for entry in found} == set(tenant.truth())
    assert (await service.fetch(found[0].id)).id == found[0].id


async def test_changes_are_listed_with_documented_fields_alone(start: Start) -> None:
    """Payloads are requested for sections whose type is not GenericFile (wire C 3.1)."""
    tenant = start([*SCHEMA, asset(1), asset(2)])
    tenant.transport = asked = Fields()
    service = tenant.connect(read_only=True)
    since = datetime.now(UTC) - timedelta(days=4000)
    found = [
        entry.id
        async for shard in service.shards(Window(since))
        async for batch in service.crawl(shard, None)
        for entry in batch.entries
    ]
    assert set(found) == set(tenant.truth())
    assert "asset_data" not in asked.fields


class Fields(AlteredTransport):
    """Keeps the fields that were requested of assets."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: set[str] = set()

    def sent(self, request: httpx.Request) -> httpx.Request:
        self.fields.update(request.url.params.get("fields", "").split(","))
        return request


async def test_pages_follow_next_page_where_they_are_shorter_than_asked_for(start: Start) -> None:
    """`next_page` is preferred to what the total says (wire C 2); each asset is listed by one order alone."""
    tenant = start([*SCHEMA, *(asset(number) for number in range(1, 31))], variant="short_pages")
    tenant.transport = recorded = Orders()
    service = tenant.connect(read_only=True)
    found = [entry.id for entry in await entries(service)]
    assert sorted(found) == sorted(tenant.truth())
    assert "name" not in recorded.orders, "an order for what another one did not list"


class Storage(AlteredTransport):
    """A storage that refuses one step of resumable uploads, the first time or always."""

    def __init__(self, step: Callable[[httpx.Request], bool], status: int, times: int = 1) -> None:
        super().__init__()
        self.step, self.status, self.left = step, status, times

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.left and self.step(request):
            self.left -= 1
            return httpx.Response(self.status, text="<Error><Code>ExpiredToken</Code><Message>No</Message></Error>")
        return await super().handle_async_request(request)


def starts(request: httpx.Request) -> bool:
    return "x-goog-resumable" in request.headers


def sends(request: httpx.Request) -> bool:
    return "content-range" in request.headers


@pytest.mark.parametrize("step", [starts, sends])
@pytest.mark.parametrize("status", [400, 401, 403, 412])
async def test_a_storage_that_refuses_a_session_ends_the_session_and_not_the_run(
    start: Start, step: Callable[[httpx.Request], bool], status: int
) -> None:
    """A 4xx is fatal for the session, and says nothing about the key (wire C 6.1, 6.2)."""
    tenant = start([*SCHEMA, asset(1)])
    tenant.transport = Storage(step, status)
    service, journal = tenant.connect(options={"resumable_above": 100}), MemoryJournal()
    async with content(tenant, "large.jpg", size=700_000, seed="large") as (given, _):
        with pytest.raises(DamSyncError) as refused:
            await service.create(draft("large"), given, journal)
        assert refused.value.disposition is Disposition.RESTART
        identity = await service.create(draft("large"), given, journal)
    assert tenant.truth()[identity]["versions"][-1]["size"] == 700_000


class Relative(AlteredTransport):
    """Names the session by a path instead of a URL (RFC 9110, 10.2.2)."""

    def received(self, request: httpx.Request, response: httpx.Response) -> None:
        if starts(request):
            response.headers["location"] = httpx.URL(response.headers["location"]).raw_path.decode()


async def test_a_session_may_be_named_relative_to_the_storage(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    tenant.transport = Relative()
    service = tenant.connect(options={"resumable_above": 100})
    async with content(tenant, "large.jpg", size=700_000, seed="large") as (given, _):
        identity = await service.create(draft("large"), given, MemoryJournal())
    assert tenant.truth()[identity]["versions"][-1]["size"] == 700_000


async def test_a_change_that_opens_an_asset_keeps_its_new_name(start: Start) -> None:
    """Each change is sent with the name (wire C, last section): with the new one."""
    tenant = start([*SCHEMA, asset(1)])
    service = tenant.connect()
    await service.schema()
    identity = await made(tenant, service, draft("m-1", status="pending"))
    await service.fetch(identity)
    await service.update(identity, Patch(closed=False, fields={"name": "Other", "note": "n"}))
    assert tenant.truth()[identity]["status"] == "published"
    assert (await tenant.connect().fetch(identity)).fields["name"] == "Other"


async def test_the_name_is_sent_where_the_asset_was_just_read(start: Start) -> None:
    tenant = start([*SCHEMA, asset(1)])
    tenant.transport = recorded = Recording()
    service, identity = tenant.connect(), tenant.of_catalogue(1)
    before = await service.fetch(identity)
    await service.update(identity, Patch(fields={"description": "d"}))
    assert [change.get("name") for change in recorded.changes] == [before.fields["name"]]


class Uncounted(AlteredTransport):
    """Lists attachments of a library without the fields that were requested (wire C 11.36)."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if re.fullmatch(r"/api/v4/(libraries|sections)/[^/]+/attachments", request.url.path):
            for row in body["data"]:
                row["attributes"].pop("version_count", None)
        return body


async def test_versions_are_counted_one_by_one_where_a_list_does_not_count_them(start: Start) -> None:
    files = [{"name": "one.jpg", "generate": {"size": 10, "seed": n}} for n in range(2)]
    tenant = start([*SCHEMA, asset(1, versions=files), asset(2)])
    tenant.transport = Uncounted()
    found = {entry.id: entry.asset for entry in await entries(tenant.connect(read_only=True))}
    several = found[AssetId(tenant.of_catalogue(1))]
    assert several is not None
    assert [loss.detail for loss in several.losses] == ["1 older"]


class Orders(AlteredTransport):
    """Keeps lists of assets that were requested in no order."""

    def __init__(self) -> None:
        super().__init__()
        self.without: list[str] = []
        self.orders: set[str] = set()

    def sent(self, request: httpx.Request) -> httpx.Request:
        asked = request.url.params
        self.orders.add(asked.get("sort_by", ""))
        listed = re.fullmatch(r"/api/v4/\w+/[^/]+/assets", request.url.path)
        if request.method == "GET" and listed and not ("sort_by" in asked and "order" in asked):
            self.without.append(str(request.url))
        return request


async def test_every_list_of_assets_has_an_order(tenant: Tenant) -> None:
    """The default order is not shown: both parameters are always sent (wire C 2.2)."""
    tenant.transport = recorded = Orders()
    service = tenant.connect(read_only=True)
    await entries(service)
    await service.counts(["title"])
    assert not recorded.without


async def test_an_invalid_key_does_not_make_an_asset_missing(tenant: Tenant) -> None:
    """403 to an id means that it was deleted, or that the key is not valid any more (wire C 1, 2.3)."""
    identity = tenant.of_catalogue(2)
    with pytest.raises(Denied):
        await tenant.connect(tenant.wired.denied, read_only=True).fetch(identity)
    await tenant.connect().remove(identity)
    with pytest.raises(NotFound):
        await tenant.connect(read_only=True).fetch(identity)


class OtherTypes(AlteredTransport):
    """Spells the types of assets its own way."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if re.fullmatch(r"/api/v4/(?:\w+/[^/]+/)?assets(/[^/]+)?", request.url.path) and isinstance(body, dict):
            rows = body["data"] if isinstance(body["data"], list) else [body["data"]]
            for row in rows:
                row["type"] = "assets"
        return body


async def test_an_asset_of_an_unknown_type_that_has_files_is_a_file(start: Start) -> None:
    """Nothing is decided by an unknown type (wire C 3.1)."""
    tenant = start([*SCHEMA, asset(1), asset(2)])
    tenant.transport = OtherTypes()
    service = tenant.connect(read_only=True)
    found = await entries(service)
    assert [entry.asset.losses for entry in found if entry.asset] == [(), ()]
    assert not (await service.fetch(found[0].id)).losses
    assert service.calls["GET /api/v4/assets/{id}"] == 1


async def test_assets_on_later_pages_are_seen_where_pages_are_short(start: Start) -> None:
    """`next_page` says that there is more (wire C 2): none of them is requested by its id."""
    tenant = start([*SCHEMA, *(asset(number) for number in range(1, 31))], variant="short_pages")
    service = tenant.connect()
    ids = [AssetId(identity) for identity in tenant.truth()]
    assert not await service.missing(ids, datetime.now(UTC) - timedelta(days=9000))
    assert not service.calls.get("GET /api/v4/assets/{id}")
