"""Every number of the contract's table of limits (wire E 8), as the emulated tenant keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from dam_sync.emulators.e_profiles import emulator, uploads
from dam_sync.emulators.e_profiles.options import Options
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import Served, serve_in_thread
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts
from tests.support.services.connected_e import SCHEMA, TOKEN, asset, consent, field

DAY = 86_400
Open = Callable[..., "Raw"]


class Raw:
    """A served tenant and a plain client with its token."""

    def __init__(self, served: Served) -> None:
        self.served, self.world = served, served.app.world
        headers = {"Authorization": f"Bearer {TOKEN['token']}"}
        self.http = httpx.Client(base_url=served.url, headers=headers, timeout=60, trust_env=False, verify=False)

    def status(self, path: str, **params: Json) -> int:
        return self.http.get(path, params=params).status_code

    def json(self, path: str, **params: Json) -> Any:
        answer = self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def opened() -> Iterator[Open]:
    made: list[Raw] = []

    def start(*records: Json, **options: Json) -> Raw:
        world = Environment(seed=7)
        app = emulator(world, Faults(), ObjectStore(world), {"lag": 0.0, "rate": None, **options})
        app.state.load(catalogue_of([*SCHEMA, *records]), None)
        made.append(Raw(serve_in_thread(lambda: app)))
        return made[-1]

    yield start
    for raw in made:
        raw.http.close()
        raw.served.stop()


def test_50_calls_a_second_over_v1_and_v2(opened: Open) -> None:
    assert Options().rate == facts.RATE == 50
    raw = opened(rate=50)
    statuses = [raw.status("/v2/user" if number % 2 else "/api/rest/assetgroups") for number in range(60)]
    assert statuses[:50] == [200] * 50
    assert 429 in statuses
    refused = next(answer for _ in range(60) if (answer := raw.http.get("/v2/user")).status_code == 429)
    assert refused.headers["x-ratelimit-limit"] == "50/second"
    assert refused.headers["x-ratelimit-reset"].endswith("Z")
    raw.world.advance(1.1)
    assert raw.status("/v2/user") == 200


def test_the_monthly_allowance_is_counted_and_never_refused(opened: Open) -> None:
    raw = opened()
    for _ in range(5):
        raw.status("/v2/user")
    assert [raw.json("/v2/usage/api")["request_count"] for _ in range(2)] == [5, 5]


def test_a_search_has_at_most_100_rows_and_reaches_10_000(opened: Open) -> None:
    raw = opened(*(asset(number) for number in range(1, 121)))
    path = "/v2/assets/search"
    assert len(raw.json(path)["items"]) == 10
    assert len(raw.json(path, limit=facts.PAGE)["items"]) == 100
    assert len(raw.json(path, scroll="true")["items"]) == 100
    assert [raw.status(path, limit=limit) for limit in (0, 101)] == [400, 400]
    assert [raw.status(path, limit=100, offset=offset) for offset in (10_000, 10_001)] == [200, 400]


def test_collections_have_at_most_100_rows_and_reach_9_999(opened: Open) -> None:
    raw = opened()
    path = "/v2/collections"
    assert [raw.status(path, type="global", limit=limit) for limit in (0, 100, 101)] == [400, 200, 400]
    assert [raw.status(path, type="global", offset=offset) for offset in (9_999, 10_000)] == [200, 400]
    assert facts.COLLECTION_REACH == 9_999


def test_fields_have_at_most_100_rows(opened: Open) -> None:
    raw = opened(*(field(f"extra{number:03d}", "text") for number in range(120)))
    path = "/v2/metadata/fields/viewable"
    assert len(raw.json(path, limit=100)["fields"]) == 100
    assert raw.status(path, limit=101) == 400


def test_webhooks_are_listed_by_10_and_sign_with_256_characters(opened: Open) -> None:
    raw = opened()
    path = "/v2/webhooks/configurations"
    body = {"delivery_url": "http://127.0.0.1:9/", "event_type": "asset_created"}
    statuses = [raw.http.post(path, json={**body, "secret_key": "x" * n}).status_code for n in (256, 257)]
    assert statuses == [201, 400]
    for _ in range(11):
        assert raw.http.post(path, json=body).is_success
    assert len(raw.json(path)["items"]) == 10
    assert [raw.status(path, limit=limit) for limit in (10, 11)] == [200, 400]


def test_a_facet_has_at_most_25_values(opened: Open) -> None:
    words = [
        {"record": "term", "vocabulary": "country", "id": f"x{number}", "labels": {"en": f"Land {number}"}}
        for number in range(40)
    ]
    fields = [{"title": "T", "country": {"id": f"x{number}", "label": f"Land {number}"}} for number in range(40)]
    raw = opened(*words, *(asset(number, fields=fields[number]) for number in range(40)))
    facets = raw.json("/v2/assets/search", facet="metadata", limit=1)["facets"]["metadata"]
    country = next(facet for facet in facets if facet["display_key"] == "country")
    assert len(country["values"]) == 25


def test_a_scroll_lives_as_long_as_it_says(opened: Open) -> None:
    raw = opened(*(asset(number) for number in range(1, 12)), scroll_timeout=60)
    path = "/v2/assets/search"
    opening = raw.json(path, scroll="true", limit=5)
    alive = float(opening["scroll_timeout"]) / 1000
    assert alive == 60
    raw.world.advance(alive - 1)
    again = raw.json(f"{path}/scroll", scroll_id=opening["scroll_id"])
    raw.world.advance(alive + 1)
    assert raw.status(f"{path}/scroll", scroll_id=again["scroll_id"]) == 404


# -- uploads -----------------------------------------------------------------------------------------------------------


def begin(raw: Raw) -> str:
    return str(raw.http.post("/v2/uploads/chunks/start").json()["session_id"])


def chunk(raw: Raw, session: str, number: int, size: int) -> httpx.Response:
    data = {"session_id": session, "chunk_number": str(number)}
    return raw.http.post("/v2/uploads/chunks/upload", data=data, files={"file": ("c", bytes(size))})


def complete(raw: Raw, session: str, sizes: list[int]) -> int:
    tags = [chunk(raw, session, number, size).json()["tag"] for number, size in enumerate(sizes, 1)]
    return raw.http.post("/v2/uploads/chunks/complete", json={"session_id": session, "tags": tags}).status_code


@pytest.mark.parametrize(("variant", "megabyte"), [("", 1_000_000), ("binary", 1 << 20)])
def test_chunks_of_5_to_100_mb(opened: Open, variant: str, megabyte: int) -> None:
    raw = opened(variant=variant)
    assert complete(raw, begin(raw), [5 * megabyte - 1, 9]) == 400
    assert complete(raw, begin(raw), [5 * megabyte, 9]) == 200
    session = begin(raw)
    assert chunk(raw, session, 1, 100 * megabyte + 1).status_code == 413
    assert 5 * megabyte <= facts.LEAST_CHUNK <= facts.MOST_CHUNK <= 100 * megabyte


def test_chunks_are_numbered_from_1_to_10_000(opened: Open) -> None:
    raw = opened()
    session = begin(raw)
    assert [chunk(raw, session, number, 1).status_code for number in (0, 1, 10_000, 10_001)] == [400, 200, 200, 400]
    assert uploads.CHUNKS == facts.MOST_CHUNKS == 10_000


def test_a_session_lives_7_days(opened: Open) -> None:
    raw = opened()
    session = begin(raw)
    raw.world.advance(7 * DAY - 60)
    assert chunk(raw, session, 1, 9).status_code == 200
    raw.world.advance(120)
    assert chunk(raw, session, 2, 9).status_code in (400, 404)
    status = raw.http.post("/v2/uploads/chunks/status", json={"session_id": session}).status_code
    assert status in (400, 404)
    assert facts.SESSION_LIFE.total_seconds() == 7 * DAY


def test_40_chunks_at_once(opened: Open) -> None:
    assert Options().chunk_slots == 40
    assert facts.CHUNKS_AT_ONCE <= 40
    raw = opened(chunk_slots=0)
    assert chunk(raw, begin(raw), 1, 9).status_code == 429


def test_the_form_of_v1_takes_5_gb(opened: Open) -> None:
    assert Options().v1_most == facts.FORM_BYTES == 5_000_000_000
    raw = opened(v1_most=1000)
    profile = raw.json("/api/rest/uploadprofile")["uploadProfiles"][0]["uuid"]

    def sent(size: int) -> int:
        data = {"uploadProfileUUID": profile, "filename": f"{size}.bin"}
        return raw.http.post("/api/rest/asset", data=data, files={"file": ("x", bytes(size))}).status_code

    assert [sent(1000), sent(1001)] == [200, 413]


# -- texts -------------------------------------------------------------------------------------------------------------


def test_field_texts_have_255_or_1_280_characters(opened: Open) -> None:
    raw = opened(field("wide", "text", max_length=1280), asset(1))
    identity = raw.json("/v2/assets/search")["items"][0]["id"]
    for key, most in (("srckey", facts.VALUE_LETTERS["text_short"]), ("wide", facts.VALUE_LETTERS["text"])):
        statuses = [
            raw.http.put(f"/v2/assets/{identity}/metadata", json={"fields": {key: ["é" * size]}}).status_code
            for size in (most, most + 1)
        ]
        assert statuses == [200, 400]
    assert dict(facts.VALUE_LETTERS) == {"text_short": 255, "text": 1280}


def test_an_integration_link_is_described_by_255_characters(opened: Open) -> None:
    raw = opened(asset(1))
    identity = raw.json("/v2/assets/search")["items"][0]["id"]
    body = {"assetUuid": identity, "url": "https://example.org/a"}
    statuses = [
        raw.http.post("/api/rest/integrationlink", json={**body, "description": "x" * size}).status_code
        for size in (255, 256)
    ]
    assert statuses == [200, 400]


@pytest.mark.parametrize("name", ["a<b.jpg", "a,b.jpg", "a%b.jpg", "a(1).jpg", " a.jpg", "x" * 125 + ".jpg"])
def test_names_to_avoid_are_refused_in_one_reading(opened: Open, name: str) -> None:
    for variant, status in (("", 201), ("strict_names", 400)):
        raw = opened(variant=variant)
        data = {"profile": "photos", "filename": name}
        assert raw.http.post("/v2/uploads", data=data, files={"file": ("x", b"1")}).status_code == status
    assert facts.FILENAME == 128


# -- lifetimes ---------------------------------------------------------------------------------------------------------


def exchange(raw: Raw, refresh: str) -> httpx.Response:
    client = {"client_id": "client-1", "client_secret": "client-secret-1", "grant_type": "refresh_token"}
    return raw.http.post("/v2/oauth/access-token", json={**client, "refresh_token": refresh})


def test_an_access_token_lives_8_hours(opened: Open) -> None:
    raw = opened()
    pair = exchange(raw, consent(raw.served.url)).json()
    assert pair["expires_in"] == 8 * 3600
    bearer = {"Authorization": f"Bearer {pair['access_token']}"}
    raw.world.advance(8 * 3600 - 5)
    assert raw.http.get("/v2/user", headers=bearer).status_code == 200
    raw.world.advance(10)
    assert raw.http.get("/v2/user", headers=bearer).status_code == 401


def test_a_refresh_token_dies_after_6_months_unused(opened: Open) -> None:
    raw = opened()
    first = consent(raw.served.url)
    raw.world.advance(180 * DAY)
    second = exchange(raw, first).json()["refresh_token"]
    raw.world.advance(184 * DAY)
    assert exchange(raw, second).status_code == 400


def test_a_thumbnail_lives_24_hours_and_a_download_about_12(opened: Open) -> None:
    raw = opened(asset(1))
    row = raw.json("/v2/assets/search", expand="thumbnails")["items"][0]
    thumbnail, download = row["thumbnails"]["300px"]["url"], row["_links"]["download"]
    with httpx.Client(trust_env=False, verify=False) as plain:
        for hours, expected in ((0, (200, 302)), (11.9, (200, 302)), (1.2, (200, 403)), (12.2, (403, 403))):
            raw.world.advance(hours * 3600)
            assert (plain.get(thumbnail).status_code, plain.get(download).status_code) == expected
    assert facts.LINK_LIFE.total_seconds() == 12 * 3600
