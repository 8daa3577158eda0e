"""Which assets are in which category and collection of service E, read from the containers' side (wire E 3.5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.service import Membership
from dam_sync.services.e_profiles import facts, query, trees, wire
from dam_sync.services.e_profiles.searching import Pairs, Search, refuse_missing
from dam_sync.services.e_profiles.taxonomy import Taxonomy

TRIALS = 20  # parent and child pairs asked about, at most, to learn whether a listing includes children


@dataclass(slots=True)
class Node:
    """A category: the parameters of its listing, and the categories below it."""

    placement: Placement
    listing: Pairs
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Members:
    """Reads memberships; flat in memory unless listings include children, then one branch's ids are held."""

    search: Search
    taxonomy: Taxonomy

    async def all(self) -> AsyncIterator[Membership]:
        """Categories, then collections; an asset in a parent and its child is told of the child alone where listings
        include children, for then nobody can tell."""
        roots = await self._nodes((), trees.Inner.of(await self.taxonomy.categories()))
        inclusive = await self._includes_children(roots)
        for root in roots:
            async with aclosing(self._below(root, inclusive)) as found:
                async for membership in found:
                    yield membership
        rows = await self.taxonomy.collections()
        for row, placement in zip(rows, trees.collections_of(rows), strict=True):
            link = trees.collection_link(row)
            if link:
                async with aclosing(self._ids(wire.link_query(link))) as pages:
                    async for ids in pages:
                        yield Membership(placement, ids)

    async def _nodes(self, path: tuple[str, ...], inner: trees.Inner) -> list[Node]:
        line = self.search.line
        operation = "GET /v2/categories/{path}" if path else "GET /v2/categories"
        reply = await line.get(operation, wire.category_path(path) if path else "/v2/categories")
        nodes = []
        for row in wire.items_of(reply):
            placement = trees.category_of(row)
            link = trees.assets_link(row)
            listing = wire.link_query(link) if link else [("query", query.in_category(placement.path))]
            below = await self._nodes(placement.path, inner) if inner.has(placement) else []
            nodes.append(Node(placement, listing, below))
        return nodes

    async def _includes_children(self, roots: Sequence[Node]) -> bool:
        """False once a child's assets are missing in its parent's listing; True where none ever is."""
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
            if (await self.search.page(both, limit=1)).total < inside:
                return False
        return tried > 0

    async def _below(self, node: Node, inclusive: bool) -> AsyncGenerator[Membership, None]:
        """Memberships of a category and of all below it, the deepest first."""
        met: set[str] = set()
        for child in node.children:
            async with aclosing(self._below(child, inclusive)) as found:
                async for membership in found:
                    yield membership
                    if inclusive:
                        met.update(membership.assets)
        async with aclosing(self._ids(node.listing)) as pages:
            async for ids in pages:
                own = tuple(asset for asset in ids if asset not in met)
                if own:
                    yield Membership(node.placement, own)

    async def _ids(self, listing: Pairs) -> AsyncGenerator[tuple[AssetId, ...], None]:
        hits = await self.search.page("", more=listing)
        refuse_missing(hits)
        if hits.total <= facts.PAGE:
            if hits.rows:
                yield tuple(wire.id_of(row) for row in hits.rows)
            return
        async with aclosing(self.search.scroll("", more=listing)) as pages:
            async for rows, _ in pages:
                if rows:
                    yield tuple(wire.id_of(row) for row in rows)


def _flat(nodes: Sequence[Node]) -> list[Node]:
    return [each for node in nodes for each in (node, *_flat(node.children))]


def _text(node: Node) -> str:
    return dict(node.listing).get("query", "")
