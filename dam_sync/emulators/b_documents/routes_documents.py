"""Documents by id and by path: get, create, change, delete; adapters such as `@children` (wire B 2, 3, 6)."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulators.b_documents.acts import delete as delete_tree
from dam_sync.emulators.b_documents.audit import matching
from dam_sync.emulators.b_documents.calls import Call, Reply
from dam_sync.emulators.b_documents.records import Document, Refusal
from dam_sync.emulators.b_documents.saving import Wish
from dam_sync.emulators.b_documents.search import Paging, envelope
from dam_sync.emulators.b_documents.security import lists, may
from dam_sync.emulators.kit.environment import Json

ADAPTER_PAGE = 50


def read(call: Call) -> Reply:
    """`GET /id/{id}`, `GET /path/{path}`."""
    return call.shown(call.document())


def create(call: Call) -> Reply:
    """`POST /id/{id}`, `POST /path/{path}`: a child; what does not resolve or fit a schema is dropped silently."""
    parent, body, saver = call.document(), _entity(call), call.server.saver
    kind, name = body.get("type"), body.get("name")
    if not isinstance(kind, str) or not isinstance(name, str) or not kind or not name:
        raise Refusal(400, "type or name property is missing")
    if parent.is_version or not call.server.repository.types.has_facet(parent, "Folderish"):
        raise Refusal(400, f"Cannot create a document in {parent.type}")
    doc = saver.blank(kind)
    given = body.get("properties") or {}
    if body.get("uid"):
        template = call.server.repository.get(str(body["uid"]))
        doc.props = dict(template.props)
    props = {**doc.props, **call.reader.properties(doc, _mapping(given))}
    return call.shown(saver.create(parent, doc, name, props, call.user), 201)


def update(call: Call) -> Reply:
    """`PUT /id/{id}`: the properties named, and a check-in when `X-Versioning-Option` asks for one."""
    doc, body = call.document(), _entity(call)
    increment = (call.wanted("x.versioning.option") or [""])[0].upper()
    if increment not in ("", "NONE", "MINOR", "MAJOR"):
        raise Refusal(400, f"Invalid versioning option: {increment}")
    token = body.get("changeToken") if body.get("uid") else None
    call.server.saver.writable(doc, call.user)
    props = call.reader.properties(doc, _mapping(body.get("properties") or {}))
    wish = Wish(
        props, None if token is None else str(token), "" if increment == "NONE" else increment,
        call.headers.get("update-comment", ""),
    )  # fmt: skip
    return call.shown(call.server.saver.update(doc, wish, call.user))


def delete(call: Call) -> Reply:
    """`DELETE /id/{id}`: permanently, with everything below."""
    delete_tree(call.server.repository, call.document(), call.user)
    return Reply(204)


def children(call: Call) -> Reply:
    """`@children`: without versions, trashed and hidden ones, by title; the count is -2 when there is more."""
    repository, doc = call.server.repository, call.document()
    inside = [repository.docs[uid] for uid in repository.children.get(doc.uid, {}).values()]
    seen = [
        each
        for each in inside
        if not each.trashed
        and not repository.types.has_facet(each, "HiddenInNavigation")
        and may(repository, call.user, each, "Browse")
    ]
    seen.sort(key=lambda each: each.title)
    return Reply(200, _listed(call, seen, hidden_count=True))


def search_below(call: Call) -> Reply:
    """`@search`: full text or a query, below one document."""
    call.document()
    query = call.server.search.parsed(call.query.get("query") or "SELECT * FROM Document", call.pairs)
    write = call.server.writer
    paging = Paging.of(call.query, ADAPTER_PAGE)
    return Reply(200, call.server.search.page(query, call.user, paging, lambda doc: write.document(doc, call.view)))


def acl(call: Call) -> Reply:
    """`@acl`."""
    return Reply(200, {"entity-type": "acls", "acl": lists(call.server.repository, call.document(), "ace")})


def audit(call: Call) -> Reply:
    """`@audit`: newest first, 50 a page."""
    doc = call.document()
    lines = [line for line in call.server.repository.audit.written() if line["docUUID"] == doc.uid]
    found = matching(lines, call.query)[::-1]
    paging = Paging.of(call.query, ADAPTER_PAGE)
    return Reply(200, log_page(found, paging, call.server.options.max_page_size))


def log_page(found: list[dict[str, Json]], paging: Paging, most: int) -> Json:
    """One page of log entries."""
    taken = found[paging.offset : paging.offset + min(paging.size or most, most)]
    return {"entity-type": "logEntries", **envelope(len(found), len(taken), paging, most), "entries": taken}


def _listed(call: Call, found: list[Document], *, hidden_count: bool) -> Json:
    paging, most = Paging.of(call.query, ADAPTER_PAGE), call.server.options.max_page_size
    size = min(paging.size or most, most)
    taken = found[paging.offset : paging.offset + size]
    made = envelope(len(found), len(taken), paging, most)
    if hidden_count and len(found) > size:
        made |= {"resultsCount": -2, "totalSize": -2, "numberOfPages": 0, "pageCount": 0}
    entries = [call.server.writer.document(doc, call.view) for doc in taken]
    return {"entity-type": "documents", **made, "entries": entries}


def _entity(call: Call) -> Mapping[str, Json]:
    """The body. Raises 400 for one that is not a document (wire B 13 has two readings of a missing `entity-type`)."""
    kind = call.body.get("entity-type")
    lenient = kind is None and "lenient_body" in call.server.options.plays
    if kind != "document" and not lenient:
        raise Refusal(400, f"Json object entity-type property is not the expected one: {kind}")
    return call.body


def _mapping(given: Json) -> Mapping[str, Json]:
    if not isinstance(given, dict):
        raise Refusal(400, "Unable to deserialize property: properties")
    return given
