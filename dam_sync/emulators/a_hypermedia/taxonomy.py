"""Forms, lists, statuses, labels (read-only), thesauri and folders."""

from __future__ import annotations

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.call import Call
from dam_sync.emulators.a_hypermedia.errors import bad, forbidden, not_found
from dam_sync.emulators.a_hypermedia.finding import folder_visible, listing, medias_page
from dam_sync.emulators.a_hypermedia.records import Folder, Media
from dam_sync.emulators.a_hypermedia.schema import Form

_EXTENSIONS = {
    "PICTURE": {"jpg": "image/jpeg", "png": "image/png", "tif": "image/tiff", "heic": "image/heic", "bmp": "image/bmp"},
    "VIDEO": {"mp4": "video/mp4", "mov": "video/quicktime"},
    "SOUND": {"mp3": "audio/mpeg", "wav": "audio/x-wav"},
    "DOCUMENT": {"pdf": "application/pdf", "txt": "text/plain"},
    "RICH_MEDIA": {"html": "text/html", "zip": "application/zip"},
}


def _form(call: Call) -> Form:
    form = call.instance.library.schema.forms.get(call.id())
    if form is None:
        raise not_found("form")
    return form


async def forms(call: Call) -> Response:
    """GET /forms."""
    rows = [call.instance.schema.form(one, force=call.force) for one in call.instance.library.schema.forms.values()]
    return listing(call, "/forms", "form", rows)


async def form(call: Call) -> Response:
    """GET /forms/{id}."""
    found = _form(call)
    body = call.instance.schema.form(found, force=call.force)
    return call.answer(body | {"_links": {"curies": call.instance.writer.curies(), **body["_links"]}})


async def form_fields(call: Call) -> Response:
    """GET /forms/{id}/fields."""
    own, views = f"/forms/{call.id()}/fields", call.instance.schema
    return listing(call, own, "field", [views.field(one, f"{own}/{one.id}") for one in _form(call).fields.values()])


async def form_field(call: Call) -> Response:
    """GET /forms/{id}/fields/{field}."""
    number = call.id("field")
    found = next((one for one in _form(call).fields.values() if one.id == number), None)
    if found is None:
        raise not_found("field")
    return call.answer(call.instance.schema.field(found, f"/forms/{call.id()}/fields/{number}"))


async def form_extensions(call: Call) -> Response:
    """GET /forms/{id}/extensions (4.72.0)."""
    call.needs("4.72.0")
    known = _EXTENSIONS.get(_form(call).type, {})
    rows = [{"extension": ending, "mimeTypes": [kind]} for ending, kind in known.items()]
    return listing(call, f"/forms/{call.id()}/extensions", "extension", rows)


async def lookups(call: Call) -> Response:
    """GET /forms/lookups."""
    every = call.instance.library.schema.lookups.values()
    return listing(call, "/forms/lookups", "lookup", [call.instance.schema.lookup(o, force=call.force) for o in every])


async def lookup(call: Call) -> Response:
    """GET /forms/lookups/{id}."""
    found = call.instance.library.schema.lookups.get(call.id())
    if found is None:
        raise not_found("lookup")
    return call.answer(call.instance.schema.lookup(found, force=call.force))


async def sheet_fields(call: Call) -> Response:
    """GET /sheet-fields (4.16.0)."""
    call.needs("4.16.0")
    every = call.instance.library.schema.sheet_fields()
    rows = [call.instance.schema.field(one, f"/sheet-fields/{name}") for name, one in every.items()]
    return listing(call, "/sheet-fields", "sheet-field", rows)


async def sheet_field(call: Call) -> Response:
    """GET /sheet-fields/{name} (4.16.0)."""
    call.needs("4.16.0")
    name = call.request.path_params["name"]
    found = call.instance.library.schema.sheet_fields().get(name)
    if found is None:
        raise not_found("sheet-field")
    return call.answer(call.instance.schema.field(found, f"/sheet-fields/{name}"))


async def statuses(call: Call) -> Response:
    """GET /medias/custom-statuses."""
    rows = [call.instance.schema.status(number) for number in call.instance.library.schema.statuses]
    return listing(call, "/medias/custom-statuses", "custom-status", rows)


async def status(call: Call) -> Response:
    """GET /medias/custom-statuses/{id}."""
    if call.id() not in call.instance.library.schema.statuses:
        raise not_found("custom-status")
    return call.answer(call.instance.schema.status(call.id()))


async def labels(call: Call) -> Response:
    """GET /medias/labels."""
    rows = [call.instance.medias.label(number) for number in call.instance.library.schema.labels]
    return listing(call, "/medias/labels", "label", rows)


async def label(call: Call) -> Response:
    """GET /medias/labels/{id}."""
    if call.id() not in call.instance.library.schema.labels:
        raise not_found("label")
    return call.answer(call.instance.medias.label(call.id()))


async def thesaurus_roots(call: Call) -> Response:
    """GET /thesaurus-tree."""
    return call.answer(call.instance.schema.thesaurus_tree(0, call.language, force=call.force))


async def thesaurus_node(call: Call) -> Response:
    """GET /thesaurus-tree/{id}, also spelled /thesaurus-tree/{parent}/children/{id}."""
    call.instance.library.thesauri.get(call.id())
    return call.answer(call.instance.schema.thesaurus_tree(call.id(), call.language, force=call.force))


async def thesauruses(call: Call) -> Response:
    """GET /thesauruses: the roots."""
    thesauri = call.instance.library.thesauri
    rows = [call.instance.schema.thesaurus(thesauri.nodes[number], call.language) for number in thesauri.roots]
    return listing(call, "/thesauruses", "thesaurus", rows)


