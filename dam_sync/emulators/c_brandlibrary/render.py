"""Records as the service shows them: resources, relationships, what is included (wire C 2, 3, 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.records import (
    Asset,
    Attachment,
    Collection,
    FieldValue,
    Key,
    Label,
    Library,
    Organization,
    Permission,
    Section,
    Tag,
    User,
    instant,
)
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.environment import Json

ASSET_FIELDS = (
    *("created_at", "updated_at", "cdn_url", "availability"),
    *("asset_data", "type", "extension", "position", "tag_names", "labels"),
)
DATE_FIELDS = ("availability_start", "availability_end")
ASSET_INCLUDES = ("attachments", "library", "collections", "custom_fields", "section", "tags")
ATTACHMENT_FIELDS = (
    *("metadata", "thumbnail_url", "view_thumbnail_retina", "extension", "version_count", "tag_names", "label_names"),
    *("cdn_url", "created_at", "updated_at", "is_processing", "original_filename"),
)
ATTACHMENT_INCLUDES = ("asset", "section", "library", "collections", "tags", "labels")
Extra = Callable[[Asset], Json]


class Document:
    """One answer: makes its resources and gathers what is included, each once."""

    def __init__(self, tenant: Tenant, links: Links, fields: Iterable[str] = (), include: Sequence[str] = ()) -> None:
        self.tenant, self.links = tenant, links
        self.fields, self.include = frozenset(fields), include
        self._included: dict[tuple[str, str], Json] = {}
        self._count = 0

    def envelope(self, data: Json, meta: Json = None) -> Json:
        """The whole answer."""
        found: dict[str, Json] = {"data": data}
        if self._included:
            found["included"] = list(self._included.values())
        return {**found, "meta": meta} if meta is not None else found

    # -- resources -----------------------------------------------------------------------------------------------------

    def asset(self, asset: Asset, *, plain: bool = False) -> Json:
        """An asset; `plain` ones, which are themselves included, have neither extra fields nor relationships."""
        ready = any(each.current and not each.coming for each in asset.attachments)
        attributes: dict[str, Json] = {
            "name": asset.name,
            "description": asset.description,
            "thumbnail_url": self.links.thumbnail("as", asset.id) if ready else None,
            "approved": asset.approved,
        }
        silent = "silent_attributes" in self.tenant.plays
        if silent:
            del attributes["approved"]
        if plain:
            return resource(asset.id, asset.type, attributes)
        shown = sorted(self.fields - set(DATE_FIELDS) if silent else self.fields)
        attributes |= {name: self._extra(asset, name) for name in shown}
        return resource(asset.id, asset.type, attributes, self._asset_relations(asset))

    def attachment(self, attachment: Attachment, asset: Asset, *, plain: bool = False) -> Json:
        """An attachment; size, width, height and mimetype are null until its bytes have been looked at."""
        current = attachment.current
        seen = current if not attachment.coming or "stale_size" in self.tenant.plays else None
        position = [each.id for each in asset.attachments].index(attachment.id)
        attributes: dict[str, Json] = {
            "mimetype": seen.mimetype if seen else None,
            "extension": self._suffix(attachment),
            "filename": attachment.filename,
            "size": seen.blob.size if seen else None,
            "width": seen.width if seen else None,
            "height": seen.height if seen else None,
            "url": None if asset.view_only else self.links.file(attachment),
            "position": position,
            "thumbnail_url": self.links.thumbnail("at", attachment.id) if seen else None,
        }
        if plain:
            return resource(attachment.id, "attachments", attributes)
        attributes |= {name: self._detail(attachment, asset, name) for name in sorted(self.fields)}
        relations = {name: self._relation(name, asset) for name in self.include}
        return resource(attachment.id, "attachments", attributes, relations)

    def organization(self, organization: Organization) -> Json:
        """An organization."""
        attributes: dict[str, Json] = {
            "name": organization.name, "tagline": organization.tagline, "slug": organization.slug,
        }  # fmt: skip
        if "asset_count" in self.fields:
            attributes["asset_count"] = sum(len(self.tenant.of_library(each)) for each in self.tenant.libraries)
        if "cname" in self.fields:
            attributes["cname"] = None
        relations = {}
        if "libraries" in self.include:
            relations["libraries"] = self._many([self.library(each) for each in self.tenant.libraries.values()])
        if "collections" in self.include:
            relations["collections"] = self._many([self.collection(each) for each in self.tenant.collections.values()])
        relations |= {name: {"data": []} for name in ("brandguides", "portals") if name in self.include}
        return resource(organization.id, "organizations", attributes, relations)

    def library(self, library: Library, *, whole: bool = False) -> Json:
        """A library; `whole` with the counts and relationships that were requested."""
        attributes: dict[str, Json] = {
            "name": library.name, "tagline": library.tagline, "privacy": library.privacy, "slug": library.slug,
        }  # fmt: skip
        if not whole:
            return resource(library.id, "libraries", attributes)
        tenant = self.tenant
        assets = tenant.of_library(library.id) if self.fields else []
        counts: Mapping[str, Callable[[], int]] = {
            "asset_count": lambda: len(assets),
            "attachment_count": lambda: sum(len(asset.attachments) for asset in assets),
            "section_count": lambda: sum(each.library == library.id for each in tenant.sections.values()),
            "storage": lambda: sum(_bytes(asset) for asset in assets),
        }
        attributes |= {name: count() for name, count in counts.items() if name in self.fields}
        relations: dict[str, Json] = {}
        if "organization" in self.include:
            relations["organization"] = self._one(_bare(tenant.organization))
        if "collections" in self.include:
            own = [each for each in tenant.collections.values() if each.library == library.id]
            relations["collections"] = self._many([self.collection(each) for each in own])
        if "sections" in self.include:
            sections = [each for each in tenant.sections.values() if each.library == library.id]
            relations["sections"] = self._many([section_resource(each) for each in sections])
        if "search_filters" in self.include:
            relations["search_filters"] = {"data": []}
        return resource(library.id, "libraries", attributes, relations)

    def section(self, section: Section) -> Json:
        """A section."""
        relations = {"library": self._library(section.library)} if "library" in self.include else {}
        return resource(section.id, "sections", section_resource(section)["attributes"], relations)

    def collection(self, collection: Collection, *, whole: bool = False) -> Json:
        """A collection; `whole` with the count and relationships that were requested."""
        attributes: dict[str, Json] = {
            "name": collection.name, "slug": collection.slug, "tagline": collection.tagline,
            "public": collection.public, "stealth": collection.stealth, "is_workspace": False,
        }  # fmt: skip
        relations: dict[str, Json] = {}
        if whole and "asset_count" in self.fields:
            assets = self.tenant.of_library(collection.library)
            attributes["asset_count"] = sum(collection.id in asset.collections for asset in assets)
        if whole and "library" in self.include:
            relations["library"] = self._library(collection.library)
        if whole and "search_filters" in self.include:
            relations["search_filters"] = {"data": []}
        return resource(collection.id, "collections", attributes, relations)

    def label(self, label: Label) -> Json:
        """A label with its path, which begins at the root."""
        path = self.path(label)
        shown = path[::-1] if "own_first" in self.tenant.plays else path
        attributes = {"name": label.name, "path": shown, "position": label.position, "depth": len(path)}
        return resource(label.id, "labels", attributes)

    def path(self, label: Label) -> list[str]:
        """The ids from the root down to a label."""
        found = [label.id]
        while label.parent:
            label = self.tenant.labels[label.parent]
            found.insert(0, label.id)
        return found

    def key(self, key: Key) -> Json:
        """A custom field key."""
        attributes: dict[str, Json] = {
            "name": key.name, "allowed_values": list(key.allowed), "restricted": key.restricted,
            "required": key.required, "prioritized": key.prioritized, "position": key.position,
        }  # fmt: skip
        relations: dict[str, Json] = {}
        if self.fields or "custom_field_values" in self.include:
            values = [v for asset in self.tenant.of_library(key.library) for v in asset.values if v.key == key.id]
            if self.fields:
                attributes["values"] = list(dict.fromkeys(value.value for value in values))
            if "custom_field_values" in self.include:
                relations["custom_field_values"] = self._many([self.value(value) for value in values])
        return resource(key.id, "custom_field_keys", attributes, relations)

    def value(self, value: FieldValue, *, with_key: bool = False) -> Json:
        """A value, which names its key by name."""
        key = self.tenant.keys[value.key]
        relations = {"custom_field_key": self._one(Document(self.tenant, self.links).key(key))} if with_key else {}
        attributes = {"key": key.name, "value": value.value}
        return resource(value.id, "custom_field_values", attributes, relations)

    def tag(self, tag: Tag) -> Json:
        """A tag."""
        attributes = {"name": tag.name, "auto_generated": tag.auto_generated, "source": tag.source}
        return resource(tag.id, "tags", attributes)

    def permission(self, permission: Permission, kind: str, key: str) -> Json:
        """Who may do what; one description shows the user without its `data` (wire C 2)."""
        user = self.tenant.accounts.users[permission.user]
        self._included[("users", user.id)] = user_resource(user)
        shown = {"id": user.id, "type": "users"}
        relations = {
            "user": shown if "bare_user" in self.tenant.plays else {"data": shown},
            "permissible": {"data": {"id": key, "type": kind}},
        }
        return resource(permission.id, "user_permissions", {"permission_level": permission.level}, relations)

    # -- relationships -------------------------------------------------------------------------------------------------

    def _asset_relations(self, asset: Asset) -> dict[str, Json]:
        found = {
            "custom_field_values" if name == "custom_fields" else name: self._relation(name, asset)
            for name in self.include
        }
        full = "no_empties" not in self.tenant.plays
        return {name: relation for name, relation in found.items() if full or relation["data"]}

    def _relation(self, name: str, asset: Asset) -> Json:
        tenant = self.tenant
        match name:
            case "section":
                return self._one(section_resource(tenant.sections[asset.section]))
            case "library":
                return self._library(asset.library)
            case "asset":
                return self._one(self.asset(asset, plain=True))
            case "attachments":
                return self._many([self.attachment(each, asset, plain=True) for each in asset.attachments])
            case "collections":
                found = [tenant.collections[each] for each in asset.collections if each in tenant.collections]
                return self._many([self.collection(each) for each in found])
            case "tags":
                return self._many([self.tag(each) for each in asset.tags])
            case "labels":
                labels = [tenant.labels[each] for each in asset.labels if each in tenant.labels]
                return self._many([self.label(each) for each in labels])
        return self._many([self.value(each) for each in asset.values if each.key in tenant.keys])

    def _library(self, key: str) -> Json:
        return self._one(self.library(self.tenant.libraries[key]))

    def _one(self, found: Json) -> Json:
        self._included.setdefault((found["type"], found["id"]), found)
        return {"data": {"id": found["id"], "type": found["type"]}}

    def _many(self, rows: Sequence[Json]) -> Json:
        """Several rows, each time in another order, because none is promised (wire C 2)."""
        first = self.tenant.next_turn() % max(1, len(rows))
        identifiers = [self._one(row)["data"] for row in (*rows[first:], *rows[:first])]
        self._count += 1
        if "messy" in self.tenant.plays and identifiers and self._count % 3 == 0:
            nowhere = {"id": self.tenant.names.key(), "type": identifiers[0]["type"]}
            identifiers = [*identifiers, identifiers[0], nowhere]
        return {"data": identifiers}

    def _suffix(self, attachment: Attachment) -> str:
        """The suffix of its file name, behind which some tenants have more words (wire C 3.3)."""
        plain = extension(attachment.filename)
        return f"{plain} original" if plain and "messy" in self.tenant.plays else plain

    # -- fields that are requested -------------------------------------------------------------------------------------

    def _extra(self, asset: Asset, name: str) -> Json:
        tenant = self.tenant
        simple: Mapping[str, Extra] = {
            "created_at": lambda one: instant(one.created),
            "updated_at": lambda one: instant(one.updated),
            "availability": lambda one: one.state(tenant.now()),
            "availability_start": lambda one: instant(one.start),
            "availability_end": lambda one: instant(one.end),
            "cdn_url": lambda one: None if "no_cdn" in tenant.plays else self.links.cdn_asset(one),
            "asset_data": lambda one: one.payload,
            "type": lambda one: tenant.sections[one.section].default_asset_type,
            "extension": lambda one: extension(one.attachments[0].filename) if one.attachments else None,
            "position": lambda one: one.position,
            "tag_names": lambda one: [tag.name for tag in one.tags],
            "labels": lambda one: [tenant.labels[each].name for each in one.labels if each in tenant.labels],
        }
        return simple[name](asset)

    def _detail(self, attachment: Attachment, asset: Asset, name: str) -> Json:
        tenant, current = self.tenant, attachment.current
        details: Mapping[str, Callable[[], Json]] = {
            "metadata": lambda: embedded(attachment),
            "thumbnail_url": lambda: self.links.thumbnail("at", attachment.id) if current else None,
            "view_thumbnail_retina": lambda: self.links.thumbnail("at", attachment.id, 750, 1200) if current else None,
            "extension": lambda: self._suffix(attachment),
            "version_count": lambda: len(attachment.versions),
            "tag_names": lambda: [tag.name for tag in asset.tags],
            "label_names": lambda: [tenant.labels[each].name for each in asset.labels if each in tenant.labels],
            "cdn_url": lambda: None if "no_cdn" in tenant.plays else self.links.cdn_attachment(attachment),
            "created_at": lambda: instant(attachment.created),
            "updated_at": lambda: instant(attachment.updated),
            "is_processing": lambda: bool(attachment.coming),
            "original_filename": lambda: attachment.filename,
        }
        return details[name]()


def resource(key: str, kind: str, attributes: Json, relationships: Json = None) -> Json:
    """One resource; relationships only when there are any."""
    found = {"id": key, "type": kind, "attributes": attributes}
    return {**found, "relationships": relationships} if relationships else found


def section_resource(section: Section) -> Json:
    """A section without relationships."""
    attributes = {
        "name": section.name, "default_asset_type": section.default_asset_type, "position": section.position,
    }  # fmt: skip
    return resource(section.id, "sections", attributes)


def user_resource(user: User) -> Json:
    """A user."""
    attributes = {"email": user.email, "first_name": user.first_name, "last_name": user.last_name}
    return resource(user.id, "users", attributes)


def extension(filename: str) -> str:
    """The suffix of a file name in lower case, empty without one."""
    stem, dot, suffix = filename.rpartition(".")
    return suffix.lower() if dot and stem else ""


def embedded(attachment: Attachment) -> Json:
    """The metadata inside a file, as far as we make it up."""
    current = attachment.current
    if current is None:
        return {}
    found: dict[str, Json] = {"mime_type": current.mimetype, "file_type": extension(attachment.filename).upper()}
    if current.width:
        found |= {"image_width": current.width, "image_height": current.height, "color_space": "sRGB"}
    return found


def _bare(organization: Organization) -> Json:
    attributes = {"name": organization.name, "tagline": organization.tagline, "slug": organization.slug}
    return resource(organization.id, "organizations", attributes)


def _bytes(asset: Asset) -> int:
    return sum(each.current.blob.size for each in asset.attachments if each.current)
