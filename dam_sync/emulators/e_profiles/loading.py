"""Filling an emulated tenant from a catalogue: schema first, then assets, visible to searches at once.

What service E cannot hold is brought into a form it can: several languages become the tenant's own, folders become
categories, labels become tags, several texts in one field become a multi-value list, other values become text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from dam_sync.emulators.e_profiles.metadata import FIELD_TYPES
from dam_sync.emulators.e_profiles.records import (
    Asset,
    Attachment,
    Field,
    MetadataType,
    Profile,
    Version,
    WordList,
    epoch_of,
)
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.e_profiles.taxonomy import Collection
from dam_sync.emulators.kit.catalogue import Catalogue, Record, blob_of
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

YES = "Yes"
_KINDS = {
    "long_text": "text_long",
    "html": "text_long",
    "rows": "text_long",
    "number": "numeric",
    "flag": "checkboxes",
    "date": "date",
    "instant": "date",
}
_VERSION_SECONDS = 60


class Loader:
    """Loads one catalogue into one tenant."""

    def __init__(self, tenant: Tenant, catalogue: Catalogue, files: Path | None) -> None:
        self._tenant = tenant
        self._catalogue = catalogue
        self._files = files
        self._labels: dict[tuple[str, str], str] = {}
        self._vocabularies = {row["key"]: str(row.get("vocabulary", "")) for row in catalogue.fields}
        self._words = self._word_lists()

    def load(self) -> None:
        """Everything. Raises ValueError for an asset whose bytes are nowhere."""
        for row in self._catalogue.types or [{"name": "Default"}]:
            name = row["name"]
            self._tenant.metadata.types.setdefault(name, MetadataType(self._tenant.uuid(), name))
        for row in self._catalogue.fields:
            self._add_field(row)
        for row in self._catalogue.groups or [{"name": "public"}]:
            self._tenant.groups.setdefault(row["name"], self._tenant.uuid())
        for row in self._catalogue.containers:
            self._container(row["kind"], row["path"], str(row.get("type", "global")))
        self._add_profiles()
        self._tenant.adopt(self._assets())

    def _word_lists(self) -> Mapping[str, Sequence[str]]:
        """The labels of each vocabulary, in the tenant's language, in order and once each."""
        lists: dict[str, dict[str, None]] = {row["key"]: {} for row in self._catalogue.vocabularies}
        for row in self._catalogue.terms:
            label = self._text(row["labels"])
            self._labels[row["vocabulary"], str(row["id"])] = label
            lists.setdefault(row["vocabulary"], {})[label] = None
        return {key: tuple(words) for key, words in lists.items()}

    def _add_field(self, row: Record) -> None:
        types = tuple(row.get("types") or self._tenant.metadata.types)
        field = Field(
            self._tenant.uuid(),
            row["key"],
            str(row.get("label") or row["key"]),
            _field_type(row),
            types,
            bool(row.get("required", False)),
            bool(row.get("editable", True)),
        )
        if field.field_type in ("selection_list", "selection_list_multi", "checkboxes"):
            words = self._words.get(str(row.get("vocabulary", "")))
            given = words if words is not None else (YES,) if row["kind"] == "flag" else ()
            field.words = WordList(list(given), set(given))
        self._tenant.metadata.fields[field.key] = field
        for name in types:
            self._tenant.metadata.types[name].keys.append(field.key)

    def _add_profiles(self) -> None:
        rows = self._catalogue.profiles or [{"name": name, "type": name} for name in self._tenant.metadata.types]
        first = next(iter(self._tenant.groups))
        for row in rows:
            self._tenant.profiles[row["name"]] = Profile(
                self._tenant.uuid(),
                row["name"],
                str(row.get("type") or next(iter(self._tenant.metadata.types))),
                (first,) if row.get("groups") is None else tuple(row["groups"]),
                str(row.get("version_policy") or self._tenant.options.version_policy),
                epoch_of(row.get("release_date")),
                epoch_of(row.get("expiration_date")),
                {key: tuple(values) for key, values in (row.get("defaults") or {}).items()},
                frozenset(self._container("category", path) for path in row.get("categories", ())),
                frozenset(self._container("collection", [title]) for title in row.get("collections", ())),
                bool(row.get("archive", False)),
                bool(row.get("immediate_release", True)),
            )

    def _container(self, kind: str, path: Sequence[str], type_name: str = "global") -> str:
        """The id of a category or collection, made where it is missing; empty for what is neither."""
        if kind == "collection":
            return self._collection(path[-1], type_name)
        if kind not in ("category", "folder"):
            return ""
        taxonomy, parent = self._tenant.taxonomy, ""
        for depth in range(1, len(path) + 1):
            found = taxonomy.at(path[:depth]) or self._tenant.new_category(path[depth - 1], parent)
            parent = found.id
        return parent

    def _collection(self, title: str, type_name: str) -> str:
        collections = self._tenant.taxonomy.collections
        for each in collections.values():
            if each.title == title:
                return each.id
        made = Collection(self._tenant.uuid(), title, type_name)
        collections[made.id] = made
        return made.id

    def _assets(self) -> Iterator[Asset]:
        placed: dict[tuple[str, tuple[str, ...]], str] = {}
        for row in self._catalogue.assets:
            held: dict[str, set[str]] = {"category": set(), "collection": set()}
            for placement in row.get("placements", ()):
                kind = "collection" if placement["kind"] == "collection" else "category"
                key = (placement["kind"], tuple(placement["path"]))
                if key not in placed:
                    placed[key] = self._container(placement["kind"], placement["path"])
                held[kind].add(placed[key])
            asset = self._asset(row, held["category"] - {""}, held["collection"])
            for collection in asset.collections:
                self._tenant.taxonomy.collections[collection].assets.add(asset.id)
            yield asset

    def _asset(self, row: Record, categories: set[str], collections: set[str]) -> Asset:
        tenant = self._tenant
        created = _when(row, "imported_at") or _when(row, "created_at") or tenant.now()
        versions = self._versions(row, created)
        updated = max(_when(row, "changed_at") or created, versions[-1].uploaded)
        rights = row.get("rights") or {}
        types = tenant.metadata.types
        kind = str(row["type"]) if row.get("type") in types else next(iter(types))
        release = epoch_of(rights.get("release_at"))
        if release is None and rights.get("released", True):
            release = created
        labels = [part["path"][-1] for part in row.get("placements", ()) if part["kind"] == "label"]
        return Asset(
            id=tenant.uuid(),
            external_id=tenant.world.word(10),
            type=kind,
            fields=self._fields(kind, row.get("fields") or {}),
            versions=versions,
            created=created,
            updated=updated,
            groups=self._groups(rights.get("groups") or ()),
            release=release,
            expiration=epoch_of(rights.get("expires_at")),
            deleted=updated if row.get("status") == "trash" else None,
            archived=row.get("status") == "archived",
            tags=tuple(dict.fromkeys((*row.get("tags", ()), *labels))),
            ai_tags=tuple(row.get("machine_tags", ())),
            categories=frozenset(categories),
            collections=frozenset(collections),
            attachments=tuple(
                Attachment(tenant.uuid(), str(item.get("name", "")), self._blob(item))
                for item in row.get("attachments", ())
            ),
            catalogue_id=str(row["id"]),
        )

    def _groups(self, names: Sequence[str]) -> tuple[str, ...]:
        for name in names:
            self._tenant.groups.setdefault(name, self._tenant.uuid())
        return tuple(names) or (next(iter(self._tenant.groups)),)

    def _versions(self, row: Record, created: int) -> tuple[Version, ...]:
        """Oldest first, a minute apart unless the catalogue says when; an asset without a file gets an empty one."""
        items = row.get("versions") or [{"name": row.get("filename") or str(row["id"]), "generate": {"size": 0}}]
        versions: list[Version] = []
        for number, item in enumerate(items, 1):
            at = epoch_of(item.get("created_at")) or created + _VERSION_SECONDS * (number - 1)
            name = str(item.get("name") or row.get("filename"))
            versions.append(Version(self._tenant.uuid(), number, name, self._blob(item), at))
        return tuple(versions)

    def _blob(self, item: Record) -> Blob:
        return blob_of(item, self._files, self._tenant.objects)

    def _fields(self, kind: str, given: Mapping[str, Json]) -> Mapping[str, tuple[str, ...]]:
        values = {}
        for key in self._tenant.metadata.types[kind].keys:
            if key in given:
                values[key] = self._values(self._tenant.metadata.fields[key], given[key])
        return self._tenant.metadata.complete(kind, values)

    def _values(self, field: Field, given: Json) -> tuple[str, ...]:
        items = given if isinstance(given, list) else [given]
        texts = [text for text in (self._plain(item, field) for item in items) if text]
        if not field.multiple:
            return ("\n".join(texts),) if texts else ()
        if field.words is not None:
            for text in texts:
                if text not in field.words.known:
                    field.words.add(text)
        return tuple(dict.fromkeys(texts))

    def _plain(self, item: Json, field: Field) -> str:
        """A neutral scalar as the text that E keeps."""
        if isinstance(item, bool):
            return YES if item else ""
        if not isinstance(item, dict):
            return str(item).strip()
        if "texts" in item:
            return self._text(item["texts"]).strip()
        if "instant" in item:
            return datetime.fromisoformat(item["instant"]).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if "label" in item:
            return self._label(item, field)
        for member in ("date", "person", "address"):
            if item.get(member):
                return str(item[member]).strip()
        return json.dumps(item, ensure_ascii=False, sort_keys=True)

    def _label(self, item: Mapping[str, Json], field: Field) -> str:
        """The vocabulary's own label of a term it knows, else the one the asset gives."""
        known = self._labels.get((self._vocabularies.get(field.key, ""), str(item.get("id", ""))))
        return known or str(item["label"]).strip()

    def _text(self, texts: Mapping[str, str]) -> str:
        return str(texts.get(self._tenant.options.locale) or next(iter(texts.values()), ""))


def _field_type(row: Record) -> str:
    native = row.get("native")
    if native in FIELD_TYPES:
        return str(native)
    kind, multiple = row["kind"], bool(row.get("multiple"))
    if kind == "term":
        return "selection_list_multi" if multiple else "selection_list"
    if kind in _KINDS:
        return _KINDS[kind]
    if multiple:
        return "selection_list_multi"
    limit = row.get("max_length")
    if limit is None or 255 < limit <= 1280:
        return "text"
    return "text_short" if limit <= 255 else "text_long"


def _when(row: Record, name: str) -> int | None:
    return epoch_of(row.get(name))
