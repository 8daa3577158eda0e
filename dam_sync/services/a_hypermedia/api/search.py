"""The searches of service A: one page, a count, and queries for windows and folders (wire A 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dam_sync.model.asset import Placement
from dam_sync.model.errors import ContractBroken
from dam_sync.model.service import Window
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest, HypermediaApi, resource_of
from dam_sync.services.a_hypermedia.api.hal import timestamp_text, total_of

Query = Sequence[tuple[str, str]]

ALL_IDS = ("f", f"id:[1 TO {facts.FAR_ID}]")
_FAR_PAST, _FAR_FUTURE = "1900-01-01T00:00:00.000Z", "2999-12-31T23:59:59.999Z"


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of a search; `body` is empty if the service refused with an expected status."""

    body: Json
    headers: Mapping[str, str]


class MediaSearch:
    """Searches without facets, which are not used."""

    def __init__(self, api: HypermediaApi) -> None:
        self._api = api

    async def search(
        self, query: Query, endpoint: str = "media-search", language: str = "", accept: frozenset[int] = frozenset()
    ) -> SearchPage:
        """One page. Raises errors according to the rules, except for the statuses in `accept`."""
        entry = await self._api.entry.get()
        facets = [("facet-fields", "[]")] if entry.has(facts.FACET_FIELDS) else []
        params = [*query, *facets, *await self._api.arrays()]
        reply = await self._api.call(HalRequest("GET", endpoint, params=params, language=language, accept=accept))
        body = resource_of(reply) if reply.status == 200 else {}
        if reply.status == 200 and total_of(body) is None:
            raise ContractBroken("a search response has no `totalCount`", operation=reply.operation)
        return SearchPage(body, reply.headers)

    async def count(self, query: Query) -> int:
        """Hits of a query. The bare search counts every media that the user can read, without the trash (wire A
        2.1)."""
        found = await self.search([*query, ("fields", "id"), ("page", "1"), ("size", "1")])
        return total_of(found.body) or 0


@dataclass(frozen=True, slots=True)
class WindowCounter:
    """Counts windows of one date, in one folder's subtree if one is given; `by` empty: not by date."""

    media_search: MediaSearch
    by: str

    async def __call__(self, window: Window, folder: Placement | None = None) -> int:
        """One call."""
        return await self.media_search.count(scope(self.by, window, folder))


def ids_above(number: int) -> tuple[str, str]:
    """Media with a greater id."""
    return ("f", f"id:[{number + 1} TO {facts.FAR_ID}]")


def scope(by: str, window: Window, folder: Placement | None = None) -> list[tuple[str, str]]:
    """The part of a query that selects media: [since, until) of a date, the subtree of a folder."""
    query = [between(by, window)] if by else []
    return [*query, ("fq", f"folderId:{folder.id}")] if folder else query


def between(by: str, window: Window) -> tuple[str, str]:
    """Ranges are inclusive at both ends, so the upper one is a tick earlier; open ends are far bounds (wire A 2.2)."""
    low = timestamp_text(window.since) if window.since else _FAR_PAST
    high = timestamp_text(window.until - facts.TICK) if window.until else _FAR_FUTURE
    return ("f", f"{by}:[{low} TO {high}]")
