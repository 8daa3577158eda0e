"""The only paging loop; it knows no service, and raises an error rather than accept an incomplete listing."""

from __future__ import annotations

import marshal
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from dam_sync.crawl.pagers import Fetch, Page, Pager
from dam_sync.model.errors import ContractBroken, TruncatedListing
from dam_sync.model.service import Cursor
from dam_sync.model.values import Json

MOST_PAGES = 1_000_000
_SEEN, _TOTAL, _OWED = "seen", "total", "owed"
_MARSHAL = 2  # the last format in which equal rows are equal bytes; a tenth of the time of `repr`


async def paginate(
    fetch: Fetch, pager: Pager, start: Cursor | None = None, *, most_pages: int = MOST_PAGES
) -> AsyncGenerator[tuple[Page, Cursor | None], None]:
    """Each page with the cursor after it, None after the last; reading can resume from any of them.

    Cursors carry how many rows were seen, so that a resumed listing is checked like an uninterrupted one. Raises
    TruncatedListing if the listing goes in circles, has more than `pager.reach`, shrinks under a pager that would then
    miss rows, ends with fewer rows than its total, or has more than `most_pages` pages; or if a page had room for rows
    that it counted but did not return, and they do not follow either. A total that grows is not an error.
    """
    count = _Count.resumed(pager, start)
    cursor = pager.first() if start is None else _bare(start)
    places, pages = (
        _Circles("the listing returned the same position twice"),
        _Circles("the listing returned the same page twice"),
    )
    for _ in range(most_pages):
        places.refuse(dict(cursor))
        params = pager.params(cursor)
        page = await fetch(params)
        rows = [_mark_of(pager.identity(row)) for row in page.rows]  # not the rows: a page may take megabytes
        if rows:
            pages.refuse(rows)
        count.take(page, frozenset(rows), params.get("size"))
        behind = pager.after(cursor, page)
        if behind is None:
            count.finish()
            yield page, None
            return
        count.refuse_beyond_reach()
        cursor = behind
        yield page, {**cursor, **count.memory()}
    raise TruncatedListing(f"the listing did not end within {most_pages} pages")


def _mark_of(identity: Json) -> bytes:
    """Equal only for equal identities; also for one with a NaN, which compares as another one."""
    return marshal.dumps(identity, _MARSHAL)


def _bare(cursor: Cursor) -> Cursor:
    return {key: part for key, part in cursor.items() if key not in (_SEEN, _TOTAL, _OWED)}


@dataclass(slots=True)
class _Count:
    """Rows received, repeated ones counted once, compared with rows announced."""

    pager: Pager
    seen: int = 0
    total: int | None = None  # of the whole listing
    owed: int = 0  # rows counted by a page with room for them, but not returned with it
    last: frozenset[bytes] = (
        frozenset()
    )  # rows of the previous page, which may reappear on the next one when rows shift

    @classmethod
    def resumed(cls, pager: Pager, start: Cursor | None) -> _Count:
        return cls(pager, start.get(_SEEN, 0), start.get(_TOTAL), start.get(_OWED, 0)) if start else cls(pager)

    def take(self, page: Page, rows: frozenset[bytes], size: int | None) -> None:
        before, self.seen, self.last = self.seen, self.seen + len(rows - self.last), rows
        if page.total is None:
            return
        if not isinstance(page.total, int) or isinstance(page.total, bool):
            raise ContractBroken(f"the total of the listing is {page.total!r:.40}, not a number")
        self._refuse_held_back(page, page.total, size)
        total = page.total + before if self.pager.remaining else page.total
        if self.pager.shifting and self.total is not None and total < self.total:
            raise TruncatedListing(
                f"the listing shrank from {self.total} to {total} rows while it was read, so rows may be missing",
                hint="run the same command again while nobody deletes assets or changes access to them",
            )
        self.total = total
        self._refuse_more_than_reach(page.total)

    def _refuse_held_back(self, page: Page, total: int, size: int | None) -> None:
        """A listing that continues after the last key never returns to a row left out before it."""
        if not self.pager.remaining or size is None:
            return
        if total < self.owed:
            raise TruncatedListing(
                f"a page of the listing announced {self.owed - total} more rows than it returned, and they never "
                f"arrived",
                hint="run the same command again; if the error persists, the index of the service may be damaged",
            )
        self.owed = total - len(page.rows) if len(page.rows) < min(size, total) else 0

    def _refuse_more_than_reach(self, total: int) -> None:
        reach = self.pager.reach
        if reach is not None and not self.pager.remaining and total > reach:
            raise TruncatedListing(
                f"the listing has {total} rows and the service returns only the first {reach}",
                hint="run the same command again, so that the listing is partitioned again",
            )

    def refuse_beyond_reach(self) -> None:
        reach = self.pager.reach
        if reach is not None and not self.pager.remaining and self.seen >= reach:
            raise TruncatedListing(f"the listing continues beyond the {reach} rows that the service returns")

    def finish(self) -> None:
        if self.total is not None and self.seen < self.total:
            raise TruncatedListing(
                f"the listing announced {self.total} rows and returned {self.seen}",
                hint="run the same command again; if the error persists, the credential may lack access to some assets",
            )

    def memory(self) -> dict[str, Json]:
        known = {} if self.total is None else {_TOTAL: self.total}
        return {_SEEN: self.seen, **known, **({_OWED: self.owed} if self.owed else {})}


class _Circles:
    """Detects a cycle in constant memory (Brent's algorithm): it compares with one stored
    item, and replaces that each time the number of steps has doubled."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._kept: object = None
        self._steps, self._patience = 0, 1

    def refuse(self, thing: object) -> None:
        if thing == self._kept:
            hint = "run the same command again; if the error persists, the service may be unable to list this part"
            raise TruncatedListing(self._message, hint=hint)
        self._steps += 1
        if self._steps >= self._patience:
            self._kept, self._steps, self._patience = thing, 0, self._patience * 2
