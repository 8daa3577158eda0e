"""The emulated service E: search, scroll, lag, rights and the query language. Numbers are the checklist's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.emulators.e_profiles.query import BadQuery, Exact, Not, Words, parse
from tests.support.services.emulated_e import BOTH, TOP, Open, asset_row, tenants


@pytest.fixture
def tenant_of() -> Iterator[Open]:
    with tenants() as opened:
        yield opened


def test_4_envelope_members_and_bounds(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"a{n}", imported_at=f"2026-01-0{n}T00:00:00Z") for n in range(1, 4)))
    answer = tenant.get("/v2/assets/search")
    assert set(answer) == {
        "query", "sort", "query_explained", "sort_explained", "query_syntax_ok", "scroll_id", "scroll_timeout",
        "include_archived", "include_deleted", "facets", "item_type", "total_count", "offset", "limit", "items",
    }  # fmt: skip
    assert (answer["query"], answer["sort"], answer["limit"], answer["total_count"]) == (None, "-created_date", 10, 3)
    assert [item["filename"] for item in answer["items"]] == ["a3.jpg", "a2.jpg", "a1.jpg"]
    item = answer["items"][0]
    assert set(item) == TOP
    assert item["metadata"] is item["tags"] is item["status"] is None
    assert item["created_date"] == "2026-01-03T00:00:00Z"
    item = tenant.get("/v2/assets/search", expand="metadata,security", limit="1")["items"][0]
    assert item["metadata"]["fields"]["colors"] == []
    assert item["expanded"]["metadata"]
    assert not item["expanded"]["tags"]
    for bad in ({"limit": "0"}, {"limit": "101"}, {"offset": "10001"}, {"expand": "status"}, {"sort": "nothing"}):
        assert tenant.http.get("/v2/assets/search", params=bad).status_code == 400
    assert tenant.get("/v2/assets/search", offset="10000", limit="100")["items"] == []
    assert [i["filename"] for i in tenant.search(sort="filename")["items"]] == ["a1.jpg", "a2.jpg", "a3.jpg"]
    strict = tenant_of(variant="window")
    assert strict.http.get("/v2/assets/search", params={"offset": "9950", "limit": "51"}).status_code == 400


def test_4_ties_are_shuffled_in_each_call(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"t{n:03}") for n in range(60)))
    orders = [tuple(item["id"] for item in tenant.search(sort="created_date")["items"]) for _ in range(4)]
    assert len(set(orders)) > 1
    assert {frozenset(order) for order in orders} == {frozenset(orders[0])}
    assert len(orders[0]) == 60


def test_4_the_query_language(tenant_of: Open) -> None:
    day = "2026-02-0{}T00:00:00Z".format
    tenant = tenant_of(
        asset_row("sea", imported_at=day(1), tags=["wave"],
                  fields={"srckey": "a_1", "author": "Ann Lee", "colors": [{"id": "Red", "label": "Red"}]},
                  placements=[{"kind": "category", "path": ["Press", "Sea / Shore"]}]),
        asset_row("hill", imported_at=day(2), fields={"srckey": "a_10", "author": "Ann"}, rights={"groups": ["staff"]}),
        asset_row("town", imported_at=day(3), fields={"srckey": "a_100", "shot": {"date": "2020-05-05"}},
                  rights={"expires_at": "2026-03-01T00:00:00Z"}),
    )  # fmt: skip
    cases = {
        "srckey:({a_1})": {"sea"},
        "srckey:({A_10})": {"hill"},
        "srckey:({a_1}) OR srckey:({a_100})": {"sea", "town"},
        "author:(Ann)": {"sea", "hill"},
        "author:({Ann})": {"hill"},
        'author:"Ann Lee"': {"sea"},
        "author:(isempty)": {"town"},
        "author:-(isempty)": {"sea", "hill"},
        "author:(Ann -(Lee))": {"hill"},
        "author:(A*)": {"sea", "hill"},
        "filename:({sea.jpg})": {"sea"},
        f"DateAdded:[{day(1)} to {day(2)}]": {"sea", "hill"},
        f"du:[{day(1)} TO 2026-02-01T23:59:59.123Z]": {"sea"},
        "du:[02/02/2026]": {"hill"},
        "du:[after 02/02/2026] AND du:[before 02/04/2026]": {"hill", "town"},
        "shot:[05/05/2020]": {"town"},
        "ed:((isEmpty) OR [after 09/30/2026])": {"sea", "hill"},
        "category:({Press/Sea \\/ Shore})": {"sea"},
        "cat:(In)": set(),
        "ag:{staff}": {"hill"},
        "ft:(image) -(srckey:({a_1}))": {"hill", "town"},
        "ff:(JPEG) keywords:(wave)": {"sea"},
        "colors:({Red})": {"sea"},
        "wave": {"sea"},
        "nofield:(Ann)": set(),
        "(srckey:({a_1}) OR author:(isempty)) AND ft:(image)": {"sea", "town"},
    }
    assert {query: tenant.found(query) for query in cases} == cases
    embed = tenant.search("srckey:({a_1})")["items"][0]["external_id"]
    assert tenant.found(f"embedid:({{{embed}}})") == {"sea"}
    assert len(embed) == 10


def test_4_malformed_queries_do_not_fail(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    for query in (
        "author:(Ann",
        "author:({Ann)",
        'say "Ann',
        "Ann OR",
        "du:[yesterday]",
        "author:",
        "AND",
        "du:[after 13/45/2020]",
    ):
        answer = tenant.search(query)
        assert answer["query_syntax_ok"] is False, query


def test_4_range_ends_in_both_readings(tenant_of: Open) -> None:
    rows = [asset_row(f"s{n}", imported_at=f"2026-02-01T00:00:0{n}Z") for n in (1, 2, 3)]
    query = "DateAdded:[2026-02-01T00:00:01Z to 2026-02-01T00:00:03Z]"
    assert tenant_of(*rows).found(query) == {"s1", "s2", "s3"}
    assert tenant_of(*rows, variant="exclusive").found(query) == {"s2"}


def test_5_scroll_advances_on_the_server(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"n{n:02}") for n in range(25)))
    first = tenant.get("/v2/assets/search", scroll="true", limit="10", facet="file_types", expand="tags")
    assert first["scroll_timeout"] == "60000"
    assert first["facets"]["file_types"] == [{"name": "image", "count": 25, "search_query": "ft:(image)"}]
    tenant.uploaded("later.jpg")
    second = tenant.get("/v2/assets/search/scroll", scroll_id=first["scroll_id"], expand="tags")
    assert second["facets"] is None
    assert second["total_count"] == 25
    third = tenant.get("/v2/assets/search", scroll_id=first["scroll_id"])
    last = tenant.get("/v2/assets/search/scroll", scroll_id=third["scroll_id"])
    pages = [first["items"], second["items"], third["items"], last["items"]]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({item["id"] for page in pages for item in page}) == 25
    tenant.world.advance(61)
    gone = tenant.http.get("/v2/assets/search/scroll", params={"scroll_id": third["scroll_id"]})
    assert gone.status_code == 404
    assert tenant.http.get("/v2/assets/search/scroll", params={"scroll_id": "nonsense"}).status_code == 404


def test_5_a_lost_scroll_response_has_consumed_its_page(tenant_of: Open) -> None:
    tenant = tenant_of(*(asset_row(f"n{n:02}") for n in range(25)))
    first = tenant.get("/v2/assets/search", scroll="true", limit="10")
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "do": "reset_after", "nth": 1}])
    with pytest.raises(httpx.TransportError):
        tenant.get("/v2/assets/search/scroll", scroll_id=first["scroll_id"])
    rest = tenant.get("/v2/assets/search/scroll", scroll_id=first["scroll_id"])
    assert len(rest["items"]) == 5
    assert not tenant.faults.unhit()


def test_6_the_index_lags_and_reads_by_id_do_not(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("old"), lag=3.0)
    made = tenant.uploaded("new.jpg", metadata='{"fields":{"srckey":["k_new"]}}')
    assert tenant.get(f"/v2/assets/{made}")["filename"] == "new.jpg"
    assert tenant.found("srckey:({k_new})") == set()
    tenant.world.advance(2.9)
    assert tenant.found("srckey:({k_new})") == set()
    tenant.world.advance(0.1)
    assert tenant.found("srckey:({k_new})") == {"new"}
    tenant.http.delete(f"/v2/assets/{made}")
    assert tenant.get(f"/v2/assets/{made}")["deleted_date"] is not None
    assert "new" in tenant.found("", include_deleted="false")
    tenant.world.advance(3)
    assert "new" not in tenant.found("", include_deleted="false")


def test_6_every_change_moves_last_update_date_but_membership_of_a_collection(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    key = tenant.ids()["a"]
    collection = tenant.get("/v2/collections", type="global")["items"][0]["id"]
    category = tenant.get("/v2/categories")["items"][0]["id"]
    base = f"/v2/assets/{key}"

    def moved(method: str, path: str, body: Any) -> bool:
        before = tenant.get(base)["last_update_date"]
        tenant.world.advance(5)
        assert tenant.http.request(method, path, json=body).status_code < 300
        return bool(tenant.get(base)["last_update_date"] != before)

    member = {"add": {"uuids": [key]}, "remove": {"uuids": []}}
    assert moved("PUT", f"{base}/metadata", {"fields": {"author": ["B"]}})
    assert moved("PUT", f"{base}/security?patch=expiration_date", {"expiration_date": "2030-01-01T00:00:00Z"})
    assert moved("PUT", f"{base}/tags/add", {"tags": ["x"]})
    assert moved("PUT", f"{base}/filename", {"filename": "b.jpg"})
    assert moved("POST", "/api/rest/category/assets", {"categories": {"uuids": [category]}, **member})
    assert not moved("POST", "/api/rest/collection/assets", {"collections": {"uuids": [collection]}, **member})
    assert moved("DELETE", base, None)


def test_7_rights_narrow_lists_and_take_links_away(tenant_of: Open) -> None:
    users = [
        {"name": "narrow", "token": "wat_demo_narrow", "groups": ["public"], "sees": [], "orders": []},
        {"name": "wide", "token": "wat_demo_wide", "groups": ["public"], "orders": ["active"]},
    ]
    tenant = tenant_of(
        asset_row("plain"),
        asset_row("staff", rights={"groups": ["staff"]}),
        asset_row("early", rights={"release_at": "2027-01-01T00:00:00Z"}),
        asset_row("late", rights={"expires_at": "2026-02-01T00:00:00Z"}),
        asset_row("shelved", status="archived"),
        asset_row("binned", status="trash"),
        users=users,
    )
    assert tenant.found("") == {"plain", "staff", "early", "late", "shelved", "binned"}
    assert tenant.found("", include_deleted="false", include_archived="false") == {"plain", "staff", "early", "late"}
    ids = tenant.ids()
    tenant.http.headers["Authorization"] = "Bearer wat_demo_narrow"
    assert tenant.found("") == {"plain"}
    assert "download" not in tenant.search()["items"][0]["_links"]
    assert tenant.http.get(f"/v2/assets/{ids['staff']}").status_code == 404
    assert [g["name"] for g in tenant.get("/v2/assets/assetgroups")["items"]] == ["public"]
    tenant.http.headers["Authorization"] = "Bearer wat_demo_wide"
    links = {item["filename"]: "download" in item["_links"] for item in tenant.search("", **BOTH)["items"]}
    assert links == {"plain.jpg": True, "early.jpg": False, "late.jpg": False, "shelved.jpg": True, "binned.jpg": False}


def test_8_metadata_lists_every_field_of_its_one_type(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    made = tenant.uploaded("logo.png", "queue")
    asset = tenant.get(f"/v2/assets/{made}", expand="metadata,metadata_info,metadata_vocabulary")
    assert asset["metadata"]["fields"] == {"srckey": []}
    photo = tenant.get(f"/v2/assets/{tenant.ids()['a']}", expand="metadata,metadata_info,metadata_vocabulary")
    fields = {row["key"]: row for row in photo["metadata_info"]["field_set_fields"]}
    assert set(photo["metadata"]["fields"]) == set(fields)
    assert fields["colors"]["vocabulary"] == ["Red", "Blue", "A/B c"]
    assert fields["title"]["required"]


@pytest.mark.parametrize("text", ["a:(b", "a:[x]", "(", ")", "a OR", "{", "]", '"', "a:(b:c)", "[after 01/01/2020]"])
def test_bad_queries_are_refused_with_their_message(text: str) -> None:
    with pytest.raises(BadQuery):
        parse(text)


def test_queries_become_trees() -> None:
    assert parse("f:-({x y})") == Not(Exact("f", "x y"))
    assert parse("well-known") == Words("", "well-known")


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_any_text_is_a_query_or_is_refused_as_none(text: str) -> None:
    try:
        parse(text)
    except BadQuery:
        return


def test_quoted_paths_survive(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    odd = "50% off / [new]?"
    assert tenant.http.post("/v2/metadata/colors/vocabulary", json={"value": odd}).status_code == 201
    assert tenant.get(f"/v2/metadata/colors/vocabulary/{quote(odd, safe='')}")["value"] == odd
