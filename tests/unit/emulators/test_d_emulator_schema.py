"""The emulated service D: schema, vocabularies, collections, bulk edits, webhooks. Numbers are those of wire D 12."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from dam_sync.emulators.d_templates.options import Options
from dam_sync.emulators.d_templates.webhooks import RETRIES, signed
from tests.support.services.emulated_d import LIMITED, Api, asset_row, library, schema_rows, served

NIL = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with served(library(3)) as made:
        yield made


def vocabulary(api: Api, name: str = "Colours") -> Any:
    rows = api.get("/metadata/vocabulary")
    return next(row for row in rows if row["metadataDefinitionName"] == name)


def collection(api: Api, name: str, *files: str, **more: Any) -> dict[str, Any]:
    return {
        "collectionType": "secured",
        "name": name,
        "metadataTemplateId": api.template()["templateId"],
        "securityTemplateIds": [api.security()],
        "metadataDocument": [],
        "collectionDocument": list(files),
        **more,
    }


def test_templates_have_groups_and_a_system_group(api: Api) -> None:
    template = api.template()
    assert [group["metadataGroupName"] for group in template["metadataGroups"]] == ["Images Fields", "System"]
    fields = api.attributes()
    assert (fields["title"]["subType"], fields["title"]["length"], fields["title"]["required"]) == (
        "textBox",
        250,
        True,
    )
    assert (fields["notes"]["subType"], fields["notes"]["length"], fields["notes"]["facetable"]) == (
        "textArea",
        10_000,
        False,
    )
    assert (fields["shoot_date"]["type"], fields["shoot_date"]["dateFormat"]) == ("date", "MM/dd/yyyy")
    assert fields["channels"]["isMultipleSelect"]
    assert fields["channels"]["controlledVocabularyId"] == vocabulary(api)["metadataDefinitionId"]
    assert [each["searchField"] for each in fields["usage_table"]["tableFieldsDenormalized"]] == [
        "usage_category",
        "usage_until",
    ]
    assert [each["cascadeOrder"] for each in fields["category"]["cascadeFieldsDenormalized"]] == [0, 1]
    assert api.refused("GET", "/metadata/template/unknown") == (400, {"message": "Metadata Template not found"})


def test_newer_lists_count_all(api: Api) -> None:
    for path in ("templates", "attributes", "groups", "vocabularies"):
        listed = api.get(f"/metadata/{path}", limit=1)
        assert len(listed["results"]) == 1 <= listed["hitCount"]
        assert api.refused("GET", f"/metadata/{path}?limit=101")[0] == 400
    names = [row["name"] for row in api.get("/metadata/templates", sortField="name", order="desc")["results"]]
    assert names == ["Images", "Documents"]


def test_attributes_are_made_with_a_slug_of_their_name(api: Api) -> None:
    made = api.post("/metadata/attribute", {"name": "Legacy Key (Old)", "type": "textbox", "isFacetable": True})
    assert (made["searchField"], made["length"]) == ("legacy_key_old", 250)
    renamed = api.patch(f"/metadata/attribute/{made['id']}", {"name": "Legacy"})
    assert (renamed["name"], renamed["searchField"]) == ("Legacy", "legacy_key_old")
    again = api.post("/metadata/attribute", {"name": "Legacy key old", "type": "textbox"})
    assert again["searchField"] == "legacy_key_old_2"
    wrong = [
        {"name": "Title", "type": "textbox"},
        {"name": "Long", "type": "textbox", "length": 251},
        {"name": "Long", "type": "textarea", "length": 10_001},
        {"name": "Facets", "type": "textarea", "isFacetable": True},
        {"name": "Odd", "type": "number"},
        {"name": "", "type": "textbox"},
    ]
    for body in wrong:
        assert api.refused("POST", "/metadata/attribute", body)[0] == 400, body
    body = {"name": "Lost", "type": "dropdown", "vocabularyId": "unknown"}
    assert api.refused("POST", "/metadata/attribute", body)[0] == 404
    small = Api(api.served, LIMITED)
    assert small.refused("POST", "/metadata/attribute", {"name": "Mine", "type": "textbox"})[0] == 403
    small.close()


def test_an_attribute_that_is_not_facetable_filters_nothing(api: Api) -> None:
    made = api.post("/metadata/attribute", {"name": "Plain Key", "type": "textbox", "isFacetable": False})
    group = api.post("/metadata/group", {"name": "Plain", "attributeIds": [made["id"]]})
    template = api.template()
    groups = next(r for r in api.get("/metadata/templates")["results"] if r["name"] == "Images")["groupIds"]
    api.patch(f"/metadata/template/{template['templateId']}", {"groupIds": [*groups, group["id"]]})
    entry = {"metadataDefinitionId": made["id"], "metadataDefinitionValue": "needle"}
    api.made("plain.jpg", entry)
    api.world.advance(5)
    assert api.found("(Plain Key:needle)") == set()
    assert api.found("needle") == {"plain.jpg"}
    api.patch(f"/metadata/attribute/{made['id']}", {"isFacetable": True})
    assert api.found("(Plain Key:needle)") == {"plain.jpg"}


def test_an_attribute_in_two_groups_is_refused(api: Api) -> None:
    title = api.attributes()["title"]["id"]
    groups = [api.post("/metadata/group", {"name": f"G{n}", "attributeIds": [title]})["id"] for n in (1, 2)]
    assert api.refused("POST", "/metadata/template", {"name": "Twice", "groupIds": groups})[0] == 400
    assert api.refused("POST", "/metadata/template", {"name": "Lost", "groupIds": ["unknown"]})[0] == 400
    made = api.post("/metadata/template", {"name": "Once", "groupIds": [groups[0], groups[0]]})
    names = [group["metadataGroupName"] for group in made["template"]["metadataGroups"]]
    assert names == ["G1", "System"]


def test_20_a_new_value_is_usable_after_apply_alone(api: Api) -> None:
    key = vocabulary(api)["metadataDefinitionId"]
    api.patch(f"/metadata/vocabulary/{key}", {"add": ["Black"]})
    black = api.value("Black")  # it reads at once
    body = api.body("black.jpg", api.entry("campaign", black))
    assert api.refused("POST", "/asset", body)[1]["message"] == "Invalid fields for metadata template"
    assert api.http.post("/metadata/apply").json() == {"message": "Changes applied successfully"}
    assert api.post("/asset", body)["objectId"]
    api.world.advance(5)
    before = api.named("black.jpg")
    api.patch(f"/metadata/vocabulary/{key}", {"update": [{**black, "valueName": "Ink"}]})
    assert api.named("black.jpg")["metadataDenormalized"]["campaign"] == "Black"
    api.http.post("/metadata/apply")
    after = api.named("black.jpg")
    assert after["metadataDenormalized"]["campaign"] == "Ink"
    assert after["lastUpdatedEpoch"] == before["lastUpdatedEpoch"]  # a rename touches no asset
    assert api.found("(Campaign:Ink)") == {"black.jpg"}
    api.patch(f"/metadata/vocabulary/{key}", {"delete": [black["valueId"]]})
    assert api.refused("PATCH", f"/metadata/vocabulary/{key}", {"delete": [black["valueId"]]})[0] == 400
    api.http.post("/metadata/apply")
    assert api.refused("POST", "/asset", body)[0] == 403


@pytest.mark.parametrize("variant", ["", "apply_after_post"])
def test_20_a_new_vocabulary_and_apply(variant: str) -> None:
    with served(schema_rows(), variant=variant) as api:
        made = api.post("/metadata/vocabulary", {"name": "Moods", "values": ["Calm", "Calm", "Loud"]})
        values = made["metadataDocument"]["values"]
        assert [row["valueName"] for row in values] == ["Calm", "Loud"]
        body = {"name": "Mood", "type": "dropdown", "vocabularyId": made["metadataDefinitionId"]}
        attribute = api.post("/metadata/attribute", body)["id"]
        group = api.post("/metadata/group", {"name": "Moods", "attributeIds": [attribute]})["id"]
        template = api.post("/metadata/template", {"name": "Moody", "groupIds": [group]})["template"]["templateId"]
        entry = {"metadataDefinitionId": attribute, "metadataDefinitionValue": {"valueId": values[0]["valueId"]}}
        create = {
            "filename": "mood.jpg",
            "metadataTemplateId": template,
            "securityTemplateIds": [api.security()],
            "metadata": [entry],
        }
        assert (api.http.post("/asset", json=create).status_code == 200) is (variant == "")
        api.http.post("/metadata/apply")
        assert api.post("/asset", create)["objectId"]


def test_vocabularies_refuse(api: Api) -> None:
    assert api.refused("POST", "/metadata/vocabulary", {"values": ["a"]}) == (400, {"message": "name cannot be empty"})
    assert api.refused("POST", "/metadata/vocabulary", {"name": "x"}) == (400, {"message": "value cannot be empty"})
    lost = (404, {"message": "Controlled vocabulary not found"})
    assert api.refused("GET", "/metadata/vocabulary/unknown") == lost
    assert api.refused("PATCH", "/metadata/vocabulary/unknown", {"add": ["x"]}) == lost
    assert api.refused("DELETE", "/metadata/vocabulary/unknown")[0] == 400
    system = vocabulary(api, "System Metadata Templates")["metadataDefinitionId"]
    assert api.refused("PATCH", f"/metadata/vocabulary/{system}", {"add": ["x"]})[0] == 400
    users = vocabulary(api, "System Users")["metadata"]["values"]
    assert api.get("/user")["userId"] in {row["valueId"] for row in users}  # the ids of the things themselves
    alone = api.get(f"/metadata/vocabulary/{vocabulary(api)['metadataDefinitionId']}")
    assert "values" in alone["metadataDocument"]
    assert "metadata" not in alone


def test_19_collections_hold_file_ids(api: Api) -> None:
    files = [api.named(f"photo-{n}.jpg")["fileId"] for n in (1, 2, 3)]
    told = api.post("/collection", collection(api, "Spring", *files[:2]))
    assert told["statusCode"] == "success"
    path = f"/collection/{told['collectionId']}"
    read = api.get(path)
    assert (read["collectionDocument"], read["shared"]) == (files[:2], "N")
    assert api.patch(path, {"collectionDocument": files[2:]})["message"] == "Collection update was successful"
    assert api.get(path)["collectionDocument"] == files[2:]  # the list replaces
    newer = path.replace("/collection/", "/collections/")
    for operation, members in (("add", files[:1]), ("remove", files[2:]), ("replace", files)):
        api.patch(newer, {"collectionUpdates": {"operation": operation, "fileIds": members}})
    assert api.get(path)["collectionDocument"] == files
    assert api.refused("PATCH", newer, {"collectionUpdates": {"operation": "merge", "fileIds": []}})[0] == 400
    places = api.truth()["photo-1.jpg"]["placements"]
    assert [place["path"] for place in places] == [["Spring"]]
    api.world.advance(5)
    found = api.post("/search/collection", {"searchTerm": ["spring"]})
    assert [row["name"] for row in found["result"]] == ["Spring"]
    assert api.http.delete(path).json()["message"] == "Collection delete operation succeeded"
    assert api.refused("GET", path) == (403, {"message": "Collection does not exist"})
    assert api.named("photo-1.jpg")["fileState"] == "available"  # the assets stay


@pytest.mark.parametrize("variant", ["", "collection_lag"])
def test_19_a_collection_is_found_at_once_or_when_the_index_has_it(variant: str) -> None:
    with served(schema_rows(), variant=variant) as api:
        api.post("/collection", collection(api, "Later"))
        found = api.post("/search/collection", {"searchTerm": ["Later"]})["result"]
        assert len(found) == (0 if variant else 1)
        api.world.advance(3)
        assert len(api.post("/search/collection", {"searchTerm": ["Later"]})["result"]) == 1


def test_19_what_a_collection_is_refused_for(api: Api) -> None:
    body = collection(api, "Twice")
    api.post("/collection", body)
    duplicate = (403, {"message": "A collection with the same name and customerId already exists"})
    assert api.refused("POST", "/collection", body) == duplicate
    other = api.post("/collection", {**body, "name": "Other"})["collectionId"]
    assert api.refused("PATCH", f"/collection/{other}", {"name": "Twice"}) == duplicate
    for name in ("collectionType", "name", "metadataTemplateId", "metadataDocument", "securityTemplateIds"):
        told = api.post("/collection", {key: body[key] for key in body if key != name})  # 200 all the same
        text = f"The following fields are required, but are missing [{name}]"
        assert told == {"statusCode": "error", "message": text}
    assert api.refused("POST", "/collection", {**body, "name": "x" * 201})[0] == 400
    assert api.post("/collection", {**body, "name": "x" * 200})["statusCode"] == "success"


def test_8_a_collection_has_at_most_4999_members() -> None:
    assert Options().members == 4_999
    with served(schema_rows(), members=3) as api:
        assert api.refused("POST", "/collection", collection(api, "Full", *"abcd"))[0] == 400
        made = api.post("/collection", collection(api, "Full", *"abc"))["collectionId"]
        more = {"collectionUpdates": {"operation": "add", "fileIds": ["d"]}}
        assert api.refused("PATCH", f"/collections/{made}", more)[0] == 400
        assert api.get(f"/collection/{made}")["collectionDocument"] == ["a", "b", "c"]


def test_a_container_too_large_goes_on_in_another() -> None:
    place = [{"kind": "folder", "path": ["Press"]}]
    rows = [*schema_rows(), *(asset_row(n, placements=place) for n in range(1, 6))]
    with served(rows, members=3, nil_members=True) as api:
        found = api.post("/search/collection", {"searchTerm": ["press*"]})["result"]
        sizes = {row["name"]: len(row["collectionDocument"]) for row in found}
        assert sizes == {"Press / 2024": 1, "Press": 3, "Press (2)": 3, "Press (3)": 2}
        assert all(NIL in row["collectionDocument"] for row in found)


def test_private_collections_are_their_owners() -> None:
    with served(library(1)) as api:
        body = collection(api, "Mine", collectionType="privateSecured")
        del body["securityTemplateIds"]
        made = api.post("/collection", body)["collectionId"]
        small = Api(api.served, LIMITED)
        assert small.refused("GET", f"/collection/{made}")[0] == 403
        api.world.advance(3)
        assert small.post("/search/collection", {"searchTerm": ["Mine"]})["result"] == []
        small.close()


def test_the_other_envelopes() -> None:
    with served(schema_rows(), variant="shapes") as api:
        (found,) = api.post("/search/collection", {"searchTerm": ["*"]})
        assert found["hitCount"] == 1
        assert {"template"} == set(api.get("/metadata/template")[0])
        assert isinstance(api.get("/security/groups"), list)


def test_21_a_bulk_edit_is_done_some_time_later(api: Api) -> None:
    good, other = api.uploaded("bulk-1.jpg"), api.uploaded("bulk-2.jpg")
    api.post(f"/asset/{other['objectId']}/delete", {"action": "delete"})
    body = {
        "metadataTemplateId": api.template()["templateId"],
        "objectIds": [other["objectId"], good["objectId"]],
        "metadataDocument": [
            {**api.entry("title", "Edited"), "operation": "replace"},
            {**api.entry("channels", [api.value("Red")]), "operation": "append"},
        ],
        "securityTemplateIds": [api.security("Inner Circle")],
        "securityTemplateOp": "append",
    }
    told = api.patch("/asset", body)
    assert api.get(f"/collection/{told['collectionId']}")["collectionType"] == "privateSecured"
    path = f"/asset/{good['objectId']}"
    assert api.get(path)["metadata"][1]["metadataDefinitionValue"] == "New"
    api.world.advance(3.5)
    read = api.get(path)
    assert read["metadata"][1]["metadataDefinitionValue"] == "Edited"
    assert len(read["securityTemplateIds"]) == 2
    binned = api.get(f"/asset/{other['objectId']}")  # refused alone, and no message is sent
    assert binned["metadata"][1]["metadataDefinitionValue"] == "New"
    dated = {**body, "metadataDocument": [{**api.entry("shoot_date", "02/10/2026"), "operation": "append"}]}
    api.patch("/asset", dated)
    api.world.advance(3.5)
    assert api.get(path)["lastUpdatedEpoch"] == read["lastUpdatedEpoch"]  # dates cannot be appended
    assert api.refused("PATCH", "/asset", {**body, "metadataTemplateId": "x"}) == (
        400,
        {"message": "Invalid metadataTemplateId"},
    )
    assert api.refused("PATCH", "/asset", {}) == (
        400,
        {"message": "Invalid Request: Missing Bulk Edit Asset Details"},
    )


class Listener:
    """Takes webhook messages; responds with the statuses given, then 200."""

    def __init__(self) -> None:
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.arrived = threading.Condition()
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = listener.answers.pop(0) if listener.answers else 200
                with listener.arrived:  # before the sender knows of it
                    listener.taken.append(({key.lower(): value for key, value in self.headers.items()}, body))
                    listener.arrived.notify_all()
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return None

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/d"

    def wait(self, condition: Callable[[], bool]) -> None:
        with self.arrived:
            assert self.arrived.wait_for(condition, 10), self.taken


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()
    thread = threading.Thread(target=listener.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        listener.server.shutdown()
        thread.join()
        listener.server.server_close()


def settled(api: Api) -> None:
    """Until no message is under way."""
    for _ in range(200):
        api.get("/user")
        if not any(message.sending for message in list(api.served.app.state.tenant.webhooks.waiting)):
            return
        threading.Event().wait(0.02)
    raise AssertionError("a message without end")


@pytest.mark.parametrize("variant", ["", "late_events"])
def test_24_webhooks_are_signed(variant: str) -> None:
    with served(schema_rows(), variant=variant) as api, listening() as listener:
        hook = [{"description": "deltas", "eventTypes": ["asset.created"], "url": listener.url}]
        made = api.post("/webhooks/endpoint", hook)
        assert api.get(f"/webhooks/endpoint/{made['id']}")["rateLimit"] == 200
        created = api.uploaded("told.jpg")  # what happens later is reported without another call
        listener.wait(lambda: len(listener.taken) == 1)
        headers, body = listener.taken[0]
        told = json.loads(body)
        assert (told["eventType"], told["asset"]["id"]) == ("asset.created", created["objectId"])
        assert ("filename" in told["asset"]) is (variant == "late_events")
        key = base64.b64decode(Options().webhook_secret.removeprefix("whsec_"))
        content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"


def test_24_the_published_test_vector() -> None:
    body = (
        b'{"eventType":"asset.created","event":{"id":"asset-created-d231cf1d-86b2-436e-95de-b745c39d2ed5","time":'
        b'"2026-01-15T10:00:00.000Z","user":{"id":"7d675ef0-f423-11e9-8071-89c0c405214e"}},"asset":{"id":'
        b'"cdff2214-3873-4cc4-8e2e-94fcec784343"}}'
    )
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    headers = signed(secret, "msg_2gEymWwsWu5H5EpwbwoOwBnRQBi", 1768471200, body)
    assert headers["webhook-signature"] == "v1,ELegOUmRe/WOKN0jVQ+ziRzbFBNq6AgmrTEOSVJzZbs="


def test_24_a_message_is_sent_again_with_its_id() -> None:
    with served(schema_rows()) as api, listening() as listener:
        listener.answers = [500, 404]
        api.post(
            "/webhooks/endpoint", [{"description": "deltas", "eventTypes": ["asset.deleted"], "url": listener.url}]
        )
        made = api.made()
        api.post(f"/asset/{made['objectId']}/delete", {"action": "delete"})
        for number, pause in ((1, 0), (2, RETRIES[0]), (3, RETRIES[1])):
            api.world.advance(pause)
            settled(api)
            listener.wait(lambda number=number: len(listener.taken) >= number)  # type: ignore[misc]
            settled(api)
        assert len(listener.taken) == 3
        assert len({headers["webhook-id"] for headers, _ in listener.taken}) == 1


def test_24_an_endpoint_that_fails_for_five_days_is_disabled() -> None:
    with served(schema_rows()) as api, listening() as listener:
        listener.answers = [500] * 30
        hook = [{"description": "deltas", "eventTypes": ["asset.deleted"], "url": listener.url}]
        one = f"/webhooks/endpoint/{api.post('/webhooks/endpoint', hook)['id']}"
        tenant = api.served.app.state.tenant
        api.post(f"/asset/{api.made()['objectId']}/delete", {"action": "delete"})
        for _ in RETRIES:
            settled(api)
            tenant.world.advance(max(RETRIES))
            api.renew()
        settled(api)
        assert not tenant.webhooks.waiting
        assert len(listener.taken) == 1 + len(RETRIES)  # then given up
        assert tenant.world.events[-1]["event"] == "message.attempt.exhausted"
        assert api.get(one)["disabled"] is False
        tenant.world.advance(5 * 86_400)
        api.renew()
        api.post(f"/asset/{api.made()['objectId']}/delete", {"action": "delete"})
        settled(api)
        assert api.get(one)["disabled"] is True


def test_24_endpoints_are_checked(api: Api) -> None:
    good = {"description": "deltas", "eventTypes": ["asset.created"], "url": "https://hook.test/d"}
    wrong: list[Any] = [
        [],
        [good] * 51,
        [{**good, "description": "four"}],
        [{**good, "description": "x" * 101}],
        [{**good, "eventTypes": []}],
        [{**good, "eventTypes": ["asset.exploded"]}],
        [{**good, "url": "http://hook.test/d"}],
    ]
    for body in wrong:
        assert api.refused("POST", "/webhooks/endpoint", body)[0] == 400
    made = api.post("/webhooks/endpoint", [good] * 50)
    assert len(made) == 50
    one = f"/webhooks/endpoint/{made[0]['id']}"
    assert api.http.patch(one, json={"disabled": True}).status_code == 204
    assert api.get(one)["disabled"] is True
    assert api.http.delete(one).status_code == 204
    assert api.refused("GET", one)[0] == 404
    assert {"asset.created", "version.promoted"} <= {row["name"] for row in api.get("/webhooks/event-type/list")}
