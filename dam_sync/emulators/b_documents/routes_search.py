"""Searches, by query text and by provider (wire B 2.1, 2.2)."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulators.b_documents.calls import Call, Reply
from dam_sync.emulators.b_documents.records import Refusal
from dam_sync.emulators.b_documents.search import Paging, sorted_by

PROVIDERS: Mapping[str, str] = {
    "default_search": "SELECT * FROM Document WHERE ecm:mixinType <> 'HiddenInNavigation' AND ecm:isVersion = 0 "
    "AND ecm:isTrashed = 0",
    "assets_search": "SELECT * FROM Document WHERE ecm:primaryType IN ('Picture', 'Audio', 'Video') "
    "AND ecm:isVersion = 0 AND ecm:isTrashed = 0",
    "REST_API_SEARCH_ADAPTER": "SELECT * FROM Document",
}


def by_query(call: Call) -> Reply:
    """`GET /search/lang/{lang}/execute`, `GET /search/execute`."""
    if call.params.get("lang", "NXQL") != "NXQL":
        raise Refusal(400, "invalid query language")
    return _found(call, call.query.get("query") or "SELECT * FROM Document")


def by_provider(call: Call) -> Reply:
    """`GET /search/pp/{provider}/execute`."""
    text = PROVIDERS.get(call.params["provider"])
    if text is None:
        raise Refusal(400, f"Page provider {call.params['provider']} not found")
    return _found(call, text)


def _found(call: Call, text: str) -> Reply:
    search = call.server.search
    query = sorted_by(search.parsed(text, call.pairs), call.query)
    write = call.server.writer
    paging = Paging.of(call.query)
    return Reply(200, search.page(query, call.user, paging, lambda doc: write.document(doc, call.view)))
