"""Lists of assets: of a library, a section, a collection or a label (wire C 2.2).

Pages are made at the time of the call; only the order of an unchanged list is remembered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dam_sync.emulators.c_brandlibrary.calls import Call, Reply
from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.listing import in_order, page_of, wanted
from dam_sync.emulators.c_brandlibrary.records import LEVELS, Asset, Refusal
from dam_sync.emulators.c_brandlibrary.render import ASSET_FIELDS, ASSET_INCLUDES, DATE_FIELDS, Document
from dam_sync.emulators.c_brandlibrary.search import Search
from dam_sync.emulators.c_brandlibrary.state import Tenant

_REMEMBERED = 32


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a list looks: kind is library, section, collection or label; library is the id of the library."""

    kind: str
    key: str
    library: str


class Browsing:
    """Handlers; each checks what its caller may see."""

    def __init__(self, tenant: Tenant, links: Links, search: Search) -> None:
        self._tenant, self._links, self._search = tenant, links, search
        self._orders: dict[tuple[object, ...], list[Asset]] = {}
        self._stamp = (-1, -1)

    async def library(self, call: Call) -> Reply:
        """The assets of a library."""
        library = self._tenant.library(call.id, call.user)
        return self._listed(call, Scope("library", library.id, library.id))

    async def section(self, call: Call) -> Reply:
        """The assets of a section; `include` works here although it is not described (wire C 2.1)."""
        section = self._tenant.section(call.id, call.user)
        return self._listed(call, Scope("section", section.id, section.library))

    async def collection(self, call: Call) -> Reply:
        """The assets of a collection."""
        collection = self._tenant.collection(call.id, call.user)
        return self._listed(call, Scope("collection", collection.id, collection.library))

    async def label(self, call: Call) -> Reply:
        """The assets of a label."""
        check_labels(self._tenant)
        label = self._tenant.find(self._tenant.labels, call.id)
        self._tenant.library(label.library, call.user)
        return self._listed(call, Scope("label", label.id, label.library))

    def _listed(self, call: Call, scope: Scope) -> Reply:
        tenant = self._tenant
        more = DATE_FIELDS if "dates_on_lists" in tenant.plays else ()
        asked = wanted(tenant, call, (*ASSET_FIELDS, *more), ASSET_INCLUDES)
        only_files = scope.kind == "section" and "section_files" in tenant.plays
        include = tuple(name for name in asked.include if name == "attachments" or not only_files)
        document = Document(tenant, self._links, asked.fields, include)
        rows = self._ordered(call, scope)
        if "search" in call.query:
            rows = self._search.assets(call.query["search"], rows, scope.library)
        page, meta = page_of(tenant, call, rows, tenant.options.reach)
        if "cdn_url" in document.fields and any(undelivered(tenant, each) for each in page):
            raise Refusal(404, "CDN links are not available for some of these assets")
        return Reply(json=document.envelope([document.asset(each) for each in page], meta))

    def _ordered(self, call: Call, scope: Scope) -> list[Asset]:
        """What the caller sees of a scope, in the order requested."""
        tenant = self._tenant
        searched = "search" in call.query or call.query.get("sort_by") == "score"
        indexed = searched or "lists_from_index" in tenant.plays  # wire C 12, line 27
        if tenant.accounts.level(call.user, tenant.libraries[scope.library]) < LEVELS.index("admin"):
            now, accounts = tenant.now(), tenant.accounts
            found = self._members(scope, indexed=indexed)
            seen = [each for each in found if accounts.shown(call.user, each, tenant.level(each, call.user), now)]
            return in_order(tenant, call, seen)
        stamp = (tenant.generation, tenant.index.generation)
        if stamp != self._stamp or len(self._orders) >= _REMEMBERED or "shuffled" in tenant.plays:
            self._orders.clear()
            self._stamp = stamp
        key = (scope, indexed, call.query.get("sort_by"), call.query.get("order"))
        if key not in self._orders:
            self._orders[key] = in_order(tenant, call, self._members(scope, indexed=indexed))
        return self._orders[key]

    def _members(self, scope: Scope, *, indexed: bool) -> list[Asset]:
        tenant = self._tenant
        rows: Iterable[Asset]
        if indexed:
            rows = (each for each in list(tenant.index.docs.values()) if each.library == scope.library)
        elif scope.kind == "section":
            return tenant.of_section(scope.key)
        else:
            rows = tenant.of_library(scope.library)
        match scope.kind:
            case "section":
                return [each for each in rows if each.section == scope.key]
            case "collection":
                return [each for each in rows if scope.key in each.collections]
            case "label":
                return [each for each in rows if scope.key in each.labels]
        return list(rows)


def in_collection(tenant: Tenant, key: str) -> list[Asset]:
    """The assets of a collection."""
    return [each for each in tenant.of_library(tenant.collections[key].library) if key in each.collections]


def undelivered(tenant: Tenant, asset: Asset) -> bool:
    """Whether asking for the CDN link of an asset is an error."""
    strict = "cdn_strict" in tenant.plays
    states = {"pending approval", "unpublished", *(("expired",) if strict else ())}
    return asset.state(tenant.now()) in states or (strict and asset.view_only)


def check_labels(tenant: Tenant) -> None:
    """Raises Refusal 403 where labels are not enabled."""
    if "no_labels" in tenant.plays:
        raise Refusal(403, "Labels are not enabled for this account")
