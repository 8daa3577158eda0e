"""What service E counts itself: totals of searches, and facets (wire E 2.1, 2.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.years import by_year
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.counts import Counts
from dam_sync.model.errors import ContractBroken, Denied, NotFound
from dam_sync.model.values import Json, Term
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api import query
from dam_sync.services.e_profiles.api.search import PATH
from dam_sync.services.e_profiles.codec import wire
from dam_sync.services.e_profiles.not_moved import ARCHIVED, GLOBAL, SHARED, TRASHED
from dam_sync.services.e_profiles.tenant import ProfilesPart

COLLECTIONS = {"global": GLOBAL, "shared": SHARED}


class ProfilesCounts(ProfilesPart):
    """Counts of one tenant; assets in the trash are not among them."""

    async def counts(self, fields: Sequence[str]) -> Counts:
        """Totals with and without archived assets, facets of fields with lists, one call for each field and year."""
        everything = await self._search(facet="metadata")
        total = wire.hits_of(everything).total
        plain = await self._count_matching(archived=False)
        deleted = await self._count_matching(deleted=True)
        lists = await self._collections_by_type()
        known = [key for key in fields[: facts.COUNTED_FIELDS] if query.SAFE.fullmatch(key)]
        filled = await gather_or_raise([self._count_matching(query.is_filled(key)) for key in known])
        return Counts(
            assets=total,
            statuses={name: number for name, number in _statuses(total, plain).items() if number},
            years=await by_year(self._count_before, total, self.api.clock.now().year) if fields else {},
            filled=dict(zip(known, filled, strict=True)),
            terms=terms_of(everything) if fields else {},
            not_moved={TRASHED: deleted - total, ARCHIVED: total - plain, **lists},
        )

    async def _count_before(self, moment: datetime) -> int:
        return await self._count_matching(query.added_in(None, moment))

    async def _count_matching(self, asked: str = "", *, archived: bool = True, deleted: bool = False) -> int:
        return wire.hits_of(await self._search(asked, archived=archived, deleted=deleted)).total

    async def _search(self, asked: str = "", *, archived: bool = True, deleted: bool = False, facet: str = "") -> Json:
        words = {True: "true", False: "false"}
        given = {"include_deleted": words[deleted], "include_archived": words[archived], "query": asked, "facet": facet}
        params = [("limit", "1"), *((key, text) for key, text in given.items() if text)]
        return await self.api.get(facts.SEARCH, PATH, params)

    async def _collections_by_type(self) -> Mapping[str, int]:
        """Global and shared collections; what the user may not list is left out."""
        found = {}
        for kind, name in COLLECTIONS.items():
            params = (("type", kind), ("limit", "1"))
            try:
                reply = await self.api.get("GET /v2/collections", "/v2/collections", params)
            except (Denied, NotFound):
                continue
            found[name] = _total_of(reply)
        return found


@interprets_response
def terms_of(reply: Json) -> dict[str, list[tuple[Term, int]]]:
    """Assets by value of each field whose facet is complete: a facet has at most 25 values (spec 002, Limits, E)."""
    rows = (reply.get("facets") or {}).get("metadata") or ()
    found = {str(row["display_key"]): row["values"] for row in rows}
    return {
        key: [(Term(value), int(one["count"])) for one in values for value in _values(one)]
        for key, values in found.items()
        if len(values) < facts.FACET_VALUES
    }


def _values(row: Json) -> Sequence[str]:
    """Both spellings are public (wire E 2.1)."""
    several = row.get("values")
    return [str(one) for one in several] if isinstance(several, list) else [str(row["value"])]


@interprets_response
def _total_of(reply: Json) -> int:
    total = reply.get("total_count")
    if not isinstance(total, int):
        raise ContractBroken("a list of collections has no `total_count`", operation="GET /v2/collections")
    return total


def _statuses(total: int, plain: int) -> dict[str, int]:
    return {"published": plain, "archived": total - plain}
