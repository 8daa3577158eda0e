"""Operations that search, read the audit log and grant rights."""

from __future__ import annotations

from dataclasses import replace

from dam_sync.emulators.b_documents.audit import matching
from dam_sync.emulators.b_documents.operations import Job, Result, Wrapped, operation
from dam_sync.emulators.b_documents.records import Ace, Document, Refusal, epoch_ms, instant, moment_of
from dam_sync.emulators.b_documents.render import View
from dam_sync.emulators.b_documents.search import Paging, envelope, substituted
from dam_sync.emulators.b_documents.security import known_permission, require
from dam_sync.emulators.kit.environment import Json


@operation("Repository.Query", "Document.Query", "Repository.PageProvider")
def query(job: Job) -> Result:
    """Documents by a query, from the repository whatever the search is backed by."""
    search, call = job.call.server.search, job.call
    text = substituted(job.text("query"), [("queryParams", each) for each in job.strings("queryParams")])
    made = search.parsed(text)
    names, orders = job.strings("sortBy"), [each.lower() for each in job.strings("sortOrder")]
    if names:
        order = [(name, number < len(orders) and orders[number] == "asc") for number, name in enumerate(names)]
        made = replace(made, order=tuple(order))
    found = search.hits(made, call.user, indexed=False)
    paging, most = _paging(job), call.server.options.max_page_size
    taken = found[paging.offset : paging.offset + min(paging.size or most, most)]
    view = View(call.user) if "bare_query" in call.server.options.plays else call.view
    return Wrapped(call.server.writer.documents(taken, view, **envelope(len(found), len(taken), paging, most)))


@operation("Repository.ResultSetQuery", "Document.ResultSetQuery")
def rows(job: Job) -> Result:
    """Columns by a query; dates as epoch milliseconds from the repository, as texts from an index."""
    search, call = job.call.server.search, job.call
    made = search.parsed(job.text("query"))
    if not made.columns:
        raise Refusal(400, "A result set query names its columns")
    search.index.refresh()
    found = search.hits(made, call.user)
    paging, most = _paging(job), call.server.options.max_page_size
    taken = found[paging.offset : paging.offset + min(paging.size or most, most)]
    entries = [{name: _cell(job, doc, name) for name in made.columns} for doc in taken]
    if made.distinct:
        entries = [dict(each) for each in dict.fromkeys(tuple(entry.items()) for entry in entries)]
    return Wrapped({"entity-type": "recordSet", **envelope(len(found), len(taken), paging, most), "entries": entries})


def _cell(job: Job, doc: Document, name: str) -> Json:
    search = job.call.server.search
    term = search.lexicon.term(name)
    values = term.read(doc)
    value = values[0] if values else None
    return epoch_ms(value) if term.kind == "date" and value and not search.indexed else value


def _paging(job: Job) -> Paging:
    size = job.number("pageSize", 0)
    return Paging(size, size * job.number("currentPageIndex", 0))


@operation("Search.WaitForIndexing", "Elasticsearch.WaitForIndexing", admin=True)
def wait(job: Job) -> Result:
    """Everything written is in the index when it answers."""
    job.call.server.search.index.refresh(everything=True)
    return Wrapped({"entity-type": "boolean", "value": True})


@operation("Audit.QueryWithPageProvider", admin=True)
def audit(job: Job) -> Result:
    """The audit log of everything, by ascending id."""
    named = job.params.get("namedQueryParams") or {}
    wanted = {key: str(value) for key, value in named.items()} if isinstance(named, dict) else {}
    found = matching(job.call.server.repository.audit.written(), wanted)
    paging, most = _paging(job), job.call.server.options.max_page_size
    taken = found[paging.offset : paging.offset + min(paging.size or 50, most)]
    made = envelope(len(found), len(taken), paging, most)
    return Wrapped({"entity-type": "logEntries", **made, "entries": taken})


# rights


def _change(job: Job, doc: Document) -> dict[str, list[Ace]]:
    """The local lists, about to change; only the system part of the token and no date moves."""
    repository = job.call.server.repository
    require(repository, job.call.user, doc, "WriteSecurity")
    if doc.is_version:
        raise Refusal(400, f"Cannot set rights on a version: {doc.uid}")
    repository.change(doc)
    repository.tell("documentSecurityUpdated", doc, job.call.user.name)
    return doc.acls


