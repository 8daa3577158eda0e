"""Flat collections of file ids (wire D 2.6, 6.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dam_sync.emulators.d_templates.records import CUSTOMER, Collection, Refusal, User, failed, refused
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.environment import Json

NAME_MOST = 200
REQUIRED = ("collectionType", "name", "metadataTemplateId", "metadataDocument", "collectionDocument")
TYPES: Mapping[str, str] = {"secured": "secured", "privateSecured": "privateSecured", "private": "privateSecured"}
DUPLICATE = "A collection with the same name and customerId already exists"


class Collections:
    """All collections by id; `index` is what searches see of them."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self.all: dict[str, Collection] = {}
        self.indexed: dict[str, dict[str, Json]] = {}
        self._of_file: dict[str, dict[str, None]] = {}

    def find(self, key: str, user: User) -> Collection:
        """Raises Refusal 403."""
        found = self.all.get(key)
        if found is None or not self.visible(found, user):
            raise refused(403, "Collection does not exist")
        return found

    def visible(self, collection: Collection, user: User) -> bool:
        """Private ones are their owner's alone."""
        if not collection.shared:
            return collection.owner == user.id
        return self._tenant.schema.may(user, collection.security, "View")

    def of(self, file: str) -> list[Collection]:
        """The collections that hold a file."""
        return [self.all[each] for each in self._of_file.get(file, ())]

    def create(self, sent: Mapping[str, Json], user: User) -> Json:
        """`POST /collection`; missing fields are reported with 200 (wire D 6.8). Raises Refusal 400 or 403."""
        shared = TYPES.get(str(sent.get("collectionType"))) == "secured"
        required = (*REQUIRED, *(("securityTemplateIds",) if shared else ()))
        missing = [name for name in required if self._lacks(sent, name)]
        if missing:
            text = f"The following fields are required, but are missing [{', '.join(missing)}]"
            return {"statusCode": "error", "message": text}
        kind = TYPES.get(str(sent["collectionType"]))
        if kind is None:
            return {"statusCode": "error", "message": "Invalid collectionType"}
        if sent["metadataTemplateId"] not in self._tenant.schema.templates:
            return {"statusCode": "error", "message": "Invalid metadataTemplateId"}
        security = self._tenant.security(sent["securityTemplateIds"]) if shared else ()
        made = self.new(
            self._name(sent["name"]), kind, self._members(sent["collectionDocument"]), user, security,
            str(sent["metadataTemplateId"]), sent["metadataDocument"],
        )  # fmt: skip
        return {"statusCode": "success", "message": "Collection successfully created", "collectionId": made.id}

    def _lacks(self, sent: Mapping[str, Json], name: str) -> bool:
        if name in ("collectionDocument", "metadataDocument"):
            return name not in sent
        return not sent.get(name)

    def new(
        self, name: str, kind: str, members: Iterable[str], user: User, security: Sequence[str],
        template: str = "", metadata: Json = (),
    ) -> Collection:  # fmt: skip
        """One more collection, unchecked."""
        now = self._tenant.now()
        made = Collection(
            self._tenant.uuid(), name, kind, user.id, [], template, metadata or [], tuple(security), now, now, user.id
        )
        self.all[made.id] = made
        self.fill(made, members)
        self.touch(made, user)
        self._tell("collection.created", made, user)
        return made

    def fill(self, collection: Collection, members: Iterable[str]) -> None:
        """Other members; both directions are kept."""
        for file in collection.members:
            self._of_file.get(file, {}).pop(collection.id, None)
        collection.members = list(dict.fromkeys(members))
        for file in collection.members:
            self._of_file.setdefault(file, {})[collection.id] = None

    def touch(self, collection: Collection, user: User) -> None:
        """Changed now."""
        collection.updated, collection.updated_by = self._tenant.now(), user.id
        self._later(collection.id)

    def _later(self, key: str) -> None:
        """Three calls read the lagging index (wire D 2), this search is none of them; a variant makes it one."""
        arrive = self._indexing(key, self.shown(self.all[key]) if key in self.all else None)
        if "collection_lag" in self._tenant.options.plays:
            self._tenant.after(self._tenant.options.lag, arrive)
        else:
            arrive()

    def _indexing(self, key: str, shown: dict[str, Json] | None) -> Callable[[], None]:
        def arrive() -> None:
            if shown is None:
                self.indexed.pop(key, None)
            else:
                self.indexed[key] = shown

        return arrive

    def update(self, found: Collection, sent: Mapping[str, Json], user: User) -> None:
        """`PATCH /collection/{id}`: the list of members replaces the old one. Raises Refusal."""
        name = self._name(sent["name"], found) if "name" in sent else found.name
        kind = TYPES.get(str(sent.get("collectionType", found.type)))
        if kind is None:
            raise failed(400, "Invalid collectionType")
        if sent.get("collectionDocument") is not None:
            self.fill(found, self._members(sent["collectionDocument"]))
            self._tell("collection.assets.updated", found, user)
        found.name, found.type = name, kind
        self.touch(found, user)
        self._tell("collection.updated", found, user)

    def update_newly(self, found: Collection, sent: Mapping[str, Json], user: User) -> None:
        """`PATCH /collections/{id}`: members are added, removed or replaced. Raises Refusal."""
        if "collectionName" in sent:
            found.name = self._name(sent["collectionName"], found)
        if sent.get("securityTemplateIds") is not None:
            found.security = self._tenant.security(sent["securityTemplateIds"])
        changes = sent.get("collectionUpdates")
        if changes is not None:
            self.fill(found, self._members(self._changed(found, changes)))
            self._tell("collection.assets.updated", found, user)
        self.touch(found, user)

    def _changed(self, found: Collection, changes: Json) -> list[str]:
        files = changes.get("fileIds") if isinstance(changes, dict) else None
        if not isinstance(files, list):
            raise failed(400, "Invalid collectionUpdates")
        match changes.get("operation"):
            case "add":
                kept = () if "updates_replace" in self._tenant.options.plays else found.members
                return [*kept, *files]
            case "remove":
                return [file for file in found.members if file not in files]
            case "replace":
                return files
        raise failed(400, "Invalid collectionUpdates")

    def drop(self, found: Collection, user: User) -> None:
        """The assets stay."""
        self.fill(found, ())
        del self.all[found.id]
        self._later(found.id)
        self._tell("collection.deleted", found, user)

    def _members(self, files: Json) -> list[str]:
        if files is None:
            return []
        if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
            raise failed(400, "Invalid collectionDocument")
        members = list(dict.fromkeys(files))
        if len(members) > self._tenant.options.members:
            raise failed(400, f"A collection holds at most {self._tenant.options.members} assets")
        return members

    def _name(self, name: Json, found: Collection | None = None) -> str:
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_MOST:
            raise failed(400, "Invalid collection name")
        if any(each.name == name and each is not found for each in self.all.values()):
            raise Refusal(403, {"message": DUPLICATE})
        return name

    def shown(self, found: Collection) -> dict[str, Json]:
        """As searches give it (wire D 2.6)."""
        return {
            "collectionId": found.id,
            "name": found.name,
            "collectionType": found.type,
            "shared": "N",
            "shareDocument": [],
            "userCognitoId": found.owner,
            "createdEpoch": found.created,
            "lastUpdatedEpoch": found.updated,
            "customerId": int(CUSTOMER),
            "collectionDocument": list(found.members),
            "metadataTemplateId": found.template,
            "securityTemplateIds": list(found.security),
        }

    def whole(self, found: Collection) -> dict[str, Json]:
        """As `GET /collection/{id}` gives it."""
        return {
            **self.shown(found),
            "createdBy": found.owner,
            "lastUpdatedBy": found.updated_by,
            "expirationDate": None,
            "downloadId": "",
            "sender": "",
            "recipients": [],
            "shareMessage": "",
        }

    def _tell(self, event: str, found: Collection, user: User) -> None:
        facts: dict[str, Any] = {"id": found.id, "name": found.name, "type": "Shared" if found.shared else "Private"}
        self._tenant.webhooks.fire(event, user, {"collection": facts})
