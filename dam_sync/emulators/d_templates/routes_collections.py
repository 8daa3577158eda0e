"""Handlers of collections and of bulk edits, which make one."""

from __future__ import annotations

from fnmatch import fnmatchcase

from dam_sync.emulators.d_templates.bulk import BulkEdits
from dam_sync.emulators.d_templates.calls import Call, Reply
from dam_sync.emulators.d_templates.collections import Collections
from dam_sync.emulators.d_templates.search import PAGE, PAGE_MOST, bad_query, number
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.environment import Json


class CollectionCalls:
    """`/collection`, `/collections`, `/search/collection`, `PATCH /asset`."""

    def __init__(self, tenant: Tenant, collections: Collections, bulk: BulkEdits) -> None:
        self._tenant, self._collections, self._bulk = tenant, collections, bulk

    def search(self, call: Call) -> Reply:
        """`POST /search/collection`: by name; an array of one object, or the object (wire D 2.6)."""
        sent = call.json()
        limit, start = number(sent, "limit", PAGE, 1, PAGE_MOST), number(sent, "from", 0, 0, 1 << 30)
        if start + limit > self._tenant.options.window:
            raise bad_query()
        terms = [str(term).casefold() for term in sent.get("searchTerm") or ["*"]]
        known = self._collections.all
        seen = [
            shown
            for key, shown in self._collections.indexed.items()
            if key not in known or self._collections.visible(known[key], call.user)
        ]
        rows = [shown for shown in seen if all(_named(str(shown["name"]).casefold(), term) for term in terms)]
        page = rows[start : start + limit]
        found: Json = {"hitCount": len(page), "totalCount": len(rows), "result": page, "facets": []}
        return Reply(200, [found] if "shapes" in self._tenant.options.plays else found)

    def create(self, call: Call) -> Reply:
        """`POST /collection`."""
        return Reply(200, self._collections.create(call.json(), call.user))

    def read(self, call: Call) -> Reply:
        """`GET /collection/{id}`."""
        return Reply(200, self._collections.whole(self._collections.find(call.id, call.user)))

    def update(self, call: Call) -> Reply:
        """`PATCH /collection/{id}`."""
        self._collections.update(self._collections.find(call.id, call.user), call.json(), call.user)
        reply = {"message": "Collection update was successful"}
        return Reply(200, [reply] if "shapes" in self._tenant.options.plays else reply)

    def update_newly(self, call: Call) -> Reply:
        """`PATCH /collections/{id}`."""
        self._collections.update_newly(self._collections.find(call.id, call.user), call.json(), call.user)
        return Reply(200, {"status": "success", "message": "Collection update was successful"})

    def drop(self, call: Call) -> Reply:
        """`DELETE /collection/{id}`."""
        self._collections.drop(self._collections.find(call.id, call.user), call.user)
        reply = {"status": "success", "message": "Collection delete operation succeeded"}
        return Reply(200, [reply] if "shapes" in self._tenant.options.plays else reply)

    def bulk(self, call: Call) -> Reply:
        """`PATCH /asset`: a job that ends some time (wire D 6.5)."""
        return Reply(200, self._bulk.start(call.json(), call.user))


def _named(name: str, term: str) -> bool:
    """By wildcard, or by every word of the term."""
    if "*" in term or "?" in term:
        return fnmatchcase(name, term.replace("[", "[[]"))
    return all(word in name for word in term.split())