def _names(job: Job) -> list[str]:
    names = job.strings("users") or job.strings("user") or job.strings("username")
    people = job.call.server.repository.people
    if not names or not all(people.known(name) for name in names):
        raise Refusal(400, f"User or group name not found: {', '.join(names)}")
    return names


def _permission(job: Job) -> str:
    permission = job.text("permission")
    if not known_permission(permission):
        raise Refusal(400, f"Unknown permission: {permission}")
    return permission


def _moment(job: Job, name: str) -> str | None:
    given = job.params.get(name)
    try:
        return instant(moment_of(str(given))) if given else None
    except ValueError:
        raise Refusal(400, f"Not a date: {given}") from None


def _granted(job: Job, names: list[str]) -> list[Ace]:
    begin, end, creator = _moment(job, "begin"), _moment(job, "end"), job.call.user.name
    return [Ace(name, _permission(job), True, creator, begin, end) for name in names]


@operation("Document.AddPermission")
def add_permission(job: Job) -> Result:
    """A right for users or groups. Raises 400 for unknown ones."""
    made = _granted(job, _names(job))

    def act(doc: Document) -> Document:
        lists = _change(job, doc)
        name = job.text("acl", "local")
        kept = [ace for ace in lists.get(name, []) if ace.id not in {new.id for new in made}]
        lists[name] = [*made, *kept]
        if job.flag("blockInheritance") and "block_ignored" not in job.call.server.options.plays:
            _block(lists, job)
        return doc

    return job.each(act)


@operation("Document.ReplacePermission")
def replace_permission(job: Job) -> Result:
    """Another right in place of one, by its id."""
    made = _granted(job, _names(job)[:1])

    def act(doc: Document) -> Document:
        lists = _change(job, doc)
        name = job.text("acl", "local")
        lists[name] = [*made, *(ace for ace in lists.get(name, []) if ace.id != job.text("id"))]
        return doc

    return job.each(act)


@operation("Document.RemovePermission")
def remove_permission(job: Job) -> Result:
    """By the id of an entry, or for a user."""
    key, user = str(job.params.get("id") or ""), str(job.params.get("user") or "")
    if not key and not user:
        raise Refusal(400, "id or user is needed")

    def act(doc: Document) -> Document:
        lists = _change(job, doc)
        name = job.text("acl", "local")
        lists[name] = [ace for ace in lists.get(name, []) if ace.id != key and ace.username != user]
        if not lists[name]:
            del lists[name]
        return doc

    return job.each(act)


@operation("Document.AddACE")
def add_ace(job: Job) -> Result:
    """One entry; `overwrite` replaces the list."""
    user, permission = _names(job)[0], _permission(job)
    made = Ace(user, permission, job.flag("grant", default=True), job.call.user.name)

    def act(doc: Document) -> Document:
        lists = _change(job, doc)
        name = job.text("acl", "local")
        kept = [] if job.flag("overwrite", default=True) else lists.get(name, [])
        lists[name] = [*kept, made]
        return doc

    return job.each(act)


@operation("Document.RemoveACL")
def remove_acl(job: Job) -> Result:
    """A whole list goes."""

    def act(doc: Document) -> Document:
        _change(job, doc).pop(job.text("acl"), None)
        return doc

    return job.each(act)


@operation("Document.BlockPermissionInheritance")
def block(job: Job) -> Result:
    """Nothing comes from above any more."""

    def act(doc: Document) -> Document:
        _block(_change(job, doc), job)
        return doc

    return job.each(act)


@operation("Document.UnblockPermissionInheritance")
def unblock(job: Job) -> Result:
    """Rights come from above again."""

    def act(doc: Document) -> Document:
        lists = _change(job, doc)
        name = job.text("acl", "local")
        lists[name] = [ace for ace in lists.get(name, []) if ace.granted or ace.username != "Everyone"]
        return doc

    return job.each(act)


def _block(lists: dict[str, list[Ace]], job: Job) -> None:
    name, creator = job.text("acl", "local"), job.call.user.name
    kept = [ace for ace in lists.get(name, []) if ace.granted or ace.username != "Everyone"]
    admins = Ace("administrators", "Everything", True, creator)
    lists[name] = [*kept, *(() if admins in kept else (admins,)), Ace("Everyone", "Everything", False, creator)]
