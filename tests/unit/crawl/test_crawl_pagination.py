"""The paging loop stops rather than take a part for the whole."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import pytest

from dam_sync.crawl.pagers import Fetch, Keyset, Offset, Page, PageNumber, Pager, Params, Scroll
from dam_sync.crawl.pagination import paginate
from dam_sync.model.errors import Disposition, Transient, TruncatedListing
from dam_sync.model.service import Cursor


def scripted(pages: Sequence[Page]) -> Fetch:
    left = iter(pages)

    async def fetch(params: Params) -> Page:
        return next(left)

    return fetch


async def drain(fetch: Fetch, pager: Pager, most_pages: int = 1000) -> list[object]:
    return [row async for page, _ in paginate(fetch, pager, most_pages=most_pages) for row in page.rows]


def rows(start: int, stop: int) -> list[int]:
    return list(range(start, stop))


class Linked(Offset):
    """A connector's own pager: each response names the next position."""

    def first(self) -> Cursor:
        return {"link": None}

    def params(self, cursor: Cursor) -> Params:
        return {"link": cursor["link"], "size": self.size}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        return {"link": page.next} if page.next else None


@pytest.mark.parametrize("circle", [1, 2, 3, 7, 20])
async def test_links_that_go_in_circles_are_noticed(circle: int) -> None:
    calls = 0

    async def fetch(params: Params) -> Page:
        nonlocal calls
        calls += 1
        return Page([calls], next=f"link {calls % circle}")

    with pytest.raises(TruncatedListing, match="same position twice"):
        await drain(fetch, Linked(1))
    assert calls <= 4 * circle + 4


async def test_a_server_that_ignores_the_page_is_noticed() -> None:
    async def fetch(params: Params) -> Page:
        return Page(rows(0, 5), 50, "the same scroll" if "scroll" in params else None)

    for pager in (PageNumber(5), Offset(5), Scroll(5)):
        with pytest.raises(TruncatedListing, match="same page twice"):
            await drain(fetch, pager)


async def test_a_page_that_equals_nothing_not_even_itself_is_noticed_when_it_comes_again() -> None:
    """Some services write NaN, which no comparison finds equal."""
    calls = 0

    async def fetch(params: Params) -> Page:
        nonlocal calls
        calls += 1
        return Page([{"height": float("nan")}])

    with pytest.raises(TruncatedListing, match="same page twice"):
        await drain(fetch, PageNumber(1))
    assert calls == 2


async def test_a_keyset_that_does_not_move_is_noticed() -> None:
    async def fetch(params: Params) -> Page:
        return Page([{"id": "a"}, {"id": "b"}], 50)

    with pytest.raises(TruncatedListing, match="twice"):
        await drain(fetch, Keyset(2, "id"))


def numbered(*keys: int) -> list[dict[str, int]]:
    return [{"id": key} for key in keys]


async def test_a_row_that_is_left_out_before_the_last_key_is_missed() -> None:
    """Its page counted it and had room for it, and the next one counts what is behind the last key."""
    with pytest.raises(TruncatedListing, match="announced 1 more rows than it returned"):
        await drain(scripted([Page(numbered(1, 3, 4), 4), Page([], 0)]), Keyset(9, "id"))
    first, cursor = await anext(paginate(scripted([Page(numbered(1, 3, 4), 4)]), Keyset(9, "id")))
    assert len(first.rows) == 3
    with pytest.raises(TruncatedListing, match="announced 1 more rows"):
        [page async for page in paginate(scripted([Page([], 0)]), Keyset(9, "id"), cursor)]


async def test_a_row_that_comes_twice_stands_for_no_other() -> None:
    """Rows shift while they are read: one comes again, another never."""
    for pages in ([Page([*rows(0, 3), 0], 4)], [Page(rows(0, 3), 6, True), Page([2, 3, 4], 6)]):
        with pytest.raises(TruncatedListing, match="announced"):
            await drain(scripted(pages), PageNumber(3 if len(pages) > 1 else 9))


