"""Every number of the contract's table of limits (wire B 8), as the emulated server keeps it and the adapter heeds it.

Not here: the chunks in which an index re-reads its results, which nobody sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from dam_sync.emulators.b_documents.options import options_of
from dam_sync.model.limits import MIB
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.target.create_once import asset_name
from tests.support.services.emulated_b import API, WORK, Platform

Open = Callable[..., Platform]
ALL = "SELECT * FROM Document"
HOUR = 3600


@pytest.fixture
def opened() -> Iterator[Open]:
    with ExitStack() as stack:

        def made(*rows: Any, **options: Any) -> Platform:
            platform = Platform(*rows, **options)
            stack.callback(platform.close)
            return platform

        yield made


def folders(number: int) -> list[dict[str, Any]]:
    return [{"record": "container", "kind": "folder", "path": [f"f{n}"]} for n in range(number)]


def test_a_page_has_at_most_1000_and_none_asked_for_is_as_many(opened: Open) -> None:
    platform = opened(*folders(1001))
    query = "SELECT * FROM Workspace WHERE dc:title LIKE 'f%'"
    assert len(platform.search(query, pageSize="1001")["entries"]) == 1000
    assert len(platform.search(query)["entries"]) == 1000
    assert facts.SWEEP == facts.ENTRIES == 1000
    assert facts.PAGE <= facts.SWEEP


def test_adapters_directories_and_audit_have_pages_of_50(opened: Open) -> None:
    terms = [{"record": "term", "vocabulary": "many", "id": str(n), "labels": {"en": f"T {n}"}} for n in range(60)]
    platform = opened({"record": "vocabulary", "key": "many", "label": "Many"}, *terms, *folders(60))
    assert len(platform.get(f"/path{WORK}/@children")["entries"]) == 50
    assert len(platform.get("/directory/many")["entries"]) == 50
    assert len(platform.get("/directory/many", pageSize=str(facts.ENTRIES))["entries"]) == 60


def test_an_index_shows_its_first_10_000(opened: Open) -> None:
    assert options_of({"variant": "index"}).window == 10_000
    platform = opened(variant="index", window=6)
    assert platform.get("/search/lang/NXQL/execute", 500, query=ALL, pageSize="2", offset="5") is not None


def test_an_export_has_at_most_100_000_documents(opened: Open) -> None:
    assert options_of({}).export_most == 100_000
    platform = opened(export_most=2)
    begun = platform.http.post(f"{API}/search/bulk/csvExport", params={"query": ALL}, json={})
    platform.advance(5)
    assert len(platform.http.get(f"/nxbigblob/{begun.json()['commandId']}").text.splitlines()) == 1 + 2


def test_a_name_has_at_most_24_characters(opened: Open) -> None:
    platform = opened()
    assert platform.create("n" * 30)["path"].rpartition("/")[2] == "n" * 24
    assert facts.NAME_LETTERS == 24
    assert all(len(asset_name(mark)) <= 24 for mark in ("", "1", "a b", "ü" * 300))


def test_a_collection_has_at_most_10_000_members_and_100_000_before(opened: Open) -> None:
    assert options_of({}).collection_most == 10_000
    assert options_of({"variant": "older"}).collection_most == 100_000
    platform = opened(collection_most=1)
    collection = platform.operate("Collection.Create", name="C")["uid"]
    first, second = (platform.create(name)["uid"] for name in "ab")
    platform.operate("Document.AddToCollection", f"doc:{first}", collection=collection)
    platform.operate("Document.AddToCollection", f"doc:{second}", status=400, collection=collection)


def test_the_enricher_returns_100_collections(opened: Open) -> None:
    placements = [{"kind": "collection", "path": [f"c{number}"]} for number in range(101)]
    platform = opened(
        *({"record": "container", **each} for each in placements),
        {"record": "asset", "id": "1", "type": "Photo", "status": "published", "placements": placements},
    )
    told = platform.doc(platform.named(1), **{"enrichers.document": "collections"})
    assert len(told["contextParameters"]["collections"]) == 100
    assert len(told["properties"]["collectionMember:collectionIds"]) == 101  # which is what the adapter reads


def test_an_access_token_lives_an_hour(opened: Open) -> None:
    platform = opened()
    grant = {"grant_type": "client_credentials", "client_id": "dam-sync", "client_secret": "client-secret-b"}
    with platform.client() as plain:
        token = plain.post("/oauth2/token", data=grant).json()["access_token"]
        bearer = {"Authorization": f"Bearer {token}"}
        platform.advance(HOUR - 1)
        assert plain.get(f"{API}/id/{platform.named(2)}", headers=bearer).status_code == 200
        platform.advance(2)
        assert plain.get(f"{API}/id/{platform.named(2)}", headers=bearer).status_code == 401
    assert options_of({}).code_life == 600
    assert options_of({}).link_life == HOUR


def test_a_batch_lives_240_minutes_and_120_in_code(opened: Open) -> None:
    platform = opened()
    batch = platform.batch()
    platform.send(batch)
    platform.advance(240 * 60)
    assert platform.get(f"/upload/{batch}/0")["name"] == "cat.jpg"
    platform.advance(240 * 60 + 1)
    platform.get(f"/upload/{batch}/0", 404)
    assert facts.BATCH_KEPT < facts.BATCH_LIFE == timedelta(minutes=120)


def test_a_chunk_has_any_size(opened: Open) -> None:
    platform = opened()
    chunked = {"X-Upload-Type": "chunked", "X-Upload-Chunk-Count": "1", "X-Upload-Chunk-Index": "0"}
    body = bytes(21 * MIB)
    assert platform.send(platform.batch(), body, **chunked, **{"X-File-Size": str(len(body))}).status_code == 201
    assert facts.CHUNK_BYTES <= facts.SINGLE_BYTES == 20 * MIB


def test_a_key_is_good_for_24_hours_and_5_mb(opened: Open) -> None:
    assert options_of({}).replay_bytes == 5 << 20
    platform = opened()
    body = {"entity-type": "document", "type": "Photo", "name": "k", "properties": {"lib:title": "T"}}

    def keyed() -> str:
        reply = platform.http.post(f"{API}/path{WORK}", json=body, headers={"Idempotency-Key": "k"})
        return str(reply.json()["uid"])

    first = keyed()
    platform.advance(24 * HOUR)
    assert keyed() == first
    platform.advance(1)
    assert keyed() != first


def test_a_transaction_has_30_seconds_unless_it_asks_for_more(opened: Open) -> None:
    platform = opened()
    platform.faults.add([{"match": "POST *", "do": "play:slow:29", "nth": 1}])
    platform.faults.add([{"match": "POST *", "do": "play:slow:31", "nth": 2}])
    platform.faults.add([{"match": "POST *", "do": f"play:slow:{facts.TRANSACTION_SECONDS - 1}", "nth": 3}])
    platform.create("a")
    platform.create("b", status=500)
    platform.create("c", headers={"Vendor-Transaction-Timeout": str(facts.TRANSACTION_SECONDS)})
    assert facts.TRANSACTION_SECONDS < facts.ANSWER_SECONDS


def test_no_rate_and_any_number_of_files_a_batch(opened: Open) -> None:
    platform = opened()
    batch = platform.batch()
    assert {platform.send(batch, b"x", index=n).status_code for n in range(0, 3000, 30)} == {201}
    assert len(platform.get(f"/upload/{batch}")) == 100
    assert not platform.world.refused
    assert facts.LIMITS.pace.per_second is None
