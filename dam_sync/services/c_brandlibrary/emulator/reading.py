"""The calls that read (wire C 2.1)."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.services.c_brandlibrary.emulator.calls import Call, Reply
from dam_sync.services.c_brandlibrary.emulator.links import Links
from dam_sync.services.c_brandlibrary.emulator.listing import in_order, listed, page_of, wanted
from dam_sync.services.c_brandlibrary.emulator.records import Asset, Refusal, Section
from dam_sync.services.c_brandlibrary.emulator.render import (
    ASSET_FIELDS,
    ASSET_INCLUDES,
    ATTACHMENT_FIELDS,
    ATTACHMENT_INCLUDES,
    DATE_FIELDS,
    Document,
    user_resource,
)
from dam_sync.services.c_brandlibrary.emulator.search import Search
from dam_sync.services.c_brandlibrary.emulator.state import Tenant
from dam_sync.services.c_brandlibrary.emulator.uploads import Uploads

_LIBRARY_FIELDS = ("asset_count", "attachment_count", "storage")
_LIBRARY_INCLUDES = ("organization", "collections", "sections", "assets")


class Reading:
    """Handlers; each checks what its caller may see."""

    def __init__(self, tenant: Tenant, links: Links, uploads: Uploads, search: Search) -> None:
        self._tenant, self._links, self._uploads, self._search = tenant, links, uploads, search

    # -- organizations, libraries and what is in them ------------------------------------------------------------------

    async def whoami(self, call: Call) -> Reply:
        """The user of the key."""
        return Reply(json={"data": user_resource(call.caller())})

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
        used = {asset.section for asset in self._in_collection(collection.id)}
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
        self._has_labels()
        library = self._tenant.library(call.id, call.user)
        document = self._document(call, (), ())
        rows = [each for each in self._tenant.labels.values() if each.library == library.id]
        rows.sort(key=lambda each: (len(document.path(each)), each.position, each.id))
        return listed(self._tenant, call, rows, lambda doc, row: doc.label(row), document)

    async def label(self, call: Call) -> Reply:
        """One label."""
        self._has_labels()
        found = self._tenant.find(self._tenant.labels, call.id)
        self._tenant.library(found.library, call.user)
        document = self._document(call, (), ())
        return Reply(json=document.envelope(document.label(found)))

    # -- assets --------------------------------------------------------------------------------------------------------

    async def library_assets(self, call: Call) -> Reply:
        """The assets of a library."""
        library = self._tenant.library(call.id, call.user)
        if self._indexed(call):
            docs = [each for each in self._tenant.index.docs.values() if each.library == library.id]
            return self._list_assets(call, docs, library.id)
        return self._list_assets(call, self._tenant.of_library(library.id), library.id)

    async def section_assets(self, call: Call) -> Reply:
        """The assets of a section; `include` works here although it is not described (wire C 2.1)."""
        section = self._tenant.section(call.id, call.user)
        if self._indexed(call):
            docs = [each for each in self._tenant.index.docs.values() if each.section == section.id]
            return self._list_assets(call, docs, section.library)
        return self._list_assets(call, self._tenant.of_section(section.id), section.library)

    async def collection_assets(self, call: Call) -> Reply:
        """The assets of a collection."""
        collection = self._tenant.collection(call.id, call.user)
        return self._list_assets(
            call, self._in_collection(collection.id, indexed=self._indexed(call)), collection.library
        )

    async def label_assets(self, call: Call) -> Reply:
        """The assets of a label."""
        self._has_labels()
        label = self._tenant.find(self._tenant.labels, call.id)
        self._tenant.library(label.library, call.user)
        docs = self._tenant.index.docs.values() if self._indexed(call) else self._tenant.of_library(label.library)
        return self._list_assets(call, [each for each in docs if label.id in each.labels], label.library)

    async def asset(self, call: Call) -> Reply:
        """One asset."""
        asset = self._tenant.asset(call.id, call.user)
        document = self._document(call, (*ASSET_FIELDS, *DATE_FIELDS), (*ASSET_INCLUDES, "labels"))
        if "cdn_url" in document.fields and self._undelivered(asset):
            raise Refusal(403, "CDN links are not available for this asset")
        return Reply(json=document.envelope(document.asset(asset)))

    def _list_assets(self, call: Call, assets: Sequence[Asset], library: str) -> Reply:
        tenant = self._tenant
        more = DATE_FIELDS if "dates_on_lists" in tenant.plays else ()
        document = self._document(call, (*ASSET_FIELDS, *more), ASSET_INCLUDES)
        now, accounts = tenant.now(), tenant.accounts
        rows = [each for each in assets if accounts.shown(call.user, each, tenant.level(each, call.user), now)]
        if "search" in call.query:
            rows = self._search.assets(call.query["search"], rows, library)
        page, meta = page_of(tenant, call, in_order(tenant, call, rows), tenant.options.reach)
        if "cdn_url" in document.fields and any(self._undelivered(each) for each in page):
            raise Refusal(404, "CDN links are not available for some of these assets")
        return Reply(json=document.envelope([document.asset(each) for each in page], meta))

    def _indexed(self, call: Call) -> bool:
        """Whether a list is served from the index (wire C 12, line 27)."""
        searched = "search" in call.query or call.query.get("sort_by") == "score"
        return searched or "lists_from_index" in self._tenant.plays

    def _in_collection(self, key: str, *, indexed: bool = False) -> list[Asset]:
        tenant = self._tenant
        docs = tenant.index.docs.values() if indexed else tenant.of_library(tenant.collections[key].library)
        return [each for each in docs if key in each.collections]

    def _undelivered(self, asset: Asset) -> bool:
        """Whether asking for the CDN link of an asset is an error."""
        states = {"pending approval", "unpublished"}
        if "cdn_strict" in self._tenant.plays:
            states.add("expired")
        strict = "cdn_strict" in self._tenant.plays and asset.view_only
        return asset.state(self._tenant.now()) in states or strict

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
        return self._list_attachments(call, self._in_collection(collection.id))

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
        return self._list_tags(call, self._in_collection(collection.id))

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
        kind = call.scope["path"].strip("/").split("/")[-3]
        names = {"organizations": {tenant.organization.id: ""}, "libraries": {}, "collections": {}}
        names["libraries"] = {each.id: each.name for each in tenant.libraries.values()}
        names["collections"] = {each.id: each.name for each in tenant.collections.values()}
        name = tenant.find(names[kind], call.id)
        tenant.check(tenant.accounts.organization_level(call.user), "admin")
        rows = [
            each for each in tenant.accounts.permissions.values() if self._applies(each.kind, each.name, kind, name)
        ]
        if kind != "organizations" and "owner_hidden" in tenant.plays:
            rows = [each for each in rows if each.level != "owner"]
        document = self._document(call, (), ("user", "permissible"))
        return listed(tenant, call, rows, lambda doc, row: doc.permission(row, kind, call.id), document)

    @staticmethod
    def _applies(granted: str, name: str, kind: str, wanted_name: str) -> bool:
        return granted == "organizations" or (granted == kind and name == wanted_name)

    # -- common --------------------------------------------------------------------------------------------------------

    def _has_labels(self) -> None:
        if "no_labels" in self._tenant.plays:
            raise Refusal(403, "Labels are not enabled for this account")

    def _document(self, call: Call, fields: Sequence[str], include: Sequence[str]) -> Document:
        asked = wanted(self._tenant, call, fields, include)
        return Document(self._tenant, self._links, asked.fields, asked.include)