async def test_a_keyset_that_returns_smaller_pages_than_asked_is_no_error() -> None:
    pages = [Page(numbered(1, 2), 5), Page(numbered(3, 4), 3), Page(numbered(5), 1)]
    assert len(await drain(scripted(pages), Keyset(9, "id"))) == 5


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        pytest.param([25, 25, 25], "announced 25 rows and returned 20", id="it ends early"),
        pytest.param([30, 29], "shrank from 30 to 29", id="its total shrinks"),
    ],
)
async def test_a_listing_by_position_that_lacks_rows_is_truncated(totals: list[int], words: str) -> None:
    pages = [rows(0, 10), rows(10, 20), []]
    fetch = scripted([Page(page, total) for page, total in zip(pages, totals, strict=False)])
    with pytest.raises(TruncatedListing, match=words) as caught:
        await drain(fetch, Offset(10))
    assert caught.value.disposition is Disposition.STOP
    assert caught.value.hint


async def test_a_server_that_returns_smaller_pages_than_asked_is_no_silent_loss() -> None:
    async def fetch(params: Params) -> Page:
        first = (params["page"] - 1) * 5
        return Page(rows(first, min(first + 5, 25)), 25)

    with pytest.raises(TruncatedListing, match="announced 25 rows and returned 15"):
        await drain(fetch, PageNumber(10))


async def test_a_growing_total_is_no_error() -> None:
    pages = [Page(rows(0, 10), 15), Page(rows(10, 20), 21), Page(rows(20, 21), 21)]
    assert await drain(scripted(pages), Offset(10)) == rows(0, 21)


async def test_more_rows_than_the_reach_are_refused_at_once() -> None:
    calls = 0

    async def fetch(params: Params) -> Page:
        nonlocal calls
        calls += 1
        return Page(rows(0, 10), 10_001)

    with pytest.raises(TruncatedListing, match="has 10001 rows and the service returns only the first 10000"):
        await drain(fetch, PageNumber(10, reach=10_000))
    assert calls == 1


async def test_without_a_total_the_reach_is_not_passed() -> None:
    async def fetch(params: Params) -> Page:
        return Page(rows(params["offset"], params["offset"] + params["size"]))

    with pytest.raises(TruncatedListing, match="continues beyond the 30 rows"):
        await drain(fetch, Offset(10, reach=30))


async def test_exactly_the_reach_is_read() -> None:
    async def fetch(params: Params) -> Page:
        return Page(rows(params["offset"], params["offset"] + params["size"]), 30)

    assert await drain(fetch, Offset(10, reach=30)) == rows(0, 30)


async def test_pages_are_bounded() -> None:
    async def fetch(params: Params) -> Page:
        return Page([params["page"]])

    with pytest.raises(TruncatedListing, match="did not end within 12 pages"):
        await drain(fetch, PageNumber(1), most_pages=12)


async def test_a_resumed_walk_is_checked_like_an_unbroken_one() -> None:
    pages = paginate(scripted([Page(rows(0, 10), 30)]), Offset(10))
    _, cursor = await anext(pages)
    await pages.aclose()
    assert cursor == {"offset": 10, "seen": 10, "total": 30}
    with pytest.raises(TruncatedListing, match="shrank"):
        await anext(paginate(scripted([Page(rows(10, 20), 12)]), Offset(10), cursor))
    resumed = paginate(scripted([Page(rows(10, 20), 30), Page([], 30)]), Offset(10), cursor)
    await anext(resumed)
    with pytest.raises(TruncatedListing, match="announced 30 rows and returned 20"):
        await anext(resumed)


async def test_an_empty_listing_is_one_page() -> None:
    assert [step async for step in paginate(scripted([Page([], 0)]), Offset(10))] == [(Page([], 0), None)]


async def test_errors_of_the_fetch_pass() -> None:
    async def fetch(params: Params) -> Page:
        raise Transient("broken")

    with pytest.raises(Transient):
        await drain(fetch, Offset(10))


class Row(dict[str, int]):
    """An object that can be watched."""


async def test_pages_of_rows_with_keys_are_not_held_in_memory() -> None:
    """Pages are compared with an earlier one; a page may take megabytes, its keys do not."""
    read: list[weakref.ref[Row]] = []

    async def fetch(params: Params) -> Page:
        row = Row(id=len(read))
        read.append(weakref.ref(row))
        return Page([row], 20 - len(read) + 1)

    async for page, _ in paginate(fetch, Keyset(1, "id")):
        del page
        assert sum(row() is not None for row in read) <= 1
    assert len(read) == 20
