"""The emulated service A: search, listing and lag (wire A 12, lines 5 to 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.emulated_a import ASSETS, HIGH, Tenant, photo, tenant


@pytest.fixture(scope="module")
def a() -> Iterator[Tenant]:
    with tenant(ASSETS) as made:
        yield made


# 5, 6: search


def test_light_items_carry_ten_properties_and_no_more(a: Tenant) -> None:
    item = a.search(sort="id", size=1)["_embedded"]["media"][0]
    assert set(item) == {
        "id", "title", "statusUpdateDate", "permission", "mediaType", "fileSize", "fileSizeString", "updateDate",
        "duplicationStatus", "thumbnailGenerationStatus", "_links",
    }  # fmt: skip
    assert set(item["_links"]) == {"self", "svc:small", "preview", "svc:whr", "svc:custom-status"}


def test_every_media_but_the_trashed_is_found_in_order_of_id(a: Tenant) -> None:
    ids = a.found(f=f"id:[1 TO {HIGH}]", sort="id")
    assert len(ids) == 5
    assert ids == sorted(ids)
    assert a.found(f=f"id:[{ids[1] + 1} TO {HIGH}]", sort="id", size=2) == ids[2:4]
    assert a.found(f=f"id:[{ids[0]} TO {ids[1]}]", sort="id desc") == ids[1::-1]
    assert a.search()["totalCount"] == 5


@pytest.mark.parametrize(
    ("condition", "places"),
    [
        ('external_key:"xa-1"', [1]),
        ("external_key:xa-1", [1]),
        ("external_key:xa*", [1]),
        ("title:harbour", [1]),
        ("title:pict*", [2, 3, 4, 6]),
        ("title.FR:port", [1]),
        ("title.FR:harbour", []),
        ('title:"at dawn"', []),
        ('title:"harbour at dawn"', [1]),
        ("title:-harbour", [2, 3, 4, 6]),
        ("-title:harbour", [2, 3, 4, 6]),
        ("title:(harbour OR nothing)", [1]),
        ("keywords:dawn", [1]),
        ("originalFileName:new.jpg", [1]),
        ("importDate:[2024-03-03 TO 2024-03-04]", [2, 3]),
        ("importDate:[2024-03-03T10:00:00Z TO 2024-03-04T09:59:59Z]", [2]),
        ("importDate:[1709632800000 TO *]", [4, 6]),
        ("size_cm:[12 TO 13]", [1]),
        ("fileSize:[1002 TO 1003]", [2, 3, 4]),
        ("metamodelId:1", [1, 2, 3, 4, 6]),
        ("tagsInMedia:40", [1]),
        ("country:France", [1]),
        ("released:true", [1]),
        ("nothing_like_it:1", []),
    ],
)
def test_conditions(a: Tenant, condition: str, places: list[int]) -> None:
    first = a.first_id()
    assert [number - first + 1 for number in a.found(f=condition, sort="id")] == places


def test_conditions_and_scopes_combine_by_and(a: Tenant) -> None:
    assert len(a.found(f=["title:picture", "id:[1 TO *]"])) == 4
    press, year = a.folder("Press"), a.folder("2024")
    assert a.found(fq=f"folderId:{press}", sort="id") == a.found(fq=f"folderId:{year} subtree", sort="id")
    assert len(a.found(fq=f"folderId:{press}")) == 2
    assert len(a.found(fq=[f"folderId:{press}", f"folderId:{a.folder('Archive')}"])) == 1
    assert len(a.found(fq="folderPath:/Press")) == 2
    assert len(a.found(fq="labelId:(40,41)")) == 1
    status = a.status("Internal")["href"].rpartition("/")[2]
    assert len(a.found(fq=f"customStatusId:{status}")) == len(a.found(f=f"subStatusId:{status}")) == 3
    root = a.get("/forms/1")["_embedded"]["field"]
    thesaurus = next(one for one in root if one["internalName"] == "places")["_links"]["svc:thesaurus"]["href"]
    assert len(a.found(fq=f"thesaurus:places:{thesaurus.rpartition('/')[2]}")) == 1
    assert len(a.found(fq="facet:formType:PICTURE")) == 5
    assert len(a.found(fq="associations:(8802)")) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("harbour", 1),
        ("harbour picture", 5),
        ("+picture -2", 3),
        ('"at dawn"', 1),
        ("picture AND 2", 1),
        ("title:harbour OR (picture AND 3)", 2),
        ("NOT harbour", 4),
        ("Londres", 1),
        ("har*", 1),
        ("title:(dawn OR 2)", 2),
        ("picture -(2 OR 3)", 2),
    ],
)
def test_full_text(a: Tenant, text: str, count: int) -> None:
    assert a.search(q=text)["totalCount"] == count


def test_word_matching_is_the_other_reading_of_a_phrase() -> None:
    with tenant(ASSETS[:2], variant="word-match") as a:
        assert len(a.found(f='title:"at dawn"')) == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"f": "title:a:b"}, "query-syntax"),
        ({"f": "importDate:[soon TO later]"}, "query-syntax"),
        ({"f": "title"}, "query-syntax"),
        ({"q": "(a"}, "query-syntax"),
        ({"sort": "id upwards"}, "query-syntax"),
        ({"size": "0"}, "parameter-invalid"),
        ({"facet-values-number": "151"}, "facet-values-too-many"),
        ({"fq": ["basketId:1", "workflowId:2"]}, "search-filters-combined"),
        ({"fq": "associations:(" + ",".join(map(str, range(1001))) + ")"}, "too-many-ids"),
        ({"fields": "id,_links{self"}, "fields-syntax"),
    ],
)
def test_wrong_queries(a: Tenant, query: dict[str, Any], code: str) -> None:
    assert a.no("GET", "/search/media", params=query) == (400, code)


def test_pages_clamp_link_and_stop_at_the_window() -> None:
    with tenant([photo(number) for number in range(1, 61)], window=40, page_max=20) as a:
        page = a.search(sort="id", size=500)
        assert len(page["_embedded"]["media"]) == 20
        assert "size=20" in page["_links"]["self"]["href"]
        assert page["totalCount"] == 60
        assert "page=2" in page["_links"]["last"]["href"]
        second = a.http.get(page["_links"]["next"]["href"]).json()
        assert set(second["_links"]) == {"self", "curies", "first", "previous"}
        assert a.no("GET", "/search/media", params={"sort": "id", "size": 20, "page": 3}) == (
            400,
            "search-window-exceeded",
        )


def test_partial_responses(a: Tenant) -> None:
    fields = "id,_links{self},_embedded{metadata.byId(external_key,title)},_embedded{label.byId(40)}"
    item = a.search(sort="id", size=1, fields=fields)["_embedded"]["media"][0]
    assert set(item) == {"id", "_links", "_embedded"}
    assert set(item["_links"]) == {"self"}
    assert [one["id"] for one in item["_embedded"]["metadata"]] == ["title", "external_key"]
    assert item["_embedded"]["label"][0]["title"] == "Highlight"
    assert a.get(f"/medias/{item['id']}", fields="checkSums{md5}") == {
        "checkSums": {"md5": a.get(f"/medias/{item['id']}")["checkSums"]["md5"]}
    }


@pytest.mark.parametrize("rich", [False, True])
def test_whether_a_search_reaches_the_whole_media(rich: bool) -> None:
    with tenant([photo(1)], rich_search=rich) as a:
        item = a.search(fields="id,checkSums,originalFileName,_embedded{folder}")["_embedded"]["media"][0]
        assert ("checkSums" in item, "_embedded" in item) == (rich, rich)


def test_facets_can_be_had_and_suppressed(a: Tenant) -> None:
    facets = a.get("/search/media", forceArrays="true")["_embedded"]["facet"]
    assert facets[0]["_embedded"]["value"] == [{"id": "PICTURE", "title": "Picture", "count": 5}]
    assert "facet" not in a.search()["_embedded"]


def test_the_trash_has_its_own_search(a: Tenant) -> None:
    item = a.get("/search/trash", forceArrays="true")["_embedded"]["media"][0]
    assert item["status"] == "TRASH"
    assert "trashDate" in item
    assert a.get(f"/medias/{item['id']}")["status"] == "TRASH"


def test_advanced_search_finds_what_is_empty_and_expires() -> None:
    with tenant([photo(1), photo(2, imported_at=None)]) as a:
        body = {"criterias": [{"field": "importDate", "modifier": "EMPTY"}]}
        made = a.ok("POST", "/search/advanced", body)
        where = f"{made.headers['location']}/media"
        assert a.get(where)["totalCount"] == 1
        a.world.advance(3601)
        assert a.no("GET", where)[0] == 404


# 7, 8


def test_the_plain_listing_shows_published_media_and_nothing_above_its_limit() -> None:
    with tenant(ASSETS) as a:
        assert a.get("/medias")["totalCount"] == 3
    with tenant(ASSETS, medias_limit=2) as a:
        assert a.get("/medias")["totalCount"] == 0


def test_search_lags_and_reading_does_not() -> None:
    with tenant([photo(1)], lag=30) as a:
        number = a.create()
        assert a.get(f"/medias/{number}")["id"] == number
        assert number not in a.found()
        a.world.advance(31)
        assert number in a.found()
