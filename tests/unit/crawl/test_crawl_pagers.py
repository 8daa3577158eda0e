"""Pagers enumerate every row exactly once, whatever the sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.crawl.pagers import Keyset, Offset, Page, PageNumber, Pager, Params, Scroll
from dam_sync.crawl.pagination import paginate
from dam_sync.model.errors import ContractBroken
from dam_sync.model.service import Cursor

KEYSET = "keyset"
MAKERS: dict[str, Callable[[int], Pager]] = {
    "page": PageNumber,
    "page from 0": lambda size: PageNumber(size, start=0),
    "offset": Offset,
    KEYSET: lambda size: Keyset(size, "id"),
    "scroll": Scroll,
}


class Listing:
    """A service that pages `rows` in every known manner; `clamp` is the largest page it gives."""

    def __init__(self, rows: int, *, totals: bool, more: bool = False, clamp: int = 1000, first_page: int = 1) -> None:
        self.rows = [{"id": number} for number in range(1, rows + 1)]
        self.totals, self.more, self.clamp, self.first_page = totals, more, clamp, first_page
        self.calls: list[Params] = []
        self.scrolled = 0

    async def fetch(self, params: Params) -> Page:
        self.calls.append(params)
        size = min(params["size"], self.clamp)
        start = self._start(params, size)
        rows, behind = self.rows[start : start + size], start + size
        total = (len(self.rows) - (start if "after" in params else 0)) if self.totals else None
        return Page(rows, total, self._next(params, behind))

    def _start(self, params: Params, size: int) -> int:
        if "page" in params:
            return int(params["page"] - self.first_page) * size
        if "scroll" in params:
            self.scrolled += size
            return self.scrolled - size
        for word in ("offset", "after"):
            if word in params:
                return int(params[word] or 0)
        raise AssertionError(params)

    def _next(self, params: Params, behind: int) -> object:
        if "scroll" in params:
            return "the same scroll"
        return behind < len(self.rows) if self.more else None


async def listed(listing: Listing, pager: Pager, start: Cursor | None = None) -> list[int]:
    return [row["id"] async for page, _ in paginate(listing.fetch, pager, start) for row in page.rows]


@pytest.mark.parametrize("kind", MAKERS)
@given(rows=st.integers(0, 60), size=st.integers(1, 25), totals=st.booleans(), more=st.booleans())
async def test_every_row_comes_exactly_once(kind: str, rows: int, size: int, totals: bool, more: bool) -> None:
    listing = Listing(rows, totals=totals, more=more, first_page=0 if kind == "page from 0" else 1)
    assert await listed(listing, MAKERS[kind](size)) == list(range(1, rows + 1))


@pytest.mark.parametrize("kind", MAKERS)
@given(rows=st.integers(0, 60), size=st.integers(1, 25), stop=st.integers(0, 6), totals=st.booleans())
async def test_a_walk_goes_on_from_any_of_its_cursors(kind: str, rows: int, size: int, stop: int, totals: bool) -> None:
    listing = Listing(rows, totals=totals, first_page=0 if kind == "page from 0" else 1)
    seen: list[int] = []
    cursor: Cursor | None = None
    pages = paginate(listing.fetch, MAKERS[kind](size))
    async for page, behind in pages:
        seen += [row["id"] for row in page.rows]
        cursor = behind
        if stop == 0:
            break
        stop -= 1
    await pages.aclose()
    if cursor is not None:
        seen += await listed(listing, MAKERS[kind](size), cursor)
    assert seen == list(range(1, rows + 1))


@pytest.mark.parametrize(
    ("kind", "totals", "more"),
    [
        pytest.param("page", True, False, id="page, by the total"),
        pytest.param("offset", True, False, id="offset, by the total"),
        pytest.param(KEYSET, True, False, id="keyset, by the total"),
        pytest.param("page", False, True, id="page, by what the response says"),
    ],
)
async def test_no_empty_page_is_requested_after_the_last(kind: str, totals: bool, more: bool) -> None:
    listing = Listing(30, totals=totals, more=more)
    await listed(listing, MAKERS[kind](10))
    assert len(listing.calls) == 3


@pytest.mark.parametrize("kind", ["offset", KEYSET])
@given(rows=st.integers(0, 40), clamp=st.integers(1, 9), totals=st.booleans())
async def test_smaller_pages_than_asked_lose_nothing(kind: str, rows: int, clamp: int, totals: bool) -> None:
    assert await listed(Listing(rows, totals=totals, clamp=clamp), MAKERS[kind](10)) == list(range(1, rows + 1))


async def test_the_last_offset_stops_at_the_reach() -> None:
    listing = Listing(25, totals=True)
    assert len(await listed(listing, Offset(10, reach=25))) == 25
    assert listing.calls[-1] == {"offset": 20, "size": 5}


def test_pages_fit_into_the_reach() -> None:
    with pytest.raises(ValueError, match="pages of 60 rows do not fit into a reach of 10000"):
        PageNumber(60, reach=10_000)


async def test_a_key_is_a_member_or_is_made_from_the_row() -> None:
    listing = Listing(7, totals=False)
    assert await listed(listing, Keyset(3, lambda row: row["id"])) == list(range(1, 8))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param([{"id": 3}, {"id": 2}], "ascending order", id="descending keys"),
        pytest.param([{"name": "x"}], "no key", id="no key"),
    ],
)
async def test_rows_that_no_keyset_can_follow_are_refused(rows: list[dict[str, object]], words: str) -> None:
    async def fetch(params: Params) -> Page:
        return Page(rows)

    with pytest.raises(ContractBroken, match=words):
        await anext(paginate(fetch, Keyset(2, "id")))


async def test_rows_that_go_away_before_a_keyset_do_no_harm() -> None:
    listing = Listing(9, totals=True)

    async def fetch(params: Params) -> Page:
        rows = [row for row in listing.rows if row["id"] > (params["after"] or 0)]
        return Page(rows[: params["size"]], len(rows))

    seen: list[int] = []
    async for page, _ in paginate(fetch, Keyset(3, "id")):
        seen += [row["id"] for row in page.rows]
        listing.rows = [row for row in listing.rows if row["id"] not in (1, 5)]
    assert seen == [1, 2, 3, 4, 6, 7, 8, 9]


@pytest.mark.parametrize("row", ["x", 7, None, ["id"]])
def test_a_row_that_is_no_object_breaks_the_contract(row: object) -> None:
    with pytest.raises(ContractBroken, match="not objects"):
        Keyset(2, "id").key_of(row)
