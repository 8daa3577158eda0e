"""Handlers of scans and searches."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.emulators.d_templates.calls import Call, Reply
from dam_sync.emulators.d_templates.render import Renderer
from dam_sync.emulators.d_templates.search import PAGE_MOST, Search, bad_query
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.environment import Json

SLIM_MOST = 50


class SearchCalls:
    """`POST /asset/scan`, `/search/keyword`, `/search`."""

    def __init__(self, tenant: Tenant, renderer: Renderer, search: Search) -> None:
        self._tenant, self._renderer, self._search = tenant, renderer, search

    def scan(self, call: Call) -> Reply:
        """`POST /asset/scan`: by cursor, without end (wire D 2.1)."""
        sent = call.json()
        excludes = _names(sent.get("excludes"))
        records, total, facets, cursor = self._search.scan(sent, call.user)
        shown: dict[str, Json] = {"hitCount": len(records)}
        if "no_total" not in self._tenant.options.plays:
            shown["totalCount"] = total
        shown["result"] = [self._renderer.record(each, call.user, excludes) for each in records]
        shown["facets"] = facets
        return Reply(200, shown | ({"cursor": cursor} if cursor else {}))

    def keyword(self, call: Call) -> Reply:
        """`POST /search/keyword`: the first 10,000 (wire D 2.2)."""
        sent = call.json()
        excludes = _names(sent.get("excludes"))
        records, total, facets = self._search.window(sent, call.user, PAGE_MOST)
        result = [self._renderer.record(each, call.user, excludes) for each in records]
        return Reply(200, {"hitCount": len(records), "totalCount": total, "result": result, "facets": facets})

    def slim(self, call: Call) -> Reply:
        """`POST /search`: few fields, the first 10,000 (wire D 2.3)."""
        sent = call.json()
        most = SLIM_MOST if "slim_50" in self._tenant.options.plays else PAGE_MOST
        sort = (sent.get("sortBy") or [{}])[0]
        if sent.get("relevancy") and sort != {"metadataDefinitionSearchField": "relevance", "order": "desc"}:
            raise bad_query()
        records, total, facets = self._search.window(sent, call.user, most)
        includes = _names(sent.get("includes"))
        result = [self._renderer.slim(each, call.user, includes) for each in records]
        return Reply(200, {"hitCount": len(records), "totalCount": total, "result": result, "facets": facets})


def _names(sent: Json) -> Sequence[str]:
    if sent is None:
        return ()
    if not isinstance(sent, list) or not all(isinstance(each, str) for each in sent):
        raise bad_query()
    return sent
