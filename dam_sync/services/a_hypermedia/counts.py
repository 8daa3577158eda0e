"""What service A counts itself: totals of searches, and facets of lists (wire A 2.2, 2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.years import by_year
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.counts import Counts
from dam_sync.model.errors import Denied, NotFound, Rejected
from dam_sync.model.service import Window
from dam_sync.model.values import Json, Term
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest
from dam_sync.services.a_hypermedia.api.hal import embedded, total_of, wanted_id
from dam_sync.services.a_hypermedia.api.search import between
from dam_sync.services.a_hypermedia.codec.forms import FormField
from dam_sync.services.a_hypermedia.not_moved import BASKETS, TRASHED
from dam_sync.services.a_hypermedia.tenant import HypermediaBase

CREATED = "creationDate"
ONE = (("page", "1"), ("size", "1"), ("fields", "id"))


class HypermediaCounts(HypermediaBase):
    """Counts of what the user can read, without the trash. No call tells how many media have a value in a field."""

    async def counts(self, fields: Sequence[str]) -> Counts:
        """One call for each form, status and year, one for the facets of all lists."""
        total = await self._media_search.count([])
        apart = {TRASHED: await self._count_trash(), BASKETS: await self._count_baskets()}
        not_moved = {name: number for name, number in apart.items() if number is not None}
        if not fields:
            return Counts(assets=total, not_moved=not_moved)
        years, notes = await self._count_years(total)
        return Counts(
            assets=total,
            types=await self._count_forms(),
            statuses=await self._count_statuses(),
            years=years,
            terms=await self._count_terms(frozenset(fields)) if total else {},
            not_moved=not_moved,
            notes=notes,
        )

    async def _count_forms(self) -> dict[str, int]:
        forms = list((await self._tenant.forms.get()).by_id.values())
        searches = [self._media_search.count([("fq", f"formId:{form.id}")]) for form in forms]
        numbers = await gather_or_raise(searches)
        return {form.name: number for form, number in zip(forms, numbers, strict=True) if number}

    async def _count_statuses(self) -> dict[str, int]:
        statuses = list((await self._tenant.statuses.get()).values())
        searches = [self._media_search.count([("fq", f"customStatusId:{status.id}")]) for status in statuses]
        found: dict[str, int] = {}
        for status, number in zip(statuses, await gather_or_raise(searches), strict=True):
            if number:
                found[status.base] = found.get(status.base, 0) + number
        return found

    async def _count_years(self, total: int) -> tuple[dict[str, int], tuple[str, ...]]:
        """By creation; that searches know this date is assumed, so the years must add up (wire A 2.2)."""

        async def before(moment: datetime) -> int:
            return await self._media_search.count([between(CREATED, Window(None, moment))])

        years = await by_year(before, total, self._api.clock.now().year)
        if sum(years.values()) == total:
            return years, ()
        return {}, ("media are not counted by year: the search does not know the creation date of every media",)

    async def _count_terms(self, wanted: frozenset[str]) -> dict[str, list[tuple[Term, int]]]:
        """Media by id of a term, of each list field whose facet is complete. Older releases have no such parameter."""
        if not (await self._api.entry.get()).has(facts.FACET_FIELDS):
            return {}
        forms = await self._tenant.forms.get()
        lists = {key: one for key, one in forms.by_key.items() if one.source and key in wanted}
        if not lists:
            return {}
        names = ",".join(sorted({one.name for one in lists.values()}))
        facets = [("facet-fields", f"[{names}]"), ("facet-values-number", str(facts.FACET_VALUES))]
        request = HalRequest("GET", "media-search", params=[*ONE, *facets, *await self._api.arrays()])
        return terms_of(await self._api.json(request), lists)

    async def _count_trash(self) -> int | None:
        """None if the user may not see the trash."""
        found = await self._media_search.search(ONE, "trash-search", accept=frozenset({403, 404}))
        return total_of(found.body)

    async def _count_baskets(self) -> int | None:
        try:
            return total_of(await self._api.json(HalRequest("GET", "baskets", params=ONE)))
        except (Denied, NotFound, Rejected):
            return None


@interprets_response
def terms_of(body: Json, lists: Mapping[str, FormField]) -> dict[str, list[tuple[Term, int]]]:
    """Media by id of each value of these fields. A facet as long as it may be could lack values: it is left out, as is
    a field without a facet, for the shape of facets is assumed."""
    facets = {str(one["id"]): embedded(one, "value") for one in embedded(body, "facet")}
    found = {}
    for key, known in lists.items():
        values = facets.get(known.name)
        if values is not None and len(values) < facts.FACET_VALUES:
            found[key] = [(Term("", wanted_id(value)), int(value["count"])) for value in values]
    return found
