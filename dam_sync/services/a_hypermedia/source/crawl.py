"""The whole library, or what changed: keyset by id if proven, otherwise by date, otherwise by folder (wire A 2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime

from dam_sync.crawl.pagers import Keyset, Page, PageNumber, Pager, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.crawl.partition import ByContainer, ByDate, Whole, container_of, window_of
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Asset, Entry, Placement
from dam_sync.model.connector import Context
from dam_sync.model.errors import OversizedResponse
from dam_sync.model.limits import Limits
from dam_sync.model.service import Batch, Cursor, Shard, Window
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.hal import embedded, link, total_of, wanted_id, whole
from dam_sync.services.a_hypermedia.api.search import (
    ALL_IDS,
    MediaSearch,
    Query,
    SearchPage,
    WindowCounter,
    between,
    ids_above,
    scope,
)
from dam_sync.services.a_hypermedia.codec.wire import entry_of
from dam_sync.services.a_hypermedia.source.bulk_read import BulkReader
from dam_sync.services.a_hypermedia.source.fetch import MediaReader
from dam_sync.services.a_hypermedia.tenant import served_language

_THIN = ("fields", "id,updateDate,fileSize,trashDate")
_EPOCH = datetime(facts.EPOCH_YEAR, 1, 1, tzinfo=UTC)


class MediaCrawler(MediaReader):
    """Shards say how they are to be read: `scan` is keyset or pages, `by` the date they were split by, `endpoint` the
    search, `bulk` whether rows carry whole media."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._bulk_reader = BulkReader(self._api, self._tenant, self, self._media_search)

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        """The whole library; or what changed in a window, and what was moved to the trash in it."""
        bulk = {"rich": not window.ids_only and await self._bulk_reader.proven.get()}
        whole_library = window.since is None and window.until is None
        async with aclosing(self._library() if whole_library else self._changes(window)) as pieces:
            async for shard in pieces:
                yield replace(shard, params={**shard.params, **bulk})

    async def _library(self) -> AsyncGenerator[Shard, None]:
        total, ids_work = await self._counted()
        if ids_work:
            yield Shard("all by id", {"scan": "keyset"}, total)
            return
        if total <= self.limits.hits:
            yield Shard("all", {"scan": "pages"}, total)
            return
        dated = await self._media_search.count([between("importDate", Window())])
        pieces = self._by_date("importDate", Window()) if dated == total else self._by_folder()
        async with aclosing(pieces):  # media without importDate would be lost by date (wire A 2.4)
            async for shard in pieces:
                yield shard

    async def _changes(self, window: Window) -> AsyncGenerator[Shard, None]:
        """By updateDate, earlier by the overlap. What was moved to the trash leaves the search (wire A 2.6)."""
        since = window.since - facts.OVERLAP if window.since else None
        asked = Window(since, window.until or self._api.clock.now() + facts.AHEAD)
        whole_window = await anext(aiter(Whole().shards(asked, WindowCounter(self._media_search, "updateDate"))))
        by = {**whole_window.params, "by": "updateDate"}
        if (await self._counted())[1]:
            yield Shard(f"changed {whole_window.id}", {**by, "scan": "keyset"})
        else:
            async with aclosing(self._by_date("updateDate", asked)) as pieces:
                async for shard in pieces:
                    yield replace(shard, id=f"changed {shard.id}")
        yield Shard(f"trash {whole_window.id}", {**by, "scan": "pages", "road": "trash-search"})

    async def _counted(self) -> tuple[int, bool]:
        """The number of media, and whether they can be listed by id: costs one more call than the count. Sorted by id,
        the range of ids above the first one must have all but that one, in ascending order (wire A 2.4)."""
        if not self._options.keyset:
            return await self._media_search.count([]), False
        first = await self._sorted_by_id([], 1)
        total, ids = total_of(first), _numbers(first)
        if total is None or len(ids) != min(total, 1):
            return await self._media_search.count([]), False
        above = await self._sorted_by_id([ids_above(ids[0])] if ids else [ALL_IDS], self.limits.page)
        found = [*ids, *_numbers(above)]
        whole_rows = len(found) == len(ids) + len(embedded(above, "media"))
        return total, whole_rows and total_of(above) == total - len(ids) and sorted(set(found)) == found

    async def _sorted_by_id(self, scope: Query, size: int) -> Json:
        """A page of ids; empty if the service refuses such a search."""
        query = [*scope, ("sort", "id"), ("fields", "id"), ("page", "1"), ("size", str(size))]
        return (await self._media_search.search(query, accept=frozenset({400, 404}))).body

    async def _by_date(self, by: str, window: Window) -> AsyncGenerator[Shard, None]:
        counter = WindowCounter(self._media_search, by)
        until = self._api.clock.now() + facts.AHEAD
        then = ByContainer(self._top_folders, counter, self.limits.reach)
        cut = ByDate(_EPOCH, until, self.limits.precision, self.limits.hits, then)
        async for shard in cut.shards(window, counter):
            yield replace(shard, params={**shard.params, "scan": "pages", "by": by})

    async def _by_folder(self) -> AsyncGenerator[Shard, None]:
        counter = WindowCounter(self._media_search, "")
        async for shard in ByContainer(self._top_folders, counter, self.limits.reach).shards(Window(), counter):
            yield replace(shard, params={**shard.params, "scan": "pages"})

    async def _top_folders(self) -> AsyncIterator[Placement]:
        """A folder filter covers the whole subtree (wire A 2.2), so the top of the tree is enough."""
        for child in embedded(await self._tenant.folder(""), "child"):
            yield Placement("folder", (member_text(child, "title"),), wanted_id(child))

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """Rows as entries, complete ones if the search returns complete media."""
        scan = _Scan(self._media_search, self._bulk_reader, shard, self.limits)
        async with aclosing(paginate(scan.fetch, scan.pager(), cursor)) as pages:
            async for page, behind in pages:
                yield Batch(tuple(scan.entry(row) for row in page.rows), behind)


