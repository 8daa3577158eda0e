"""Searches of service E: one page, or a scroll that is begun again when its place was lost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from dam_sync.crawl.pagers import Page, Params, Scroll
from dam_sync.crawl.pagination import paginate
from dam_sync.http.client import Request
from dam_sync.model.errors import ContractBroken, DamSyncError, SessionGone, Transient, TruncatedListing
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api.client import ProfilesApi
from dam_sync.services.e_profiles.codec.wire import ProfilesHits, hits_of, id_of

Pairs = Sequence[tuple[str, str]]
PATH = "/v2/assets/search"
_INDEX = "run the same command again; if it stays, the service's index is not in order"


@dataclass(frozen=True, slots=True)
class ProfilesSearch:
    """Searches for assets, always with those in the trash and, unless stated otherwise, the archived ones."""

    api: ProfilesApi

    async def page(
        self, query: str, *, limit: int | None = None, expand: str = "", archived: bool = True, more: Pairs = ()
    ) -> ProfilesHits:
        """One page from the start; `more` are parameters of a link the service gave."""
        most = limit or self.api.limits.page
        asked = _params(query, most, expand, archived, more)
        reply = await self.api.expanding(self.api.reading(facts.SEARCH, PATH, asked))
        return replace(hits_of(reply.json()), most=most)

    async def scroll(
        self, query: str, *, expand: str = "", archived: bool = True, more: Pairs = ()
    ) -> AsyncGenerator[tuple[tuple[Json, ...], bool], None]:
        """All rows, page by page, with whether a page is the last; after a page that was lost or
        cannot be read everything comes again.

        Raises TruncatedListing if the distinct rows are not as many as were promised, SCROLL_TRIES times over.
        """
        opening = (*_params(query, self.api.limits.page, expand, archived, more), ("scroll", "true"))
        for attempt in range(1, facts.SCROLL_TRIES + 1):
            try:
                async with aclosing(self._once(opening, expand)) as pages:
                    async for rows, last in pages:
                        yield rows, last
                return
            except (Transient, SessionGone, TruncatedListing, ContractBroken) as error:
                unread = isinstance(error, ContractBroken) and error.operation != facts.SCROLL
                if attempt == facts.SCROLL_TRIES or unread:
                    raise _retryable(error) from error

    async def _once(self, opening: Pairs, expand: str) -> AsyncGenerator[tuple[tuple[Json, ...], bool], None]:
        seen: set[str] = set()
        total = most = 0  # the latest, and the largest: what left the query meanwhile comes all the same

        async def fetch(params: Params) -> Page:
            """The server keeps the position, so a lost response is a lost page: never sent twice (wire E 2.2)."""
            request = Request(facts.SEARCH, "GET", PATH, params=opening)
            if params["scroll"] is not None:
                asked = (("scroll_id", str(params["scroll"])), *((("expand", expand),) if expand else ()))
                request = Request(facts.SCROLL, "GET", f"{PATH}/scroll", params=asked, repeatable=False)
            reply = await self.api.expanding(request)
            try:
                hits = hits_of(reply.json())
            except ContractBroken as error:
                raise error.within(operation=request.operation) from None
            return Page(hits.rows, hits.total, hits.scroll)

        async with aclosing(paginate(fetch, Scroll(self.api.limits.page))) as pages:
            async for page, cursor in pages:
                fresh = tuple(row for row in page.rows if id_of(row) not in seen)
                seen.update(id_of(row) for row in fresh)
                total = page.total or total
                most = max(most, total)
                if cursor is None and len(seen) < total:
                    raise TruncatedListing(f"a scroll announced {total} assets and returned {len(seen)}")
                complete = cursor is None or len(seen) >= most  # then the empty page at the end is not asked for
                yield fresh, complete
                if complete:
                    return


def refuse_missing(hits: ProfilesHits, hint: str = _INDEX) -> None:
    """Raises TruncatedListing if a page holds fewer assets than were counted for it."""
    distinct, promised = len({id_of(row) for row in hits.rows}), min(hits.total, hits.most)
    if distinct < promised:
        raise TruncatedListing(
            f"a search announced {promised} assets and returned {distinct}",
            operation=facts.SEARCH,
            hint=hint,
        )


def _params(query: str, limit: int, expand: str, archived: bool, more: Pairs) -> tuple[tuple[str, str], ...]:
    own = {
        "limit": str(limit),
        "sort": "created_date",
        "include_deleted": "true",
        "include_archived": "true" if archived else "false",
    }
    if query:
        own["query"] = query
    if expand:
        own["expand"] = expand
    return (*((key, value) for key, value in more if key not in own and key != "offset"), *own.items())


def _retryable(error: DamSyncError) -> DamSyncError:
    """A scroll that cannot be kept alive is trouble of the moment; a short one is not."""
    if isinstance(error, SessionGone):
        return Transient("the listing's cursor ended before it was read", operation=facts.SCROLL)
    return error
