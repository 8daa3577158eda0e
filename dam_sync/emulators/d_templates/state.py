"""An emulated tenant of service D: its records and what may be done to them. No HTTP."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dam_sync.emulators.d_templates.audience_oracle import AudienceOracle
from dam_sync.emulators.d_templates.index import Index
from dam_sync.emulators.d_templates.metadata import Metadata
from dam_sync.emulators.d_templates.options import Options
from dam_sync.emulators.d_templates.records import Record, Refusal, User, failed, refused
from dam_sync.emulators.d_templates.relations import Relations
from dam_sync.emulators.d_templates.schema import Schema, new_uuid
from dam_sync.emulators.d_templates.texts import Texts
from dam_sync.emulators.d_templates.webhooks import Webhooks
from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.object_store import Blob, ObjectStore

SECURITY_MOST = 50


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked create: everything of the new record that the caller gives."""

    filename: str
    template: str
    values: Mapping[str, Json]
    security: tuple[str, ...]
    original: str = ""
    content_path: str = ""


class Tenant:
    """Everything one customer has. Methods raise Refusal as the service refuses."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self.audience = Audience(world, AudienceOracle(self))
        self.schema = Schema(self.uuid, self.now, apply_after_post="apply_after_post" in options.plays)
        self.metadata = Metadata(self.schema)
        self.index = Index(Texts(self.schema, self.metadata, options.text_content).of)
        self.schema.touched = self.index.forget
        self.records: dict[str, Record] = {}
        self.files: dict[str, str] = {}
        self.families: dict[str, list[str]] = {}
        self.relations = Relations(self.now, options.plays)
        self.webhooks = Webhooks(world, options, self.uuid)
        self.wake: Callable[[], None] = lambda: None  # set by whoever lets things happen between calls
        self._coming: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0

    def now(self) -> int:
        """The world's timestamp in epoch milliseconds."""
        return int(self.world.now().timestamp() * 1000)

    def uuid(self) -> str:
        """A new id."""
        return new_uuid(self.world.rng.getrandbits(128))

    def order(self) -> int:
        """The index's own tiebreaker of a new record."""
        self._order += 1
        return self._order

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        """Do this when so many seconds of the world have passed."""
        heapq.heappush(self._coming, (self.world.elapsed() + seconds, self.order(), work))

    def settle(self) -> None:
        """Let everything happen whose time has come."""
        now = self.world.elapsed()
        while self._coming and self._coming[0][0] <= now:
            heapq.heappop(self._coming)[2]()
        self.index.settle(now)
        self.webhooks.settle(self.world.now().timestamp())

    @property
    def busy(self) -> bool:
        """Whether somebody listens for what is still to happen."""
        return bool(self.webhooks.endpoints) and bool(self._coming or self.webhooks.waiting)

    def found(self, key: str) -> Record | None:
        """The record of an object id or a file id."""
        return self.records.get(key) or self.records.get(self.files.get(key, ""))

    def record(self, key: str, user: User) -> Record:
        """The same, if the user may view it. Raises Refusal 403 (wire D 7)."""
        found = self.found(key)
        if found is None or not self.visible(found, user):
            raise refused(403, "Asset not found")
        return found

    def visible(self, record: Record, user: User) -> bool:
        """Whether the record exists for this user (wire D 1.7)."""
        return self.schema.may(user, record.security, "View")

    def demand(self, record: Record, user: User, permission: str) -> None:
        """Raises Refusal 403 without the permission, or for a record in the recycle bin."""
        if not self.schema.may(user, record.security, permission):
            raise failed(403, f"User does not have the permission {permission}")
        if record.deleted is not None:
            raise failed(403, "Asset is in the recycle bin")

    def family(self, record: Record) -> list[Record]:
        """All version records, oldest first."""
        return [self.records[each] for each in self.families[record.original]]

    def latest(self, record: Record) -> Record:
        """The current one of the family."""
        family = self.family(record)
        return next((each for each in family if each.current), family[-1])

    def keep(self, record: Record) -> Record:
        """Take in a new record or a new state of one; searches see it when the index has caught up."""
        self.adopt(record)
        self.index.put(record.object_id, record, self.world.elapsed() + self.options.lag)
        return record

    def adopt(self, record: Record) -> None:
        """Into the store alone."""
        if record.object_id not in self.records:
            self.families.setdefault(record.original, []).append(record.object_id)
            self.files[record.file_id] = record.object_id
        self.records[record.object_id] = record
        self.audience.changed(record.original)

    def security(self, given: Json) -> tuple[str, ...]:
        """Checked security template ids. Raises Refusal 403."""
        if not isinstance(given, list) or not given:
            raise failed(403, "Invalid Asset: Missing Security Template ID(s)")
        if len(given) > SECURITY_MOST or any(each not in self.schema.security for each in given):
            raise failed(403, "Invalid security template ID(s)")
        return tuple(dict.fromkeys(given))

    def create(self, draft: Draft, user: User) -> Record:
        """A metadata-only record; of an existing family it is the current version from now on."""
        previous = self._previous(draft.original, user)
        file_id, now = self.uuid(), self.now()
        number = max(now, previous.number + 1) if previous else now
        made = Record(
            object_id=self.uuid(), file_id=file_id, original=draft.original or file_id, filename=draft.filename,
            template=draft.template, values=draft.values, security=draft.security, created=max(now, number),
            created_by=user.id, updated=max(now, number), updated_by=user.id, number=number, order=self.order(),
            content_path=draft.content_path, processed=bool(draft.content_path),
        )  # fmt: skip
        self.keep(made)
        if previous is not None:
            self.keep(replace(previous, current=False))
            if "links_move" in self.options.plays:
                self.relations.move(previous.object_id, made.object_id)
            version = {"latest": True, "versionNumber": number, "previous": {"id": previous.object_id}}
            self.tell("version.created", made, user, version=version)
        return made

    def _previous(self, original: str, user: User) -> Record | None:
        if not original:
            return None
        if original not in self.families:
            raise refused(403, "Invalid Response from Create Asset")
        family = self.family(self.records[self.families[original][0]])
        previous = self.latest(family[0])
        gone = all(each.deleted is not None for each in family)
        if gone or not self.schema.may(user, previous.security, "Version Asset"):
            raise refused(403, "Invalid Response from Create Asset")
        return previous

    def received(self, object_id: str, blob: Blob, etag: str = "") -> None:
        """The bytes of a record are there; technical metadata follows after processing."""
        record = replace(self.records[object_id], blob=blob, etag=etag or blob.digests().md5, processed=False)
        self.keep(record)
        self.after(self.options.processing, lambda: self._process(object_id, blob))

    def _process(self, object_id: str, blob: Blob) -> None:
        record = self.records.get(object_id)
        if record is None or record.blob is not blob:
            return
        updated = self.now() if "processing_touches" in self.options.plays else record.updated
        record = self.keep(replace(record, processed=True, updated=updated))
        user = self.schema.users[record.created_by]
        self.tell("asset.created", record, user)
        self.tell("asset.renditions.created", record, user, renditions={"thumbnail": True})

    def update(self, record: Record, values: Mapping[str, Json], security: Sequence[str] | None, user: User) -> Record:
        """Only what is sent changes; None clears a value; a security list replaces the whole."""
        merged = {**record.values, **values}
        changes: dict[str, Json] = {"values": {key: value for key, value in merged.items() if value is not None}}
        if security is not None:
            changes["security"] = tuple(security)
        made = replace(record, **changes, updated=max(self.now(), record.updated), updated_by=user.id)
        self.keep(made)
        if values:
            self.tell("asset.metadata.updated", made, user)
        if security is not None and tuple(security) != record.security:
            before = {"previous": self.named(record.security), "current": self.named(security)}
            self.tell("asset.security.updated", made, user, changes={"securityTemplates": before})
        return made

    def describe(self, record: Record, technical: Json) -> None:
        """Hand-written technical metadata of a federated asset."""
        self.keep(replace(record, technical=technical))

    def delete(self, record: Record, user: User) -> None:
        """To the recycle bin; `lastUpdatedEpoch` stays (wire D 2.5)."""
        self.demand(record, user, "Delete")
        for each in self._acted_on(record):
            if each.deleted is None:
                self.keep(replace(each, deleted=self.now(), deleted_by=user.id))
                self.tell("asset.deleted", each, user)
        self._hand_over(record)

    def undelete(self, record: Record, user: User) -> None:
        """Out of the recycle bin. Raises Refusal 403 for a live asset."""
        if record.deleted is None or not self.schema.may(user, record.security, "Delete"):
            raise refused(403, "Failed to UnDelete Asset")
        for each in self._acted_on(record):
            self.keep(replace(each, deleted=None, deleted_by=""))
            self.tell("asset.restored", each, user)
        self._hand_over(record)

    def _hand_over(self, record: Record) -> None:
        """The newest live version is the current one where the current one is in the recycle bin (wire D 3.3)."""
        current = self.latest(record)
        live = [each for each in self.family(record) if each.deleted is None]
        if current.deleted is not None and live:
            self.keep(replace(current, current=False))
            self.keep(replace(live[-1], current=True))

    def _acted_on(self, record: Record) -> list[Record]:
        return self.family(record) if "delete_family" in self.options.plays else [record]

    def purge(self, key: str) -> None:
        """Gone permanently: only the administrator's own tools do it (wire D 12.16)."""
        record = self.found(key)
        if record is None or record.deleted is None:
            raise refused(403, "Asset not found")
        self.audience.changed(record.original)
        self.tell("asset.purged", record, self.schema.users[record.deleted_by])
        del self.records[record.object_id], self.files[record.file_id]
        self.families[record.original].remove(record.object_id)
        if not self.families[record.original]:
            del self.families[record.original]
        self.relations.drop(record.object_id)
        self.index.put(record.object_id, None, self.world.elapsed() + self.options.lag)

    def promote(self, record: Record, user: User) -> Record:
        """An older version becomes the current one."""
        self.demand(record, user, "Version Asset")
        current = self.latest(record)
        if current.object_id != record.object_id:
            self.keep(replace(current, current=False))
            record = self.keep(replace(record, current=True, updated=self.now(), updated_by=user.id))
            self.tell("version.promoted", record, user, version={"latest": True, "versionNumber": record.number})
        return record

    def named(self, security: Iterable[str]) -> list[Json]:
        """Security templates as webhooks name them."""
        return [{"id": each, "name": self.schema.security[each].name} for each in security]

    def tell(self, event: str, record: Record, user: User, **more: Json) -> None:
        """Report an event to the webhooks."""
        asset: dict[str, Json] = {"id": record.object_id}
        if "late_events" in self.options.plays:
            template = {"id": record.template, "name": self.schema.templates[record.template].name}
            asset |= {"filename": record.filename, "metadataTemplate": template}
            asset["securityTemplates"] = self.named(record.security)
        self.webhooks.fire(event, user, {"asset": asset, **more})


def text_of(record: Record) -> str:
    """The stored record as the JSON string that delete answers with (wire D 6.8)."""
    return json.dumps(
        {
            "objectId": record.object_id,
            "fileId": record.file_id,
            "originalFileId": record.original,
            "filename": record.filename,
            "fileState": state_of(record),
            "metadataState": state_of(record),
            "lastUpdatedEpoch": record.updated,
        }
    )


def state_of(record: Record) -> str:
    """`available` or `recycle bin`."""
    return "available" if record.deleted is None else "recycle bin"


__all__ = ["Draft", "Refusal", "Tenant", "state_of", "text_of"]
