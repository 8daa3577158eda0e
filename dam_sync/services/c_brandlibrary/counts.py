"""What service C counts itself: totals of searches, and the sizes that its lists publish (wire C 2.1, 2.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.years import by_year
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Placement
from dam_sync.model.counts import Counts
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.not_moved import LIBRARIES, VIEW_ONLY
from dam_sync.services.c_brandlibrary.source.listing import ListingQuery
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryBase

_SYNTAX = re.compile(r'([\s(){}\[\]"*:<>\\])')


class BrandLibraryCounts(BrandLibraryBase):
    """Counts of one library, by searches that return one row each."""

    async def counts(self, fields: Sequence[str]) -> Counts:
        """One call for each field that is a key of the library, for each year and each section."""
        libraries = await self._api.everything(facts.LIBRARIES, (), (("fields", "asset_count,storage"),))
        total, stored = sizes_of(libraries, await self._tenant.id())
        total = await self._count_matching("") if total is None else total
        pending = await self._count_matching("approved:false")
        keys = await self._tenant.keys.get()
        known = [key for key in fields if keys.named(key) is not None][: facts.COUNTED_FIELDS]
        filled = await gather_or_raise([self._count_matching(f"custom_fields.{escaped(key)}:(*)") for key in known])
        statuses = {wire.PUBLISHED: total - pending, wire.PENDING: pending}
        return Counts(
            assets=total,
            bytes=stored,
            statuses={name: number for name, number in statuses.items() if number},
            years=await by_year(self._count_before, total, self._api.clock.now().year) if fields else {},
            filled=dict(zip(known, filled, strict=True)),
            containers=await self._containers_counted(),
            not_moved={LIBRARIES: len(libraries) - 1, VIEW_ONLY: await self._count_matching("view_only:true")},
        )

    async def _count_before(self, moment: datetime) -> int:
        return await self._count_matching(f"created_at:<{moment:%Y-%m-%d}")

    async def _count_matching(self, search: str) -> int:
        """Assets of the library that match; none also where the search is refused as 404 (wire C 2.4)."""
        wanted = ListingQuery(facts.LIBRARY_ASSETS, (await self._tenant.id(),), search=search, thin=True)
        return await self._listing.count(wanted)

    async def _containers_counted(self) -> Mapping[Placement, int]:
        """Collections by their own count; sections, if they are few, by a search each."""
        library = await self._tenant.id()
        collections = await self._api.everything(facts.COLLECTIONS, (library,), (("fields", "asset_count"),))
        counted = ((_named("collection", row), count_of(row)) for row in collections)
        found: dict[Placement, int] = {placement: number for placement, number in counted if number is not None}
        sections = await self._api.everything(facts.SECTIONS, (library,))
        if len(sections) <= facts.COUNTED_SECTIONS:
            searches = [self._count_matching(f'section_key:("{row["id"]}")') for row in sections]
            numbers = await gather_or_raise(searches)
            found |= {_named("section", row): number for row, number in zip(sections, numbers, strict=True)}
        return found


def escaped(name: str) -> str:
    """The name of a key in a search: characters that are syntax after a backslash, as whitespace is (wire C 2.4)."""
    return _SYNTAX.sub(r"\\\1", name)


@interprets_response
def sizes_of(rows: Sequence[Json], library: str) -> tuple[int | None, int | None]:
    """Assets and bytes of one library, None if it does not publish them."""
    found: Mapping[str, Json] = next((row["attributes"] for row in rows if row["id"] == library), {})
    numbers = (found.get("asset_count"), found.get("storage"))
    total, stored = (number if isinstance(number, int) else None for number in numbers)
    return total, stored


@interprets_response
def count_of(row: Json) -> int | None:
    """The assets of a collection, None if it does not publish them."""
    number = row["attributes"].get("asset_count")
    return number if isinstance(number, int) else None


@interprets_response
def _named(kind: str, row: Json) -> Placement:
    return Placement(kind, (member_text(row["attributes"], "name"),), str(row["id"]))
