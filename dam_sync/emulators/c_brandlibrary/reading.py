"""The calls that read (wire C 2.1)."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.emulators.c_brandlibrary.browsing import check_labels, in_collection, undelivered
from dam_sync.emulators.c_brandlibrary.calls import Call, Reply
from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.listing import listed, wanted
from dam_sync.emulators.c_brandlibrary.records import Asset, Refusal, Section
from dam_sync.emulators.c_brandlibrary.render import (
    ASSET_FIELDS,
    ASSET_INCLUDES,
    ATTACHMENT_FIELDS,
    ATTACHMENT_INCLUDES,
    DATE_FIELDS,
    Document,
    user_resource,
)
from dam_sync.emulators.c_brandlibrary.search import Search
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.c_brandlibrary.uploads import Uploads

_LIBRARY_FIELDS = ("asset_count", "attachment_count", "storage")
_LIBRARY_INCLUDES = ("organization", "collections", "sections", "assets")


class Reading:
    """Handlers; each checks what its caller may see."""

    def __init__(self, tenant: Tenant, links: Links, uploads: Uploads, search: Search) -> None:
        self._tenant, self._links, self._uploads, self._search = tenant, links, uploads, search

    # -- organizations, libraries and what is in them ------------------------------------------------------------------

    async def whoami(self, call: Call) -> Reply:
        """The user of the key."""
        shown = user_resource(call.caller())
        return Reply(json=shown["attributes"] if "plain_user" in self._tenant.plays else {"data": shown})

    async def upload_request(self, call: Call) -> Reply:
        """A new upload request, flat."""
        return Reply(json=self._uploads.issue())

    async def organizations(self, call: Call) -> Reply:
        """The organizations of the caller."""
        document = self._document(call, ("asset_count",), ("libraries", "brandguides", "collections", "portals"))
        rows = [self._tenant.organization] if self._tenant.accounts.organization_level(call.user) >= 0 else []
        return listed(self._tenant, call, rows, lambda doc, row: doc.organization(row), document)

    async def organization(self, call: Call) -> Reply:
        """One organization."""
        tenant = self._tenant
        found = tenant.find({tenant.organization.id: tenant.organization}, call.id)
        tenant.check(tenant.accounts.organization_level(call.user), "guest")
        document = self._document(call, ("asset_count", "cname"), ("libraries", "brandguides", "collections"))
        return Reply(json=document.envelope(document.organization(found)))

    async def libraries(self, call: Call) -> Reply:
        """The libraries that the caller sees."""
        document = self._document(call, _LIBRARY_FIELDS, _LIBRARY_INCLUDES)
        accounts = self._tenant.accounts
        rows = [each for each in self._tenant.libraries.values() if accounts.level(call.user, each) >= 0]
        if "search" in call.query:
            rows = self._search.libraries(call.query["search"], rows)
        return listed(self._tenant, call, rows, lambda doc, row: doc.library(row, whole=True), document)

    async def library(self, call: Call) -> Reply:
        """One library."""
        found = self._tenant.library(call.id, call.user)
        fields = (*_LIBRARY_FIELDS[:2], "section_count")
        document = self._document(call, fields, (*_LIBRARY_INCLUDES, "search_filters"))
        return Reply(json=document.envelope(document.library(found, whole=True)))

    async def sections(self, call: Call) -> Reply:
        """The sections of a library in their order."""
        library = self._tenant.library(call.id, call.user)
        rows = [each for each in self._tenant.sections.values() if each.library == library.id]
        return self._list_sections(call, rows)

    async def collection_sections(self, call: Call) -> Reply:
        """The sections in which a collection has members (wire C 12, line 22)."""
        collection = self._tenant.collection(call.id, call.user)
        used = {asset.section for asset in in_collection(self._tenant, collection.id)}
        return self._list_sections(call, [self._tenant.sections[each] for each in used])

    def _list_sections(self, call: Call, rows: Sequence[Section]) -> Reply:
        document = self._document(call, (), ("library", "assets"))
        document.include = tuple(name for name in document.include if name != "assets")  # a bug: it gives none
        ordered = sorted(rows, key=lambda each: (each.position, each.id))
        return listed(self._tenant, call, ordered, lambda doc, row: doc.section(row), document)

    async def section(self, call: Call) -> Reply:
        """One section."""
        document = self._document(call, (), ("library", "assets"))
        return Reply(json=document.envelope(document.section(self._tenant.section(call.id, call.user))))

    async def all_collections(self, call: Call) -> Reply:
        """The collections that the caller sees."""
        tenant = self._tenant
        rows = [
            each
            for each in tenant.collections.values()
            if tenant.accounts.collection_level(call.user, tenant.libraries[each.library], each) >= 0
        ]
        document = self._document(call, ("asset_count",), ("library",))
        return listed(tenant, call, rows, lambda doc, row: doc.collection(row, whole=True), document)

    async def collections(self, call: Call) -> Reply:
        """The collections of a library."""
        library = self._tenant.library(call.id, call.user)
        rows = [each for each in self._tenant.collections.values() if each.library == library.id]
        document = self._document(call, ("asset_count",), ("library",))
        return listed(self._tenant, call, rows, lambda doc, row: doc.collection(row, whole=True), document)

    async def collection(self, call: Call) -> Reply:
        """One collection."""
        found = self._tenant.collection(call.id, call.user)
        document = self._document(call, ("asset_count",), ("library", "search_filters"))
        return Reply(json=document.envelope(document.collection(found, whole=True)))

    async def keys(self, call: Call) -> Reply:
        """The custom field keys of a library."""
        library = self._tenant.library(call.id, call.user)
        document = self._document(call, ("value", "values"), ("custom_field_values",))
        rows = self._tenant.keys_of(library.id)
        return listed(self._tenant, call, rows, lambda doc, row: doc.key(row), document)

    async def labels(self, call: Call) -> Reply:
        """The labels of a library, parents before their children."""
        check_labels(self._tenant)
        library = self._tenant.library(call.id, call.user)
        document = self._document(call, (), ())
        rows = [each for each in self._tenant.labels.values() if each.library == library.id]
        rows.sort(key=lambda each: (len(document.path(each)), each.position, each.id))
        return listed(self._tenant, call, rows, lambda doc, row: doc.label(row), document)

    async def label(self, call: Call) -> Reply:
        """One label."""
        check_labels(self._tenant)
        found = self._tenant.find(self._tenant.labels, call.id)
        self._tenant.library(found.library, call.user)
        document = self._document(call, (), ())
        return Reply(json=document.envelope(document.label(found)))

    # -- assets --------------------------------------------------------------------------------------------------------

    async def asset(self, call: Call) -> Reply:
        """One asset."""
        asset = self._tenant.asset(call.id, call.user)
        document = self._document(call, (*ASSET_FIELDS, *DATE_FIELDS), (*ASSET_INCLUDES, "labels"))
        if "cdn_url" in document.fields and undelivered(self._tenant, asset):
            raise Refusal(403, "CDN links are not available for this asset")
        return Reply(json=document.envelope(document.asset(asset)))

    # -- attachments, tags, values -------------------------------------------------------------------------------------

    async def attachment(self, call: Call) -> Reply:
        """One attachment."""
        asset, found = self._tenant.attachment(call.id, call.user)
        document = self._document(call, ATTACHMENT_FIELDS, ATTACHMENT_INCLUDES)
        return Reply(json=document.envelope(document.attachment(found, asset)))

    async def asset_attachments(self, call: Call) -> Reply:
        """The attachments of an asset."""
        return self._list_attachments(call, [self._tenant.asset(call.id, call.user)])

    async def library_attachments(self, call: Call) -> Reply:
        """The attachments of a library."""
        library = self._tenant.library(call.id, call.user)
        return self._list_attachments(call, self._tenant.of_library(library.id))

    async def section_attachments(self, call: Call) -> Reply:
        """The attachments of a section."""
        section = self._tenant.section(call.id, call.user)
        return self._list_attachments(call, self._tenant.of_section(section.id))

    async def collection_attachments(self, call: Call) -> Reply:
        """The attachments of a collection."""
        collection = self._tenant.collection(call.id, call.user)
        return self._list_attachments(call, in_collection(self._tenant, collection.id))

    def _list_attachments(self, call: Call, assets: Sequence[Asset]) -> Reply:
        tenant = self._tenant
        now = tenant.now()
        seen = [each for each in assets if tenant.accounts.shown(call.user, each, tenant.level(each, call.user), now)]
        seen.sort(key=lambda each: (each.created, each.id))
        rows = [(asset, attachment) for asset in seen for attachment in asset.attachments]
        document = self._document(call, ATTACHMENT_FIELDS, ATTACHMENT_INCLUDES)
        return listed(tenant, call, rows, lambda doc, row: doc.attachment(row[1], row[0]), document)

    async def asset_tags(self, call: Call) -> Reply:
        """The tags of an asset."""
        asset = self._tenant.asset(call.id, call.user)
        return listed(
            self._tenant, call, asset.tags, lambda doc, row: doc.tag(row), self._document(call, (), ("asset",))
        )

    async def library_tags(self, call: Call) -> Reply:
        """One row per tag record of a library."""
        library = self._tenant.library(call.id, call.user)
        return self._list_tags(call, self._tenant.of_library(library.id))

    async def collection_tags(self, call: Call) -> Reply:
        """One row per tag record of a collection."""
        collection = self._tenant.collection(call.id, call.user)
        return self._list_tags(call, in_collection(self._tenant, collection.id))

    def _list_tags(self, call: Call, assets: Sequence[Asset]) -> Reply:
        rows = [tag for asset in assets for tag in asset.tags]
        return listed(self._tenant, call, rows, lambda doc, row: doc.tag(row), self._document(call, (), ()))

    async def asset_values(self, call: Call) -> Reply:
        """The custom field values of an asset."""
        asset = self._tenant.asset(call.id, call.user)
        document = self._document(call, (), ("custom_field_key",))
        with_key = "custom_field_key" in document.include
        rows = [each for each in asset.values if each.key in self._tenant.keys]
        return listed(self._tenant, call, rows, lambda doc, row: doc.value(row, with_key=with_key), document)

    # -- people --------------------------------------------------------------------------------------------------------

    async def permissions(self, call: Call) -> Reply:
        """Who may do what in an organization, a library or a collection, inherited permissions included."""
        tenant = self._tenant
        kind = tenant.tokens.inward(call.scope["path"].strip("/").split("/")[-3])
        names = {
            "organizations": {tenant.organization.id: ""},
            "libraries": {each.id: each.name for each in tenant.libraries.values()},
            "collections": {each.id: each.name for each in tenant.collections.values()},
        }
        name = tenant.find(names[kind], call.id)
        self._check_member(kind, call)
        rows = [
            each for each in tenant.accounts.permissions.values() if self._applies(each.kind, each.name, kind, name)
        ]
        if kind != "organizations" and "owner_hidden" in tenant.plays:
            rows = [each for each in rows if each.level != "owner"]
        document = self._document(call, (), ("user", "permissible"))
        return listed(tenant, call, rows, lambda doc, row: doc.permission(row, kind, call.id), document)

    async def permission(self, call: Call) -> Reply:
        """One permission."""
        tenant = self._tenant
        found = tenant.find(tenant.accounts.permissions, call.id)
        tenant.check(tenant.accounts.organization_level(call.user), "collaborator")
        keys = {each.name: each.id for each in tenant.libraries.values()}
        if found.kind == "collections":
            keys = {each.name: each.id for each in tenant.collections.values()}
        key = keys.get(found.name, tenant.organization.id)
        document = self._document(call, (), ("user", "permissible"))
        return Reply(json=document.envelope(document.permission(found, found.kind, key)))

    def _check_member(self, kind: str, call: Call) -> None:
        """Collaborators and up may look."""
        if kind == "libraries":
            self._tenant.library(call.id, call.user, "collaborator")
        elif kind == "collections":
            self._tenant.collection(call.id, call.user, "collaborator")
        else:
            self._tenant.check(self._tenant.accounts.organization_level(call.user), "collaborator")

    @staticmethod
    def _applies(granted: str, name: str, kind: str, wanted_name: str) -> bool:
        return granted == "organizations" or (granted == kind and name == wanted_name)

    # -- common --------------------------------------------------------------------------------------------------------

    def _document(self, call: Call, fields: Sequence[str], include: Sequence[str]) -> Document:
        asked = wanted(self._tenant, call, fields, include)
        return Document(self._tenant, self._links, asked.fields, asked.include)
