"""How listings are paged: frozen values that do no I/O; their cursors are JSON.

`params` speaks neutral names (`page`, `size`, `offset`, `after`, `scroll`); a service's fetch turns
them into its own. `Page.next` is what the response said about the next page; each pager below says what it expects
there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

from dam_sync.model.errors import ContractBroken
from dam_sync.model.service import Cursor
from dam_sync.model.values import Json

Params: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Page:
    """What a fetch parsed: rows, the total that the response states (None: none), and what it says about the next
    page."""

    rows: Sequence[Json]
    total: int | None = None
    next: Json = None


Fetch: TypeAlias = Callable[[Params], Awaitable[Page]]


class Pager(Protocol):
    """Where a crawl starts, what to request, where to continue."""

    @property
    def reach(self) -> int | None:
        """Rows that one listing can return at most; None: all."""
        ...

    @property
    def remaining(self) -> bool:
        """Whether a page's total counts the rows from that page on, and not those of the whole listing."""
        ...

    @property
    def shifting(self) -> bool:
        """Whether a row deleted meanwhile moves later rows to positions already read."""
        ...

    def first(self) -> Cursor:
        """Where a new crawl starts."""
        ...

    def params(self, cursor: Cursor) -> Params:
        """The parameters of the request."""
        ...

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        """Where to continue; None at the end."""
        ...

    def identity(self, row: Json) -> Json:
        """What equals that of a row only if both are the same row."""
        ...


class WholeRows:
    """Pagers that know no key."""

    __slots__ = ()

    def identity(self, row: Json) -> Json:
        return row


class RowsById:
    """Pagers of rows whose `id` is unique."""

    __slots__ = ()

    def identity(self, row: Json) -> Json:
        """Its id; the row itself if it has none."""
        return row["id"] if isinstance(row, dict) and "id" in row else row


@dataclass(frozen=True, slots=True)
class PageNumber(WholeRows):
    """`page` (from `start`) and `size`. `Page.next` False: this was the last one; True: there is more; None: unsaid.

    Without a total or `Page.next` it reads until a page is empty, because a short page proves nothing.
    Raises ValueError unless `reach` is a multiple of `size`.
    """

    size: int
    reach: int | None = None
    start: int = 1
    remaining: bool = False
    shifting: bool = True

    def __post_init__(self) -> None:
        if self.reach is not None and self.reach % self.size:
            raise ValueError(f"pages of {self.size} rows do not fit into a reach of {self.reach}")

    def first(self) -> Cursor:
        return {"page": self.start}

    def params(self, cursor: Cursor) -> Params:
        """`page`, `size`."""
        return {"page": cursor["page"], "size": self.size}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        number = int(cursor["page"])
        shown = (number - self.start + 1) * self.size
        return {"page": number + 1} if _goes_on(page, shown) else None


@dataclass(frozen=True, slots=True)
class Offset(WholeRows):
    """`offset` (from 0) and `size`; continues after the rows actually received. `Page.next` as for `PageNumber`."""

    size: int
    reach: int | None = None
    remaining: bool = False
    shifting: bool = True

    def first(self) -> Cursor:
        return {"offset": 0}

    def params(self, cursor: Cursor) -> Params:
        """`offset`, `size`; the last page stops at the reach."""
        offset = int(cursor["offset"])
        room = self.size if self.reach is None else self.reach - offset
        return {"offset": offset, "size": min(self.size, room)}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        behind = int(cursor["offset"]) + len(page.rows)
        return {"offset": behind} if _goes_on(page, behind) else None


@dataclass(frozen=True, slots=True)
class Keyset:
    """`after` (the greatest key seen, None at the start) and `size`, rows ascending by an unchanging unique key.

    `key` names a member of a row, or is a function from row to key. A total counts the rows after `after`. Immune to
    rows that appear and disappear. Raises ContractBroken if numeric keys do not ascend.
    """

    size: int
    key: str | Callable[[Json], Json]
    reach: int | None = None
    remaining: bool = True
    shifting: bool = False

    def first(self) -> Cursor:
        return {"after": None}

    def params(self, cursor: Cursor) -> Params:
        """`after`, `size`."""
        return {"after": cursor["after"], "size": self.size}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        keys = [self.key_of(row) for row in page.rows]
        self._check(([] if cursor["after"] is None else [cursor["after"]]) + keys)
        return {"after": keys[-1]} if _goes_on(page, len(keys)) else None

    def key_of(self, row: Json) -> Json:
        """The key of one row. Raises ContractBroken if it has none."""
        if not isinstance(row, dict):
            raise ContractBroken("a listing has rows that are not objects")
        key = row.get(self.key) if isinstance(self.key, str) else self.key(row)
        if key is None:
            raise ContractBroken("a listed row has no key to continue from")
        return key

    def identity(self, row: Json) -> Json:
        """Its key, which is unique."""
        return self.key_of(row)

    def _check(self, keys: Sequence[Json]) -> None:
        numbers = all(isinstance(key, int | float) for key in keys)
        if numbers and any(later <= earlier for earlier, later in pairwise(keys)):
            raise ContractBroken("the rows are not in ascending order of their key, as requested")


@dataclass(frozen=True, slots=True)
class Scroll(WholeRows):
    """A cursor kept at the server: `scroll` (None opens it) and `size`; ends with an empty page.

    `Page.next` is the scroll id of the response; without one the last one is used again. Cursors count pages, because a
    scroll id may stay the same; an expired one is refused by the server, and the crawl starts over.
    """

    size: int
    reach: int | None = None
    remaining: bool = False
    shifting: bool = False

    def first(self) -> Cursor:
        return {"scroll": None, "page": 1}

    def params(self, cursor: Cursor) -> Params:
        """`scroll`, `size`."""
        return {"scroll": cursor["scroll"], "size": self.size}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        scroll = page.next or cursor["scroll"]
        return {"scroll": scroll, "page": int(cursor["page"]) + 1} if page.rows and scroll else None


def _goes_on(page: Page, shown: int) -> bool:
    """Whether more rows are expected after `shown` rows of the total."""
    if not page.rows or page.next is False:
        return False
    if page.total is None:
        return True
    return page.next is True or shown < page.total
