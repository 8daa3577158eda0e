"""The emulated service D and what it finds: scans, searches, the lagging index. Numbers are those of wire D 12."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest

from tests.support.services.emulated_d import EVERY, Api, asset_row, library, schema_rows, served

BAD = (400, {"status": "error", "message": "Invalid Search Query"})
CREATED = [{"metadataDefinitionSearchField": "createdEpoch", "order": "asc"}]


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    coloured = asset_row(
        7,
        filename="Harbour at dawn.png",
        versions=[{"name": f"Harbour v{n}.png", "generate": {"size": 10, "seed": n}} for n in (1, 2)],
        fields={
            "title": "Harbour at dawn",
            "migration_key": "a-b-1",
            "campaign": {"id": "Red", "label": "Red"},
            "channels": [{"id": "Red", "label": "Red"}, {"id": "Blue", "label": "Blue"}],
            "notes": "the harbour",
        },
    )
    binned = asset_row(8, status="trash")
    document = asset_row(9, type="Documents", fields={"migration_key": "b-a-1"})
    with served([*library(6), coloured, binned, document]) as made:
        yield made


def walk(api: Api, **more: object) -> list[str]:
    """All object ids of a scan, page by page."""
    found: list[str] = []
    cursor = None
    for _ in range(100):
        page = api.scan(**more, **({"cursor": cursor} if cursor else {}))
        found += [row["objectId"] for row in page["result"]]
        assert page["hitCount"] == len(page["result"])
        cursor = page.get("cursor")
        if not page["result"] or not cursor:
            return found
    raise AssertionError("a scan without end")


def test_12_a_scan_needs_terms_and_an_operation(api: Api) -> None:
    good = {"searchTerm": ["*"], "operation": "AND"}
    for name in good:
        assert api.refused("POST", "/asset/scan", {key: good[key] for key in good if key != name}) == BAD
    for more in ({"limit": 0}, {"limit": 101}, {"searchTerm": []}, {"operation": "ANY"}, {"sortBy": [{}]}):
        assert api.refused("POST", "/asset/scan", {**good, **more}) == BAD
    for cursor in ("!!", "e30=", base64.b64encode(b'["a", 1, 1, "x", 1]').decode()):
        assert api.refused("POST", "/asset/scan", {**good, "cursor": cursor}) == BAD


def test_12_a_scan_gives_all_in_a_total_order(api: Api) -> None:
    whole = walk(api, limit=100, sortBy=CREATED, **EVERY)
    assert len(whole) == len(set(whole)) == 10
    for limit in (1, 3, 4):
        assert walk(api, limit=limit, sortBy=CREATED, **EVERY) == whole
    down = [{"metadataDefinitionSearchField": "createdEpoch", "order": "desc"}]
    assert walk(api, limit=3, sortBy=down, **EVERY) == whole[::-1]


def test_12_the_counts_of_the_four_variants(api: Api) -> None:
    counts = [
        api.scan(includeDeleted=deleted, includeVersions=versions)["totalCount"]
        for deleted in (False, True)
        for versions in (False, True)
    ]
    assert counts == [8, 9, 9, 10]
    assert api.scan(limit=3)["hitCount"] == 3


def test_12_the_cursor_is_a_base64_array_of_sort_values(api: Api) -> None:
    page = api.scan(limit=1, sortBy=CREATED)
    key = json.loads(base64.b64decode(page["cursor"]))
    row = page["result"][0]
    assert key[:4] == [row["createdEpoch"], row["createdEpoch"], row["versionNumber"], row["objectId"]]
    assert isinstance(key[4], int)


def test_12_pages_have_fifty_by_default() -> None:
    with served(library(101)) as api:
        body = {"searchTerm": ["*"], "operation": "AND"}
        assert api.post("/asset/scan", body)["hitCount"] == 50
        assert api.post("/search/keyword", {})["hitCount"] == 50
        assert api.post("/search", {})["hitCount"] == 50
        assert api.scan()["hitCount"] == 100


def test_12_a_scan_sees_what_changes_between_its_pages() -> None:
    with served(library(4)) as api:
        sort = [{"metadataDefinitionSearchField": "lastUpdatedEpoch", "order": "asc"}]
        first = api.scan(limit=2, sortBy=sort)
        seen = [row["objectId"] for row in first["result"]]
        api.patch(f"/asset/{seen[0]}", {"metadata": []})
        api.world.advance(5)
        rest = api.scan(limit=100, sortBy=sort, cursor=first["cursor"])["result"]
        assert seen[0] in {row["objectId"] for row in rest}  # comes again, with its new date


def test_2_store_and_index_are_apart(api: Api) -> None:
    made = api.made("lagging.jpg", api.entry("migration_key", "lag-1"))
    read = api.get(f"/asset/{made['objectId']}")
    assert read["metadata"][0]["metadataDefinitionValue"] == "lag-1"
    assert read["metadataDenormalized"] == {}
    assert api.found("(Migration Key:lag-1)") == set()
    api.world.advance(1.9)
    assert api.found("(Migration Key:lag-1)") == set()
    api.world.advance(0.2)
    assert api.found("(Migration Key:lag-1)") == {"lagging.jpg"}
    assert api.get(f"/asset/{made['objectId']}")["metadataDenormalized"]["migration_key"] == "lag-1"
    api.patch(f"/asset/{made['objectId']}", {"metadata": [api.entry("migration_key", "lag-2")]})
    read = api.get(f"/asset/{made['objectId']}")
    assert read["metadata"][0]["metadataDefinitionValue"] == "lag-2"
    assert read["metadataDenormalized"]["migration_key"] == "lag-1"  # as the index still knows it


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        (["(Migration Key:a-b-1)"], {"Harbour v2.png"}),
        (['("Migration Key":"a-b-1")'], {"Harbour v2.png"}),
        (["(migration key:A-B-1)"], {"Harbour v2.png"}),
        (["(Migration Key:a-b)"], set()),
        (["(Migration Key:a-b-*)"], {"Harbour v2.png"}),
        (["(migration_key:a-b-1)"], set()),  # display names are the keys of filters, not search fields
        (["(Campaign:Red)"], {"Harbour v2.png"}),
        (["(Channels:Blue)"], {"Harbour v2.png"}),
        (["(Notes:the harbour)"], set()),  # a textarea is never facetable
        (["harbour"], {"Harbour v2.png"}),
        (["dawn harbour"], {"Harbour v2.png"}),
        (["harb*"], {"Harbour v2.png"}),
        (["a-b-1"], {"Harbour v2.png", "photo-9.jpg"}),  # analysed text: b-a-1 has the same words
        (["(System Metadata Templates:Documents)"], {"photo-9.jpg"}),
        (["(System Content Type:Image)", "(Migration Key:old-1)"], {"photo-1.jpg"}),
        (["(System Content Type:Image)", "-(System Mime Type:image/jpeg)"], {"Harbour v2.png"}),
        (['"filename: photo-3.jpg "'], {"photo-3.jpg"}),
        (["migration_key: old-2"], {"photo-2.jpg"}),
    ],
)
def test_13_the_grammar_of_terms(api: Api, terms: list[str], names: set[str]) -> None:
    assert api.found(*terms) == names


def test_13_operations_and_filters(api: Api) -> None:
    keys = [f"(Migration Key:old-{n})" for n in (1, 2, 99)]
    assert api.found(*keys) == set()
    assert api.found(*keys, operation="OR") == api.found(*keys, operation="ANY") == {"photo-1.jpg", "photo-2.jpg"}
    assert api.found("*", filters=["(Migration Key:old-3)"]) == {"photo-3.jpg"}
    assert api.found(filters=["(Migration Key:old-3)"], keywordSearchField="metadata") == {"photo-3.jpg"}
    assert api.found("photo", keywordSearchField="metadata", filters=["-(Migration Key:old-1)"]) >= {"photo-2.jpg"}
    assert api.found("harbour", keywordSearchField="filename") == {"Harbour v2.png"}
    identity = api.named("photo-1.jpg")["objectId"]
    assert api.found(identity, keywordSearchField="assetId") == {"photo-1.jpg"}
    for wrong in ({"operation": "XOR"}, {"keywordSearchField": "all"}, {"filters": "x"}):
        assert api.refused("POST", "/search/keyword", wrong) == BAD


def test_13_the_window_is_ten_thousand(api: Api) -> None:
    body = {"searchTerm": ["*"], "limit": 100}
    assert api.post("/search/keyword", {**body, "from": 9900})["hitCount"] == 0
    for path in ("/search/keyword", "/search", "/search/collection"):
        assert api.refused("POST", path, {**body, "from": 9901}) == BAD
        assert api.refused("POST", path, {**body, "limit": 101}) == BAD


def test_13_sort_forms(api: Api) -> None:
    def first(**sort: str) -> str:
        answer = api.post("/search/keyword", {"limit": 1, "sortBy": [sort]})
        return str(answer["result"][0]["filename"])

    assert first(metadataDefinitionId="createdEpoch", order="asc") == "photo-1.jpg"
    assert first(metadataDefinitionSearchField="createdepoch", order="asc") == "photo-1.jpg"
    assert first(metadataDefinitionSearchField="title", order="asc") == "photo-9.jpg"  # it has none
    assert first(metadataDefinitionSearchField="title", order="desc") == "photo-6.jpg"


def test_excludes_speak_of_storage_names(api: Api) -> None:
    names = ["technicalMetadataDocument", "metadataDocument.title", "renditionsDocument"]
    row = api.scan(limit=1, excludes=names)["result"][0]
    assert "technicalMetadata" not in row
    assert "renditions" not in row
    assert "title" not in row["metadataDenormalized"]
    assert row["metadata"]


def test_the_slim_search(api: Api) -> None:
    body = {"searchTerm": ["(Migration Key:a-b-1)"], "includes": ["metadataTemplateId", "metadataDocument.title"]}
    (row,) = api.post("/search", body)["result"]
    assert row["metadataDocument"] == {"title": "Harbour at dawn"}
    assert row["metadataTemplateId"]
    assert "metadata" not in row
    assert api.post("/search", {"searchTerm": [["photo", "5"]], "limit": 100})["totalCount"] == 1
    assert api.refused("POST", "/search", {"relevancy": True, "sortBy": CREATED}) == BAD


def test_facets_count(api: Api) -> None:
    facets = {each["facet_name"]: each["values"] for each in api.scan(limit=1)["facets"]}
    counted = {value["key"]: value["doc_count"] for value in facets["System Metadata Templates"]}
    assert counted["Documents"] == 1
    assert sum(counted.values()) == api.scan(limit=1)["totalCount"]


def test_other_objects_are_found_too() -> None:
    with served(library(1), actions=2) as api:
        kinds = [row["objectType"] for row in api.scan()["result"]]
        assert sorted(kinds) == ["Action", "Action", "Asset"]
        assert len(api.truth()) == 1
        assert api.scan(assetType="Asset")["totalCount"] == 1


def test_a_page_too_large_for_the_gateway_is_502() -> None:
    with served(library(4), text_content=300_000, page_most=1_000_000) as api:
        api.refused("POST", "/asset/scan", {"searchTerm": ["*"], "operation": "AND"})
        assert api.scan(excludes=["metadataDocument.text_content"])["hitCount"] == 4
        assert len(api.scan(limit=1)["result"][0]["metadataDenormalized"]["text_content"]) == 300_000


def test_2_1_readings_of_scans() -> None:
    with served(library(3), variant="default_sort,no_total,no_scan_filters") as api:
        late = api.named("photo-1.jpg")["objectId"]
        api.patch(f"/asset/{late}", {"metadata": []})
        api.world.advance(5)
        page = api.scan(filters=["(Migration Key:old-2)"])
        assert "totalCount" not in page
        assert page["result"][0]["objectId"] == late
        assert page["hitCount"] == 3


def test_25_field_names_change_from_response_to_response() -> None:
    with served(library(3), variant="field_names") as api:
        rows = api.scan()["result"]
        plain, lower, stored = sorted(rows, key=lambda row: ("fileName" in row) + 2 * ("lockStatus" in row))
        assert isinstance(plain["technicalMetadata"], dict)
        technical = json.loads(lower["technical_metadata"])
        assert technical["vendor_metadata"]["fileName"] == lower["fileName"]
        assert lower["metadata"][0]["metadatadefinitionId"]
        assert isinstance(lower["lastUpdatedEpoch"], str)
        assert "MD5Checksum" in stored["technicalMetadataDocument"]["acme_metadata"]
        assert json.loads(stored["metadataDocument"])["title"].startswith("Photo")


def test_an_empty_tenant() -> None:
    with served(schema_rows()) as api:
        page = api.scan()
        assert (page["totalCount"], page["result"]) == (0, [])
        assert "cursor" not in page
