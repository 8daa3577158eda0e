"""The emulated service B against its wire contract, by plain HTTP: what moves, what lags, versions, tags, rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conformance.catalogue import asset, library
from tests.support.services.emulated_b import API, MILLIS, USERS, WORK, Open, Platform, platforms, reference


@pytest.fixture
def opened() -> Iterator[Open]:
    with platforms() as made:
        yield made


@pytest.fixture
def platform(opened: Open) -> Platform:
    return opened(users=USERS)


# -- tokens and deltas -------------------------------------------------------------------------------------------------


def test_only_writers_with_a_token_see_each_other(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    token = platform.doc(uid)["changeToken"]
    plain = platform.put(uid, {"dc:title": "b"})["changeToken"]
    assert plain != token
    assert plain.split("-")[1] == token.split("-")[1]
    assert platform.put(uid, {"dc:title": "c"}, changeToken=token)["changeToken"].split("-")[1] == "1"
    refused = platform.put(uid, {"dc:title": "d"}, status=409, changeToken=token)
    assert refused["message"] == f"{uid}, Invalid change token"
    platform.put(uid, {"dc:title": "d"}, status=409, changeToken="what")
    body = {"entity-type": "document", "properties": {"dc:title": "e"}, "changeToken": token}
    assert platform.http.put(f"{API}/id/{uid}", json=body).status_code == 200
    platform.operate("Document.Update", f"doc:{uid}", status=409, properties={"dc:title": "f"}, changeToken=token)


def test_what_moves_the_date_and_what_does_not(platform: Platform) -> None:
    folder, collection = f"{WORK}/Archive", platform.operate("Collection.Create", name="C")["uid"]

    def moved(act: Callable[[str], Any]) -> tuple[bool, bool]:
        uid = platform.create("a")["uid"]
        platform.advance(30)
        before = platform.doc(uid)
        platform.advance(30)
        act(f"doc:{uid}")
        after = platform.doc(uid)
        changed = after["properties"]["dc:modified"] != before["properties"]["dc:modified"]
        return changed, after["changeToken"] != before["changeToken"]

    operate = platform.operate
    for act in (
        lambda doc: platform.put(doc[4:], {"dc:title": "a"}),
        lambda doc: operate("Document.FollowLifecycleTransition", doc, value="approve"),
        lambda doc: operate("Document.Trash", doc),
    ):
        assert moved(act) == (True, True)
    for act in (
        lambda doc: operate("Document.CheckIn", doc, version="minor"),
        lambda doc: operate("Document.Lock", doc),
        lambda doc: operate("Services.TagDocument", doc, tags="x"),
        lambda doc: operate("Document.AddToCollection", doc, collection=collection),
        lambda doc: operate("Document.Move", doc, target=folder),
        lambda doc: operate("Document.AddPermission", doc, users="staff", permission="Read"),
    ):
        assert moved(act) == (False, True)


def test_extraction_comes_later_and_moves_the_system_part_alone(platform: Platform) -> None:
    batch = platform.batch()
    platform.send(batch)
    made = platform.create("a", file__content=reference(batch), imd__description="mine")
    assert made["properties"]["picture:views"] == []
    early = platform.http.get(f"{API}/id/{made['uid']}/@rendition/thumbnail")
    assert "empty=true" in early.headers["content-type"]
    platform.advance(2)
    after = platform.doc(made["uid"])
    assert len(after["properties"]["picture:views"]) == 3
    assert after["properties"]["imd:description"] != "mine"
    assert after["properties"]["dc:modified"] == made["properties"]["dc:modified"]
    first, second = (token.split("-") for token in (made["changeToken"], after["changeToken"]))
    assert (int(first[0]) + 1, first[1]) == (int(second[0]), second[1])
    assert platform.http.get(f"{API}/id/{made['uid']}/@rendition/thumbnail").status_code == 200
    assert platform.http.get(f"{API}/id/{made['uid']}/@rendition/none").status_code == 400


def test_the_audit_log_comes_later_and_names_the_top_alone(platform: Platform) -> None:
    def events(**named: str) -> list[Any]:
        found = platform.operate("Audit.QueryWithPageProvider", providerName="AUDIT_BROWSER", namedQueryParams=named)
        return [(each["eventId"], each["docPath"]) for each in found["entries"]]

    folder = platform.http.get(f"{API}/path{WORK}/Press").json()["uid"]
    assert platform.http.delete(f"{API}/id/{folder}").status_code == 204
    assert events() == []
    platform.advance(2)
    assert events() == [("documentRemoved", f"{WORK}/Press")]
    uid = platform.create("a", parent=WORK)["uid"]
    platform.operate("Services.TagDocument", f"doc:{uid}", tags="x")
    platform.advance(2)
    assert events(**{"bas:logId": "184001"}) == [("documentCreated", f"{WORK}/a")]
    assert events(**{"bas:eventIds": "documentRemoved,documentMoved"}) == [("documentRemoved", f"{WORK}/Press")]
    assert len(platform.get(f"/id/{uid}/@audit")["entries"]) == 1


def test_an_audit_log_in_memory_is_lost(opened: Open) -> None:
    for audit, left in (("memory", 0), ("durable", 1)):
        platform = opened(audit=audit)
        platform.create("a")
        platform.advance(2)
        platform.faults.add([{"match": "POST *", "do": "play:restart", "times": 1}])
        assert len(platform.operate("Audit.QueryWithPageProvider")["entries"]) == left


# -- versions ----------------------------------------------------------------------------------------------------------


def test_a_put_with_a_check_in_returns_the_version(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    version = platform.put(uid, {"dc:title": "b"}, headers={"X-Versioning-Option": "minor"})
    assert version["uid"] != uid
    assert (version["isVersion"], version["versionLabel"], version["versionableId"]) == (True, "0.1", uid)
    assert platform.doc(uid)["isCheckedOut"] is False
    major = platform.put(uid, {"dc:title": "c"}, headers={"X-Versioning-Option": "MAJOR"})
    assert major["versionLabel"] == "1.0"
    platform.put(uid, {"dc:title": "c"}, status=400, headers={"X-Versioning-Option": "huge"})
    assert platform.put(uid, {"dc:title": "c"}, headers={"X-Versioning-Option": "NONE"})["uid"] == uid
    platform.put(version["uid"], {"dc:title": "d"}, status=400)
    assert [doc["title"] for doc in platform.operate("Document.GetVersions", f"doc:{uid}")["entries"]] == ["b", "c"]
    last = platform.operate("Document.GetLastVersion", f"doc:{uid}")
    assert (last["uid"], last["isLatestMajorVersion"]) == (major["uid"], True)


def test_another_contributor_makes_a_version_first(opened: Open) -> None:
    for automatic, count in ((True, 1), (False, 0)):
        platform = opened(users=USERS, auto_version=automatic)
        uid = platform.named(2)
        body = {"entity-type": "document", "uid": uid, "properties": {"dc:title": "by jdoe"}}
        with platform.client(auth=("jdoe", "p")) as jdoe:
            assert jdoe.put(f"{API}/id/{uid}", json=body).status_code == 200
        found = platform.operate("Document.GetVersions", f"doc:{uid}")["entries"]
        assert [doc["title"] for doc in found] == ["photo 2.jpg"] * count


def test_an_increment_of_none(opened: Open) -> None:
    for variant, count in (("", 0), ("empty_version", 1)):
        platform = opened(variant=variant)
        uid = platform.create("a")["uid"]
        assert platform.operate("Document.CreateVersion", f"doc:{uid}", increment="None")["uid"] == uid
        assert len(platform.operate("Document.GetVersions", f"doc:{uid}")["entries"]) == count


def test_versions_are_deleted_with_care(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    platform.operate("Document.CreateVersion", f"doc:{uid}", increment="Minor")
    (version,) = platform.operate("Document.GetVersions", f"doc:{uid}")["entries"]
    assert platform.http.delete(f"{API}/id/{version['uid']}").status_code == 403
    platform.operate("Document.CheckOut", f"doc:{uid}")
    assert platform.http.delete(f"{API}/id/{version['uid']}").status_code == 204
    platform.operate("Document.CreateVersion", f"doc:{uid}", increment="Minor")
    platform.http.delete(f"{API}/id/{uid}")
    query = f"SELECT * FROM Document WHERE ecm:versionVersionableId = '{uid}'"
    assert len(platform.uids(query)) == 1
    platform.advance(6)
    assert platform.uids(query) == []


def test_a_published_proxy(platform: Platform) -> None:
    section = platform.http.get(f"{API}/path/default-domain/sections").json()["uid"]
    proxy = platform.operate("Document.PublishToSection", f"doc:{platform.named(2)}", target=section, override=True)
    assert (proxy["isProxy"], proxy["versionableId"]) == (True, platform.named(2))
    assert platform.http.delete(f"{API}/id/{proxy['proxyTargetId']}").status_code == 403
    platform.operate("Services.TagDocument", f"doc:{proxy['uid']}", status=500, tags="x")
    found = platform.search("SELECT * FROM Document WHERE ecm:isProxy = 1")["entries"]
    assert [each["uid"] for each in found] == [proxy["uid"]]


# -- tags, collections, states, trash ----------------------------------------------------------------------------------


def test_tags_are_cleaned(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    platform.operate("Services.TagDocument", f"doc:{uid}", tags="Fine Art,été,50%,it's,a/b\\c")
    platform.operate("Services.TagDocument", f"doc:{uid}", tags=["fineart"])
    labels = [tag["label"] for tag in platform.doc(uid)["properties"]["nxtag:tags"]]
    assert labels == ["fineart", "été", "50", "its", "abc"]
    assert platform.operate("Services.TagDocument", f"doc:{uid}", status=500, tags="%")["message"] == (
        "Internal Server Error"
    )
    platform.operate("Services.UntagDocument", f"doc:{uid}", tags="été,its")
    put = platform.put(uid, {"nxtag:tags": [{"label": "Fine Art", "username": "jdoe"}]})
    assert put["properties"]["nxtag:tags"] == [{"label": "Fine Art", "username": "jdoe"}]
    platform.operate("Services.RemoveDocumentTags", f"doc:{uid}")
    assert platform.doc(uid)["properties"]["nxtag:tags"] == []


def test_collections_have_a_cap_and_are_cleaned_late(opened: Open) -> None:
    platform = opened(collection_most=2)
    collection = platform.operate("Collection.Create", name="C")["uid"]
    a, b, c = (platform.create(name)["uid"] for name in "abc")
    assert len(platform.operate("Document.AddToCollection", f"docs:{a},{b}", collection=collection)["entries"]) == 2
    platform.operate("Document.AddToCollection", f"doc:{a}", collection=collection)
    platform.operate("Document.AddToCollection", f"doc:{c}", status=400, collection=collection)
    assert platform.doc(collection)["properties"]["collection:documentIds"] == [a, b]
    assert "CollectionMember" in platform.doc(a)["facets"]
    platform.http.delete(f"{API}/id/{a}")
    assert platform.doc(collection)["properties"]["collection:documentIds"] == [a, b]
    members = platform.operate("Collection.GetDocumentsFromCollection", f"doc:{collection}")
    assert [each["uid"] for each in members["entries"]] == [b]
    platform.advance(6)
    assert platform.doc(collection)["properties"]["collection:documentIds"] == [b]
    platform.operate("Collection.RemoveFromCollection", f"doc:{b}", collection=collection)
    assert platform.doc(b)["properties"]["collectionMember:collectionIds"] == []


def test_the_cap_of_collections_by_release(opened: Open) -> None:
    assert opened().served.app.state.server.options.collection_most == 10_000
    assert opened(variant="older").served.app.state.server.options.collection_most == 100_000


def test_states_follow_their_transitions(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    for value, state in (("approve", "approved"), ("backToProject", "project"), ("obsolete", "obsolete")):
        assert platform.operate("Document.FollowLifecycleTransition", f"doc:{uid}", value=value)["state"] == state
    platform.operate("Document.FollowLifecycleTransition", f"doc:{uid}", status=500, value="approve")


def test_the_trash_renames(platform: Platform) -> None:
    folder = platform.http.get(f"{API}/path{WORK}/Press").json()["uid"]
    trashed = platform.operate("Document.Trash", f"doc:{folder}")
    assert trashed["path"] == f"{WORK}/Press._{MILLIS}_.trashed"
    inside = platform.doc(platform.named(2))
    assert (inside["isTrashed"], inside["path"]) == (True, f"{trashed['path']}/2024/photo 2.jpg")
    platform.get(f"/path{WORK}/Press", 404)
    back = platform.operate("Document.Untrash", f"doc:{folder}")
    assert (back["path"], platform.doc(platform.named(2))["isTrashed"]) == (f"{WORK}/Press", False)
    assert platform.doc(platform.named(6))["isTrashed"] is False
    platform.operate("Document.Trash", f"doc:{folder}")
    platform.create("Press", parent=WORK, type="Workspace")
    assert platform.operate("Document.Untrash", f"doc:{folder}")["path"].endswith(".trashed")


def test_locks(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    platform.operate("Document.AddPermission", f"doc:{uid}", users=["eve"], permission="Everything")
    platform.operate("Document.Lock", f"doc:{uid}")
    assert platform.doc(uid)["lockOwner"] == "Administrator"
    body = {"entity-type": "document", "uid": uid, "properties": {"dc:title": "x"}}
    with platform.client(auth=("eve", "p")) as eve:
        assert eve.put(f"{API}/id/{uid}", json=body).status_code == 403
        assert eve.post(f"{API}/automation/Document.Lock", json={"input": f"doc:{uid}"}).status_code == 409
        platform.operate("Document.Unlock", f"doc:{uid}")
        assert eve.put(f"{API}/id/{uid}", json=body).status_code == 200


def test_rights(platform: Platform) -> None:
    uid = platform.create("a")["uid"]
    for wrong in ({"users": "nobody", "permission": "Read"}, {"users": "eve", "permission": "Fly"}):
        platform.operate("Document.AddPermission", f"doc:{uid}", status=400, **wrong)
    with platform.client(auth=("eve", "p")) as eve:
        assert eve.get(f"{API}/id/{uid}").status_code == 403
        platform.operate("Document.AddPermission", f"doc:{uid}", users="eve", permission="Read", end="2026-06-16")
        assert eve.get(f"{API}/id/{uid}").status_code == 200
        ((ace,), inherited) = (each["ace"] for each in platform.get(f"/id/{uid}/@acl")["acl"])
        assert ace["id"] == "eve:Read:true:Administrator::1781568000000"
        assert {each["username"] for each in inherited} == {"administrators", "members"}
        platform.advance(86400)
        assert eve.get(f"{API}/id/{uid}").status_code == 403
    platform.operate("Document.RemovePermission", f"doc:{uid}", id=ace["id"])
    platform.operate("Document.BlockPermissionInheritance", f"doc:{uid}")
    blocked = platform.get(f"/id/{uid}/@acl")["acl"][0]["ace"][-1]
    assert (blocked["username"], blocked["permission"], blocked["granted"]) == ("Everyone", "Everything", False)


def test_relations_are_incoming_unless_the_variant_says_outgoing(opened: Open) -> None:
    for variant, ways in (("", (0, 1)), ("outgoing", (1, 0))):
        platform = opened(variant=variant)
        one, two = platform.named(2), platform.named(3)
        platform.operate("Document.AddRelation", f"doc:{one}", object=two, predicate="p")
        found = [platform.operate("Document.GetLinkedDocuments", f"doc:{uid}", predicate="p")["entries"]
                 for uid in (one, two)]  # fmt: skip
        assert tuple(map(len, found)) == ways


# -- operations, vocabularies, bulk ------------------------------------------------------------------------------------


def test_how_operations_are_called(platform: Platform) -> None:
    assert "not found" in platform.operate("No.Such", status=404)["message"]
    platform.operate("document.trash", f"doc:{platform.named(2)}", status=404)
    void = platform.http.post(
        f"{API}/automation/Document.Lock", json={"input": f"doc:{platform.named(2)}"},
        headers={"X-NXVoidOperation": "true"},
    )  # fmt: skip
    assert (void.status_code, void.content) == (204, b"")
    assert platform.http.post(f"{API}/automation/Log", content=b"no").status_code == 400
    begun = platform.http.post(f"{API}/automation/Document.Lock/@async", json={"input": f"doc:{platform.named(3)}"})
    assert begun.status_code == 202
    assert platform.http.get(begun.headers["location"]).text == '"RUNNING"'
    platform.advance(2)
    done = platform.http.get(begun.headers["location"])
    assert done.status_code == 303
    assert platform.http.get(done.headers["location"]).json()["uid"] == platform.named(3)


def test_vocabularies(platform: Platform) -> None:
    listed = {each["name"]: each for each in platform.get("/directory")["entries"]}
    assert (listed["subjects"]["parent"], listed["subjects"]["schema"]) == ("subjects", "l10nxvocabulary")
    assert (listed["countries"]["readOnly"], "userDirectory" in listed) == (True, False)
    entry = {"entity-type": "directoryEntry", "directoryName": "subjects"}

    def post(name: str, **properties: Any) -> int:
        answer = platform.http.post(f"{API}/directory/{name}", json={**entry, "properties": properties})
        return int(answer.status_code)

    assert [post("subjects", id=f"n{number}", label_en=f"N{number}", parent="1") for number in range(60)] == [201] * 60
    page = platform.get("/directory/subjects")
    assert (len(page["entries"]), page["resultsCount"], page["isNextPageAvailable"]) == (50, 64, True)
    assert len(platform.get("/directory/subjects", pageSize="1000")["entries"]) == 64
    assert (post("subjects", id="n1"), post("subjects"), post("countries", id="x"), post("none", id="x")) == (
        409, 400, 400, 404,
    )  # fmt: skip
    assert post("subjects", id="a/b", label_en="AB") == 201
    assert platform.get("/directory/subjects/a/b")["id"] == "a/b"
    assert platform.http.delete(f"{API}/directory/subjects/1").status_code == 409
    assert platform.http.delete(f"{API}/directory/subjects/n1").status_code == 204
    assert platform.http.delete(f"{API}/directory/subjects/n1").status_code == 404
    with platform.client(auth=("eve", "p")) as eve:
        assert eve.post(f"{API}/directory/subjects", json={**entry, "properties": {"id": "z"}}).status_code == 403


def test_labels_are_translated_in_a_second_field_or_in_place(opened: Open) -> None:
    for variant, label in (("", "Article"), ("label_beside", "label.directories.nature.article")):
        found = opened(variant=variant).get("/directory/nature", headers={"translate-directoryEntry": "label"})
        entry = next(each for each in found["entries"] if each["id"] == "article")
        assert entry["properties"]["label"] == label
        assert "Article" in entry["properties"].values()


def test_people(platform: Platform) -> None:
    body = {"entity-type": "user", "properties": {"username": "new", "password": "p", "groups": ["members"]}}
    assert [platform.http.post(f"{API}/user", json=body).status_code for _ in range(2)] == [201, 409]
    no_password = {"entity-type": "user", "properties": {"username": "other"}}
    assert platform.http.post(f"{API}/user", json=no_password).status_code == 400
    assert platform.get("/user/new")["properties"]["username"] == "new"
    platform.get("/user/nobody", 404)
    assert "memberUsers" not in platform.get("/group/staff")
    assert platform.get("/group/staff", headers={"fetch.group": "memberUsers"})["memberUsers"] == ["eve"]
    assert [each["id"] for each in platform.get("/user/search", q="ev")["entries"]] == ["eve"]


def test_a_bulk_export(platform: Platform) -> None:
    query = {"query": "SELECT * FROM Photo WHERE lib:rating = 3"}
    body = {"xpaths": ["file:content/digest", "lib:srckey"], "schemas": ["dublincore"]}
    begun = platform.http.post(f"{API}/search/bulk/csvExport", params=query, json=body)
    assert (begun.status_code, begun.json()["state"]) == (202, "SCHEDULED")
    key = begun.json()["commandId"]
    assert platform.http.get(f"/nxbigblob/{key}").status_code == 202
    platform.advance(2)
    done = platform.get(f"/bulk/{key}")
    assert (done["state"], done["result"]["url"]) == ("COMPLETED", f"nxbigblob/{key}")
    head, row = platform.http.get(f"/nxbigblob/{key}").text.splitlines()
    assert head.startswith("repository,uid,path,")
    assert "old-3" in row
    assert platform.http.get(f"/nxbigblob/{key}").status_code == 404
    assert platform.http.post(f"{API}/search/bulk/none", params=query, json={}).status_code == 400
    assert platform.http.post(f"{API}/search/bulk/setProperties", params=query, json={}).status_code == 403


def test_comments(platform: Platform) -> None:
    uid = platform.named(2)
    body = {"entity-type": "comment", "parentId": uid, "text": "hi", "entityId": "src-77", "author": "somebody"}
    made = platform.http.post(f"{API}/id/{uid}/@comment", json=body)
    assert (made.status_code, made.json()["author"]) == (201, "Administrator")
    assert platform.get(f"/id/{uid}/@comment")["totalSize"] == 1
    assert platform.get(f"/id/{uid}/@comment/external/src-77")["text"] == "hi"


# -- catalogues --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["lifecycle", "section", "dc:nature"])
def test_a_status_is_stored_as_the_server_is_configured(opened: Open, status: str) -> None:
    platform = opened(status=status)
    rows = {row["catalogue_id"]: row["status"] for row in platform.truth()}
    assert (rows["2"], rows["6"]) == ("published", "trash")
    assert rows["7"] == ("draft" if status == "section" else "archived")
    found = platform.doc(platform.named(2))
    assert (found["state"] == "approved") == (status == "lifecycle")


def test_a_catalogue_is_stored_as_far_as_documents_can(opened: Open) -> None:
    section = {"kind": "section", "path": ["Web", "News"]}
    more = [*library(), {"record": "type", "name": "Document"}, asset(50, type="Document", placements=[section])]
    more += [asset(51, type="", form_type="VIDEO", versions=[], fields={}, placements=[])]
    platform = opened(*more)
    rows = {row["catalogue_id"]: row for row in platform.truth()}
    assert [(place["kind"], place["path"]) for place in rows["1"]["placements"]] == [
        ("folder", ["Press", "2024"]), ("collection", ["Highlight"]),
    ]  # fmt: skip
    assert rows["1"]["fields"]["lib:title"] == "Harbour at dawn"
    assert [file["size"] for file in rows["1"]["versions"]] == [900, 901, 902]
    assert rows["1"]["rights"]["groups"] == ["staff"]
    assert (rows["50"]["type"], rows["50"]["placements"][0]["path"]) == ("LibDocument", ["Web", "News"])
    assert (rows["51"]["type"], rows["51"]["versions"], rows["51"]["placements"]) == ("Video", [], [])


def test_operations_come_and_go_with_releases(opened: Open) -> None:
    for variant, there, gone in (("", "Search", "Elasticsearch"), ("older", "Elasticsearch", "Search")):
        platform = opened(variant=variant)
        assert platform.operate(f"{there}.WaitForIndexing")["value"] is True
        platform.operate(f"{gone}.WaitForIndexing", status=404)
