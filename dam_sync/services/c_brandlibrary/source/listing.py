"""Listings of assets: queries, pages, and what lists were found to contain."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from dam_sync.crawl.pagers import Page, Params, RowsById
from dam_sync.crawl.pagination import paginate
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import NotFound, OversizedResponse, Transient, TruncatedListing
from dam_sync.model.service import Cursor
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi, Pairs
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.envelope import ApiDocument
from dam_sync.services.c_brandlibrary.codec.fields import PAYLOAD

SPLIT = 5  # a page that is too heavy is requested in so many parts
AGAIN = (("name", "ASC"), ("name", "DESC"), ("updated_at", "ASC"))  # a listing that gave too few rows is read again in
# another order, for rows that are equal in the order requested come in any (wire C 2.2)
BAD_REQUEST = 400
MOST_STALE = 10  # pages in a row without a new row, beyond as many as were read: rows move while a listing is read


@dataclass(frozen=True, slots=True)
class Pages(RowsById):
    """Numbered pages; if the total fell, it steps back as many pages as may have moved (wire C 2.2)."""

    size: int
    reach: int | None = None
    remaining: bool = False
    shifting: bool = False  # a shrinking total is compensated here

    def first(self) -> Cursor:
        """The first page; the total is not known yet."""
        return {"page": 1, "was": None}

    def params(self, cursor: Cursor) -> Params:
        """`page`, `size`."""
        return {"page": cursor["page"], "size": self.size}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        """The next page, or an earlier one if the total fell; None at the end."""
        number, was, total = int(cursor["page"]), cursor["was"], page.total
        if total is not None and was is not None and total < was and number > 1:
            back = -(-(was - total) // self.size)
            return {"page": max(1, number - back), "was": total}
        if not page.rows or page.next is False:
            return None
        if page.next is None and total is not None and number * self.size >= total:  # wire C 2: else `next_page` counts
            return None
        return {"page": number + 1, "was": total if total is not None else was}


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """One listing. search: in the query language of the service. payload: include the content of assets without
    files."""

    operation: str
    ids: tuple[str, ...]
    sort: str = "created_at"
    order: str = "ASC"
    search: str = ""
    payload: bool = False
    size: int = facts.PAGE
    thin: bool = False


@dataclass(slots=True)
class BrandLibraryListing:
    """Reads listings. dates: whether lists contain availability dates; payload: whether they take the field of the
    content of assets without files; None until a list was read."""

    api: BrandLibraryApi
    dates: bool | None = None
    payload: bool | None = None
    parts: int = 1
    _read: int = field(default=0)

    async def count(self, wanted: ListingQuery) -> int:
        """The number of rows of a listing, by one call; a search may return 404 for none (wire C 2.4)."""
        document = await self._page({**_sorted(wanted), "page": "1", "per": "1"}, wanted)
        return document.total or 0

    async def rows(
        self, wanted: ListingQuery, cursor: Cursor | None = None
    ) -> AsyncGenerator[tuple[list[Json], Cursor | None], None]:
        """New rows, page by page, with the cursor after them, None after the last.

        A listing that ends with fewer distinct rows than it counts is read again in other orders. Raises
        TruncatedListing when rows are missing even then.
        """
        seen: set[str] = set()
        stale = _StalePages()
        before, first = (int(cursor["distinct"]), int(cursor["pass"])) if cursor else (0, 0)
        start = {key: part for key, part in cursor.items() if key not in ("distinct", "pass")} if cursor else None
        orders = ((wanted.sort, wanted.order), *AGAIN)
        for attempt in range(first, len(orders)):
            total = 0
            ordered = replace(wanted, sort=orders[attempt][0], order=orders[attempt][1])
            async with aclosing(paginate(_Fetch(self, ordered), Pages(wanted.size), start)) as pages:
                async for page, behind in pages:
                    fresh = {row["id"]: row for _, row in page.rows if row["id"] not in seen}
                    seen.update(fresh)
                    stale.refuse(page, fresh, wanted)
                    total = page.total or 0
                    known = before + len(seen)
                    place: Cursor | None = None if behind is None else {**behind, "distinct": known, "pass": attempt}
                    if behind is None and known < total:
                        if attempt + 1 == len(orders):
                            raise _short(total, known, wanted)
                        place = {**Pages(wanted.size).first(), "distinct": 0, "pass": attempt + 1}
                    yield list(fresh.values()), place
            if before + len(seen) >= total:
                return
            start, before = None, 0

    async def page(self, wanted: ListingQuery, number: int, size: int) -> ApiDocument:
        """One page, in parts if whole pages are too large for the service (wire C 11.35)."""
        try:
            return await self._in_parts(wanted, number, size, self.parts)
        except OversizedResponse:
            return await self._lean(wanted, number, size)
        except Transient:
            if self.parts > 1 or size % SPLIT:
                raise
            self.parts = SPLIT
            return await self._in_parts(wanted, number, size, SPLIT)

    async def _lean(self, wanted: ListingQuery, number: int, size: int) -> ApiDocument:
        """A page that is too large to be read: its rows without relations, in as few parts as it takes. Raises
        OversizedResponse if one row alone is too large."""
        thin = replace(wanted, thin=True)
        for parts in (1, SPLIT):
            with suppress(OversizedResponse):
                return await self._in_parts(thin, number, size, parts)
        return await self._in_parts(thin, number, size, size)

    async def _in_parts(self, wanted: ListingQuery, number: int, size: int, parts: int) -> ApiDocument:
        parts = parts if size % parts == 0 else 1
        rows: list[Json] = []
        document = ApiDocument(())
        for part in range((number - 1) * parts + 1, number * parts + 1):
            document = await self._whole({**_sorted(wanted), "page": str(part), "per": str(size // parts)}, wanted)
            rows += document.rows
            if not document.rows or document.more is False:
                break
        return ApiDocument(tuple(rows), document.total, document.more)

    async def _whole(self, asked: dict[str, str], wanted: ListingQuery) -> ApiDocument:
        """A page with everything; a list that refuses availability dates or payloads, which are not documented for
        lists, is requested without them (wire C 3.1, 3.2)."""
        if wanted.thin:
            return await self._page(asked, wanted)
        own = {**asked, "include": wire.INCLUDE}
        while True:
            accept = frozenset({BAD_REQUEST}) if self._asks_more(wanted) else frozenset[int]()
            document = await self._page({**own, "fields": self._fields(wanted)}, wanted, accept)
            if not document.refused:
                break
            self._ask_less()
        if self.dates is None and document.rows:
            self.dates = wire.DATES[0] in document.rows[0]["attributes"]
        if wanted.payload and self.payload is None:
            self.payload = True
        return document

    def _asks_more(self, wanted: ListingQuery) -> bool:
        """Whether fields are requested that no list is known to take."""
        return self.dates is None or (wanted.payload and self.payload is None)

    def _ask_less(self) -> None:
        if self.dates is None:
            self.dates = False
        else:
            self.payload = False

    def _fields(self, wanted: ListingQuery) -> str:
        more = () if self.dates is False else wire.DATES
        payload = (PAYLOAD,) if wanted.payload and self.payload is not False else ()
        return ",".join((wire.FIELDS, *more, *payload))

    async def _page(
        self, asked: Mapping[str, str], wanted: ListingQuery, accept: frozenset[int] = frozenset()
    ) -> ApiDocument:
        pairs: Pairs = tuple({**asked, **({"search": wanted.search} if wanted.search else {})}.items())
        try:
            return await self.api.listed(wanted.operation, wanted.ids, pairs, accept=accept)
        except NotFound:
            if wanted.search:
                return ApiDocument((), 0, False)
            raise

    def stamp(self) -> int:
        """A number for each page read."""
        self._read += 1
        return self._read


@dataclass(frozen=True, slots=True)
class _Fetch:
    """Pages for `paginate`, each row with the number of its reading, because a page may legitimately be read twice."""

    listing: BrandLibraryListing
    wanted: ListingQuery

    async def __call__(self, params: Params) -> Page:
        document = await self.listing.page(self.wanted, int(params["page"]), int(params["size"]))
        stamp = self.listing.stamp()
        return Page([(stamp, row) for row in document.rows], document.total, document.more)


@dataclass(slots=True)
class _StalePages:
    """Notices a listing without an end, in which the same pages come again: rows that move may be read twice, but no
    more pages of them than were read."""

    _read: int = 0
    _stale: int = 0

    def refuse(self, page: Page, fresh: Mapping[str, Json], wanted: ListingQuery) -> None:
        """Raises TruncatedListing."""
        self._read += bool(fresh)
        self._stale = 0 if fresh else self._stale + bool(page.rows)
        if self._stale > self._read + MOST_STALE:
            raise TruncatedListing(
                f"the listing returned {self._stale} pages in a row without a new asset",
                operation=wanted.operation,
                hint="run the same command again; if the error persists, the service cannot list this part",
            )


def _sorted(wanted: ListingQuery) -> dict[str, str]:
    return {"sort_by": wanted.sort, "order": wanted.order}


def _short(total: int, got: int, wanted: ListingQuery) -> TruncatedListing:
    return TruncatedListing(
        f"a listing counts {total} assets but returned {got}, in every order",
        operation=wanted.operation,
        hint="run the same command again while nobody deletes assets; the index of the service may be damaged",
    )


@interprets_response
def ids_of(rows: Sequence[Json]) -> frozenset[str]:
    """The ids of rows."""
    return frozenset(row["id"] for row in rows)
