"""What service B counts itself: totals of queries, one row each (wire B 2.2, 2.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.years import by_year
from dam_sync.model.asset import Placement
from dam_sync.model.counts import Counts
from dam_sync.model.errors import Rejected
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.search import quoted, select
from dam_sync.services.b_documents.not_moved import FOLDERISH, LOCKED, PROXIES, TRASHED
from dam_sync.services.b_documents.taxonomy.containers import DocumentsContainers
from dam_sync.services.b_documents.tenant import below

NOT_TRASHED = "ecm:isTrashed = 0"
OTHER = "other states"  # of the life cycle, which the option `states` does not name
SIMPLE = frozenset({FieldKind.TEXT, FieldKind.LONG_TEXT, FieldKind.HTML, FieldKind.NUMBER, FieldKind.DATE}) | frozenset(
    {FieldKind.INSTANT, FieldKind.TERM, FieldKind.EMAIL, FieldKind.URL}
)
MEMBERS = {"folder": "ecm:parentId", "collection": "collectionMember:collectionIds/*"}  # wire B 2.4
ELSEWHERE: Mapping[str, str] = {
    PROXIES: "ecm:isProxy = 1",
    FOLDERISH: f"ecm:mixinType = 'Folderish' AND file:content/length > 0 AND {NOT_TRASHED}",
}
"""What is counted besides assets."""


class DocumentsCounts(DocumentsContainers):
    """Counts of one library. Nothing is counted where only an index answers, whose totals are not exact."""

    async def counts(self, fields: Sequence[str]) -> Counts:
        """One call for each type, state, field and year, and one for each thing that is not moved."""
        total = await self._count_matching(NOT_TRASHED)
        if total is None:
            return Counts(notes=("the server does not count the documents of a query",))
        schema = await self.schema()
        apart = {
            TRASHED: await self._count_matching("ecm:isTrashed = 1"),
            LOCKED: await self._count_matching(NOT_TRASHED, "ecm:lockOwner IS NOT NULL"),
            **{name: await self._count_elsewhere(name) for name in ELSEWHERE},
        }
        counted = [key for key in fields if _simple(schema.fields.get(key))][: facts.COUNTED_FIELDS]
        filled = await gather_or_raise([self._count_matching(NOT_TRASHED, f"{key} IS NOT NULL") for key in counted])
        return Counts(
            assets=total,
            types=await self._count_types(schema) if fields else {},
            statuses=await self._count_states(total) if fields else {},
            years=await by_year(self._count_before, total, self.api.clock.now().year) if fields else {},
            filled={key: number for key, number in zip(counted, filled, strict=True) if number is not None},
            containers=await self._count_members() if fields else {},
            not_moved={name: number for name, number in apart.items() if number is not None},
        )

    async def _count_matching(self, *conditions: str) -> int | None:
        return await self.search.count(select(await self.tenant.assets(), *conditions))

    async def _count_before(self, moment: datetime) -> int:
        return await self._count_matching(NOT_TRASHED, f"dc:created < TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}'") or 0

    async def _count_types(self, schema: Schema) -> dict[str, int]:
        names = [each.name for each in schema.types][: facts.COUNTED_FIELDS]
        searches = [self._count_matching(NOT_TRASHED, f"ecm:primaryType = {quoted(name)}") for name in names]
        return {name: number for name, number in zip(names, await gather_or_raise(searches), strict=True) if number}

    async def _count_states(self, total: int) -> dict[str, int]:
        """By the life cycle; not counted if the job names a property for the status."""
        options = self.api.options
        if options.status_field:
            return {}
        searches = [self._count_matching(NOT_TRASHED, f"ecm:currentLifeCycleState = {quoted(state)}") for state in
                    options.states.values()]  # fmt: skip
        numbers = await gather_or_raise(searches)
        found = {word: number for word, number in zip(options.states, numbers, strict=True) if number}
        rest = total - sum(found.values())
        return {**found, OTHER: rest} if rest > 0 else found

    async def _count_members(self) -> dict[Placement, int]:
        """Assets directly in each folder and collection, if these are few."""
        found = [one async for one in self.containers() if one.kind in MEMBERS]
        if len(found) > facts.COUNTED_CONTAINERS:
            return {}
        searches = [self._count_matching(NOT_TRASHED, f"{MEMBERS[one.kind]} = {quoted(one.id)}") for one in found]
        numbers = zip(found, await gather_or_raise(searches), strict=True)
        return {placement: number for placement, number in numbers if number is not None}

    async def _count_elsewhere(self, name: str) -> int | None:
        """None if the server refuses the query because it does not know the property."""
        try:
            return await self.search.count(select(ELSEWHERE[name], below(await self.tenant.root.get())))
        except Rejected:
            return None


def _simple(known: Field | None) -> bool:
    """Whether a property has one plain value; whether a list is empty cannot be asked."""
    return known is not None and not known.multiple and known.kind in SIMPLE
