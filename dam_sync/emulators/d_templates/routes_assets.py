"""Handlers of assets: reads, writes, versions, links, content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dam_sync.emulators.d_templates.calls import Call, Reply
from dam_sync.emulators.d_templates.records import CUSTOMER, Record, Refusal, User, broken, failed, refused
from dam_sync.emulators.d_templates.render import SIZES, Renderer
from dam_sync.emulators.d_templates.state import Tenant, text_of
from dam_sync.emulators.d_templates.storage import LONGEST, Storage
from dam_sync.emulators.d_templates.uploads import Creation
from dam_sync.emulators.kit.environment import Json


class AssetCalls:
    """Everything under `/asset` and `/assets/asset` but searches and bulk edits."""

    def __init__(self, tenant: Tenant, renderer: Renderer, storage: Storage, creation: Creation) -> None:
        self._tenant, self._renderer = tenant, renderer
        self._storage, self._creation = storage, creation

    def create(self, call: Call) -> Reply:
        """`POST /asset`."""
        return Reply(200, self._creation.create(call.json(), call.user))

    def create_simply(self, call: Call) -> Reply:
        """`POST /assets/asset`."""
        made = self._creation.create_simply(call.json(), call.user)
        return Reply(200, {"status": "success", "message": "Asset created successfully", "data": made})

    def complete(self, call: Call) -> Reply:
        """`POST /asset/complete`."""
        return Reply(200, self._creation.complete(call.json(), call.user))

    def preview(self, call: Call) -> Reply:
        """`POST /asset/content/preview`."""
        return Reply(200, self._creation.preview(call.json(), call.user))

    def read(self, call: Call) -> Reply:
        """`GET /asset/{id}`."""
        return Reply(200, self._renderer.record(self._tenant.record(call.id, call.user), call.user))

    def read_simply(self, call: Call) -> Reply:
        """`GET /assets/asset/{id}`."""
        record = self._tenant.record(call.id, call.user)
        flags = {name: call.query.get(name, "true").lower() != "false" for name in ("empty", "system")}
        shown = self._renderer.simplified(record, call.user, **flags)
        return Reply(200, {"status": "success", "message": "Asset found", "data": shown})

    def latest(self, call: Call) -> Reply:
        """`GET /asset/{id}/latest`."""
        record = self._tenant.latest(self._tenant.record(call.id, call.user))
        return Reply(200, self._renderer.record(record, call.user))

    def versions(self, call: Call) -> Reply:
        """`GET /asset/{id}/version`: a bare array."""
        family = self._tenant.family(self._tenant.record(call.id, call.user))
        seen = [each for each in family if self._tenant.visible(each, call.user)]
        return Reply(200, [self._renderer.record(each, call.user) for each in seen])

    def promote(self, call: Call) -> Reply:
        """`POST /asset/{id}/version/promote`."""
        self._tenant.promote(self._tenant.record(call.id, call.user), call.user)
        return Reply(200, {"status": "success", "message": "Asset version promoted successfully"})

    def update(self, call: Call) -> Reply:
        """`PATCH /asset/{id}`: what is not sent stays."""
        self._update(call, (call.json().get("metadata") or []))
        return Reply(200, {"status": "success", "message": "Asset update was successful"})

    def update_simply(self, call: Call) -> Reply:
        """`PATCH /assets/asset/{id}`."""
        record = self._tenant.record(call.id, call.user)
        entries = self._tenant.metadata.named(record.template, call.json().get("metadata") or [])
        self._update(call, entries)
        return Reply(200, {"status": "success", "message": "Asset Update was successful"})

    def _update(self, call: Call, entries: Json) -> None:
        sent = call.json()
        record = self._tenant.record(call.id, call.user)
        self._tenant.demand(record, call.user, "Edit Metadata")
        values = self._tenant.metadata.read(record.template, entries, creating=False)
        kept = self._kept(entries)
        values = {key: value for key, value in values.items() if value is not None or key not in kept}
        security = None
        if sent.get("securityTemplateIds") is not None:
            self._tenant.demand(record, call.user, "Assign Security Template")
            security = self._tenant.security(sent["securityTemplateIds"])
        self._tenant.update(record, values, security, call.user)

    def _kept(self, entries: Json) -> set[str]:
        """Attributes that this tenant does not clear, because of how they are sent."""
        plays = self._tenant.options.plays
        ids = {str(entry.get("metadataDefinitionId")): len(entry) == 1 for entry in entries or ()}
        if "nothing_clears" in plays:
            return set(ids)
        return {key for key, bare in ids.items() if bare} if "bare_id_keeps" in plays else set()

    def delete(self, call: Call) -> Reply:
        """`POST /asset/{id}/delete`: into the recycle bin and out of it (wire D 6.8)."""
        sent = call.json()
        if sent.get("action") not in ("delete", "undelete"):
            raise broken()
        record = self._tenant.found(call.id)
        if record is None or not self._tenant.visible(record, call.user):
            raise Refusal(500, {"message": "Failed to delete asset", "detail": "record retrieval failed"})
        if sent["action"] == "undelete":
            self._tenant.undelete(record, call.user)
        elif record.deleted is None:
            self._tenant.delete(record, call.user)
        stored = text_of(self._tenant.records[record.object_id])
        return Reply(200, {"status": "success", "message": "Master Object update was successful", "data": stored})

    def content(self, call: Call) -> Reply:
        """`GET /asset/{id}/content`: a link that lives for 20 s (wire D 4)."""
        record = self._tenant.found(call.id)
        if record is None or not self._tenant.visible(record, call.user):
            raise broken()
        if record.deleted is not None:
            raise refused(403, "Asset not found")  # the only text shown for what is not there (wire D 7)
        self._tenant.demand(record, call.user, "Download")
        if record.blob is None:
            return self._no_content()
        self._tenant.tell("asset.downloaded", record, call.user, assets=[{"id": record.object_id}])
        return Reply(200, {"presignedURL": self._storage.download(record, self._tenant.options.content_seconds)})

    def _no_content(self) -> Reply:
        plays = self._tenant.options.plays
        if "missing_empty" in plays:
            return Reply(200, {"presignedURL": ""})
        if "missing_404" in plays:
            raise refused(404, "Asset content not found")
        raise broken()

    def expose(self, call: Call) -> Reply:
        """`POST /asset/expose`: links for a while; what cannot be shown is left out (wire D 4)."""
        sent = call.array()
        if not sent:
            raise refused(400, "Body requires at least single item")
        made = [each for row in sent if (each := self._exposed(row, call.user)) is not None]
        whole = "expose_whole" in self._tenant.options.plays
        if not made or (whole and len(made) < len(sent)):
            raise refused(400, "No assets found")
        return Reply(200, made)

    def _exposed(self, row: Json, user: User) -> Json:
        if not isinstance(row, dict) or row.get("identifier", "objectId") not in ("objectId", "fileId"):
            raise broken()
        key, by_file = str(row.get("id")), row.get("identifier") == "fileId"
        record = self._tenant.found(key)
        if record is None or key != (record.file_id if by_file else record.object_id):
            return None
        shown = self._tenant.visible(record, user) and self._tenant.schema.may(user, record.security, "Download")
        if not shown or record.deleted is not None or record.blob is None:
            return None
        links = [link for part in row.get("components") or () for link in self._components(record, part)]
        return {"id": key, "identifier": row.get("identifier", "objectId"), "components": links}

    def _components(self, record: Record, part: Mapping[str, Json]) -> list[Json]:
        seconds = min(float(part.get("expiration") or 3600), LONGEST)
        asked = part.get("componentRef")
        names: list[str] = asked if isinstance(asked, list) else [str(asked)]
        made: list[Json] = []
        for name in names:
            if name == "original":
                url = self._storage.download(record, seconds)
            elif name in SIZES and record.processed:
                url = self._storage.preview(record, SIZES[name], seconds)
            else:
                continue
            made.append({"renditionType": name, "componentRef": name, "expires": int(seconds), "url": url})
        return made

    def links(self, call: Call) -> Reply:
        """`GET /asset/{id}/link`: both directions, the recycle bin included (wire D 3.4)."""
        record = self._tenant.record(call.id, call.user)
        return Reply(200, [row for link in self._tenant.relations.of(record.object_id) if (row := _link(link))])

    def link(self, call: Call) -> Reply:
        """`POST /asset/{id}/link`: always 200, one entry for each (wire D 6.7)."""
        primary = self._tenant.record(call.id, call.user)
        self._tenant.demand(primary, call.user, "Relationships")
        return Reply(200, [self._linked(primary, row, call.user) for row in self._secondaries(call)])

    def _linked(self, primary: Record, row: Mapping[str, Json], user: User) -> Json:
        secondary = self._tenant.records.get(str(row["id"]))
        if secondary is None or not self._tenant.visible(secondary, user):
            return {"status": "error", "message": "Asset not found"}
        made = self._tenant.relations.add(primary.object_id, secondary.object_id, str(row["linkType"]))
        if isinstance(made, str):
            return {"status": "error", "message": made}
        relation = {"type": made.kind, "parent": primary.object_id}
        self._tenant.tell("relationship.created", secondary, user, relationship=relation)
        return {"status": "success", "message": "Relationship created successfully", "relationshipId": made.id}

    def unlink(self, call: Call) -> Reply:
        """`PATCH /asset/{id}/link`."""
        primary = self._tenant.record(call.id, call.user)
        self._tenant.demand(primary, call.user, "Relationships")
        return Reply(200, [self._unlinked(primary, row, call.user) for row in self._secondaries(call)])

    def _unlinked(self, primary: Record, row: Mapping[str, Json], user: User) -> Json:
        link = f"{primary.object_id}-{row['id']}"
        if not self._tenant.relations.remove(link):
            return {"status": "error", "message": f"relationship retrieval failed [{link}]"}
        self._tenant.tell("relationship.deleted", primary, user)
        return {"status": "success", "message": "Relationship deleted successfully", "relationshipId": link}

    def _secondaries(self, call: Call) -> Sequence[Mapping[str, Json]]:
        rows = call.json().get("secondaryIds")
        if not isinstance(rows, list) or not rows:
            raise refused(400, "Failed to create Relationship")
        for number, row in enumerate(rows):
            if not isinstance(row, dict) or not row.get("id") or not row.get("linkType"):
                text = f"Missing Secondary Object ID or Link Type for Relationship {number}"
                raise Refusal(400, f'Invalid Request: ["{text}"]')
        return rows

    def technical(self, call: Call) -> Reply:
        """`POST /asset/{id}/technical-metadata`: of federated assets alone."""
        record = self._tenant.record(call.id, call.user)
        if not record.federated:
            raise Refusal(400, "Asset is not federated")
        self._tenant.describe(record, call.json())
        return Reply(200, {"status": "success", "message": "Technical metadata update was successful"})

    def history(self, call: Call) -> Reply:
        """`GET /asset/{id}/history`: listed, not yet available (wire D 2.5)."""
        raise failed(403, "Missing Authentication Token")


def _link(link: Json) -> Json:
    return {
        "relationshipId": link.id,
        "primaryId": link.primary,
        "secondaryId": link.secondary,
        "linkType": link.kind,
        "createdEpoch": link.created,
        "lastUpdatedEpoch": link.created,
        "customerId": CUSTOMER,
    }
