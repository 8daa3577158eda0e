"""Documents as JSON: conditional keys, properties only when asked for, blobs with their addresses (wire B 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.records import Document, FileBlob, User
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.types import Field
from dam_sync.emulators.kit.environment import Json


@dataclass(frozen=True, slots=True)
class View:
    """What a request wants to see of documents: schemas, enrichers, fetched references, by header or parameter."""

    user: User
    schemas: frozenset[str] = frozenset()
    enrichers: tuple[str, ...] = ()
    fetch: frozenset[str] = frozenset()
    translate: bool = False


Enricher: TypeAlias = Callable[[Document, View], Json]


class Writer:
    """Writes documents. `enrichers` by name are put in by whoever has them."""

    def __init__(self, repository: Repository, options: Options, base: Callable[[], str]) -> None:
        self.repository, self.options, self.base = repository, options, base
        self.enrichers: dict[str, Enricher] = {}
        self._plain: dict[tuple[str, frozenset[str], frozenset[str]], Mapping[str, Json]] = {}

    def documents(self, docs: Iterable[Document], view: View, **more: Json) -> Json:
        """A list of documents that is not paged."""
        entries = [self.document(doc, view) for doc in docs]
        return {"entity-type": "documents", **more, "entries": entries}

    def document(self, doc: Document, view: View) -> Json:
        """One document."""
        made = self._head(doc, view)
        if view.schemas:
            made["properties"] = self.properties(doc, view)
        made["facets"] = self.repository.types.all_facets(doc)
        held = self.repository.types.schemas_of(doc)
        made["schemas"] = [{"name": schema.name, "prefix": schema.key} for schema in held]
        if view.enrichers:
            known = [name for name in view.enrichers if name in self.enrichers]
            made["contextParameters"] = {name: self.enrichers[name](doc, view) for name in known}
        return made

    def _head(self, doc: Document, view: View) -> dict[str, Json]:
        repository = self.repository
        made: dict[str, Json] = {
            "entity-type": "document", "repository": "default", "uid": doc.uid,
            "path": repository.path(doc) or None, "type": doc.type, "state": doc.state,
            "parentRef": doc.parent or None, "isCheckedOut": doc.checked_out, "isRecord": False, "retainUntil": None,
            "hasLegalHold": False, "isUnderRetentionOrLegalHold": False, "isVersion": doc.is_version,
            "isProxy": doc.is_proxy, "changeToken": doc.token, "isTrashed": doc.trashed, "title": doc.title,
        }  # fmt: skip
        if doc.is_proxy:
            made["proxyTargetId"] = doc.target
        if doc.live:
            made["versionableId"] = doc.live
        if doc.is_version:
            last = [each for each in repository.versions.get(doc.live, ()) if each in repository.docs]
            made["isLatestVersion"] = bool(last) and last[-1] == doc.uid
            major = [each for each in last if repository.docs[each].minor == 0]
            made["isLatestMajorVersion"] = bool(major) and major[-1] == doc.uid
        if "versionLabel" in view.fetch:
            made["versionLabel"] = doc.label
        if "lock" in view.fetch and doc.lock:
            made["lockOwner"], made["lockCreated"] = doc.lock
        if doc.props.get("dc:modified"):
            made["lastModified"] = doc.props["dc:modified"]
        return made

    def properties(self, doc: Document, view: View) -> dict[str, Json]:
        """The properties of the schemas requested, unset ones too."""
        made = dict(self._unset(doc, view.schemas))
        fields = self.repository.types.fields_of(doc)
        for key, value in doc.props.items():
            if key in made:
                deep = fields[key].type in ("blob", "complex")
                made[key] = self._shown(doc, key, value) if deep else self._fetched(fields[key], key, value, view)
        if "uid:major_version" in made:
            made["uid:major_version"], made["uid:minor_version"] = doc.major, doc.minor
        return made

    def _unset(self, doc: Document, wanted: frozenset[str]) -> Mapping[str, Json]:
        """Every property a document of its kind has, with nothing in it."""
        kind = (doc.type, frozenset(doc.facets), wanted)
        known = self._plain.get(kind)
        if known is None:
            held = self.repository.types.schemas_of(doc)
            shown = [schema for schema in held if "*" in wanted or schema.name in wanted]
            known = {f"{schema.key}:{field.name}": _blank(field) for schema in shown for field in schema.fields}
            self._plain[kind] = known
        return known

    def _shown(self, doc: Document, path: str, value: Json) -> Json:
        if isinstance(value, FileBlob):
            return self.blob(doc, path, value)
        if isinstance(value, list):
            return [self._shown(doc, f"{path}/{number}", each) for number, each in enumerate(value)]
        if isinstance(value, Mapping):
            return {key: self._shown(doc, f"{path}/{key}", each) for key, each in value.items()}
        return value

    def blob(self, doc: Document, path: str, file: FileBlob) -> Json:
        """A blob with its address."""
        algorithm, digest = self.repository.digest_of(file)
        length: Json = file.blob.size if "number_length" in self.options.plays else str(file.blob.size)
        address = f"{self.base()}/nxfile/default/{doc.uid}/{path}/{quote(file.name, safe='')}?changeToken={doc.token}"
        made = {
            "name": file.name, "mime-type": file.media_type, "encoding": file.encoding, "digestAlgorithm": algorithm,
            "digest": digest, "length": length, "data": address,
        }  # fmt: skip
        if self.options.at_least("2021.43"):
            made["blobUrl"] = address
        return made

    def _fetched(self, field: Field, key: str, value: Json, view: View) -> Json:
        """References as entities where `fetch.document` asks for them."""
        if not view.fetch or not ({"properties", key} & view.fetch):
            return value
        people = self.repository.people
        if key in ("dc:creator", "dc:lastContributor") and value in people.users:
            return people.user_json(people.users[value])
        if not field.directory:
            return value
        if field.many:
            return [self._entry(field.directory, each, view) for each in value]
        return self._entry(field.directory, value, view)

    def _entry(self, name: str, value: str, view: View) -> Json:
        directory = self.repository.directories.by_name.get(name)
        entry = directory.entries.get(value.rpartition("/")[2]) if directory else None
        if directory is None or entry is None:
            return value
        return self.directory_entry(name, entry, translate=view.translate)

    def directory_entry(self, name: str, entry: Mapping[str, Json], *, translate: bool) -> Json:
        """A vocabulary entry; its translated label next to the kept one or in its place (wire B 13)."""
        directory = self.repository.directories.by_name[name]
        properties = dict(entry)
        if translate:
            where = "translatedLabel" if "label_beside" in self.options.plays and not directory.localized else "label"
            properties[where] = directory.text(entry)
        return {
            "entity-type": "directoryEntry", "directoryName": name, "id": entry["id"], "properties": properties,
        }  # fmt: skip


def _blank(field: Field) -> Json:
    """An unset value: an empty list, an object of nothing, or null."""
    if field.many:
        return []
    return {each.name: [] if each.many else None for each in field.fields} if field.type == "complex" else None
