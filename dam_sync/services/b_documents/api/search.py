"""Queries of service B: text, one page, and a whole listing by ascending ids (wire B 2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.held_list import HeldList
from dam_sync.crawl.pagers import Keyset, Page, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import ContractBroken, NotFound, OversizedResponse, Rejected
from dam_sync.model.service import Cursor
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import FORBIDDEN, MEMBER, DocumentsApi
from dam_sync.services.b_documents.codec.wire import document_of, has_no_properties

LIVE = "ecm:isVersion = 0 AND ecm:isProxy = 0"


@dataclass(frozen=True, slots=True)
class DocumentsHits:
    """One response. total: how many documents match, None if unknown; most: rows that a page may have."""

    rows: tuple[Json, ...]
    total: int | None
    most: int


@dataclass(slots=True)
class DocumentsSearch:
    """Queries the repository, which is never behind; if that is forbidden, the search (wire B 2.1)."""

    api: DocumentsApi
    forbidden: bool = False
    most: int | None = None  # rows that a page of this server may have, once a response said so

    async def page(self, query: str, size: int, headers: Mapping[str, str] | None = None) -> DocumentsHits:
        """The first `size` rows; fewer if the server allows no such page."""
        size = min(size, self.most or size)
        hits = await self._hits(query, size, headers or {})
        self.most = hits.most or self.most
        if "properties" in (headers or {}) and any(map(has_no_properties, hits.rows)):  # else no task for each row
            hits = replace(
                hits, rows=tuple(await gather_or_raise([self.api.with_properties(row) for row in hits.rows]))
            )
        return replace(hits, total=None) if 0 < hits.most < size else hits

    async def _hits(self, query: str, size: int, headers: Mapping[str, str]) -> DocumentsHits:
        if not self.forbidden:
            try:
                return await self._by_repository(query, size, headers)
            except Rejected as refused:
                if not (isinstance(refused, NotFound) or refused.code == FORBIDDEN):
                    raise
                self.forbidden = True
        params = (("query", query), ("pageSize", str(size)))
        return hits_of(
            await self.api.get(facts.SEARCH, f"{facts.API}/search/lang/NXQL/execute", params, headers=headers)
        )

    async def count(self, query: str) -> int | None:
        """The number of documents of a query, if the server counts them."""
        return (await self.page(query, 1)).total

    async def listing(
        self,
        query: Callable[[str], str],
        headers: Mapping[str, str] | None = None,
        start: Cursor | None = None,
    ) -> AsyncGenerator[tuple[tuple[Json, ...], Cursor | None], None]:
        """Every row, page by page, with the cursor behind each. `query` gets the condition on ids. A page that is too
        large to be read has the rows of `MEMBER`: see `is_lean`.

        The counts or an empty page mark the end: neither the flag for a next page nor a short page proves
        anything (wire B 2.2). Raises TruncatedListing.
        """
        most = min(self.api.limits.page, self.most or self.api.limits.page)  # wire B 2.2: never more
        size = min(facts.PAGE, most) if (headers or {}).get("properties") == "*" else most

        async def fetch(params: Params) -> Page:
            after = params["after"]
            asked = query("" if after is None else f"ecm:uuid > {quoted(str(after))}")
            ordered = f"{asked} ORDER BY ecm:uuid ASC"
            try:
                hits = await self.page(ordered, size, headers)
            except OversizedResponse:
                hits = await self.page(ordered, size, MEMBER)
            return Page(hits.rows, hits.total)

        async with aclosing(paginate(fetch, Keyset(size, "uid"), start)) as pages:
            async for page, cursor in pages:
                yield tuple(page.rows), cursor

    async def everything(self, query: Callable[[str], str], headers: Mapping[str, str] | None = None) -> list[Json]:
        """All rows of a small listing, such as folders."""
        found: list[Json] = []
        held = HeldList()
        async with aclosing(self.listing(query, headers)) as pages:
            async for rows, _ in pages:
                held.take(rows)
                found.extend(rows)
        return found

    async def _by_repository(self, query: str, size: int, headers: Mapping[str, str]) -> DocumentsHits:
        params = {"query": query, "pageSize": size, "currentPageIndex": 0}
        reply = await self.api.operate("Repository.Query", "", params, headers=headers, reads=True, repeatable=True)
        return hits_of(reply.json())


@interprets_response
def hits_of(reply: Json) -> DocumentsHits:
    """A search response. Raises ContractBroken for anything else. An index counts documents that it does not return, so
    its total is not reliable."""
    rows = reply.get("entries") if isinstance(reply, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ContractBroken("a search response has no `entries`")
    if reply.get("hasError"):
        raise ContractBroken(f"a search failed: {str(reply.get('errorMessage'))[:120]}")
    total = reply.get("resultsCount")
    counted = isinstance(total, int) and total >= 0 and not reply.get("resultsCountLimit")
    return DocumentsHits(tuple(map(document_of, rows)), total if counted else None, int(reply.get("maxPageSize") or 0))


def quoted(text: str) -> str:
    """A text in a query (wire B 2.4)."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def one_of(key: str, values: Iterable[str]) -> str:
    """`key IN (…)`."""
    return f"{key} IN ({', '.join(quoted(value) for value in sorted(values))})"


def select(*conditions: str, source: str = "Document") -> str:
    """Documents for which all of these hold; empty ones are left out."""
    where = " AND ".join(condition for condition in conditions if condition)
    return f"SELECT * FROM {source}" + (f" WHERE {where}" if where else "")
