"""Every number of the contract's table of limits (wire D 8), as the emulated tenant keeps it and the adapter heeds it.

How long calls take is tested with the emulator's access, and a webhook's later tries with its schema.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dam_sync.emulators.d_templates import deliveries, webhooks
from dam_sync.emulators.d_templates.options import Options
from dam_sync.model.asset import Draft, Marker, Rights
from dam_sync.model.errors import InvalidValue, Rejected
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.service import TemplatesService
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Tenant, started
from tests.support.services.emulated_d import Api, library, schema_rows, served
from tests.support.state.memory_journal import MemoryJournal

PART = 104_857_600


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with served(library(101)) as made:
        yield made


@pytest.fixture
async def tenant(tmp_path: Path) -> AsyncIterator[Tenant]:
    groups = [{"record": "group", "name": f"G {n}"} for n in range(51)]
    one = started("d_templates", [*SCHEMA, *groups], tmp_path, rate=None)
    yield one
    await one.disconnect()
    one.served.stop()


def test_tokens_live_an_hour_and_thirty_days() -> None:
    with served(schema_rows()) as api:
        api.world.advance(3600 - 1)
        api.get("/user")
        api.world.advance(2)
        assert api.refused("GET", "/user")[0] == 401


@pytest.mark.parametrize("path", ["/search/keyword", "/search", "/search/collection"])
def test_a_search_reaches_10_000_rows_by_pages_of_100(api: Api, path: str) -> None:
    body = {"searchTerm": ["*"]}
    last = facts.SEARCH_REACH - facts.SEARCH_PAGE
    api.post(path, {**body, "from": last, "limit": facts.SEARCH_PAGE})
    assert api.refused("POST", path, {**body, "from": last + 1, "limit": facts.SEARCH_PAGE})[0] == 400
    assert api.refused("POST", path, {**body, "limit": 101})[0] == 400


def test_the_slim_search_takes_50_in_one_reading() -> None:
    with served(library(60), variant="slim_50") as api:
        assert api.post("/search", {"searchTerm": ["*"], "limit": 50})["hitCount"] == 50
        assert api.refused("POST", "/search", {"searchTerm": ["*"], "limit": 51})[0] == 400


def test_a_page_has_50_rows_and_at_most_100(api: Api) -> None:
    body = {"searchTerm": ["*"], "operation": "AND"}
    assert api.post("/asset/scan", body)["hitCount"] == 50
    assert api.scan(limit=facts.PAGE)["hitCount"] == facts.PAGE == 100
    for wrong in (0, 101):
        assert api.refused("POST", "/asset/scan", {**body, "limit": wrong})[0] == 400
    assert api.post("/search/keyword", {})["hitCount"] == 50


def test_a_list_of_the_administration_has_100_rows(api: Api) -> None:
    api.get("/users", limit=100)
    assert api.refused("GET", "/users?limit=101")[0] == 400


def test_parts_have_100_mib_from_5_mb_on(api: Api) -> None:
    with served(schema_rows(), variant="least_multipart") as strict:
        assert strict.refused("POST", "/asset", strict.body("a.mov", filesize=4_999_999))[0] == 403
    for size, parts in ((5_000_000, 1), (PART, 1), (PART + 1, 2), (10 * PART, 10)):
        assert len(api.made("a.mov", filesize=size)["urls"]) == parts
        assert len(facts.BOUNDS.split(size)) == parts
    assert facts.PART_BYTES == facts.SINGLE_BYTES == PART


def test_a_file_has_at_most_10_000_parts(api: Api) -> None:
    most = facts.MOST_PARTS * PART
    assert api.refused("POST", "/asset", api.body("a.mov", filesize=most + 1))[0] == 403
    assert len(facts.BOUNDS.split(most)) == facts.MOST_PARTS
    with pytest.raises(ValueError, match="do not fit"):
        facts.BOUNDS.split(most + 1)


def test_one_put_takes_5_gb() -> None:
    assert Options().put_most == 5 << 30
    assert Options().put_most > facts.SINGLE_BYTES
    with served(schema_rows(), put_most=10) as api:
        assert api.put(api.made()["url"], bytes(11)).status_code == 400
        assert api.put(api.made()["url"], bytes(10)).status_code == 200


def test_upload_links_live_a_day_and_download_links_20_seconds() -> None:
    with served(library(1)) as api:
        upload = api.made()["url"]
        link = api.get(f"/asset/{api.named('photo-1.jpg')['objectId']}/content")["presignedURL"]
        for url, seconds in ((upload, 86_400), (link, 20)):
            assert parse_qs(urlsplit(url).query)["X-Amz-Expires"] == [str(seconds)]
        api.world.advance(21)
        assert api.bare.get(link).status_code == 403
        assert api.put(upload, b"x").status_code == 200
        api.world.advance(86_400)
        assert api.put(upload, b"x").status_code == 403
    assert timedelta(seconds=20) == facts.LINK_LIFE
    assert timedelta(seconds=86_400) > facts.UPLOAD_LIFE


class SmallCollections(TemplatesService):
    """Takes collections of two."""

    collection_most = 2


@pytest.mark.parametrize("variant", ["", "older"])
async def test_a_collection_has_at_most_4999_members(tmp_path: Path, variant: str) -> None:
    """The service refuses what is too much; where the whole list is written, it is refused before."""
    assert Options().members == facts.COLLECTION_MOST == 4_999
    tenant = started("d_templates", [*SCHEMA, *(asset(n) for n in (1, 2, 3))], tmp_path, members=2, variant=variant)
    try:
        tenant.service = SmallCollections
        service = tenant.connect()
        collection = await service.ensure_container("collection", ("Full",))
        every = [tenant.of_catalogue(number) for number in (1, 2, 3)]
        with pytest.raises(Rejected):
            await service.place(collection, every, [])
        await service.place(collection, every[:2], [])
        held = [place["path"] for row in tenant.truth().values() for place in row["placements"]]
        assert held.count(["Full"]) == 2
    finally:
        await tenant.disconnect()
        tenant.served.stop()


async def test_the_name_of_a_collection_has_1_to_200_characters(tenant: Tenant) -> None:
    service = tenant.connect()
    made = await service.ensure_container("collection", ("x" * facts.COLLECTION_LETTERS,))
    assert len(made.path[0]) == facts.COLLECTION_LETTERS == 200
    for wrong in ("x" * 201, ""):
        with pytest.raises(InvalidValue):
            await service.ensure_container("collection", (wrong,))
    assert "400" not in tenant.world.refused


async def test_an_asset_has_1_to_50_security_templates(tenant: Tenant, api: Api) -> None:
    assert api.refused("POST", "/asset", {**api.body(), "securityTemplateIds": [api.security()] * 51})[0] == 403
    service = tenant.connect()
    many = Rights(groups=frozenset(f"G {n}" for n in range(facts.SECURITY_MOST + 1)))
    draft = Draft(Marker("srckey", "m"), "m.jpg", "Photo", fields={"title": "T", "srckey": "m"}, rights=many)
    with pytest.raises(InvalidValue):
        await service.create(draft, None, MemoryJournal())
    assert "POST /v1/asset" not in tenant.world.api_calls
    few = Rights(groups=frozenset(sorted(many.groups)[:50]))
    made = await service.create(
        Draft(draft.marker, "m.jpg", "Photo", fields=draft.fields, rights=few), None, MemoryJournal()
    )
    assert len(tenant.truth()[made]["rights"]["groups"]) == facts.SECURITY_MOST == 50


def test_50_groups_are_made_at_once(api: Api) -> None:
    names = [f"group {n}" for n in range(51)]
    assert api.refused("POST", "/security/user-groups/bulk", {"groupNames": names})[0] == 400
    assert len(api.post("/security/user-groups/bulk", {"groupNames": names[:50]})) == 50


def test_a_text_box_has_250_characters_and_an_area_10_000(api: Api) -> None:
    for slug, most in (("title", facts.TEXT_LETTERS), ("notes", facts.LONG_LETTERS)):
        assert api.attributes()[slug]["length"] == most
        entry = api.entry(slug, "x" * (most + 1))
        assert api.refused("POST", "/asset", api.body("a.jpg", entry))[0] in (400, 403)
        api.made("a.jpg", api.entry(slug, "x" * most))


async def test_the_schema_says_how_long_a_text_may_be(tenant: Tenant) -> None:
    schema = await tenant.connect().schema()
    assert schema.fields["note"].max_length == facts.TEXT_LETTERS
    assert schema.fields["legend"].max_length == facts.LONG_LETTERS


@pytest.mark.parametrize(("letters", "good"), [(4, False), (5, True), (100, True), (101, False)])
def test_endpoints_come_by_50_with_5_to_100_characters(api: Api, letters: int, good: bool) -> None:
    row: dict[str, Any] = {"eventTypes": ["asset.created"], "url": "https://hook.test/d", "description": "d" * letters}
    assert (api.http.post("/webhooks/endpoint", json=[row] * 50).status_code == 200) == good
    assert api.refused("POST", "/webhooks/endpoint", [row] * 51)[0] == 400


def test_a_receiver_has_30_seconds_and_a_message_27_hours() -> None:
    assert deliveries.ACK_SECONDS == 30
    assert 27 * 3600 <= sum(webhooks.RETRIES) <= 28 * 3600


async def test_a_lower_rate_that_responses_announce_is_respected(tmp_path: Path) -> None:
    kept = {}
    for announced in (60_000, 600, 0, 11):
        one = started("d_templates", SCHEMA, tmp_path / str(announced), rate=None, announced=announced)
        try:
            service = one.connect()
            await service.probe()
            kept[announced] = service.measured_pace.pace.per_second
        finally:
            await one.disconnect()
            one.served.stop()
    assert kept == {60_000: facts.RATE, 600: 10.0, 0: facts.RATE, 11: facts.RATE}
    assert (facts.LIMITS.pace.per_second, facts.LIMITS.pace.careful) == (None, facts.RATE)
    with served(schema_rows()) as api:
        refused = api.bare.get(f"{api.served.url}/v1/user")
        assert refused.status_code == 401 or refused.status_code == 403
        assert (refused.headers["x-ratelimit-limit"], refused.headers["x-ratelimit-reset"]) == ("60000", "60")
