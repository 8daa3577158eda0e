"""Searches: conditions from the query, pages of light items, facets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.call import Call
from dam_sync.emulators.a_hypermedia.errors import bad
from dam_sync.emulators.a_hypermedia.hal import embedded, items_of, page_links
from dam_sync.emulators.a_hypermedia.query import Mixed, OneOf, Test, condition, text_query
from dam_sync.emulators.a_hypermedia.records import Media, User, instant
from dam_sync.emulators.a_hypermedia.search import Clause, Hits, Index, Listed
from dam_sync.emulators.kit.environment import Json

_EXCLUSIVE = ("basketId", "workflowId", "boardId", "columnId")
FACET_VALUES = 150
LIST_IDS = 1000
_FACETS = {"formType": "Type", "subStatusId": "Status"}


async def search_media(call: Call) -> Response:
    """GET /search/media: every media the caller may read but the trashed."""
    indexer = call.instance.library.indexer
    indexer.refresh()
    return result_page(call, indexer.live, "/search/media", clauses_of(call))


async def search_trash(call: Call) -> Response:
    """GET /search/trash."""
    indexer = call.instance.library.indexer
    indexer.refresh()
    return result_page(call, indexer.trash, "/search/trash", clauses_of(call))


async def advanced_create(call: Call) -> Response:
    """POST /search/advanced: a temporary search of `{"criterias": [{"field", "modifier", "values"}]}`."""
    body = await call.body()
    criterias = body.get("criterias") if isinstance(body, dict) else None
    if not isinstance(criterias, list):
        raise bad("search-invalid", "The body must have criterias.")
    for one in criterias:
        _criterion(one)
    made = call.instance.collections.begin("search", call.user, criterias=criterias)
    own = f"/search/advanced/{made.id}"
    links = call.instance.writer.links(own, media=f"{own}/media")
    return call.answer({"id": made.id, "expirationDate": instant(made.expires), "_links": links}, 201, location=own)


async def advanced_media(call: Call) -> Response:
    """GET /search/advanced/{id}/media."""
    number = call.request.path_params["id"]
    found = call.instance.collections.get("search", number, call.user)
    indexer = call.instance.library.indexer
    indexer.refresh()
    clauses = [_criterion(one) for one in found.facts["criterias"]] + clauses_of(call)
    return result_page(call, indexer.live, f"/search/advanced/{number}/media", clauses)


async def advanced_criterias(call: Call) -> Response:
    """GET /search/advanced/criterias: the fields a criterion may name."""
    rows = [{"id": name, "title": one.title} for name, one in call.instance.library.schema.sheet_fields().items()]
    own = call.instance.writer.links("/search/advanced/criterias")
    return call.answer({"_links": own, **embedded({"criteria": rows}, call.force), "totalCount": len(rows)})


async def facet_fields(call: Call) -> Response:
    """GET /search/facet-fields (4.75.0)."""
    call.needs("4.75.0")
    rows = [{"id": key, "title": title} for key, title in _FACETS.items()]
    links = call.instance.writer.links("/search/facet-fields")
    return call.answer({"_links": links, **embedded({"facet-field": rows}, call.force), "totalCount": len(rows)})


async def autocomplete(call: Call) -> Response:
    """GET /search/autocomplete?type=thesaurus: terms by the beginning of a word of a title or synonym."""
    if call.first("type") != "thesaurus":
        raise bad("autocomplete-type-unknown", "Only type=thesaurus is known.")
    thesauri, views = call.instance.library.thesauri, call.instance.schema
    root, start = call.number("thesaurusId", 0), call.first("q").casefold()
    rows = []
    for number in thesauri.subtree(root) if root else list(thesauri.nodes):
        node = thesauri.nodes[number]
        texts = [*node.titles.values(), *(word for words in node.synonyms.values() for word in words)]
        if node.parent and start and any(re.search(rf"\b{re.escape(start)}", text.casefold()) for text in texts):
            above = thesauri.nodes[node.parent]
            parents = [views.term(above, call.language)] if above.parent else []
            rows.append(views.term(node, call.language) | embedded({"parent": parents}, call.force))
    links = call.instance.writer.links("/search/autocomplete")
    return call.answer({"_links": links, **embedded({"thesaurus": rows[:20]}, call.force), "totalCount": len(rows)})


async def search_folder(call: Call) -> Response:
    """GET /search/folder: visible folders whose title contains `q`."""
    wanted, user = call.first("q").casefold(), call.user
    folders = call.instance.library.folders
    rows = [
        call.instance.schema.folder(one, user)
        for one in folders.by_id.values()
        if wanted in one.title.casefold() and folder_visible(call, one.id)
    ]
    return listing(call, "/search/folder", "folder", rows)


def listing(call: Call, path: str, key: str, rows: Iterable[Json], default: int = 20) -> Response:
    """A paged collection of things at hand."""
    every = list(rows)
    size, page = call.number("size", default, call.instance.options.page_max), call.number("page", 1)
    last = max(1, -(-len(every) // size))
    query = [(name, value) for name, value in call.query if name not in ("page", "size")]
    links = page_links(path, [*query, ("size", str(size))], page, last, call.instance.writer)
    items = embedded({key: items_of(every, page, size)}, call.force)
    return call.answer({"_links": links, **items, "totalCount": len(every)})


def result_page(call: Call, index: Index, path: str, clauses: Sequence[Clause]) -> Response:
    """One page of what fulfils the conditions and the caller may see. Raises 400 beyond the window."""
    sort, backwards = _sorting(call.first("sort"))
    return hits_page(call, index, path, index.search([*clauses, *_visible(call)], sort, backwards=backwards))


def hits_page(call: Call, index: Index, path: str, hits: Hits) -> Response:
    """One page of hits in the envelope of searches."""
    options, writer = call.instance.options, call.instance.writer
    size, page = call.number("size", 20, options.page_max), call.number("page", 1)
    if page * size > options.window and (page > 1 or len(hits)):
        raise bad("search-window-exceeded", f"A search shows at most {options.window} hits.")
    last = min(max(1, -(-len(hits) // size)), options.window // size)
    query = [(name, value) for name, value in call.query if name not in ("page", "size")]
    docs = index.docs
    items = [_item(call, docs[number]) for number in hits.part((page - 1) * size, page * size)]
    parts = {"media": items, "facet": _facets(call, index, hits), "selected-filter": _selected(call)}
    links = page_links(path, [*query, ("size", str(size))], page, last, writer)
    return call.answer({"_links": links, **embedded(parts, call.force), "totalCount": len(hits)})


def medias_page(call: Call, path: str, medias: Iterable[Media]) -> Response:
    """Living media at hand in the envelope of searches, in order of id, without lag."""
    shown = Index(call.instance.library.indexer.live.lexicon)
    user = call.user
    shown.docs = {media.id: media for media in medias if call.instance.library.visible(media, user)}
    return hits_page(call, shown, path, Listed(sorted(shown.docs)))


def folder_visible(call: Call, number: int) -> bool:
    """Whether the folder is in, or on the way to, what the caller may see."""
    allowed, folders = call.user.folders, call.instance.library.folders
    if allowed is None:
        return True
    if any(number in folders.subtree(one) for one in allowed):
        return True
    return any(one in folders.subtree(number) for one in allowed)


def clauses_of(call: Call) -> list[Clause]:
    """The conditions of `q`, `f` and `fq`. Raises 400 on bad syntax, too many ids, filters that exclude each other."""
    by_word = call.instance.options.word_match
    clauses: list[Clause] = []
    for text in call.every("f"):
        name, colon, value = text.partition(":")
        if not colon or not value:
            raise bad("query-syntax", "f must be field:value.")
        if name == "id" and call.instance.options.ids_ignored:
            continue
        clauses.append(condition(name, value, by_word=by_word))
    scopes = [text.partition(":")[::2] for text in call.every("fq")]
    if len({name for name, _ in scopes if name in _EXCLUSIVE} - {"columnId"}) > 1:  # spec 000, Errors
        raise bad("search-filters-combined", "Basket, workflow and board filters cannot be combined.")
    clauses += [_scope(call, name, value.strip()) for name, value in scopes]
    if call.first("q").strip() not in ("", "*", "*:*"):
        clauses.append(text_query(call.first("q"), by_word=by_word))
    if call.number("facet-values-number", 1) > FACET_VALUES:
        raise bad("facet-values-too-many", f"At most {FACET_VALUES} values a facet.")
    return clauses


def _scope(call: Call, name: str, value: str) -> Clause:
    library = call.instance.library
    folders = library.folders
    match name:
        case "folderId":
            ids = (number for one in _ids(value.removesuffix(" subtree")) for number in folders.subtree(one))
            return OneOf("folderId", frozenset(map(str, ids)))
        case "folderPath":
            found = folders.find([part for part in value.strip('"').split("/") if part])
            return OneOf("folderId", frozenset(map(str, folders.subtree(found.id))) if found else frozenset())
        case "formId" | "customStatusId" | "labelId":
            return OneOf(name, frozenset(map(str, _ids(value))))
        case "thesaurus":
            field, _, node = value.partition(":")
            return OneOf(field, frozenset(map(str, library.thesauri.subtree(int(node) if node.isdigit() else 0))))
        case "associations" | "types":
            return _linked(call, name, _ids(value, LIST_IDS))
        case "facet":
            return condition(*value.partition(":")[::2], by_word=True)
    return _member(call, name, value)


def _member(call: Call, name: str, value: str) -> Clause:
    groups = call.instance.collections
    if name == "selectionId":
        known: Iterable[int] = groups.get("selection", value, call.user).medias
    elif name in ("basketId", "boardId", "columnId"):
        kind = "basket" if name == "basketId" else "board"
        known = {m for one in _ids(value) for m in groups.basket(kind, one, call.user).medias}
    elif name == "workflowId":
        known = ()
    else:
        return condition(name, value, by_word=call.instance.options.word_match)
    return Test(lambda media: True, frozenset(known))


def _linked(call: Call, name: str, ids: Sequence[int]) -> Clause:
    wanted = set(ids)
    if name == "types":
        return Test(lambda media: not wanted.isdisjoint(media.links))
    return Test(lambda media: any(not wanted.isdisjoint(targets) for targets in media.links.values()))


def _ids(value: str, most: int | None = None) -> list[int]:
    parts = [part for part in re.split(r"[\s,()]+|OR", value) if part]
    if not all(part.isdigit() for part in parts):
        raise bad("query-syntax", "The filter takes ids.")
    if most is not None and len(parts) > most:  # spec 000, Limits
        raise bad("too-many-ids", f"At most {most} ids.")
    return [int(part) for part in parts]


def _criterion(one: Json) -> Clause:
    """A criterion of an advanced search; what the modifiers mean is in spec 000, Search parameters."""
    name, modifier = str(one.get("field", "")), one.get("modifier")
    values = [str(value) for value in one.get("values") or ()]
    quoted = tuple(condition(name, f'"{value}"', by_word=True) for value in values)
    match modifier:
        case "EMPTY":
            return Test(lambda media: not media.values.get(name) and not getattr(media, _MOMENTS.get(name, ""), None))
        case "NOT_EMPTY":
            return Test(lambda media: bool(media.values.get(name) or getattr(media, _MOMENTS.get(name, ""), None)))
        case "EQUALS_ONE" | "CONTAINS_ONE":
            return Mixed(may=quoted)
        case "CONTAINS_ALL":
            return Mixed(must=quoted)
        case "CONTAINS_NONE":
            return Mixed(never=quoted)
        case "FROM_TO" if len(values) == 2:
            return condition(name, f"[{values[0]} TO {values[1]}]", by_word=True)
    raise bad("search-invalid", f"The modifier {modifier} is unknown.")


_MOMENTS = {"importDate": "imported", "updateDate": "updated", "creationDate": "created", "addFolderDate": "foldered"}


def _sorting(text: str) -> tuple[str, bool]:
    name, _, order = text.strip().partition(" ")
    if order.strip().lower() not in ("", "asc", "desc"):
        raise bad("query-syntax", "sort is a field, then asc or desc.")
    return name, order.strip().lower() == "desc"


def _visible(call: Call) -> list[Clause]:
    user, library = call.user, call.instance.library
    if user.permission == "ADMIN" and user.folders is None:
        return []

    def seen(media: Media, user: User = user) -> bool:
        return library.visible(media, user)

    return [Test(seen)]


def _item(call: Call, media: Media) -> Json:
    body = call.instance.medias.light(media, call.user, call.language, call.tree, force=call.force)
    if media.trashed and call.instance.options.trash_details and call.tree is None:
        body |= {"status": "TRASH", "trashDate": instant(media.trashed)}
    return body


def _facets(call: Call, index: Index, hits: Hits) -> list[Json]:
    asked = call.first("facet-fields", "?") if call.instance.options.at_least("4.75.0") else "?"
    names = list(_FACETS) if asked == "?" else [name for name in asked.strip("[]").split(",") if name]
    if not names or not len(hits):
        return []
    most = call.number("facet-values-number", 10)
    facets = []
    for name in names:
        counts: Counter[str] = Counter()
        for number in hits.part(0, len(hits)):
            counts.update(set(index.lexicon.texts(index.docs[number], name)))
        values = [{"id": k, "title": _facet_title(call, name, k), "count": n} for k, n in counts.most_common(most)]
        facets.append({"id": name, "title": _FACETS.get(name, name), **embedded({"value": values}, call.force)})
    return facets


def _facet_title(call: Call, name: str, key: str) -> str:
    return call.instance.library.schema.statuses[int(key)][0] if name == "subStatusId" else key.capitalize()


def _selected(call: Call) -> list[Json]:
    link = call.instance.writer.link("/search/media")
    links = {call.instance.writer.rel("removed-filter-search"): link}
    parts = [text.partition(":") for text in call.every("f")]
    return [{"key": name, "value": value, "_links": links} for name, _, value in parts]
