"""The emulated service B against its wire contract, by plain HTTP: creating, changing, and what it does silently."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.emulated_b import API, EVERYTHING, MILLIS, USERS, WORK, Open, Platform, platforms, reference


@pytest.fixture
def opened() -> Iterator[Open]:
    with platforms() as made:
        yield made


@pytest.fixture
def platform(opened: Open) -> Platform:
    return opened(users=USERS)


# -- create ------------------------------------------------------------------------------------------------------------


def test_names_are_cut_cleaned_and_made_unique(platform: Platform) -> None:
    def name(wanted: str) -> str:
        return str(platform.create(wanted)["path"].removeprefix(f"{WORK}/Press/"))

    assert name("x" * 30) == "x" * 24
    assert name("x" * 24 + "other") == f"{'x' * 24}.{MILLIS}"
    assert name(" a/b\\c ") == "a-b-c"
    assert name("@self") == "_self"
    assert re.fullmatch(r"\d+(\.\d+)?", name("..."))


def test_what_create_refuses(platform: Platform) -> None:
    assert platform.create("a", type="", status=400)["message"] == "type or name property is missing"
    assert platform.create("", status=400)["message"] == "type or name property is missing"
    assert platform.create("a", type="Foo", status=400)["message"] == "Type: Foo does not exist"
    platform.create("a", parent="/none", status=404)
    body = {"type": "Photo", "name": "a", "properties": {"lib:title": "T"}}
    assert platform.http.post(f"{API}/path{WORK}", json=body).status_code == 400
    assert platform.http.post(f"{API}/path{WORK}", content=b"no").status_code == 400
    with platform.client(auth=("eve", "p")) as eve:
        assert eve.post(f"{API}/path{WORK}", json={**body, "entity-type": "document"}).status_code == 403


def test_a_body_without_entity_type_is_read_by_some(opened: Open) -> None:
    body = {"type": "Photo", "name": "a", "properties": {"lib:title": "T"}}
    assert opened(variant="second").http.post(f"{API}/path{WORK}", json=body).status_code == 201


def test_stamps_are_the_servers(platform: Platform) -> None:
    given = {"dc__created": "2001-01-01", "dc__modified": "2001-01-01", "dc__creator": "jdoe"}
    made = platform.create("a", state="approved", title="No", **given)
    now = "2026-06-15T10:20:30.000Z"
    properties = made["properties"]
    assert (properties["dc:created"], properties["dc:modified"], properties["dc:creator"]) == (now, now, "jdoe")
    assert properties["dc:contributors"] == ["Administrator"]
    assert (made["state"], made["title"], made["isCheckedOut"]) == ("project", "a", True)
    platform.advance(60)
    put = platform.put(made["uid"], {"dc:created": "2001-01-01", "dc:modified": "2001-01-01"})["properties"]
    assert (put["dc:created"], put["dc:modified"]) == ("2001-01-01T00:00:00.000Z", "2026-06-15T10:21:30.000Z")


def test_secured_fields_are_the_administrators(opened: Open) -> None:
    platform = opened(users=[{"name": "ann", "password": "p", "groups": ["staff"]}])
    uid = platform.create("a")["uid"]
    platform.operate("Document.AddPermission", f"doc:{uid}", users=["ann"], permission="ReadWrite")
    body = {"entity-type": "document", "uid": uid, "properties": {"dc:creator": "Administrator"}}
    with platform.client(auth=("ann", "p")) as ann:
        refused = ann.put(f"{API}/id/{uid}", json=body)
        assert refused.status_code == 400
        assert "readonly" in refused.json()["message"]
        assert ann.put(f"{API}/id/{uid}", json={**body, "properties": {"dc:title": "x"}}).status_code == 200


def test_unknown_properties_are_dropped_silently(platform: Platform) -> None:
    made = platform.create("a", no__such="x", lib__none="y", picture__none=1)
    assert {"no:such", "lib:none", "picture:none"}.isdisjoint(made["properties"])


def test_a_strict_server_looks_at_types(opened: Open) -> None:
    platform = opened(strict_types=True)
    platform.create("a", parent=WORK, type="Folder", status=400)
    platform.create("a", parent=f"{WORK}/Press", type="Folder")


def test_note_is_versioned_by_itself(platform: Platform) -> None:
    note = platform.create("n", type="Note", note__note="x")
    assert (note["versionLabel"], note["isCheckedOut"]) == ("0.1", False)
    platform.put(note["uid"], {"note:note": "y"})
    assert len(platform.operate("Document.GetVersions", f"doc:{note['uid']}")["entries"]) == 2


# -- values ------------------------------------------------------------------------------------------------------------


def test_values_are_coerced(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    given = {"lib:note": 12, "lib:rating": "1.5", "lib:cleared": "foo", "lib:seen": "2026-01-01T02:00:00+02:00",
             "lib:shot": "", "lib:keywords": [], "lib:mail": True, "lib:body": "a\u0007b"}  # fmt: skip
    read = platform.put(uid, given)["properties"]
    assert {key: read[key] for key in given} == {
        "lib:note": "12", "lib:rating": 1.5, "lib:cleared": False, "lib:seen": "2026-01-01T00:00:00.000Z",
        "lib:shot": None, "lib:keywords": [], "lib:mail": "true", "lib:body": "ab",
    }  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [{"lib:keywords": "bare"}, {"lib:rating": "x"}, {"lib:note": ["x"]}, {"lib:seen": "soon"}, {"file:content": "x"},
     {"lib:spot": "x"}, {"uid:major_version": 1.5}],
)  # fmt: skip
def test_wrong_types_are_400(platform: Platform, given: dict[str, Any]) -> None:
    assert "Unable to deserialize property" in platform.put(platform.named(2), given, status=400)["message"]


def test_a_complex_value_is_rebuilt_whole(platform: Platform) -> None:
    uid = platform.named(1)
    read = platform.put(uid, {"lib:spot": {"latitude": 1, "none": 2}})["properties"]["lib:spot"]
    assert read == {"latitude": 1.0, "longitude": None, "address": None}


def test_constraints_and_vocabularies_are_422(platform: Platform) -> None:
    uid = platform.named(2)
    report = platform.put(uid, {"lib:title": None, "lib:note": "x" * 256, "lib:subject": ["1/2", "9"]}, status=422)
    assert (report["has_error"], report["number"]) == (True, 3)
    names = {each["constraint"]["name"] for each in report["violations"]}
    assert names == {"NotNullConstraint", "LengthConstraint", "directoryResolver"}
    step = next(each["path"][0] for each in report["violations"] if each["constraint"]["name"] == "directoryResolver")
    assert step == {"field_name": "lib:subject", "is_list_item": True, "index": 1}
    assert platform.doc(uid)["properties"]["lib:note"] is None
    for key, value in (("dc:nature", "none"), ("dc:subjects", ["none"]), ("dc:coverage", "mars")):
        platform.put(uid, {key: value}, status=422)
    platform.put(uid, {"dc:creator": "nobody at all", "dc:subjects": ["art/photography"]})
    platform.create("a", status=422, lib__title=None)


def test_the_report_needs_json_to_be_accepted(opened: Open) -> None:
    for variant, kind in (("", "exception"), ("any_accept", "validation_report")):
        platform = opened(variant=variant)
        uid = platform.named(2)
        body = {"entity-type": "document", "uid": uid, "properties": {"lib:title": None}}
        answer = platform.http.put(f"{API}/id/{uid}", json=body, headers={"Accept": "*/*"})
        assert (answer.status_code, answer.json()["entity-type"]) == (422, kind)


def test_a_path_of_terms_is_checked_at_its_end_or_whole(opened: Open) -> None:
    for variant, status in (("", 200), ("whole_path", 422)):
        platform = opened(variant=variant)
        platform.put(platform.named(2), {"lib:subject": ["4/2"]}, status=status)
        platform.put(platform.named(2), {"lib:subject": ["1/2"]})


# -- blobs by reference ------------------------------------------------------------------------------------------------


def test_a_reference_that_does_not_resolve_is_dropped_silently(platform: Platform) -> None:
    made = platform.create("a", file__content=reference("batchId-none"))
    assert made["properties"]["file:content"] is None
    foreign = {"name": "a.jpg", "data": "https://elsewhere.example/nxfile/default/1/file:content/a.jpg"}
    uid = platform.named(2)
    before = platform.doc(uid)["properties"]["file:content"]["digest"]
    assert platform.put(uid, {"file:content": foreign})["properties"]["file:content"]["digest"] == before
    inside = platform.put(uid, {"files:files": [{"file": reference("none")}]})["properties"]["files:files"]
    assert inside == [{"file": None}]
    assert platform.put(uid, {"file:content": None})["properties"]["file:content"] is None


def test_the_batch_goes_with_the_request_that_used_it(platform: Platform) -> None:
    for status, kind in ((201, "Photo"), (400, "Foo")):
        batch = platform.batch()
        platform.send(batch)
        platform.create("a", type=kind, status=status, file__content=reference(batch))
        gone = platform.http.get(f"{API}/upload/{batch}").status_code
        assert gone == (404 if status == 201 else 200)  # an unknown type is refused before anything is resolved
    batch = platform.batch()
    platform.send(batch)
    platform.create("a", status=422, lib__title=None, file__content=reference(batch))
    assert platform.http.get(f"{API}/upload/{batch}").status_code == 404
    kept = platform.batch()
    platform.send(kept)
    platform.create("a", file__content=reference(kept), headers={"X-Batch-No-Drop": "true"})
    assert platform.http.get(f"{API}/upload/{kept}").status_code == 200


def test_blobs_of_this_server_are_copied(platform: Platform) -> None:
    blob = platform.doc(platform.named(3))["properties"]["file:content"]
    made = platform.create("a", file__content={"data": blob["data"]})["properties"]["file:content"]
    assert (made["digest"], made["name"]) == (blob["digest"], "photo 3.jpg")
    gone = blob["data"].replace(platform.named(3), "none")
    platform.create("b", status=400, file__content={"data": gone})
    text = {"name": "a.txt", "mime-type": "text/plain", "data": "inline text"}
    assert platform.create("c", file__content=text)["properties"]["file:content"]["length"] == "11"
    key = {"providerId": "default", "key": blob["digest"]}
    assert platform.create("d", file__content=key)["properties"]["file:content"]["digest"] == blob["digest"]


# -- idempotency and transactions --------------------------------------------------------------------------------------


def keyed(platform: Platform, key: str, **more: Any) -> Any:
    body = {"entity-type": "document", "type": "Photo", "name": "k", "properties": {"lib:title": "T"}, **more}
    return platform.http.post(f"{API}/path{WORK}", json=body, headers={"Idempotency-Key": key, **EVERYTHING})


def test_a_key_is_replayed_for_a_day(platform: Platform) -> None:
    first, again = keyed(platform, "k1"), keyed(platform, "k1", name="other")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["idempotency-key"] == "k1"
    platform.advance(24 * 3600 + 1)
    assert keyed(platform, "k1").json()["path"].startswith(f"{WORK}/k.")
    assert keyed(platform, "k2", type="Foo").status_code == 400
    assert keyed(platform, "k2").status_code == 201


def test_a_crash_leaves_the_key_stuck(opened: Open) -> None:
    platform = opened()
    platform.faults.add([{"match": "POST *", "do": "play:crash", "times": 1}])
    keyed(platform, "k")
    stuck = keyed(platform, "k")
    assert (stuck.status_code, stuck.content, stuck.headers["idempotency-key"]) == (409, b"", "k")
    platform.advance(24 * 3600 + 1)
    assert keyed(platform, "k").status_code == 201


def test_a_large_response_is_not_held_in_memory(opened: Open) -> None:
    platform = opened(replay_bytes=100)
    assert [keyed(platform, "k").status_code for _ in range(2)] == [201, 409]


def test_a_slow_transaction_is_rolled_back(platform: Platform) -> None:
    before = len(platform.truth())
    platform.faults.add([{"match": "POST *", "do": "play:slow:400", "times": 2}])
    assert platform.create("a", status=500)["message"] == "Internal Server Error"
    assert len(platform.truth()) == before
    platform.get(f"/path{WORK}/Press/a", 404)
    platform.create("a", headers={"Vendor-Transaction-Timeout": "600"})
    assert platform.create("b", status=201)


def test_a_rollback_takes_everything_back(platform: Platform) -> None:
    before = platform.truth()
    folder = platform.http.get(f"{API}/path{WORK}/Press").json()["uid"]
    for name in ("Document.Trash", "Document.Delete", "Document.CreateVersion"):
        platform.faults.add([{"match": "POST *", "do": "play:rollback", "times": 1}])
        platform.operate(name, f"doc:{folder}", status=500)
    assert platform.truth() == before
    platform.faults.add([{"match": "PUT *", "do": "play:conflict", "times": 1}])
    assert platform.put(platform.named(2), {"dc:title": "x"}, status=409)["message"] == "Concurrent update"
    assert platform.put(platform.named(2), {"dc:title": "x"})["title"] == "x"


def test_one_of_two_at_once_waits_for_the_other(platform: Platform) -> None:
    found: list[int] = []

    def post() -> None:
        found.append(keyed(platform, "same").status_code)

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 201 in found
    assert set(found) <= {201, 409}
    assert (
        len(platform.uids(f"SELECT * FROM Photo WHERE ecm:name LIKE 'k%' AND ecm:parentId = '{parent(platform)}'")) == 1
    )


def parent(platform: Platform) -> str:
    return str(platform.get(f"/path{WORK}")["uid"])


def test_deleting_and_moving(platform: Platform) -> None:
    press = platform.http.get(f"{API}/path{WORK}/Press").json()["uid"]
    moved = platform.operate("Document.Move", f"doc:{press}", target=f"{WORK}/Archive", name="New name")
    assert moved["path"] == f"{WORK}/Archive/New name"
    assert platform.doc(platform.named(2))["path"] == f"{WORK}/Archive/New name/2024/photo 2.jpg"
    copied = platform.operate("Document.Copy", f"doc:{press}", target=WORK)
    assert copied["uid"] != press
    assert platform.get(f"/path{WORK}/New name/2024/photo 2.jpg")["uid"] != platform.named(2)
    assert platform.http.delete(f"{API}/id/{press}").status_code == 204
    platform.get(f"/id/{press}", 404)
