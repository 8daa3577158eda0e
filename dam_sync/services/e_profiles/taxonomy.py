"""Vocabularies, categories and collections of service E: read, added to, filled, and which assets are in them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import quote

from dam_sync.crawl.pagers import Offset, Page, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.http.client import Request
from dam_sync.model.asset import AssetId, Placement, with_new_top
from dam_sync.model.connector import Context
from dam_sync.model.errors import (
    Conflict,
    ContractBroken,
    DamSyncError,
    InvalidValue,
    NotFound,
    Rejected,
    Unsupported,
)
from dam_sync.model.values import Json, Term
from dam_sync.model.writes import Membership
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api import query
from dam_sync.services.e_profiles.api.search import Pairs, refuse_missing
from dam_sync.services.e_profiles.codec import trees, wire
from dam_sync.services.e_profiles.codec.values import term_of
from dam_sync.services.e_profiles.tenant import ProfilesPart

CATEGORY_PATH = "/api/rest/category/categoryTree"
COLLECTION_TYPES = ("global", "private", "shared")
TRIALS = 20  # parent and child pairs asked about, at most, to learn whether a listing includes children
Places = dict[tuple[str, tuple[str, ...]], Placement]


@dataclass(slots=True)
class Node:
    """A category: the parameters of its listing, and the categories below it."""

    placement: Placement
    listing: Pairs
    children: list[Node] = field(default_factory=list)


class ProfilesTaxonomy(ProfilesPart):
    """Looks before it writes; what it has read it keeps, and forgets when a write went wrong. Memberships are flat in
    memory unless listings include children, then one branch's ids are held."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._terms: dict[str, dict[str, Term]] = {}
        self._places: Places | None = None

    # -- vocabularies ----------------------------------------------------------------------------------------------

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """The whole list of a field, in its order."""
        for term in list((await self._list(vocabulary, again=True)).values()):
            yield term

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """The value as the list has it; lists are flat, so parents are ignored."""
        label = term.label.strip()
        if not label:
            raise InvalidValue(f"an empty value cannot be added to {vocabulary}")
        known = await self._list(vocabulary)
        if label not in known:
            try:
                path = wire.vocabulary_path(vocabulary)
                await self.api.write(facts.ADD_TERM, path, {"value": label}, repeatable=False)
            except (Conflict, InvalidValue):
                if label not in (known := await self._list(vocabulary, again=True)):
                    raise
            except DamSyncError:
                self._terms.pop(vocabulary, None)
                raise
            known.setdefault(label, term_of(label))
        return known[label]

    def learn_term(self, vocabulary: str, term: Term) -> None:
        if vocabulary in self._terms:
            self._terms[vocabulary].setdefault(term.label, term)

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        """PUT of the value; assets follow, which is seen of one that has it before the first of a run. It is its own
        id, so that one that is gone while the new one is there was renamed before. Raises Rejected, after the list is
        as it was, if the assets keep the old value."""
        label = renamed.label.strip()
        if not label:
            raise InvalidValue(f"a value of {vocabulary} cannot be empty")
        if label == term.label:
            return term
        async with self.proven.first_use(facts.PUT_TERM):
            holder = None if self.proven.proven([facts.PUT_TERM]) else await self._holder(vocabulary, term.label)
            known = await self._renamed(vocabulary, term.label, label)
            if holder is not None:
                await self._refuse_unfollowed(vocabulary, holder, term.label, label)
        return known[label]

    async def _renamed(self, vocabulary: str, old: str, new: str) -> dict[str, Term]:
        """The list with the new value. Raises Rejected if it does not have it."""
        gone = False
        try:
            await self.api.write(facts.PUT_TERM, wire.vocabulary_path(vocabulary, old), {"value": new})
        except NotFound:
            gone = True
        finally:
            self._terms.pop(vocabulary, None)
        known = await self._list(vocabulary, again=True)
        if new not in known:
            wrong = NotFound if gone else Rejected
            raise wrong(f"the value {old!r} of {vocabulary} was not renamed to {new!r}", operation=facts.PUT_TERM)
        return known

    async def _holder(self, vocabulary: str, label: str) -> AssetId | None:
        """An asset outside the trash that has this value, as far as a search finds one."""
        hits = await self.search.page(query.having(vocabulary, label) or query.is_filled(vocabulary), expand="metadata")
        rows = [row for row in hits.rows if not wire.is_trashed(row) and label in wire.texts_in(row, vocabulary)]
        return wire.id_of(rows[0]) if rows else None

    async def _refuse_unfollowed(self, vocabulary: str, holder: AssetId, old: str, new: str) -> None:
        """Raises Rejected if an asset that had the old value has it still, once the list has it again."""
        asked = self.api.reading(facts.ASSET, wire.asset_path(holder), (("expand", "metadata"),), asset=holder)

        async def followed() -> bool:
            values = wire.texts_in((await self.api.client.send(asked)).object(), vocabulary)
            return new in values and old not in values

        if not await self.proven.holds(facts.PUT_TERM, followed):
            await self._renamed(vocabulary, new, old)
            raise self.proven.harmful(facts.PUT_TERM, partial(_unfollowed, vocabulary, holder))

    async def _list(self, vocabulary: str, *, again: bool = False) -> dict[str, Term]:
        if again or vocabulary not in self._terms:
            reply = await self.api.get(facts.GET_VOCABULARY, wire.vocabulary_path(vocabulary))
            rows = reply.get("vocabulary") if isinstance(reply, dict) else None
            if not isinstance(rows, list):
                raise ContractBroken("a vocabulary response has no `vocabulary`", operation=facts.GET_VOCABULARY)
            self._terms[vocabulary] = {str(text): term_of(str(text)) for text in rows}
        return self._terms[vocabulary]

    # -- containers ------------------------------------------------------------------------------------------------

    async def containers(self) -> AsyncIterator[Placement]:
        """Categories, parents first, then collections."""
        for placement in list((await self._containers(again=True)).values()):
            yield placement

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """The category below its parent, or the collection, of that name; no call makes other collections than private
        ones."""
        wanted = tuple(path)
        if kind not in ("category", "collection"):
            raise Unsupported(f"the service has no containers of kind {kind}", hint="place into category or collection")
        if kind == "collection" and len(wanted) != 1:
            raise Unsupported("collections have no levels", hint="map the placement to a path of one name")
        known = await self._containers()
        if (kind, wanted) not in known:
            try:
                made = await (self._add_category(wanted, parent) if kind == "category" else self._add_list(wanted))
            except Conflict:
                known = await self._containers(again=True)  # somebody else made it meanwhile
                if (kind, wanted) not in known:
                    raise
                return known[kind, wanted]
            except DamSyncError:
                self._places = None
                raise
            known[kind, wanted] = Placement(kind, wanted, made)
        return known[kind, wanted]

    def learn_container(self, container: Placement) -> None:
        if self._places is not None:
            self._places[container.kind, container.path] = container

    async def rename_container(self, container: Placement, path: Sequence[str], parent: str | None = None) -> Placement:
        """PUT of the title, and of the parent where it changes."""
        wanted = Placement(container.kind, tuple(path), container.id)
        if container.kind != "category" or not wanted.path:
            raise Unsupported(f"no call renames a {container.kind}", hint="rename it by hand")
        body = {"title": wanted.path[-1]} | ({} if parent is None else {"parentCategory": parent or "root"})
        url = facts.PUT_CATEGORY.partition(" ")[2].replace("{uuid}", quote(container.id, safe=""))
        try:
            reply = await self.api.write(facts.PUT_CATEGORY, url, body)
            wire.refuse_other_title(reply.json(), wanted.path[-1], facts.PUT_CATEGORY)
        except DamSyncError:
            self._places = None
            raise
        moved = [
            replace(place, path=with_new_top(place.path, container.path, wanted.path))
            for place in (await self._containers()).values()
            if place.kind == "category"
        ]
        self._places = {key: place for key, place in (self._places or {}).items() if key[0] != "category"}
        self._places |= {("category", place.path): place for place in moved}
        return wanted

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """Into and out of one container, in batches."""
        category = container.kind == "category"
        operation = facts.FILL_CATEGORY if category else facts.FILL_COLLECTION
        most = self.limits.member_batch
        for start in range(0, max(len(add), len(remove)), most):
            some = slice(start, start + most)
            kind = "categories" if category else "collections"
            body = wire.members_body(kind, container.id, add[some], remove[some])
            path = operation.partition(" ")[2]
            request = Request(operation, "POST", path, json=body, base="tenant", repeatable=True)
            fresh = any(self.api.is_recent(asset) for asset in add[some])
            await (self.api.send_fresh(request) if fresh else self.api.client.send(request))

    async def _add_category(self, path: tuple[str, ...], parent: str) -> str:
        body = {"title": path[-1], "parentCategory": parent or "root"}
        return await self._added(facts.ADD_CATEGORY, body)

    async def _add_list(self, path: tuple[str, ...]) -> str:
        body = {"title": path[-1], "description": "", "assets": {"uuids": []}}
        return await self._added(facts.ADD_COLLECTION, body)

    async def _added(self, operation: str, body: Json) -> str:
        reply = await self.api.write(operation, operation.partition(" ")[2], body, repeatable=False)
        made = reply.json()
        identity = made.get("uuid") if isinstance(made, dict) else None
        if not identity:
            raise ContractBroken("the response about a new container has no `uuid`", operation=operation)
        return str(identity)

    async def _containers(self, *, again: bool = False) -> Places:
        if again or self._places is None:
            found = await self.categories()
            found += trees.collections_of(await self.collections())
            self._places = {}
            for placement in found:
                self._places.setdefault((placement.kind, placement.path), placement)
        return self._places

    async def categories(self) -> list[Placement]:
        """All categories, parents first, by one call (wire E 5.4)."""
        asked = (("includeEmpty", "true"),)
        return list(trees.categories_of(await self.api.get(facts.CATEGORY_TREE, CATEGORY_PATH, asked)))

    async def collections(self) -> list[Json]:
        """Rows of all collections the user sees (wire E 5.5)."""
        return [row for kind in COLLECTION_TYPES for row in await self._collections(kind)]

    async def _collections(self, kind: str) -> list[Json]:
        async def fetch(params: Params) -> Page:
            asked = (("type", kind), ("limit", str(params["size"])), ("offset", str(params["offset"])))
            reply = await self.api.get("GET /v2/collections", "/v2/collections", asked)
            return Page(wire.items_of(reply), reply.get("total_count") if isinstance(reply, dict) else None)

        rows: list[Json] = []
        async with aclosing(paginate(fetch, Offset(self.limits.page, facts.COLLECTION_REACH))) as pages:
            async for page, _ in pages:
                rows.extend(page.rows)
        return rows

    # -- memberships -----------------------------------------------------------------------------------------------

    async def members(self) -> AsyncIterator[Membership]:
        """Categories, then collections. Where listings include children, the assets of a child are unsure members of
        its parent."""
        roots = await self._nodes((), trees.Inner.of(await self.categories()))
        inclusive = await self._includes_children(roots)
        for root in roots:
            async with aclosing(self._below(root, inclusive)) as found:
                async for membership in found:
                    yield membership
        rows = await self.collections()
        for row, placement in zip(rows, trees.collections_of(rows), strict=True):
            if reason := trees.unread_reason(row):
                yield Membership(placement, (), unread=reason)
            elif link := trees.collection_link(row):
                async with aclosing(self._ids(wire.link_query(link))) as pages:
                    async for ids in pages:
                        yield Membership(placement, ids)

    async def _nodes(self, path: tuple[str, ...], inner: trees.Inner) -> list[Node]:
        operation = "GET /v2/categories/{path}" if path else "GET /v2/categories"
        reply = await self.api.get(operation, wire.category_path(path) if path else "/v2/categories")
        nodes = []
        for row in wire.items_of(reply):
            placement = trees.category_of(row)
            link = trees.assets_link(row)
            listing = wire.link_query(link) if link else [("query", query.in_category(placement.path))]
            below = await self._nodes(placement.path, inner) if inner.has(placement) else []
            nodes.append(Node(placement, listing, below))
        return nodes

    async def _includes_children(self, roots: Sequence[Node]) -> bool:
        """False once a child's assets are missing in its parent's listing, twice; True if none ever is."""
        pairs = [(parent, child) for parent in _flat(roots) for child in parent.children]
        tried = 0
        for parent, child in pairs:
            if tried == TRIALS or not (_text(parent) and _text(child)):
                break
            inside = (await self.search.page("", limit=1, more=child.listing)).total
            if inside == 0:
                continue
            tried += 1
            both = query.joined(f"({_text(parent)})", f"({_text(child)})")
            if await self._are_fewer(both, inside):
                return False
        return tried > 0

    async def _are_fewer(self, asked: str, expected: int) -> bool:
        """Whether a search finds fewer assets than expected, and does so when it is repeated."""
        for _ in range(2):
            if (await self.search.page(asked, limit=1)).total >= expected:
                return False
        return True

    async def _below(self, node: Node, inclusive: bool) -> AsyncGenerator[Membership, None]:
        """Memberships of a category and of all below it, the deepest first."""
        met: set[str] = set()
        for child in node.children:
            async with aclosing(self._below(child, inclusive)) as found:
                async for membership in found:
                    if inclusive:
                        met.update(membership.assets)
                    yield membership
        async with aclosing(self._ids(node.listing)) as pages:
            async for ids in pages:
                for unsure in (False, True):
                    some = tuple(asset for asset in ids if (asset in met) is unsure)
                    if some:
                        yield Membership(node.placement, some, unsure)

    async def _ids(self, listing: Pairs) -> AsyncGenerator[tuple[AssetId, ...], None]:
        """The assets of a container. No other call tells how many there are, so an empty one is asked about twice."""
        hits = await self.search.page("", more=listing)
        if not hits.total:
            hits = await self.search.page("", more=listing)
        refuse_missing(hits)
        if hits.complete:
            if hits.rows:
                yield tuple(wire.id_of(row) for row in hits.rows)
            return
        async with aclosing(self.search.scroll("", more=listing)) as pages:
            async for rows, _ in pages:
                if rows:
                    yield tuple(wire.id_of(row) for row in rows)


def _unfollowed(vocabulary: str, holder: str) -> Rejected:
    return Rejected(
        f"values of {vocabulary} are renamed in the list alone: asset {holder} kept the old one; the list has the old "
        "value again, and no value is renamed",
        operation=facts.PUT_TERM,
        code="not on assets",
        hint="rename the value in the service itself, where assets follow, then run again",
    )


def _flat(nodes: Sequence[Node]) -> list[Node]:
    return [each for node in nodes for each in (node, *_flat(node.children))]


def _text(node: Node) -> str:
    return dict(node.listing).get("query", "")
