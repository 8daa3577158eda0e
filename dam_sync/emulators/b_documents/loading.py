"""Filling a server from a catalogue in the neutral form, each record as far as documents can hold it."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from dam_sync.emulators.b_documents import acts
from dam_sync.emulators.b_documents.configuring import PREFIX, Configuration
from dam_sync.emulators.b_documents.records import Ace, Document, FileBlob, Group, Props, instant, moment_of
from dam_sync.emulators.b_documents.server import Server
from dam_sync.emulators.b_documents.types import Field
from dam_sync.emulators.kit.catalogue import Catalogue, Record, blob_of, restrictions, unloaded
from dam_sync.emulators.kit.environment import Json

mimetypes.add_type("image/webp", ".webp")
mimetypes.add_type("image/heic", ".heic")
STATES: Mapping[str, str] = {"published": "approved", "archived": "obsolete"}
"""Catalogue statuses as life cycle states; whatever else is `project`."""


class Loader:
    """Fills one server: configuration first, then folders and collections, then documents. Used once."""

    def __init__(self, server: Server, catalogue: Catalogue, files: Path | None) -> None:
        self._server, self._catalogue, self._files = server, catalogue, files
        self._repository = server.repository
        self._configuration = Configuration(server.repository, catalogue)
        self._folders: dict[tuple[str, ...], str] = {(): server.repository.workspaces}
        self._collections: dict[str, str] = {}
        self._sections: dict[tuple[str, ...], str] = {}
        self._uids: dict[str, str] = {}
        self._relations: list[tuple[str, Sequence[Record]]] = []

    def load(self) -> None:
        """Take everything in. Raises ValueError naming the asset on what cannot be."""
        self._configuration.configure()
        for record in self._catalogue.groups:
            name = str(record["name"])
            self._repository.people.groups.setdefault(name, Group(name, str(record.get("label") or name)))
        with self._repository.transaction() as transaction:
            for record in self._catalogue.containers:
                self._container(record)
            for asset in self._catalogue.assets:
                try:
                    self._asset(asset)
                except (KeyError, ValueError, TypeError) as problem:
                    raise unloaded(asset, problem) from problem
            transaction.jobs.clear()
            transaction.events.clear()
        self._relate()
        self._server.search.index.refresh(everything=True)

    def _container(self, record: Record) -> None:
        uid = ""
        if record["kind"] in ("folder", "category"):
            uid = self._folder(tuple(record["path"]))
        elif record["kind"] == "collection":
            uid = self._collection(str(record["path"][-1]))
        elif record["kind"] == "section":
            uid = self._section(tuple(record["path"]))
        if uid and record.get("rights"):
            self._repository.get(uid).acls["local"] = self._entries(record)

    def _entries(self, record: Record) -> list[Ace]:
        """The neutral rights as local entries: who is denied, who may read (from and until), nobody else unless
        `inherit` says so. `permission`: the right that the groups hold, `Read` if not given."""
        rights, creator = record.get("rights") or {}, self._server.options.user
        held = str(rights.get("permission") or "Read")
        denied = [name.strip() for row in restrictions(record, "denied") for name in str(row["detail"]).split(",")]
        made = [Ace(name, "Everything", False, creator) for name in denied]
        granted = [Ace(str(name), held, True, creator) for name in rights.get("groups") or ()]
        for row in restrictions(record, "timed"):
            begin, end = _instant(row.get("begin")) or None, _instant(row.get("end")) or None
            granted.append(Ace(str(row["detail"]), held, True, creator, begin, end))
        closed = [Ace("Everyone", "Everything", False, creator)] if granted and not rights.get("inherit") else []
        return [*made, *granted, *closed]

    def _folder(self, path: tuple[str, ...]) -> str:
        known = self._folders.get(path)
        if known is None:
            parent = self._folder(path[:-1])
            kind = "Workspace" if len(path) == 1 else "Folder"
            known = self._folders[path] = self._placed(kind, parent, path[-1], {"dc:title": path[-1]}).uid
        return known

    def _collection(self, title: str) -> str:
        if title not in self._collections:
            props: Props = {"dc:title": title, "collection:documentIds": []}
            made = self._placed("Collection", self._repository.collections, title, props)
            self._collections[title] = made.uid
        return self._collections[title]

    def _placed(self, kind: str, parent: str, name: str, props: Props) -> Document:
        repository, saver = self._repository, self._server.saver
        doc = Document(repository.new_id(), kind, "", parent, {**self._stamps(), **props})
        doc.name = repository.free_name(parent, saver.name_of(name))
        return repository.insert(doc)

    def _stamps(self, created: str = "", modified: str = "") -> Props:
        owner, now = self._server.options.user, self._repository.stamp()
        return {
            "dc:created": created or now, "dc:modified": modified or created or now, "dc:creator": owner,
            "dc:contributors": [owner], "dc:lastContributor": owner,
        }  # fmt: skip

    def _asset(self, record: Record) -> None:
        created, modified = _instant(record.get("created_at")), _instant(record.get("changed_at"))
        files = self._files_of(record.get("versions") or ())
        kind = self._configuration.type_of(record)
        name = str(record.get("filename") or (files[-1].name if files else "") or record.get("id"))
        props = {**self._stamps(created, modified), "dc:title": name, **self._fields(kind, record.get("fields") or {})}
        props |= self._rights_dates(record.get("rights") or {})
        attachments = self._files_of(record.get("attachments") or ())
        if attachments:
            props["files:files"] = [{"file": file} for file in attachments]
        if record.get("tags"):
            owner = self._server.options.user
            props["nxtag:tags"] = [{"label": str(tag), "username": owner} for tag in record["tags"]]
        doc = self._placed(kind, self._place(record), name, props)
        doc.catalogue_id = str(record.get("id", ""))
        own = self._entries(record)
        if own:
            doc.acls["local"] = own
        self._versioned(doc, files)
        self._collected(doc, record)
        self._with_status(doc, str(record.get("status") or ""))
        for place in record.get("placements") or ():
            if place["kind"] == "section":
                self._published(doc, self._section(tuple(place["path"])))
        self._uids[doc.catalogue_id] = doc.uid
        if record.get("relations"):
            self._relations.append((doc.uid, record["relations"]))
        if str(record.get("status")) == "trash":
            millis = int(moment_of(str(props["dc:modified"])).timestamp() * 1000)
            self._repository.relocate(doc, doc.parent, f"{doc.name}._{millis}_.trashed")
            doc.trashed = True

    def _with_status(self, doc: Document, status: str) -> None:
        """As the life cycle state, a proxy in the root of sections, or a property (wire B 13)."""
        kept = self._server.options.status
        if kept == "lifecycle":
            doc.state = STATES.get(status, "project")
        elif kept == "section":
            if status == "published":
                self._published(doc, self._repository.sections)
        elif status and status != "trash":
            doc.props[kept] = status

    def _section(self, path: tuple[str, ...]) -> str:
        if not path:
            return self._repository.sections
        if path not in self._sections:
            made = self._placed("Section", self._section(path[:-1]), path[-1], {"dc:title": path[-1]})
            self._sections[path] = made.uid
        return self._sections[path]

    def _published(self, doc: Document, section: str) -> None:
        people, repository = self._repository.people, self._repository
        acts.publish(
            repository, self._server.saver, doc, repository.get(section), people.users[doc.props["dc:creator"]]
        )

    def _versioned(self, doc: Document, files: Sequence[FileBlob]) -> None:
        """Older files as versions that were checked in, the newest on the live document."""
        for number, file in enumerate(files[:-1], 1):
            doc.props["file:content"] = file
            doc.minor = number
            version = doc.copy()
            version.uid, version.parent, version.live = self._repository.new_id(), "", doc.uid
            version.is_version, version.checked_out, version.acls, version.catalogue_id = True, False, {}, ""
            saved = moment_of(str(doc.props["dc:modified"])) - timedelta(milliseconds=len(files) - number)
            version.props["dc:modified"] = version.version_created = instant(saved)
            self._repository.insert(version)
        if files:
            doc.props["file:content"] = files[-1]
            self._server.enrichment.at_once(doc)

    def _files_of(self, items: Sequence[Record]) -> list[FileBlob]:
        return [self._file(item) for item in items]

    def _file(self, item: Record) -> FileBlob:
        name = str(item.get("name") or "file")
        kind = str(item.get("media_type") or mimetypes.guess_type(name)[0] or "application/octet-stream")
        return FileBlob(name, kind, blob_of(item, self._files, self._server.objects))

    def _place(self, record: Record) -> str:
        """The first folder; a document is in one place."""
        for place in record.get("placements") or ():
            if place["kind"] in ("folder", "category"):
                return self._folder(tuple(place["path"]))
        return self._repository.workspaces

    def _collected(self, doc: Document, record: Record) -> None:
        for place in record.get("placements") or ():
            if place["kind"] == "collection":
                collection = self._repository.get(self._collection(str(place["path"][-1])))
                collection.props["collection:documentIds"].append(doc.uid)
                doc.props.setdefault("collectionMember:collectionIds", []).append(collection.uid)
                doc.facets.add("CollectionMember")

    def _rights_dates(self, rights: Mapping[str, Json]) -> Props:
        options = self._server.options
        dates = {options.release_field: rights.get("release_at"), options.expiry_field: rights.get("expires_at")}
        return {key: _instant(text) for key, text in dates.items() if key and text}

    def _fields(self, kind: str, given: Mapping[str, Json]) -> Props:
        doc = Document("", kind, "", "", {})
        fields, made = self._repository.types.fields_of(doc), Props()
        for key, value in given.items():
            name = key if ":" in key else f"{PREFIX}:{key}"
            kept = self._kept(key, fields[name], value)
            if kept not in (None, "", [], {}):
                made[name] = kept
        return made

    def _kept(self, key: str, field: Field, value: Json) -> Json:
        values = value if isinstance(value, list) else [value]
        kept = [self._scalar(key, field, each) for each in values]
        return kept if field.many else kept[0] if kept else None

    def _scalar(self, key: str, field: Field, value: Json) -> Json:
        if field.directory:
            return self._configuration.stored(key, value)
        match field.type:
            case "date":
                return _instant(value.get("date") or value.get("instant") if isinstance(value, dict) else value)
            case "double":
                return float(value)
            case "boolean":
                return bool(value)
            case "complex":
                cells = value.get("row", value)
                return {each.name: cells.get(each.name) for each in field.fields}
        if isinstance(value, dict):
            texts = value.get("texts")
            value = next(iter(texts.values()), "") if texts is not None else value.get("person", value.get("label"))
        return str(value)

    def _relate(self) -> None:
        for uid, relations in self._relations:
            for relation in relations:
                target = self._uids.get(str(relation["target"]))
                if target:
                    self._repository.relations.append((uid, str(relation["kind"]), target))


def _instant(text: Json) -> str:
    if not text:
        return ""
    text = str(text)
    return instant(moment_of(f"{text}T00:00:00Z" if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text))
