"""What other people's clients ask of the server: queries by their older names, operations, multipart bodies, people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.services.emulated_b import API, WORK, Open, Platform, platforms, reference

PHOTOS = "SELECT * FROM Photo WHERE ecm:isVersion = 0"


@pytest.fixture(name="opened")
def fixture_opened() -> Iterator[Open]:
    with platforms() as made:
        yield made


@pytest.fixture(name="platform")
def fixture_platform(opened: Open) -> Platform:
    return opened()


def test_a_blob_attached_without_an_xpath_replaces_the_file(platform: Platform) -> None:
    uid = platform.create("cat")["uid"]
    for name in ("one.jpg", "two.jpg"):
        batch = platform.batch()
        platform.send(batch, name.encode(), name)
        answer = platform.http.post(
            f"{API}/upload/{batch}/0/execute/Blob.AttachOnDocument", json={"params": {"document": uid}}
        )
        assert answer.status_code == 200, answer.text
        file = platform.doc(uid)["properties"]["file:content"]
        assert (file["name"], file["length"]) == (name, "7")


@pytest.mark.parametrize("path", ["/query/NXQL", "/query", "/search/lang/NXQL/execute"])
def test_a_query_by_its_older_url(platform: Platform, path: str) -> None:
    found = platform.get(path, query=PHOTOS, pageSize=3)
    assert (found["resultsCount"], found["currentPageSize"]) == (8, 3)


def test_a_provider_by_its_older_url(platform: Platform) -> None:
    assert platform.get("/query/default_search")["entity-type"] == "documents"
    assert platform.http.get(f"{API}/query/no_such_provider").status_code in (400, 404)


@pytest.mark.parametrize("address", ["/site/automation", f"{API}/automation", "/site/automation/"])
def test_the_list_of_operations(platform: Platform, address: str) -> None:
    found = platform.http.get(address).json()
    known = {row["id"]: row for row in found["operations"]}
    assert {"Document.Query", "Blob.AttachOnDocument", "Document.Trash"} <= known.keys()
    assert known["Blob.AttachOnDocument"]["url"] == "Blob.AttachOnDocument"
    assert found["paths"]["login"] == "login"
    assert found["chains"] == []


def related(request: Any, data: bytes, name: str, kind: str) -> tuple[bytes, dict[str, str]]:
    """A body of two parts: the request, and a file."""
    parts = [
        b'Content-Type: application/json+nxrequest\r\nContent-ID: request\r\n\r\n' + json.dumps(request).encode(),
        f'Content-Type: {kind}\r\nContent-ID: input\r\nContent-Disposition: attachment; filename="{name}"\r\n'.encode()
        + b"Content-Transfer-Encoding: binary\r\n\r\n" + data,
    ]  # fmt: skip
    body = b"".join(b"--edge\r\n" + part + b"\r\n" for part in parts) + b"--edge--\r\n"
    return body, {"Content-Type": 'multipart/related; boundary="edge"; type="application/json+nxrequest"'}


DATA = b"\r\nbytes\r\n\x00\xff--edg\r\n"


def test_a_file_attached_in_a_multipart_body(platform: Platform) -> None:
    uid = platform.create("cat")["uid"]
    body, headers = related({"params": {"document": uid, "xpath": "files:files"}}, DATA, "plan.pdf", "application/pdf")
    for count in (1, 2):
        answer = platform.http.post(f"{API}/automation/Blob.AttachOnDocument", content=body, headers=headers)
        assert (answer.status_code, answer.content) == (200, DATA)
        (*_, last) = files = platform.doc(uid)["properties"]["files:files"]
        assert len(files) == count
        assert (last["file"]["name"], last["file"]["mime-type"]) == ("plan.pdf", "application/pdf")


def test_a_file_imported_in_a_multipart_body(platform: Platform) -> None:
    given = {"params": {}, "context": {"currentDocument": f"{WORK}/Press"}}
    body, headers = related(given, DATA, "sea.jpg", "image/jpeg")
    answer = platform.http.post("/site/automation/FileManager.Import", content=body, headers=headers)
    assert answer.json()["path"] == f"{WORK}/Press/sea.jpg"
    blob = platform.http.get(f"{API}/id/{answer.json()['uid']}/@blob/file:content", follow_redirects=True)
    assert blob.content == DATA


def test_a_broken_multipart_body_is_refused(platform: Platform) -> None:
    headers = {"Content-Type": "multipart/related; boundary=edge"}
    answer = platform.http.post(f"{API}/automation/FileManager.Import", content=b"nothing", headers=headers)
    assert answer.status_code == 400


def test_users_and_groups_are_changed_and_removed(platform: Platform) -> None:
    user = {"entity-type": "user", "properties": {"username": "new", "password": "p", "groups": ["members"]}}
    assert platform.http.post(f"{API}/user", json=user).status_code == 201
    changed = {"entity-type": "user", "id": "new", "properties": {"firstName": "N", "groups": ["staff"]}}
    answer = platform.http.put(f"{API}/user/new", json=changed)
    assert answer.status_code == 200
    assert (answer.json()["properties"]["firstName"], answer.json()["properties"]["groups"]) == ("N", ["staff"])
    group = {"entity-type": "group", "groupname": "g", "grouplabel": "G"}
    assert platform.http.post(f"{API}/group", json=group).status_code == 201
    more = {**group, "grouplabel": "Other", "memberUsers": ["new"], "memberGroups": ["staff"]}
    assert platform.http.put(f"{API}/group/g", json=more).json()["grouplabel"] == "Other"
    found = platform.get("/group/g", headers={"fetch.group": "memberUsers,memberGroups"})
    assert (found["memberUsers"], found["memberGroups"]) == (["new"], ["staff"])
    for path in ("/group/g", "/user/new"):
        assert platform.http.delete(f"{API}{path}").status_code == 204
        assert platform.http.get(f"{API}{path}").status_code == 404
        assert platform.http.delete(f"{API}{path}").status_code == 404


def test_only_administrators_change_people_and_groups(opened: Open) -> None:
    platform = opened(users=[{"name": "eve", "password": "p"}])
    with platform.client(auth=("eve", "p")) as eve:
        assert eve.put(f"{API}/group/members", json={"grouplabel": "x"}).status_code == 403
        assert eve.delete(f"{API}/user/eve").status_code == 403


@pytest.mark.parametrize(("permission", "status"), [("r", 201), ("rw", 201), ("anything at all", 201), ("", 400)])
def test_a_login_token_takes_any_permission_but_none(platform: Platform, permission: str, status: int) -> None:
    ask = {"applicationName": "x", "deviceId": "h", "permission": permission}
    assert platform.http.get("/authentication/token", params=ask).status_code == status


@pytest.mark.parametrize(
    ("given", "name", "kept"),
    [
        ("pdf", "a.pdf", "application/pdf"),
        ("pdf", "a", "application/pdf"),
        ("nonsense", "a.png", "image/png"),
        ("nonsense", "a", "application/octet-stream"),
        ("image/x-own", "a.png", "image/x-own"),
    ],
)
def test_an_unusable_media_type_is_corrected(platform: Platform, given: str, name: str, kept: str) -> None:
    batch = platform.batch()
    platform.send(batch, b"bytes", name, **{"X-File-Type": given})
    made = platform.create("cat", file__content=reference(batch))
    assert made["properties"]["file:content"]["mime-type"] == kept


def test_a_closed_list_is_one_bracketed_text_whatever_its_values_hold(opened: Open) -> None:
    terms = ("Etching", "Gouache, white", "Oil")
    field = {"record": "field", "key": "technique", "kind": "term", "types": ["Photo"], "vocabulary": "techniques"}
    platform = opened(
        {"record": "type", "name": "Photo", "media": ["PICTURE"]},
        {"record": "vocabulary", "key": "techniques", "closed": True},
        *({"record": "term", "vocabulary": "techniques", "id": each, "labels": {"en": each}} for each in terms),
        {**field, "label": "Technique", "native": "ENUM"},
        {"record": "field", "key": "title", "label": "Title", "kind": "text", "types": ["Photo"]},
        {"record": "container", "kind": "folder", "path": ["Press"]},
    )
    schemas = platform.get("/config/schemas", headers={"fetch.schema": "fields"})
    (described,) = [each["fields"]["technique"] for each in schemas if "technique" in each["fields"]]
    (rule,) = [each for each in described["constraints"] if each["name"] == "EnumConstraint"]
    assert rule["parameters"] == {"Values": "[Etching, Gouache, white, Oil]"}
    assert platform.create("a", lib__technique="Gouache, white")["properties"]["lib:technique"] == "Gouache, white"
    platform.create("b", lib__technique="Gouache", status=422)


def test_a_right_for_an_unknown_group_is_refused(platform: Platform) -> None:
    uid = platform.create("cat")["uid"]
    platform.operate("Document.AddPermission", uid, status=400, users=["Full Access"], permission="Read")