class _Scan:
    """One shard being read; `whole` are the assets of the current page."""

    def __init__(self, media_search: MediaSearch, bulk: BulkReader, shard: Shard, limits: Limits) -> None:
        self._limits = limits
        self._media_search = media_search
        self._bulk_reader = bulk
        self._keyset = shard.params["scan"] == "keyset"
        self._endpoint = str(shard.params.get("road") or "media-search")
        self._whole_rows = bool(shard.params.get("rich")) and not self.trash
        self._by = str(shard.params.get("by") or "")
        self._window = window_of(shard)
        self._scope = scope(self._by, self._window, container_of(shard))
        self._whole: dict[str, Asset] = {}

    @property
    def trash(self) -> bool:
        """Whether the rows are deleted ones."""
        return self._endpoint == "trash-search"

    def pager(self) -> Pager:
        """Ids are immutable and grow, so a keyset misses nothing; pages stay within the reach."""
        if self._keyset:
            return Keyset(self._limits.page, lambda row: whole(row.get("id")))
        return PageNumber(self._limits.page, self._limits.reach, shifting=not self.trash)

    async def fetch(self, params: Params) -> Page:
        """One page."""
        try:
            found = await self._found(params, whole_rows=self._whole_rows)
        except OversizedResponse:
            if not self._whole_rows:
                raise
            found = await self._found(params, whole_rows=False)
        rows = embedded(found.body, "media")
        total = total_of(found.body)
        if self.trash and total is not None:
            total = min(total, self._limits.hits)  # the rest of a huge trash is found missing by the next whole scan
        short = len(rows) < int(params["size"])  # the largest page is not documented (wire A 2.2)
        return Page(rows, total, True if short and link(found.body, "next") else None)

    async def _found(self, params: Params, *, whole_rows: bool) -> SearchPage:
        """The page; with whole rows, also their assets."""
        query = self._query(params, self._bulk_reader.fields if whole_rows else _THIN)
        accept = frozenset({403, 404}) if self.trash else frozenset[int]()
        language = await self._bulk_reader.language() if whole_rows else ""
        found = await self._media_search.search(query, self._endpoint, language, accept=accept)
        rows = embedded(found.body, "media") if whole_rows else []
        served = served_language(found.headers)
        self._whole = await self._bulk_reader.assets(query, self._endpoint, served, rows) if rows else {}
        return found

    def _query(self, params: Params, fields: tuple[str, str]) -> Query:
        query = [*self._scope, fields, ("size", str(params["size"]))]
        if self._keyset:
            after = params["after"]
            ids = ALL_IDS if after is None else ids_above(int(after))
            return [*query, ids, ("sort", "id"), ("page", "1")]
        return [*query, ("sort", self._sort()), ("page", str(params["page"]))]

    def _sort(self) -> str:
        """Newest first for changes: a media changed meanwhile moves to the front, so nothing is skipped."""
        return "updateDate desc" if self._by == "updateDate" else "importDate"

    @interprets_response
    def entry(self, row: Json) -> Entry:
        """A row as an entry."""
        return entry_of(row, self._whole.get(wanted_id(row)), deleted=self.trash)


def _numbers(page: Json) -> list[int]:
    """The ids of a page that are numbers."""
    return [number for row in embedded(page, "media") if (number := whole(row.get("id"))) is not None]
