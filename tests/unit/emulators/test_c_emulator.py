"""The emulated service C reads as its wire contract says: keys, envelopes, pages, fields, states. Raw HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.services.emulated_c import EVERYTHING, TOKEN, Rig, asset_row

Start = Callable[..., Rig]
META = {"current_page", "next_page", "prev_page", "total_pages", "total_count"}


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *rows, **options: stack.enter_context(Rig(rows, **options))


def rows(*keys: str, **more: Any) -> list[dict[str, Any]]:
    return [asset_row(key, **more) for key in keys]


# -- keys and rights ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_bad_key_looks_like_an_empty_tenant(start: Start, token: str) -> None:
    rig = start(*rows("1"))
    bad = rig.client(token)
    for path in ("/organizations", "/libraries", "/collections"):
        answer = bad.get(path)
        assert answer.status_code == 200
        assert (answer.json()["data"], answer.json()["meta"]["total_count"]) == ([], 0)
    assert bad.get("/users/whoami").status_code == 404
    assert bad.get("/upload_requests").status_code == 403
    assert bad.get(f"/assets/{rig.of('1')}").status_code == 403
    assert bad.get(f"/libraries/{rig.library}/assets").status_code == 403
    assert (
        rig.client(token, "/api/v1").get("/webhooks", headers={"Content-Type": "application/json"}).status_code == 403
    )


def test_a_good_key_sees_itself_and_what_it_may(start: Start) -> None:
    rig = start()
    assert rig.get("/users/whoami")["data"]["attributes"]["email"]
    assert rig.get("/organizations")["data"][0]["type"] == "organizations"
    assert rig.get("/libraries")["data"][0]["attributes"] == {
        "name": "Acme", "tagline": "", "privacy": "private", "slug": "acme",
    }  # fmt: skip


def test_a_public_library_can_be_read_without_a_key_and_not_written(start: Start) -> None:
    rig = start(*rows("1"), public_libraries=["Acme"])
    nobody = rig.client()
    assert nobody.get(f"/libraries/{rig.library}/assets").json()["meta"]["total_count"] == 1
    assert nobody.delete(f"/assets/{rig.of('1')}").status_code == 403
    assert nobody.get("/libraries").json()["data"] == []


def test_guests_silently_see_fewer_assets(start: Start) -> None:
    users = [{"token": level, "level": level, "scope": "library:Acme"} for level in ("guest", "collaborator", "admin")]
    rig = start(
        *rows("shown"),
        *rows("pending", status="draft"),
        *rows("draft", rights={"release_at": "2030-01-01T00:00:00Z"}),
        *rows("expired", rights={"expires_at": "2020-01-01T00:00:00Z"}),
        users=users,
    )
    seen = {}
    for each in ("guest", "collaborator", "admin"):
        answer = rig.client(each).get(f"/libraries/{rig.library}/assets").json()
        seen[each] = {row["attributes"]["name"] for row in answer["data"]}
    assert seen["guest"] == {"shown"}
    assert seen["collaborator"] == {"shown", "draft", "expired"}
    assert seen["admin"] == {"shown", "draft", "expired", "pending"}
    assert rig.client("guest").get(f"/assets/{rig.of('pending')}").status_code == 403
    assert rig.client("guest").put(f"/assets/{rig.of('shown')}", json={}).status_code == 403
    assert rig.client("collaborator").post(f"/libraries/{rig.library}/sections", json={}).status_code == 403


def test_a_key_for_one_collection_sees_its_assets_alone(start: Start) -> None:
    place = [{"kind": "folder", "path": ["Empty"]}, {"kind": "collection", "path": ["Logo Kit"]}]
    rig = start(
        *rows("in", placements=place), *rows("out"),
        users=[{"token": "some", "level": "guest", "scope": "collection:Logo Kit"}],
    )  # fmt: skip
    some = rig.client("some")
    kit = rig.named("collections", "Logo Kit")
    assert some.get(f"/collections/{kit}/assets").json()["meta"]["total_count"] == 1
    assert some.get(f"/libraries/{rig.library}/assets").status_code == 403
    assert some.get(f"/assets/{rig.of('in')}").status_code == 200
    assert some.get(f"/assets/{rig.of('out')}").status_code == 403


def test_permissions_are_listed_and_one_reading_hides_the_owner(start: Start) -> None:
    users = [{"token": "a", "level": "admin", "scope": "library:Acme"}]
    first, second = start(users=users), start(users=users, variant="owner_hidden")
    path = "/libraries/{}/user_permissions"
    found = first.get(path.format(first.library))
    assert [row["attributes"]["permission_level"] for row in found["data"]] == ["owner", "admin"]
    assert {row["type"] for row in found["included"]} == {"users"}
    levels = [r["attributes"]["permission_level"] for r in second.get(path.format(second.library))["data"]]
    assert levels == ["admin"]
    own, other = (row["id"] for row in found["data"])
    assert first.api.delete(f"/user_permissions/{own}").status_code == 403
    assert first.send("DELETE", f"/user_permissions/{other}") == {}
    assert first.client("a").get(f"/libraries/{first.library}").status_code == 403


# -- envelopes, pages, order -------------------------------------------------------------------------------------------


def test_the_envelope_of_a_list(start: Start) -> None:
    rig = start(*rows("1", "2"))
    found = rig.get(f"/libraries/{rig.library}/assets", per=1, include="section")
    assert set(found["meta"]) == META
    assert found["meta"] == {
        "current_page": 1, "next_page": 2, "prev_page": None, "total_pages": 2, "total_count": 2,
    }  # fmt: skip
    assert set(found["data"][0]["relationships"]) == {"section"}
    assert "included" not in rig.get(f"/libraries/{rig.library}/assets")
    assert "relationships" not in rig.get(f"/libraries/{rig.library}/assets")["data"][0]


def test_what_is_included_comes_once(start: Start) -> None:
    rig = start(*rows("1", "2", "3"))
    found = rig.get(f"/libraries/{rig.library}/assets", include=EVERYTHING)
    identities = [(row["type"], row["id"]) for row in found["included"]]
    assert len(identities) == len(set(identities))
    assert [kind for kind, _ in identities].count("sections") == 1
    relations = found["data"][0]["relationships"]
    assert set(relations) == {"attachments", "section", "collections", "custom_field_values", "tags", "library"}
    assert relations["section"]["data"]["type"] == "sections"
    assert relations["tags"] == {"data": []}
    values = [row["attributes"] for row in found["included"] if row["type"] == "custom_field_values"]
    assert {"key": "colour", "value": "Red"} in values


def test_per_is_a_hundred_unless_asked_and_at_most_three_thousand(start: Start) -> None:
    rig = start(*(asset_row(str(number), versions=[]) for number in range(3001)))
    path = f"/libraries/{rig.library}/assets"
    for per, count in ((None, 100), (3000, 3000), (9999, 3000)):
        found = rig.get(path, **({"per": per} if per else {}))
        assert (len(found["data"]), found["meta"]["total_count"]) == (count, 3001)
    assert rig.get(path, page=2, per=3000)["meta"] == {
        "current_page": 2, "next_page": None, "prev_page": 1, "total_pages": 2, "total_count": 3001,
    }  # fmt: skip
    assert rig.get(path, page=99)["data"] == []
    for bad in ({"per": 0}, {"per": -1}, {"per": "x"}, {"page": 0}, {"page": "1.5"}):
        rig.get(path, 400, **bad)


def test_an_order_needs_field_and_direction_and_ties_go_by_id(start: Start) -> None:
    rig = start(*rows("c", "a"), *rows("b", imported_at="2026-02-01T00:00:00Z"))
    path = f"/libraries/{rig.library}/assets"
    rig.get(path, 400, sort_by="name")
    rig.get(path, 400, order="ASC")
    rig.get(path, 400, sort_by="size", order="ASC")
    assert rig.assets(sort_by="name", order="asc") == ["a", "b", "c"]
    assert rig.assets(sort_by="created_at", order="DESC")[0] == "b"
    assert rig.assets()[0] == "b", "the newest first"
    ids = [row["id"] for row in rig.get(path, sort_by="created_at", order="ASC")["data"]][:2]
    assert ids == sorted(ids)


def test_pages_are_made_when_they_are_asked_for(start: Start) -> None:
    rig = start(*(asset_row(f"{n}", imported_at=f"2026-01-0{n}T00:00:00Z") for n in (1, 2, 3)))
    order = {"sort_by": "created_at", "order": "ASC", "per": 1}
    assert rig.assets(page=1, **order) == ["1"]
    rig.send("DELETE", f"/assets/{rig.of('1')}")
    assert rig.assets(page=2, **order) == ["3"]


def test_a_reach_ends_long_lists_in_one_reading(start: Start) -> None:
    crowd = [asset_row(str(number), versions=[], fields={}) for number in range(10_050)]
    first, second = start(*crowd, schema=False), start(*crowd, schema=False, variant="window")
    path = "/libraries/{}/assets"
    assert len(first.get(path.format(first.library), per=500, page=21)["data"]) == 50
    assert len(second.get(path.format(second.library), per=500, page=20)["data"]) == 500
    second.get(path.format(second.library), 400, per=500, page=21)
    assert second.get(path.format(second.library), per=1)["meta"]["total_count"] == 10_050


def test_odd_responses_of_the_second_readings(start: Start) -> None:
    rig = start(*rows("1", "2", "3"), variant="count_only,messy,plain_errors")
    found = rig.get(f"/libraries/{rig.library}/assets", include="attachments,custom_fields")
    assert found["meta"] == {"total_count": 3}
    known = {row["id"] for row in found["included"]}
    lists = [each["data"] for row in found["data"] for each in row["relationships"].values()]
    ids = [[each["id"] for each in one] for one in lists]
    assert any(len(each) > len(set(each)) for each in ids)
    assert any(set(each) - known for each in ids)
    assert isinstance(rig.get("/assets/nowhere", 404), str)


def test_unknown_parameters_are_passed_over_or_refused(start: Start) -> None:
    lenient, strict = start(*rows("1")), start(*rows("1"), variant="strict")
    path = "/libraries/{}/assets"
    for more in ({"per_page": 5}, {"fields": "nonsense"}, {"include": "nonsense"}):
        lenient.get(path.format(lenient.library), **more)
        strict.get(path.format(strict.library), 400, **more)
    strict.get(path.format(strict.library), fields="", include=EVERYTHING, per=5, page=1)


# -- fields and states -------------------------------------------------------------------------------------------------


def test_fields_are_added_to_the_usual_ones(start: Start) -> None:
    rig = start(*rows("1", rights={"release_at": "2020-01-01T00:00:00Z"}))
    path = f"/libraries/{rig.library}/assets"
    usual = {"name", "description", "thumbnail_url", "approved"}
    assert set(rig.get(path)["data"][0]["attributes"]) == usual
    wanted = "created_at,updated_at,availability,availability_start"
    assert set(rig.get(path, fields=wanted)["data"][0]["attributes"]) == {
        *usual, "created_at", "updated_at", "availability",
    }  # fmt: skip
    single = rig.get(f"/assets/{rig.of('1')}", fields=wanted)["data"]["attributes"]
    assert single["availability_start"] == "2020-01-01T00:00:00.000Z"
    assert single["created_at"] == "2026-01-01T00:00:00.000Z"
    second = start(*rows("1"), variant="dates_on_lists")
    row = second.get(f"/libraries/{second.library}/assets", fields=wanted)["data"][0]
    assert row["attributes"]["availability_start"] is None


def test_one_pending_asset_turns_a_list_with_cdn_links_into_404(start: Start) -> None:
    rig = start(*rows("1"), *rows("2", status="draft"), *rows("3", rights={"expires_at": "2020-01-01T00:00:00Z"}))
    path = f"/libraries/{rig.library}/assets"
    rig.get(path, 404, fields="cdn_url")
    rig.get(f"/assets/{rig.of('2')}", 403, fields="cdn_url")
    link = rig.get(f"/assets/{rig.of('1')}", fields="cdn_url")["data"]["attributes"]["cdn_url"]
    assert rig.store.get(link).status_code == 200
    rig.get(f"/assets/{rig.of('3')}", fields="cdn_url")
    rig.send("PUT", f"/assets/{rig.of('2')}", {"data": {"attributes": {"approved": True}}})
    rig.get(path, fields="cdn_url")
    strict = start(*rows("3", rights={"expires_at": "2020-01-01T00:00:00Z"}), variant="cdn_strict")
    strict.get(f"/assets/{strict.of('3')}", 403, fields="cdn_url")
    poor = start(*rows("1"), variant="no_cdn")
    assert poor.get(f"/assets/{poor.of('1')}", fields="cdn_url")["data"]["attributes"]["cdn_url"] is None


def test_pending_outranks_the_dates(start: Start) -> None:
    late, soon = {"expires_at": "2020-01-01T00:00:00Z"}, {"release_at": "2030-01-01T00:00:00Z"}
    rig = start(
        *rows("1", status="draft", rights=late), *rows("2", rights=late), *rows("3", rights=soon), *rows("4"),
    )  # fmt: skip
    states = [
        rig.get(f"/assets/{rig.of(key)}", fields="availability")["data"]["attributes"]["availability"] for key in "1234"
    ]
    assert states == ["pending approval", "expired", "unpublished", "published"]


def test_deleted_is_403_and_never_there_is_404(start: Start) -> None:
    rig = start(*rows("1"), *rows("gone", status="trash"))
    key = rig.of("1")
    assert rig.send("DELETE", f"/assets/{key}") == {}
    rig.get(f"/assets/{key}", 403)
    rig.get(f"/assets/{rig.of('gone')}", 403)
    assert rig.api.delete(f"/assets/{key}").status_code == 403
    rig.get("/assets/4kq7wn2vhx9rbt6cmz3fjp8d", 404)
    assert rig.assets() == []


def test_what_was_removed_is_missing(start: Start) -> None:
    rig = start(*rows("1"))
    organization = rig.get("/organizations")["data"][0]["id"]
    for path in (f"/organizations/{organization}/assets", f"/organizations/{organization}/attachments"):
        rig.get(path, 404)
    assert rig.api.patch(f"/assets/{rig.of('1')}", json={}).status_code == 405
    assert rig.api.put(f"/sections/{rig.section}", json={}).status_code == 405
    assert rig.api.delete(f"/sections/{rig.section}").status_code == 405
    assert rig.api.delete("/tags/b7tq1e-ka5ro2-2f84c6").status_code in (404, 405)


def test_counts_of_a_library(start: Start) -> None:
    rig = start(*rows("1", "2"), *rows("3", status="trash"), more_libraries=["Other"])
    one = rig.get(f"/libraries/{rig.library}", fields="asset_count,attachment_count,section_count")["data"]
    assert [one["attributes"][name] for name in ("asset_count", "attachment_count", "section_count")] == [2, 2, 2]
    assert [row["attributes"]["name"] for row in rig.get("/libraries")["data"]] == ["Acme", "Other"]
    assert rig.get("/libraries", search="slug:other")["meta"]["total_count"] == 1


def test_sections_labels_and_collections(start: Start) -> None:
    place = [
        {"kind": "folder", "path": ["Press", "2024"]}, {"kind": "folder", "path": ["Empty"]},
        {"kind": "collection", "path": ["Logo Kit"]}, {"kind": "label", "path": ["North", "Coast"]},
    ]  # fmt: skip
    rig = start(*rows("1", placements=place), *rows("2"))
    kit, coast = rig.named("collections", "Logo Kit"), rig.named("labels", "Coast")
    assert rig.get(f"/sections/{rig.section}/assets")["meta"]["total_count"] == 2
    assert rig.get(f"/sections/{rig.named('sections', 'Empty')}/assets")["data"] == []
    for path in (f"/collections/{kit}/assets", f"/labels/{coast}/assets"):
        assert [row["id"] for row in rig.get(path)["data"]] == [rig.of("1")]
    assert [row["id"] for row in rig.get(f"/collections/{kit}/sections")["data"]] == [rig.section]
    label = rig.get(f"/labels/{coast}")["data"]["attributes"]
    assert (label["path"], label["depth"]) == ([rig.named("labels", "North"), coast], 2)
    own = start(variant="own_first")
    key = own.named("labels", "Coast")
    assert own.get(f"/labels/{key}")["data"]["attributes"]["path"][0] == key
    off = start(variant="no_labels")
    off.get(f"/libraries/{off.library}/labels", 403)


# -- rates and errors --------------------------------------------------------------------------------------------------


def test_each_key_has_a_rate_limit_of_its_own(start: Start) -> None:
    rig = start(rate=10, users=[{"token": "other", "level": "owner"}])
    statuses = [rig.api.get("/organizations").status_code for _ in range(21)]
    assert statuses == [200] * 20 + [429]
    refused = rig.api.get("/organizations")
    assert not {name for name in refused.headers if name.startswith(("retry", "x-rate"))}
    assert rig.client("other").get("/organizations").status_code == 200
    rig.world.advance(0.1)
    assert [rig.api.get("/organizations").status_code for _ in range(2)] == [200, 429]
    told = start(rate=10, burst=1, variant="retry_after")
    told.get("/organizations")
    assert told.api.get("/organizations").headers["retry-after"] == "1"


def test_errors_have_the_form_asked_for(start: Start) -> None:
    text = "Record not found"
    bodies = [start(errors=form).get("/sections/nothing", 404) for form in ("list", "error", "string")]
    assert bodies == [{"errors": [{"status": "404", "title": "Not Found", "detail": text}]}, {"error": text}, text]


def test_ids_come_in_two_spellings(start: Start) -> None:
    rig = start(*(asset_row(str(number)) for number in range(40)))
    ids = [row["id"] for row in rig.get(f"/libraries/{rig.library}/assets")["data"]]
    assert {"-" in key for key in ids} == {True, False}
    assert all(len(key) == 20 or 20 <= len(key) <= 24 for key in ids)


def test_a_deployment_may_spell_its_words_its_own_way(start: Start) -> None:
    rig = start(*rows("1"), tokens={"libraries": "shelves", "library": "shelf"})
    found = rig.get("/shelves")["data"][0]
    assert found["type"] == "shelves"
    row = rig.get(f"/shelves/{found['id']}/assets", include="shelf")["data"][0]
    assert row["relationships"]["shelf"]["data"]["type"] == "shelves"
    assert rig.api.get("/libraries").status_code == 404


def test_unknown_options_are_refused(start: Start) -> None:
    for wrong in ({"colour": 1}, {"variant": "third"}, {"errors": "xml"}, {"tokens": {"x": "y"}}):
        with pytest.raises(ValueError):
            start(**wrong)
    assert start(variant="second").get("/organizations")["meta"] == {"total_count": 1}
    assert TOKEN
