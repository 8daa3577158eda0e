"""Assets of service E in order of upload: each page starts at the last timestamp seen, so no offset is ever passed
and a page can be asked for again (wire E 2.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from dam_sync.crawl.pagers import Page, Params, RowsById
from dam_sync.crawl.pagination import paginate
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import ContractBroken, OversizedResponse, TruncatedListing
from dam_sync.model.service import Cursor
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api import query
from dam_sync.services.e_profiles.api.search import ProfilesSearch, refuse_missing
from dam_sync.services.e_profiles.codec import wire

_HINT = "run the same command again; if it stays, set `options: {enumerate: scroll}`"


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows not listed before, the query that gave them, and the cursor behind them (None: these were the last).
    lean: without metadata, because the page was too large to be read."""

    rows: Sequence[Json]
    asked: str
    cursor: Cursor | None
    lean: bool = False


@dataclass(frozen=True, slots=True)
class ByUpload(RowsById):
    """A pager: `after` is the timestamp up to which all is listed, `ids` are those listed that were uploaded at it.

    Its pages hold only rows that were not listed before, and count only those.
    """

    reach: int | None = None
    remaining: bool = True
    shifting: bool = False

    def first(self) -> Cursor:
        return {"after": None, "ids": []}

    def params(self, cursor: Cursor) -> Params:
        """`after`, `ids`."""
        return {"after": cursor["after"], "ids": cursor["ids"]}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        if not page.rows or page.total is None or len(page.rows) >= page.total:
            return None
        last = created(page.rows[-1])
        ids = [wire.id_of(row) for row in page.rows if created(row) == last]
        before = cursor["ids"] if cursor["after"] == instant_text(last) else []
        return {"after": instant_text(last), "ids": sorted([*before, *ids])}


class Crowded(Exception):
    """One second, and perhaps the one before it, holds more assets than a page."""


@dataclass(frozen=True, slots=True)
class ProfilesListing:
    """Lists what `narrow` leaves, all where it is empty. Timestamps are in seconds and range ends may belong to a range
    or not, so a page is requested from a second earlier, and what was listed before is left out."""

    search: ProfilesSearch
    narrow: str = ""
    expand: str | None = None  # None: what the option expand says

    async def rows(self, start: Cursor | None) -> AsyncGenerator[Rows, None]:
        """Each asset once, oldest upload first; resumes from any cursor it gave.

        Raises TruncatedListing if fewer assets came than were there at the beginning, and are there still.
        """
        place: Cursor | None = start
        while True:
            try:
                async with aclosing(self._in_pages(place)) as pages:
                    async for found in pages:
                        place = found.cursor
                        yield found
                return
            except Crowded:
                async with aclosing(self._crowded(place or {})) as pages:
                    async for found in pages:
                        place = found.cursor
                        yield found

    async def _in_pages(self, start: Cursor | None) -> AsyncGenerator[Rows, None]:
        listed = int((start or {}).get("seen", 0))
        promised = (start or {}).get("promised")
        asked, lean = "", False

        async def fetch(params: Params) -> Page:
            nonlocal asked, promised, lean
            asked, lean = self._from(params["after"]), False
            try:
                hits = await self.search.page(asked, expand=self._expanded)
            except OversizedResponse:
                hits, lean = await self.search.page(asked), True
            promised = hits.total if promised is None else promised
            return new_of(hits, params)

        async with aclosing(paginate(fetch, ByUpload(), start)) as pages:
            async for page, behind in pages:
                listed += len(page.rows)
                if behind is None:
                    await self._prove(listed, promised or 0)
                yield Rows(page.rows, asked, {**behind, "promised": promised} if behind else None, lean)

    @property
    def _expanded(self) -> str:
        return self.search.api.options.expand if self.expand is None else self.expand

    def _from(self, after: str | None) -> str:
        return self._between(parse_instant(after) - facts.TICK, None) if after else self.narrow

    def _between(self, since: datetime, until: datetime | None) -> str:
        return query.joined(self.narrow, query.added_in(since, until))

    async def _crowded(self, place: Cursor) -> AsyncGenerator[Rows, None]:
        """A second that overfills a page is scrolled, with the next one, which a page could then begin with."""
        low = parse_instant(place["after"])
        high = low + 2 * facts.TICK
        known = frozenset(place["ids"])
        asked = self._between(low - facts.TICK, high)
        listed: set[str] = set()  # a scroll that lost its place begins again, and lists rows twice
        async with aclosing(self.search.scroll(asked, expand=self._expanded)) as pages:
            async for rows, last in pages:
                new = in_order([row for row in rows if low <= created(row) < high and wire.id_of(row) not in known])
                listed.update(wire.id_of(row) for row in new)
                behind = {"after": instant_text(high), "ids": [], "seen": place.get("seen", 0) + len(listed)}
                yield Rows(new, asked, {**place, **behind} if last else place)

    async def _prove(self, listed: int, promised: int) -> None:
        """Nothing may be missing of what was there at the beginning. A narrowed listing may lose rows on the way, for
        an asset that is changed leaves the window."""
        if self.narrow or listed >= promised:
            return
        there = (await self.search.page("", limit=1)).total
        if listed < there:
            raise TruncatedListing(
                f"the service has {there} assets but returns only {listed} by upload time",
                operation=facts.SEARCH,
                hint="run the same command again; the service may lack support for DateAdded in queries",
            )


def new_of(hits: wire.ProfilesHits, params: Mapping[str, Json]) -> Page:
    """What was not listed before, in one order: plan and run give names to assets in it. Raises Crowded,
    TruncatedListing, or ContractBroken on rows in another order.
    """
    after = parse_instant(params["after"]) if params["after"] else None
    refuse_missing(hits, _HINT)
    instants = [created(row) for row in hits.rows]
    if any(later < earlier for earlier, later in pairwise(instants)):
        raise ContractBroken("assets are not in the requested order of upload", operation=facts.SEARCH, hint=_HINT)
    if after and hits.total > len(hits.rows) and instants[-1] <= after:
        raise Crowded
    known = frozenset(params["ids"])
    rows = in_order([row for row in hits.rows if _is_new(row, after, known)])
    return Page(rows, hits.total - (len(hits.rows) - len(rows)))


def in_order(rows: Sequence[Json]) -> list[Json]:
    """By upload; those of one second come in another order each time (wire E 2.3), so by id."""
    return sorted(rows, key=lambda row: (created(row), wire.id_of(row)))


@interprets_response
def _is_new(row: Json, after: datetime | None, known: frozenset[str]) -> bool:
    when = created(row)
    return after is None or when > after or (when == after and wire.id_of(row) not in known)


@interprets_response
def created(row: Json) -> datetime:
    """The upload timestamp of an asset. Raises ContractBroken without one."""
    when = parse_timestamp(row.get("created_date"))
    if when is None:
        raise ContractBroken("an asset has no `created_date`", operation=facts.SEARCH)
    return when
