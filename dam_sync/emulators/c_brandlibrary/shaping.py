"""The calls that write what is not an asset: libraries, sections, collections, keys, labels (wire C 5.2)."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Mapping
from dataclasses import replace
from unicodedata import normalize

from dam_sync.emulators.c_brandlibrary.browsing import check_labels
from dam_sync.emulators.c_brandlibrary.calls import Call, Reply, rows_of
from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.listing import listed
from dam_sync.emulators.c_brandlibrary.naming import is_slug, slug_of
from dam_sync.emulators.c_brandlibrary.records import (
    ASSET_TYPES,
    Collection,
    Key,
    Label,
    Library,
    Refusal,
    Section,
)
from dam_sync.emulators.c_brandlibrary.render import Document
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.environment import Json

PRIORITIZED_MOST = 5
PRIVACIES = ("private", "public")
DONE = Reply(json={})


class Shaping:
    """Handlers; admins and up may shape a library."""

    def __init__(self, tenant: Tenant, links: Links) -> None:
        self._tenant, self._links = tenant, links

    # -- libraries, sections, collections ------------------------------------------------------------------------------

    async def add_library(self, call: Call) -> Reply:
        """A new library of the organization."""
        tenant = self._tenant
        tenant.find({tenant.organization.id: tenant.organization}, call.id)
        tenant.check(tenant.accounts.organization_level(call.caller()), "admin")
        sent = await call.attributes()
        name = _name(sent)
        slug = self._slug(sent, name, [each.slug for each in tenant.libraries.values()])
        made = Library(
            tenant.names.key(), tenant.organization.id, name, slug, _privacy(sent), str(sent.get("tagline") or "")
        )
        tenant.libraries[made.id] = made
        return self._one(self._document().library(made))

    async def change_library(self, call: Call) -> Reply:
        """Only what is sent changes."""
        tenant = self._tenant
        library = tenant.library(call.id, call.caller(), "admin")
        sent = await call.attributes()
        others = [each.slug for each in tenant.libraries.values() if each is not library]
        slug = self._slug(sent, library.name, others) if "slug" in sent else library.slug
        library.name = _name(sent) if "name" in sent else library.name
        library.privacy = _privacy(sent) if "privacy" in sent else library.privacy
        tenant.audience.all_changed()
        library.slug, library.tagline = slug, str(sent.get("tagline", library.tagline))
        return self._one(self._document().library(library))

    async def add_section(self, call: Call) -> Reply:
        """A new section, by default the last; it can never be changed or deleted."""
        library = self._tenant.library(call.id, call.caller(), "admin")
        sent = await call.attributes()
        kind = sent.get("default_asset_type")
        if not isinstance(kind, str) or kind not in ASSET_TYPES:
            raise Refusal(422, "Default asset type is not included in the list")
        number = sum(each.library == library.id for each in self._tenant.sections.values())
        position = sent.get("position")
        made = Section(
            self._tenant.names.key(),
            library.id,
            self._title(sent),
            str(kind),
            position if isinstance(position, int) else number,
        )
        self._tenant.sections[made.id] = made
        return self._one(self._document().section(made))

    async def add_collection(self, call: Call) -> Reply:
        """A new collection."""
        library = self._tenant.library(call.id, call.caller(), "admin")
        sent = await call.attributes()
        name = self._title(sent)
        slug = self._slug(sent, name, self._slugs(library.id))
        made = Collection(self._tenant.names.key(), library.id, name, slug, str(sent.get("tagline") or ""))
        self._tenant.collections[made.id] = made
        shown = self._document().collection(made)
        return Reply(json=shown) if "bare_answers" in self._tenant.plays else self._one(shown)

    def _title(self, sent: Mapping[str, Json]) -> str:
        name = _name(sent)
        return normalize("NFC", name.strip()) if "composed" in self._tenant.plays else name

    async def change_collection(self, call: Call) -> Reply:
        """Name, slug and tagline."""
        collection = self._tenant.collection(call.id, call.caller(), "admin")
        sent = await call.attributes()
        if "slug" in sent:
            others = [each for each in self._slugs(collection.library) if each != collection.slug]
            collection.slug = self._slug(sent, collection.name, others)
        collection.name = _name(sent) if "name" in sent else collection.name
        collection.tagline = str(sent.get("tagline", collection.tagline))
        self._collection_edited(collection)
        return self._one(self._document().collection(collection))

    async def delete_collection(self, call: Call) -> Reply:
        """The collection goes, its assets stay."""
        collection = self._tenant.collection(call.id, call.caller(), "admin")
        self._collection_edited(collection)
        self._tenant.drop(self._tenant.collections, collection.id)
        for asset in self._tenant.of_library(collection.library):
            if collection.id in asset.collections:
                kept = tuple(each for each in asset.collections if each != collection.id)
                self._tenant.edit(replace(asset, collections=kept), "collections")
        return DONE

    def _collection_edited(self, collection: Collection) -> None:
        """Only in one reading does that tell of the assets (wire C 13)."""
        if "collection_events" in self._tenant.plays:
            for asset in self._tenant.of_library(collection.library):
                if collection.id in asset.collections:
                    self._tenant.tell("asset.update", asset, self._tenant.now())

    def _slugs(self, library: str) -> list[str]:
        return [each.slug for each in self._tenant.collections.values() if each.library == library]

    def _slug(self, sent: Mapping[str, Json], name: str, taken: Names[str]) -> str:
        """A slug that is sent must be good and free; one that is made of the name gets a number (wire C 13)."""
        slug = sent.get("slug")
        if slug is not None:
            if not is_slug(slug) or slug in taken:
                raise Refusal(422, "Slug has already been taken" if slug in taken else "Slug is invalid")
            return str(slug)
        plain = slug_of(name)
        if plain in taken and "slug_taken" in self._tenant.plays:
            raise Refusal(422, "Slug has already been taken")
        found, number = plain, 1
        while found in taken:
            number += 1
            found = f"{plain}-{number}"
        return found

    # -- custom field keys ---------------------------------------------------------------------------------------------

    async def add_keys(self, call: Call) -> Reply:
        """New keys, all or none; a name that exists, in the same characters, is refused."""
        library = self._tenant.library(call.id, call.caller(), "admin")
        rows = rows_of(await call.json())
        known = self._tenant.keys_of(library.id)
        names = [key.name for key in known]
        prioritized = sum(key.prioritized for key in known)
        made = []
        for row in rows:
            name = _name(row)
            if name in names:
                raise Refusal(422, "Name has already been taken")
            names.append(name)
            prioritized += bool(row.get("prioritized"))
            if prioritized > PRIORITIZED_MOST:
                raise Refusal(422, f"At most {PRIORITIZED_MOST} keys can be prioritized")
            made.append(self._new_key(library, name, row, len(names) - 1))
        self._tenant.keys.update((key.id, key) for key in made)
        call.query = {"per": "3000"}
        return listed(self._tenant, call, made, lambda doc, row: doc.key(row), self._document())

    def _new_key(self, library: Library, name: str, row: Mapping[str, Json], number: int) -> Key:
        position = row.get("position")
        allowed = _words(row.get("allowed_values"))
        restricted, required, prioritized = (
            bool(row.get(each)) for each in ("restricted", "required", "prioritized")
        )  # fmt: skip
        return Key(
            self._tenant.names.key(), library.id, name, allowed, restricted, required, prioritized,
            position if isinstance(position, int) else number,
        )  # fmt: skip

    async def change_key(self, call: Call) -> Reply:
        """Name and allowed values alone; a new name shows in all its values."""
        key = self._key(call)
        sent = await call.attributes()
        name = _name(sent) if "name" in sent else key.name
        if name != key.name and any(each.name == name for each in self._tenant.keys_of(key.library)):
            raise Refusal(422, "Name has already been taken")
        key.allowed = _words(sent["allowed_values"]) if "allowed_values" in sent else key.allowed
        key.name = name
        return self._one(self._document().key(key))

    async def delete_key(self, call: Call) -> Reply:
        """The key goes, and all its values."""
        key = self._key(call)
        for asset in self._tenant.of_library(key.library):
            kept = tuple(value for value in asset.values if value.key != key.id)
            if len(kept) < len(asset.values):
                self._tenant.edit(replace(asset, values=kept), "custom_fields")
        self._tenant.drop(self._tenant.keys, key.id)
        return DONE

    def _key(self, call: Call) -> Key:
        key = self._tenant.find(self._tenant.keys, call.id)
        self._tenant.library(key.library, call.caller(), "admin")
        return key

    # -- labels --------------------------------------------------------------------------------------------------------

    async def add_label(self, call: Call) -> Reply:
        """A new label, at the root or below another."""
        library = self._labelled(call.id, call)
        sent = await call.attributes()
        parent = self._parent(sent.get("parent_key"), library.id)
        made = Label(self._tenant.names.key(), library.id, self._title(sent), parent, self._room(library.id, parent))
        self._tenant.labels[made.id] = made
        return self._one(self._document().label(made))

    async def change_label(self, call: Call) -> Reply:
        """Another name; described with a wrong wrapper (wire C 5.2)."""
        label = self._label(call)
        label.name = _name(await call.attributes())
        shown = self._document().label(label)
        return Reply(json={"label": shown}) if "bare_answers" in self._tenant.plays else self._one(shown)

    async def move_label(self, call: Call) -> Reply:
        """Below another label, or to the root; the paths below follow."""
        label = self._label(call)
        parent = self._parent((await call.attributes()).get("parent_key"), label.library)
        document = self._document()
        if parent and label.id in document.path(self._tenant.labels[parent]):
            raise Refusal(422, "A label cannot be moved below itself")
        label.position = self._room(label.library, parent)
        label.parent = parent
        return self._one(document.label(label))

    async def delete_label(self, call: Call) -> Reply:
        """The label and everything below it."""
        label = self._label(call)
        document = self._document()
        below = [each for each in self._tenant.labels.values() if label.id in document.path(each)]
        for each in below:
            self._tenant.drop(self._tenant.labels, each.id)
        gone = {each.id for each in below}
        for asset in self._tenant.of_library(label.library):
            if gone.intersection(asset.labels):
                kept = tuple(each for each in asset.labels if each not in gone)
                self._tenant.edit(replace(asset, labels=kept), "labels")
        return DONE

    async def bulk_label(self, call: Call) -> Reply:
        """The undocumented action that assigns a label, where it works at all (wire C 6.4)."""
        if "bulk_labels" not in self._tenant.plays:
            raise Refusal(404, "Not found")
        data = (await call.json()).get("data")
        if not isinstance(data, dict) or not isinstance(data.get("asset_keys"), list):
            raise Refusal(422, "`data.asset_keys` must be an array")
        label = self._tenant.find(self._tenant.labels, str(data.get("label_key")))
        for key in data["asset_keys"]:
            asset = self._tenant.asset(str(key), call.caller(), "collaborator")
            labels = tuple(dict.fromkeys((*asset.labels, label.id)))
            self._tenant.edit(replace(asset, labels=labels), "labels")
        return DONE

    def _label(self, call: Call) -> Label:
        check_labels(self._tenant)
        label = self._tenant.find(self._tenant.labels, call.id)
        self._tenant.library(label.library, call.caller(), "admin")
        return label

    def _labelled(self, key: str, call: Call) -> Library:
        check_labels(self._tenant)
        return self._tenant.library(key, call.caller(), "admin")

    def _parent(self, key: Json, library: str) -> str:
        if key is None:
            return ""
        parent = self._tenant.labels.get(str(key))
        if parent is None or parent.library != library:
            raise Refusal(422, "The parent is no label of this library")
        return parent.id

    def _room(self, library: str, parent: str) -> int:
        return sum(each.library == library and each.parent == parent for each in self._tenant.labels.values())

    # -- people --------------------------------------------------------------------------------------------------------

    async def delete_permission(self, call: Call) -> Reply:
        """Somebody loses a permission; never one's own."""
        permissions = self._tenant.accounts.permissions
        found = self._tenant.find(permissions, call.id)
        self._tenant.check(self._tenant.accounts.organization_level(call.caller()), "admin")
        if found.user == call.caller().id:
            raise Refusal(403, "You cannot remove your own permission")
        self._tenant.drop(permissions, found.id)
        return DONE

    def _one(self, data: Json) -> Reply:
        return Reply(json={"data": data})

    def _document(self) -> Document:
        return Document(self._tenant, self._links)


def _name(sent: Mapping[str, Json]) -> str:
    name = sent.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Refusal(422, "Name can't be blank")
    return name


def _privacy(sent: Mapping[str, Json]) -> str:
    privacy = sent.get("privacy", "private")
    if privacy not in PRIVACIES:
        raise Refusal(422, "Privacy is not included in the list")
    return str(privacy)


def _words(given: Json) -> list[str]:
    words = [] if given is None else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise Refusal(422, "`allowed_values` must be an array of strings")
    return list(words)
