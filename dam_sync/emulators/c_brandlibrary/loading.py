"""Filling an emulated tenant from a catalogue: schema first, then assets, visible to searches at once.

What service C cannot hold is brought into a form it can: every value becomes a string, several languages become the
tenant's own, vocabularies become restricted keys, folders become sections named by their path. A field `description` or
`name` is the asset's own attribute.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from dam_sync.emulators.c_brandlibrary.creating import stored_of
from dam_sync.emulators.c_brandlibrary.naming import slug_of
from dam_sync.emulators.c_brandlibrary.records import (
    ASSET_TYPES,
    Asset,
    Attachment,
    Collection,
    FieldValue,
    Key,
    Label,
    Section,
    Stored,
    Tag,
    instant,
)
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.catalogue import Catalogue, Record, blob_of, restrictions
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.timestamps import milliseconds

OWN = ("name", "description")
JOINT = " / "
MACHINE = "vision"
_VERSION_MS = 60_000
_SECTIONS = ("folder", "category", "section")
_PENDING = ("draft", "import", "pending", "waiting")


class Loader:
    """Loads one catalogue into a library of a tenant, the first one if no other is named."""

    def __init__(self, tenant: Tenant, catalogue: Catalogue, files: Path | None, library: str = "") -> None:
        self._tenant, self._catalogue, self._files = tenant, catalogue, files
        self._library = next(each for each in tenant.libraries.values() if library in ("", each.name))
        own = self._library.id
        self._keys = {key.name: key for key in tenant.keys_of(own)}
        self._sections = {each.name: each.id for each in tenant.sections.values() if each.library == own}
        self._collections = {each.name: each.id for each in tenant.collections.values() if each.library == own}
        self._labels: dict[tuple[str, ...], str] = {}
        self._terms: dict[tuple[str, str], str] = {}
        self._vocabularies = {row["key"]: str(row.get("vocabulary") or "") for row in catalogue.fields}
        self._known: dict[str, set[str]] = {}

    def load(self) -> None:
        """Everything. Raises ValueError for an asset whose bytes are nowhere."""
        words: dict[str, dict[str, None]] = {row["key"]: {} for row in self._catalogue.vocabularies}
        for row in self._catalogue.terms:
            label = self._text(row["labels"])
            self._terms[row["vocabulary"], str(row["id"])] = label
            words.setdefault(row["vocabulary"], {})[label] = None
        for row in self._catalogue.fields:
            self._add_key(row, words)
        for row in self._catalogue.containers:
            made = self._container(row["kind"], row["path"], str(row.get("asset_type") or ""))
            if row["kind"] == "collection":
                collection = self._tenant.collections[made]
                collection.public, collection.stealth = bool(row.get("public")), bool(row.get("stealth"))
        self._tenant.adopt(self._assets())

    def _add_key(self, row: Record, words: Mapping[str, Mapping[str, None]]) -> None:
        name = str(row["key"])
        if name in OWN or name in self._keys:
            return
        vocabulary = str(row.get("vocabulary") or "")
        made = Key(
            self._tenant.names.key(), self._library.id, name, list(words.get(vocabulary, ())), bool(vocabulary),
            bool(row.get("required", False)), False, len(self._keys), bool(row.get("multiple", False)),
        )  # fmt: skip
        self._keys[name] = self._tenant.keys[made.id] = made

    # -- containers ----------------------------------------------------------------------------------------------------

    def _container(self, kind: str, path: Sequence[str], asset_type: str = "") -> str:
        """The id of a container, made where it is missing; empty for a kind that C has not."""
        if kind in _SECTIONS:
            return self._section(JOINT.join(path), asset_type)
        if kind == "collection":
            return self._collection(JOINT.join(path))
        return self._label(tuple(path)) if kind == "label" else ""

    def _section(self, name: str, asset_type: str = "") -> str:
        if name not in self._sections:
            kind = asset_type or self._tenant.options.asset_type
            made = Section(self._tenant.names.key(), self._library.id, name, kind, len(self._sections))
            self._tenant.sections[made.id] = made
            self._sections[name] = made.id
        return self._sections[name]

    def _collection(self, name: str) -> str:
        if name not in self._collections:
            made = Collection(self._tenant.names.key(), self._library.id, name, self._free_slug(name))
            self._tenant.collections[made.id] = made
            self._collections[name] = made.id
        return self._collections[name]

    def _free_slug(self, name: str) -> str:
        taken = {each.slug for each in self._tenant.collections.values()}
        slug, number = slug_of(name), 1
        while slug in taken:
            number += 1
            slug = f"{slug_of(name)}-{number}"
        return slug

    def _label(self, path: tuple[str, ...]) -> str:
        if path not in self._labels:
            parent = self._label(path[:-1]) if len(path) > 1 else ""
            position = sum(each.parent == parent for each in self._tenant.labels.values())
            made = Label(self._tenant.names.key(), self._library.id, path[-1], parent, position)
            self._tenant.labels[made.id] = made
            self._labels[path] = made.id
        return self._labels[path]

    # -- assets --------------------------------------------------------------------------------------------------------

    def _assets(self) -> Iterator[Asset]:
        for number, row in enumerate(self._catalogue.assets):
            yield self._asset(row, number)

    def _asset(self, row: Record, number: int) -> Asset:
        tenant = self._tenant
        created = _when(row, "imported_at") or _when(row, "created_at") or tenant.now()
        updated = max(_when(row, "changed_at") or created, created)
        fields, rights = row.get("fields") or {}, row.get("rights") or {}
        filename = str(row.get("filename") or "")
        placed = self._placements(row)
        section = placed.pop("section") or self._section(tenant.options.section)
        return Asset(
            id=tenant.names.key(),
            library=self._library.id,
            section=section,
            name=self._own(fields, "name") or filename.rpartition(".")[0] or filename or str(row["id"]),
            description=self._own(fields, "description") or ("" if number % 2 else None),
            approved=str(row.get("status") or "published") not in _PENDING,
            created=created,
            updated=updated,
            type=ASSET_TYPES[tenant.sections[section].default_asset_type],
            start=milliseconds(rights.get("release_at")),
            end=milliseconds(rights.get("expires_at")),
            attachments=self._attachments(row, created),
            tags=self._tags(row),
            values=tuple(self._values(fields)),
            creator=tenant.accounts.owner.id,
            view_only=bool(row.get("view_only") or restrictions(row, "download")),
            deleted=updated if row.get("status") == "trash" else None,
            position=number,
            catalogue_id=str(row["id"]),
            payload=row.get("asset_data"),
            **placed,
        )

    def _placements(self, row: Record) -> dict[str, Json]:
        """The first section, all collections and labels, by the names of our records."""
        found: dict[str, list[str]] = {"section": [], "collection": [], "label": []}
        for placement in row.get("placements") or ():
            kind = "section" if placement["kind"] in _SECTIONS else str(placement["kind"])
            if kind in found:
                key = self._container(placement["kind"], placement["path"])
                found[kind] += [key] if key not in found[kind] else []
        first = found["section"][0] if found["section"] else ""
        return {"section": first, "collections": tuple(found["collection"]), "labels": tuple(found["label"])}

    def _attachments(self, row: Record, created: int) -> tuple[Attachment, ...]:
        versions = row.get("versions") or []
        groups = [versions] if versions else []
        groups += [[item] for item in row.get("attachments") or ()]
        return tuple(self._attachment(row, group, created) for group in groups)

    def _attachment(self, row: Record, group: Sequence[Record], created: int) -> Attachment:
        """One attachment with its versions, oldest first, a minute apart unless the catalogue says when."""
        stored: list[Stored] = []
        for number, item in enumerate(group):
            name = str(item.get("name") or row.get("filename"))
            at = milliseconds(item.get("created_at")) or created + _VERSION_MS * number
            stored.append(stored_of(blob_of(item, self._files, self._tenant.objects), name, at))
        current = stored[-1]
        number = self._tenant.world.rng.randint(1_000_000, 1_999_999)
        return Attachment(self._tenant.names.key(), current.filename, created, current.at, number, tuple(stored))

    def _tags(self, row: Record) -> tuple[Tag, ...]:
        """One record for each name, characters of any case."""
        found: dict[str, Tag] = {}
        for name in row.get("tags") or ():
            found.setdefault(name.casefold(), Tag(self._tenant.names.key(), name))
        for name in row.get("machine_tags") or ():
            found.setdefault(name.casefold(), Tag(self._tenant.names.key(), name, True, MACHINE))
        return tuple(found.values())

    # -- values --------------------------------------------------------------------------------------------------------

    def _own(self, fields: Mapping[str, Json], name: str) -> str | None:
        texts = self._texts(fields[name], name) if name in fields else []
        return "\n".join(texts) or None

    def _values(self, fields: Mapping[str, Json]) -> Iterator[FieldValue]:
        for name, given in fields.items():
            key = self._keys.get(name)
            for text in self._texts(given, name) if key else ():
                assert key is not None
                if key.restricted and text not in self._known.setdefault(name, set(key.allowed)):
                    self._known[name].add(text)
                    key.allowed.append(text)
                yield FieldValue(self._tenant.names.key(), key.id, text)

    def _texts(self, given: Json, name: str) -> list[str]:
        items = given if isinstance(given, list) else [given]
        return list(dict.fromkeys(text for text in (self._plain(item, name) for item in items) if text))

    def _plain(self, item: Json, name: str) -> str:
        """A neutral scalar as the string that C keeps (wire C 6.7)."""
        if isinstance(item, bool):
            return "true" if item else "false"
        if not isinstance(item, dict):
            return str(item).strip()
        if "texts" in item:
            return self._text(item["texts"]).strip()
        if "instant" in item:
            moment = datetime.fromisoformat(item["instant"]).astimezone(UTC)
            return str(instant(round(moment.timestamp() * 1000)))
        if "label" in item:
            known = self._terms.get((self._vocabularies.get(name, ""), str(item.get("id", ""))))
            return known or str(item["label"]).strip()
        for member in ("date", "person"):
            if item.get(member):
                return str(item[member]).strip()
        return json.dumps(item, ensure_ascii=False, separators=(",", ":"))

    def _text(self, texts: Mapping[str, str]) -> str:
        return str(texts.get(self._tenant.options.locale) or next(iter(texts.values()), ""))


def _when(row: Record, name: str) -> int | None:
    return milliseconds(row.get(name))