async def thesaurus(call: Call) -> Response:
    """GET /thesauruses/{id}."""
    return call.answer(call.instance.schema.thesaurus(call.instance.library.thesauri.get(call.id()), call.language))


async def thesaurus_write(call: Call) -> Response:
    """PUT /thesauruses/{id}."""
    _may(call, "WRITE", "PUBLISH", "DELETE")
    node = call.instance.library.thesauri.write(call.id(), await call.body())
    return call.written(call.instance.schema.thesaurus(node, call.language))


async def thesaurus_child(call: Call) -> Response:
    """POST /thesaurus-tree/{id}/children."""
    _may(call, "WRITE", "PUBLISH", "DELETE")
    body = await call.body()
    title = body.get("title") if isinstance(body, dict) else None
    if not isinstance(title, str):
        raise bad("thesaurus-title-missing", "A term needs a title.")
    node = call.instance.library.thesauri.add(call.id(), {call.write_language: title})
    call.instance.world.event("term.created", id=node.id, title=title)
    views = call.instance.schema
    body = views.thesaurus_tree(node.id, call.language, force=call.force)
    return call.answer(body, 201, location=f"/thesaurus-tree/{node.id}")


async def thesaurus_remove(call: Call) -> Response:
    """DELETE /thesaurus-tree/{id}."""
    _may(call, "DELETE")
    call.instance.library.thesauri.remove(call.id(), cascade=call.instance.options.term_cascade)
    return Response(status_code=204)


async def folder_roots(call: Call) -> Response:
    """GET /folder-tree."""
    return _tree(call, None)


async def folder_node(call: Call) -> Response:
    """GET /folder-tree/{id}, and its /children."""
    return _tree(call, _folder(call))


async def folder_create(call: Call) -> Response:
    """POST /folder-tree and /folder-tree/{id}/children."""
    _may(call, "WRITE", "PUBLISH", "DELETE")
    parent = _folder(call).id if "id" in call.request.path_params else 0
    body = await call.body()
    body = body if isinstance(body, dict) else {}
    made = call.instance.library.folders.add(parent, body.get("title", ""), str(body.get("description") or ""))
    call.instance.world.event("folder.created", id=made.id, title=made.title)
    shown = call.instance.schema.folder_tree((), call.user, made, force=call.force)
    return call.answer(shown, 201, location=f"/folder-tree/{made.id}")


async def folder_order(call: Call) -> Response:
    """PUT /folder-tree/{id}/order-children."""
    _may(call, "WRITE", "PUBLISH", "DELETE")
    body = await call.body()
    call.instance.library.folders.order(_folder(call).id, body.get("ids") if isinstance(body, dict) else None)
    return Response(status_code=204)


async def folder_remove(call: Call) -> Response:
    """DELETE /folder-tree/{id} and /folders/{id}; the media are never deleted."""
    _may(call, "DELETE")
    call.instance.library.folders.remove(_folder(call).id)
    return Response(status_code=204)


async def folders(call: Call) -> Response:
    """GET /folders: flat; empty above a size nobody states."""
    every = [one for one in call.instance.library.folders.by_id.values() if folder_visible(call, one.id)]
    shown = every if len(every) <= call.instance.options.folders_limit else []
    return listing(call, "/folders", "folder", [call.instance.schema.folder(one, call.user) for one in shown])


async def folder(call: Call) -> Response:
    """GET /folders/{id}."""
    return call.answer(call.instance.schema.folder(_folder(call), call.user))


async def folder_write(call: Call) -> Response:
    """PUT /folders/{id}."""
    _may(call, "WRITE", "PUBLISH", "DELETE")
    found, body = _folder(call), await call.body()
    title = body.get("title", found.title) if isinstance(body, dict) else ""
    if not isinstance(title, str) or not title.strip():
        raise bad("folder-title-missing", "A folder needs a title.")
    description = "" if call.instance.options.put_title_only else str(body.get("description") or "")
    found.title, found.description = title, description
    return call.written(call.instance.schema.folder(found, call.user))


async def folder_medias(call: Call) -> Response:
    """GET /folders/{id}/medias: the direct members."""
    return _members(call, f"/folders/{call.id()}/medias", _folder(call).members)


async def folder_tree_medias(call: Call) -> Response:
    """GET /folder-tree/{id}/medias: the members of the subtree."""
    members = call.instance.library.folders.tree_members(_folder(call).id)
    return _members(call, f"/folder-tree/{call.id()}/medias", members)


def published(call: Call, media: Media) -> bool:
    """Whether the plain listings show it."""
    return call.instance.library.schema.base(media.status) == "PUBLISHED"


def _members(call: Call, path: str, members: set[int]) -> Response:
    medias, drafts = call.instance.library.medias, call.instance.options.drafts_in_folder
    shown = [medias[number] for number in members]
    kept = [one for one in shown if published(call, one) or (drafts and one.trashed is None)]
    return medias_page(call, path, kept if len(kept) <= call.instance.options.medias_limit else ())


def _tree(call: Call, found: Folder | None) -> Response:
    children = found.children if found else call.instance.library.folders.roots
    shown = [number for number in children if folder_visible(call, number)]
    return call.answer(call.instance.schema.folder_tree(shown, call.user, found, force=call.force))


def _folder(call: Call) -> Folder:
    found = call.instance.library.folders.get(call.id())
    if not folder_visible(call, found.id):
        raise not_found("folder")
    return found


def _may(call: Call, *rights: str) -> None:
    if not call.user.may(*rights):
        raise forbidden("change this")
