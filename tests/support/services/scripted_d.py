"""A small scripted instance of service D: records, an index that is behind, links that live 20 seconds.

It plays only what the tests of the adapter's own ways need; the emulator is another reading of the same contract.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dam_sync.model.asset import AssetId, Draft, Marker
from dam_sync.model.connector import Context
from dam_sync.model.errors import DamSyncError
from dam_sync.model.limits import Limits
from dam_sync.model.service import Service
from dam_sync.services.d_templates import CONNECTOR
from dam_sync.services.d_templates.codec.wire import VersionGroup
from dam_sync.services.d_templates.service import TemplatesService
from dam_sync.services.d_templates.source.versions import VersionGroups
from tests.support.network.raw_server import RawServer, Said, Seen, said
from tests.support.services.typed_options import connected
from tests.support.stepped_clock import SteppedClock

AUTH = {"flow": "session", "api_key": "key-123456789", "username": "svc", "password": "s3cret-Pass1"}
TITLE, MARK, DAY, COLOR = "attr-title", "attr-mark", "attr-day", "attr-color"
TABLE, CELL, PATH = "attr-table", "attr-cell", "attr-path"
RED, BLUE, NORTH, COAST = (f"value-{name}" for name in ["red", "blue", "north", "coast"])
TEMPLATE = {
    "templateId": "template-1",
    "templateName": "Photo",
    "templateType": ["default"],
    "metadataGroups": [
        {
            "metadataAttributes": [
                {"id": TITLE, "name": "Title", "type": "text", "searchField": "title", "length": 250, "required": True},
                {"id": MARK, "name": "Source Key", "type": "text", "searchField": "source_key", "length": 250},
                {"id": DAY, "name": "Shoot Date", "type": "date", "searchField": "shoot_date"},
                {
                    "id": COLOR,
                    "name": "Colors",
                    "type": "controlledVocabulary",
                    "searchField": "colors",
                    "isMultipleSelect": True,
                    "controlledVocabularyId": "vocabulary-colors",
                },
                {
                    "id": TABLE,
                    "name": "Usage",
                    "type": "tableAttribute",
                    "searchField": "usage",
                    "isSingleRow": False,
                    "tableFieldsDenormalized": [{"id": CELL, "name": "Until", "type": "date", "searchField": "until"}],
                },
                {
                    "id": PATH,
                    "name": "Area",
                    "type": "cascade",
                    "searchField": "area",
                    "cascadeFieldsDenormalized": [
                        {"id": "level-1", "searchField": "b", "cascadeOrder": 1, "controlledVocabularyId": "v-sub"},
                        {"id": "level-0", "searchField": "a", "cascadeOrder": 0, "controlledVocabularyId": "v-top"},
                    ],
                },
                {"id": "attr-system", "name": "System Created By", "type": "text", "searchField": "system_created_by"},
            ]
        }
    ],
}


class ScriptedD:
    """The script. `lag`: seconds the index is behind; `processing`: until a file was looked at; `links`: by primary
    record; `lost`: responses to creates that never arrive; `vanish`: links that are refused so often."""

    def __init__(self, clock: SteppedClock) -> None:
        self.clock = clock
        self.records: dict[str, dict[str, Any]] = {}
        self.bytes: dict[str, bytes] = {}
        self.put_at: dict[str, float] = {}
        self.born: dict[str, float] = {}
        self.links: list[dict[str, str]] = []
        self.collections: dict[str, dict[str, Any]] = {}
        self.vocabularies = {
            "vocabulary-colors": {"name": "Colors", "values": {RED: "Red", BLUE: "Blue"}, "waiting": {}},
            "v-top": {"name": "Top", "values": {NORTH: "North"}, "waiting": {}},
            "v-sub": {"name": "Sub", "values": {COAST: "Coast"}, "waiting": {}},
        }
        self.calls: Counter[str] = Counter()
        self.story: list[str] = []
        self.lag, self.processing = 5.0, 2.0
        self.totals = True
        self.small_sessions = False
        self.deletes_family = False
        self.lost = 0
        self.part = 104_857_600
        self.vanish = 0
        self.refusal: tuple[int, str] | None = None
        self.number = 0
        self.url = self.storage = ""

    # -- the library ---------------------------------------------------------------------------------------------------

    def add(self, data: bytes | None = b"x", family: str = "", **more: Any) -> str:
        """A record that was there before; its id. Each is created a second after the one before."""
        self.number += 1
        identity, file = f"object-{self.number:04}", f"file-{self.number:04}"
        at = 1_700_000_000_000 + self.number * 1000
        row = {
            "objectId": identity,
            "fileId": file,
            "originalFileId": family or file,
            "objectType": "Asset",
            "filename": f"photo {self.number}.jpg",
            "fileState": "available",
            "metadataState": "available",
            "currentVersion": "Y",
            "versionNumber": at,
            "createdEpoch": at,
            "lastUpdatedEpoch": str(at),
            "metadataTemplateId": "template-1",
            "metadata": [{"metadataDefinitionId": TITLE, "metadataDefinitionValue": f"Title {self.number}"}],
            "metadataDenormalized": {},
            "securityTemplateIds": ["security-1"],
        }
        if family:
            for other in self.records.values():
                if other["originalFileId"] == family:
                    other["currentVersion"] = "N"
        self.records[identity] = {**row, **more}
        if data is not None:
            self.bytes[identity], self.put_at[identity] = data, -1e9
        self.born.setdefault(identity, -1e9)
        return identity

    def shown(self, identity: str) -> dict[str, Any]:
        """A record as the store has it now."""
        row = copy.deepcopy(self.records[identity])
        if identity in self.bytes and self.clock.monotonic() - self.put_at[identity] >= self.processing:
            data = self.bytes[identity]
            told = {"fileSizeInBytes": len(data), "MD5Checksum": hashlib.md5(data).hexdigest()}
            row["technicalMetadata"] = {"brand_metadata": told, "image_metadata": {"fileType": "JPEG"}}
        return row

    def family(self, identity: str) -> list[str]:
        """The records of a family, by the id of a record or a file."""
        own = next((r for r in self.records.values() if identity in (r["objectId"], r["fileId"])), None)
        return [k for k, r in self.records.items() if own and r["originalFileId"] == own["originalFileId"]]

    # -- responses -----------------------------------------------------------------------------------------------------

    def __call__(self, seen: Seen) -> Said:
        path = urlsplit(seen.target).path
        body = json.loads(seen.body) if seen.body and seen.headers.get("content-type") == "application/json" else None
        if path.startswith("/store/"):
            return self._stored(seen)
        if seen.headers.get("x-api-key") != AUTH["api_key"]:
            return said({"message": "Forbidden"}, 403)
        if path == "/v1/auth/token":
            return self._token(body)
        if seen.headers.get("authorization") != "id-token-1234567":
            return said({"message": "Unauthorized"}, 401)
        for pattern, name in ROUTES:
            method, _, template = pattern.partition(" ")
            match = re.fullmatch(template.replace("{id}", "([^/]+)"), path)
            if match and method == seen.method:
                self.calls[pattern] += 1
                answer: Callable[..., Said] = getattr(self, name)
                return answer(*match.groups(), *([] if body is None else [body]))
        return said({"message": "Missing Authentication Token"}, 403)

    def _token(self, body: Any) -> Said:
        if body.get("password") != AUTH["password"]:
            return said({"status": "error", "message": "Incorrect username or password."}, 401)
        tokens = {"authorization": "id-token-1234567", "accessToken": "access-token-12345"}
        return said({"session": {**tokens, "refreshToken": "refresh-token-12345", "expireEpoch": 4_000_000_000_000}})

    def _user(self) -> Said:
        return said({"userId": "user-1", "emailId": "svc@example.test"})

    def _templates(self) -> Said:
        return said([{"template": {"templateId": "template-1", "templateName": "Photo", "templateType": ["default"]}}])

    def _template(self, identity: str) -> Said:
        return said({"template": TEMPLATE})

    def _values(self, identity: str, member: str) -> dict[str, Any]:
        known: Any = self.vocabularies[identity]
        values = [{"valueId": one, "valueName": label} for one, label in known["values"].items()]
        named = {"metadataDefinitionName": known["name"], "metadataDefinitionSearchField": known["name"].lower()}
        return {"metadataDefinitionId": identity, **named, member: {"values": values}}

    def _vocabularies(self) -> Said:
        return said([self._values(identity, "metadata") for identity in self.vocabularies])

    def _vocabulary(self, identity: str) -> Said:
        if identity not in self.vocabularies:
            return said({"message": "Controlled vocabulary not found"}, 404)
        return said(self._values(identity, "metadataDocument"))

    def _add_terms(self, identity: str, body: Any) -> Said:
        known: Any = self.vocabularies[identity]
        for label in body["add"]:
            known["waiting"][f"value-{label.lower()}"] = label
        return said({"status": "success"})

    def _apply(self) -> Said:
        for known in self.vocabularies.values():
            vocabulary: Any = known
            vocabulary["values"].update(vocabulary["waiting"])
        return said({"message": "Changes applied successfully"})

    def _security(self) -> Said:
        return said([{"templateId": "security-1", "templateName": "Full Access", "securityDenormalized": []}])

    def _listed(self, body: Any) -> list[dict[str, Any]]:
        """The records that the index shows: nothing younger than its lag."""
        now = self.clock.monotonic()
        rows = [row for key, row in self.records.items() if now - self.born[key] >= self.lag]
        if not body.get("includeDeleted"):
            rows = [row for row in rows if row["fileState"] == "available"]
        if not body.get("includeVersions"):
            rows = [row for row in rows if row["currentVersion"] == "Y"]
        sort = body.get("sortBy", [{"metadataDefinitionSearchField": "createdEpoch", "order": "asc"}])[0]
        key = sort["metadataDefinitionSearchField"]
        return sorted(rows, key=lambda row: (int(row[key]), row["objectId"]), reverse=sort["order"] == "desc")

    def _scan(self, body: Any) -> Said:
        if not body.get("searchTerm") or not body.get("operation") or not 1 <= body["limit"] <= 100:
            return said({"status": "error", "message": "Invalid Search Query"}, 400)
        rows = self._listed(body)
        start = 0
        if body.get("cursor"):
            start = json.loads(base64.b64decode(body["cursor"]))[0]
        page = rows[start : start + body["limit"]]
        cursor = base64.b64encode(json.dumps([start + len(page)]).encode()).decode()
        total = {"totalCount": len(rows)} if self.totals else {}
        return said({"hitCount": len(page), "result": self._as_shown(page), "cursor": cursor, **total})

    def _search(self, body: Any) -> Said:
        rows = self._listed(body)
        found = re.fullmatch(r'\("(.+)":"(.+)"\)', body["searchTerm"][0])
        if found:  # analysed text: whatever begins alike is a hit
            attribute = next(a for a in TEMPLATE["metadataGroups"][0]["metadataAttributes"] if a["name"] == found[1])  # type: ignore[index]
            key = attribute["id"]
            rows = [row for row in rows if _text(row, key).startswith(found[2].partition("-")[0])]
        start = body["from"]
        page = rows[start : start + body["limit"]]
        return said({"hitCount": len(page), "totalCount": len(rows), "result": self._as_shown(page)})

    def _as_shown(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return [self.shown(row["objectId"]) for row in rows]

    def _create(self, body: Any) -> Said:
        if any(len(entry) == 1 for entry in body["metadata"]) or not body["securityTemplateIds"]:
            return said({"status": "error", "message": "Invalid fields for metadata template"}, 403)
        now = round(self.clock.now().timestamp() * 1000)
        times = {"createdEpoch": now, "versionNumber": now, "lastUpdatedEpoch": now}
        more = {"filename": body["filename"], "metadata": body["metadata"], **times}
        identity = self.add(None, body.get("originalFileId", ""), **more)
        self.born[identity] = self.clock.monotonic()
        self.story.append(f"create {identity}")
        if self.lost:
            self.lost -= 1
            return Said(then="reset", silent=True)
        row = self.records[identity]
        answer = {name: row[name] for name in ("objectId", "fileId", "originalFileId", "filename")}
        link = f"{self.storage}/store/{identity}"
        if "filesize" in body or self.small_sessions:
            parts = -(-body.get("filesize", 1) // self.part)
            urls = [{"partNumber": n, "url": f"{link}/{n}?X-Amz-Signature=s"} for n in range(1, parts + 1)]
            return said({**answer, "uploadId": f"upload-{identity}", "urls": urls})
        signed = f"X-Amz-SignedHeaders=host%3Bx-amz-meta-objectid&x-amz-meta-objectid={identity}&X-Amz-Signature=s"
        return said({**answer, "url": f"{link}?{signed}"})

    def _complete(self, body: Any) -> Said:
        identity = body["uploadId"].removeprefix("upload-")
        self.story.append(f"{body['action']} {identity}")
        if body["action"] == "complete":
            if self.small_sessions:
                return said({"status": "error", "message": "Failed to parse asset: Missing fields"}, 400)
            parts = [self.bytes.pop(f"{identity}/{part['partNumber']}") for part in body["parts"]]
            self.bytes[identity], self.put_at[identity] = b"".join(parts), self.clock.monotonic()
        return said({"status": "success"})

    def _stored(self, seen: Seen) -> Said:
        assert "authorization" not in seen.headers
        assert "x-api-key" not in seen.headers
        key = urlsplit(seen.target).path.removeprefix("/store/")
        query = parse_qs(urlsplit(seen.target).query)
        if seen.method == "PUT":
            identity, _, part = key.partition("/")
            if "x-amz-meta-objectid" in query and seen.headers.get("x-amz-meta-objectid") != identity:
                return Said(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
            if self.refusal:
                status, code = self.refusal
                self.calls["PUT refused"] += 1
                return Said(status, f"<Error><Code>{code}</Code><Message>Told by the store</Message></Error>".encode())
            if self.vanish:
                self.vanish -= 1
                return Said(403, b"<Error><Code>ExpiredToken</Code></Error>")
            self.story.append(f"put {key}")
            where = identity if not part or self.small_sessions else key
            self.bytes[where], self.put_at[where] = seen.body, self.clock.monotonic()
            return Said(200, b"", {"ETag": f'"{hashlib.md5(seen.body).hexdigest()}"'})
        if float(query["until"][0]) < self.clock.monotonic() or self.vanish:
            self.vanish = max(0, self.vanish - 1)
            return Said(403, b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>")
        return Said(200, self.bytes[key])

    def _asset(self, identity: str) -> Said:
        found = next((k for k, r in self.records.items() if identity in (k, r["fileId"])), None)
        return said(self.shown(found)) if found else said({"message": "Asset not found"}, 403)

    def _versions(self, identity: str) -> Said:
        rows = [self.shown(key) for key in self.family(identity)]
        return said(rows) if rows else said({"message": "Asset not found"}, 403)

    def _links(self, identity: str) -> Said:
        return said([link for link in self.links if identity in (link["primaryId"], link["secondaryId"])])

    def _relate(self, identity: str, body: Any) -> Said:
        answers = []
        for one in body["secondaryIds"]:
            link = {"primaryId": identity, "secondaryId": one["id"], "linkType": one["linkType"]}
            back = {**link, "primaryId": one["id"], "secondaryId": identity}
            if link in self.links:
                answers.append({"status": "error", "message": "Relationship exists"})
            elif back in self.links:
                answers.append({"status": "error", "message": "Circular dependency"})
            elif one["linkType"] == "placed_graphic":
                answers.append({"status": "error", "message": "Invalid link type"})
            else:
                self.links.append(link)
                answers.append({"status": "success", "relationshipId": f"{identity}-{one['id']}"})
        return said(answers)

    def _content(self, identity: str) -> Said:
        self.story.append(f"content {identity}")
        if identity not in self.records:
            return said({"message": "Internal server error"}, 502)
        if identity not in self.bytes:
            return said({"presignedURL": ""})
        until = self.clock.monotonic() + 20
        return said({"presignedURL": f"{self.storage}/store/{identity}?until={until}&X-Amz-Signature=s"})

    def _update(self, identity: str, body: Any) -> Said:
        row = self.records.get(identity)
        if row is None:
            return said({"message": "Asset not found"}, 403)
        known = {entry["metadataDefinitionId"]: entry for entry in row["metadata"]}
        known |= {entry["metadataDefinitionId"]: entry for entry in body.get("metadata", ())}
        row["metadata"] = list(known.values())
        row["lastUpdatedEpoch"] = round(self.clock.now().timestamp() * 1000)
        return said({"status": "success", "message": "Asset update was successful"})

    def _delete(self, identity: str, body: Any) -> Said:
        if identity not in self.records:
            return said({"message": "x", "detail": "y"}, 500)
        for key in self.family(identity) if self.deletes_family else [identity]:
            row = self.records[key]
            state = {"delete": "recycle bin", "undelete": "available"}[body["action"]]
            row["fileState"] = row["metadataState"] = state
            row["fileDeletedEpoch"] = round(self.clock.now().timestamp() * 1000)
        self.story.append(f"{body['action']} {identity}")
        return said({"status": "success"})

    def _promote(self, identity: str) -> Said:
        for key in self.family(identity):
            self.records[key]["currentVersion"] = "Y" if key == identity else "N"
        return said({"status": "success"})

    def _collections(self, body: Any) -> Said:
        rows = list(self.collections.values())[body["from"] : body["from"] + body["limit"]]
        return said([{"hitCount": len(rows), "result": rows, "facets": []}])

    def _collection(self, identity: str) -> Said:
        return said(self.collections[identity])

    def _add_collection(self, body: Any) -> Said:
        if body["name"] == "refused":
            return said({"statusCode": "error", "message": "The following fields are required, but are missing [x]"})
        identity = f"collection-{len(self.collections) + 1}"
        self.collections[identity] = {**body, "collectionId": identity}
        return said({"statusCode": "success", "collectionId": identity})

    def _fill(self, identity: str, body: Any) -> Said:
        update = body["collectionUpdates"]
        members = self.collections[identity]["collectionDocument"]
        if update["operation"] == "add":
            members += [file for file in update["fileIds"] if file not in members]
        else:
            self.collections[identity]["collectionDocument"] = [f for f in members if f not in update["fileIds"]]
        return said({"message": "Collection update was successful"})

    def _fill_whole(self, identity: str, body: Any) -> Said:
        self.collections[identity].update(body)
        return said([{"message": "Collection update was successful"}])


ROUTES = (
    ("GET /v1/user", "_user"),
    ("GET /v1/metadata/template", "_templates"),
    ("GET /v1/metadata/template/{id}", "_template"),
    ("GET /v1/metadata/vocabulary", "_vocabularies"),
    ("GET /v1/metadata/vocabulary/{id}", "_vocabulary"),
    ("PATCH /v1/metadata/vocabulary/{id}", "_add_terms"),
    ("POST /v1/metadata/apply", "_apply"),
    ("GET /v1/security/template", "_security"),
    ("POST /v1/asset/scan", "_scan"),
    ("POST /v1/search/keyword", "_search"),
    ("POST /v1/search/collection", "_collections"),
    ("POST /v1/asset", "_create"),
    ("POST /v1/asset/complete", "_complete"),
    ("GET /v1/asset/{id}", "_asset"),
    ("PATCH /v1/asset/{id}", "_update"),
    ("GET /v1/asset/{id}/version", "_versions"),
    ("GET /v1/asset/{id}/link", "_links"),
    ("POST /v1/asset/{id}/link", "_relate"),
    ("GET /v1/asset/{id}/content", "_content"),
    ("POST /v1/asset/{id}/delete", "_delete"),
    ("POST /v1/asset/{id}/version/promote", "_promote"),
    ("GET /v1/collection/{id}", "_collection"),
    ("POST /v1/collection", "_add_collection"),
    ("PATCH /v1/collections/{id}", "_fill"),
    ("PATCH /v1/collection/{id}", "_fill_whole"),
)


def _text(row: Mapping[str, Any], attribute: str) -> str:
    found = (e.get("metadataDefinitionValue") for e in row["metadata"] if e["metadataDefinitionId"] == attribute)
    return str(next(found, ""))


def draft(key: str = "src-1", **fields: Any) -> Draft:
    given = {"title": "New", **fields, "source_key": key}
    return Draft(Marker("source_key", key), f"{key}.jpg", "Photo", fields=given)


def refusing_versions(refused: AssetId, error: type[DamSyncError]) -> type[TemplatesService]:
    """A service that may not read the versions of one asset."""

    class Refusing(VersionGroups):
        async def load(self, asset: str) -> VersionGroup:
            if asset == refused:
                raise error("not this one", asset=asset)
            return await VersionGroups.load(self, asset)

    class RefusingService(TemplatesService):
        def __init__(self, context: Context) -> None:
            super().__init__(context)
            self.version_groups = Refusing(self.api)

    return RefusingService


class Opened:
    """A running script and connections to it."""

    def __init__(self, script: ScriptedD) -> None:
        self.script = script
        self.connected: list[Service] = []
        self.limits: Limits | None = None
        self.service: type[Service] | None = None

    def connect(self, auth: Mapping[str, str] = AUTH, *, credentials: Any = None, **options: Any) -> Service:
        """A new connection."""
        context = Context(self.script.url, auth, options, clock=self.script.clock, credentials=credentials)
        context, own = replace(context, limits=self.limits), self.service
        connector = CONNECTOR if own is None else replace(CONNECTOR, service=lambda: own)
        self.connected.append(connected(connector, context))
        return self.connected[-1]


@asynccontextmanager
async def scripted() -> AsyncIterator[Opened]:
    """The script on two ports: the second is another host, for signed links."""
    script = ScriptedD(SteppedClock(auto=True))
    async with RawServer(script) as api, RawServer(script) as storage:
        script.url, script.storage = api.url, storage.url
        opened = Opened(script)
        try:
            yield opened
        finally:
            for service in opened.connected:
                await service.close()
