"""Creating and changing media."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.call import Call
from dam_sync.emulators.a_hypermedia.errors import bad, forbidden, not_found
from dam_sync.emulators.a_hypermedia.reading import attachment_item, known, shown, version_of
from dam_sync.emulators.a_hypermedia.records import Attachment, Media
from dam_sync.emulators.a_hypermedia.schema import Form
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

ANNOTATIONS = frozenset({"NONE", "OK", "KO", "IN_PROGRESS"})
ORIENTATIONS = frozenset({"LANDSCAPE", "PORTRAIT", "SQUARE"})
DUPLICATIONS = frozenset({"NO_DUPLICATES", "DUPLICATES_FOUND", "DUPLICATES_ACKNOWLEDGED"})


async def create(call: Call) -> Response:
    """POST /medias: from a temporary file, a form, or both; an import, seen by its importer only."""
    return await _create(call, await call.body(), "IMPORT", folder=0)


async def folder_post(call: Call) -> Response:
    """POST /folders/{id}/medias: the body decides whether a media is made (4.16.0) or one is added."""
    folder = call.instance.library.folders.get(call.id())
    body = await call.body()
    if isinstance(body, dict) and "_links" in body:
        call.needs("4.16.0")
        base = "PUBLISHED" if call.instance.options.published_at_once else "DRAFT"
        return await _create(call, body, base, folder=folder.id)
    found = call.instance.library.media(await call.item_id(), call.user)
    call.instance.library.place(found, call.user, folder.id, inside=True)
    return call.answer(None, 201, location=f"/folders/{folder.id}/medias/{found.id}")


async def folder_take(call: Call) -> Response:
    """DELETE /folders/{id}/medias/{media}; the media stays."""
    library = call.instance.library
    found = library.media(call.id("media"), call.user)
    if found.id not in library.folders.get(call.id()).members:
        raise not_found("media")
    library.place(found, call.user, call.id(), inside=False)
    return Response(status_code=204)


async def _create(call: Call, body: Json, base: str, folder: int) -> Response:
    library = call.instance.library
    made = await made_of(call, body, base)
    if folder:
        made = library.place(made, call.user, folder, inside=True)
    return call.answer(shown(call, made), 201, location=f"/medias/{made.id}")


async def made_of(call: Call, body: Json, base: str) -> Media:
    """A media of the body's links in a base status. Raises 400, 404, 409."""
    library = call.instance.library
    source, form = _source(call, body), _form(call, body)
    if source is None and form is None:
        raise bad("media-source-missing", "A media needs a from link, a form link, or both.")
    if source:
        await call.instance.objects.digests(source[2])
        older = None if call.flag("forceNew") else library.known_xmp(source[2])
        if older is not None:
            return library.add_version(older, call.user, source)
    return library.create(call.user, source, form, base)


def _source(call: Call, body: Json) -> tuple[str, str, Blob] | None:
    number = call.instance.writer.target(body, "from")
    return None if number is None else call.instance.uploads.complete(str(number))


def _form(call: Call, body: Json) -> Form | None:
    writer = call.instance.writer
    number = writer.target(body, writer.rel("form"))
    if number is None:
        return None
    form = call.instance.library.schema.forms.get(number) if isinstance(number, int) else None
    if form is None:
        raise not_found("form")
    return form


async def put(call: Call) -> Response:
    """PUT /medias/{id}: status, annotation, orientation, duplicates, point of interest; the rest is not heeded."""
    library, found, body = call.instance.library, call.media(), await call.body()
    if not isinstance(body, dict):
        raise bad("body-invalid", "The body must be the media.")
    if not call.user.may("WRITE", "PUBLISH", "DELETE"):
        raise forbidden("change the media")
    await known(call, found)
    edited = {**_reset(call), **_edited(call, found, body)}
    status = _wanted_status(call, found, body)
    if status is not None:
        found = library.change_status(found, call.user, status)
    if edited:
        found = library.store(replace(found, **edited, updated=library.now(), updater=call.user.id))
    return call.written(shown(call, found))


def _reset(call: Call) -> dict[str, Json]:
    """What a PUT takes away whatever its body says, on some instances."""
    return {"annotation": "NONE", "interest": None} if call.instance.options.put_resets else {}


def _edited(call: Call, found: Media, body: Json) -> dict[str, Json]:
    """What the body changes of the writable properties. Raises 400 on a value that is none."""
    absent = {"annotation": "NONE", "pointOfInterest": None} if call.instance.options.put_clears else {}
    body = {**absent, **body}
    edited: dict[str, Json] = {}
    lists = {"annotation": ANNOTATIONS, "orientation": ORIENTATIONS, "duplicationStatus": DUPLICATIONS}
    names = {"annotation": "annotation", "orientation": "orientation", "duplicationStatus": "duplication"}
    for key, allowed in lists.items():
        if key in body and body[key] != getattr(found, names[key]):
            if body[key] not in allowed:
                raise bad("media-invalid-value", f"{key} is one of {', '.join(sorted(allowed))}.")
            edited[names[key]] = body[key]
    if "pointOfInterest" in body and body["pointOfInterest"] != found.interest:
        edited["interest"] = _interest(body["pointOfInterest"])
    return edited


def _interest(value: Json) -> Json:
    if value is None:
        return None
    x, y = (value.get("x"), value.get("y")) if isinstance(value, dict) else (None, None)
    if not all(isinstance(one, (int, float)) and 0 <= one <= 100 for one in (x, y)):
        raise bad("media-invalid-value", "pointOfInterest is {x,y} in percent.")
    return {"x": x, "y": y}


def _wanted_status(call: Call, found: Media, body: Json) -> int | None:
    """The custom status the body asks for: the link wins over the property. Raises 400 on an unknown one."""
    schema, writer = call.instance.library.schema, call.instance.writer
    linked = writer.target(body, writer.rel("custom-status"))
    if linked is not None and linked != found.status:
        return known_status(call, linked)
    base = body.get("status")
    if linked is None and base is not None and base != schema.base(found.status):
        if base not in {its for _, its in schema.statuses.values()}:
            raise bad("media-invalid-value", f"There is no status {base}.")
        return schema.status_of(str(base))
    return None


def known_status(call: Call, number: int | str) -> int:
    """Raises 400 on a status the instance does not have."""
    if not isinstance(number, int) or number not in call.instance.library.schema.statuses:
        raise bad("custom-status-unknown", f"There is no custom status {number}.")
    return number


async def metadata_put(call: Call) -> Response:
    """PUT /medias/{id}/metadatas/{field}: one field, a localized one in the Content-Language."""
    library, found = call.instance.library, call.media()
    field = library.field(found, call.request.path_params["field"])
    if not field.editable:
        raise bad("metadata-not-editable", f"The field {field.name} cannot be written.")
    body = await call.body()
    if not isinstance(body, dict) or "value" not in body:
        raise bad("body-invalid", 'The body must be {"value": …}.')
    value = library.typist.taken(field, body["value"])
    language = call.write_language if field.localized else call.language
    found = library.write_values(found, call.user, {field.name: value}, language)
    views = call.instance.medias
    return call.written(views.metadata_item(found, call.user, field, language, force=call.force))


async def delete(call: Call) -> Response:
    """DELETE /medias/{id}: to the trash, then permanently."""
    call.instance.library.delete(call.media(), call.user)
    return Response(status_code=204)


async def label_add(call: Call) -> Response:
    """POST /medias/{id}/labels; safe to repeat."""
    found, number = call.media(), await call.item_id()
    if number not in call.instance.library.schema.labels:
        raise not_found("label")
    _labelled(call, found, tuple(dict.fromkeys((*found.labels, number))))
    return call.answer(None, 201, location=f"/medias/{found.id}/labels/{number}")


async def label_remove(call: Call) -> Response:
    """DELETE /medias/{id}/labels/{label}."""
    found, number = call.media(), call.id("label")
    if number not in found.labels:
        raise not_found("label")
    _labelled(call, found, tuple(one for one in found.labels if one != number))
    return Response(status_code=204)


def _labelled(call: Call, found: Media, labels: tuple[int, ...]) -> None:
    if not call.user.may("WRITE", "PUBLISH", "DELETE"):
        raise forbidden("label the media")
    call.instance.library.member_change(replace(found, labels=labels))


async def link_add(call: Call) -> Response:
    """POST /medias/{id}/media-links/{type}/medias; safe to repeat."""
    found, kind, library = call.media(), call.id("type"), call.instance.library
    if kind not in library.schema.link_types:
        raise not_found("media-link")
    target = library.media(await call.item_id(), call.user).id
    _linked(call, found, kind, tuple(dict.fromkeys((*found.links.get(kind, ()), target))))
    return call.answer(None, 201, location=f"/medias/{found.id}/media-links/{kind}/medias/{target}")


async def link_remove(call: Call) -> Response:
    """DELETE /medias/{id}/media-links/{type}/medias/{media}."""
    found, kind, target = call.media(), call.id("type"), call.id("media")
    if target not in found.links.get(kind, ()):
        raise not_found("media-link")
    _linked(call, found, kind, tuple(one for one in found.links[kind] if one != target))
    return Response(status_code=204)


def _linked(call: Call, found: Media, kind: int, targets: tuple[int, ...]) -> None:
    if not call.user.may("WRITE", "PUBLISH", "DELETE"):
        raise forbidden("link the media")
    links = {key: value for key, value in {**found.links, kind: targets}.items() if value}
    call.instance.library.member_change(replace(found, links=links))


async def version_add(call: Call) -> Response:
    """POST /medias/{id}/file-versions: the file becomes the current one."""
    found, source = call.media(), _source(call, await call.body())
    if source is None:
        raise bad("file-version-source-missing", "A version needs a from link.")
    await call.instance.objects.digests(source[2])
    found = call.instance.library.add_version(found, call.user, source)
    made = found.versions[-1]
    body = call.instance.medias.version(found, made, call.user)
    return call.answer(body, 201, location=f"/medias/{found.id}/file-versions/{made.id}")


async def version_put(call: Call) -> Response:
    """PUT /medias/{id}/file-versions/{version} `{"current": true}`: back to an older file."""
    found, body = call.media(), await call.body()
    version, library = version_of(call, found), call.instance.library
    if not call.user.may("WRITE", "PUBLISH", "DELETE"):
        raise forbidden("change the media")
    if isinstance(body, dict) and body.get("current") is True and version.id != found.current:
        found = library.store(replace(found, current=version.id, updated=library.now(), updater=call.user.id))
        for later in [one for one in found.versions if one.number > version.number]:
            found = library.drop_version(found, call.user, later) if call.instance.options.current_drops else found
    return call.written(call.instance.medias.version(found, version, call.user))


async def version_delete(call: Call) -> Response:
    """DELETE /medias/{id}/file-versions/{version}, 409 on the current one."""
    found = call.media()
    call.instance.library.drop_version(found, call.user, version_of(call, found))
    return Response(status_code=204)


async def attachment_add(call: Call) -> Response:
    """POST /medias/{id}/attachments: announces a side file; its bytes go to the signed upload link."""
    found, body = call.media(), await call.body()
    body = body if isinstance(body, dict) else {}
    name, size = body.get("fileName"), body.get("fileSize")
    if not isinstance(name, str) or not name or not isinstance(size, int) or size < 0:
        raise bad("attachment-invalid", "An attachment needs fileName and fileSize.")
    if not call.user.may("WRITE", "PUBLISH", "DELETE"):
        raise forbidden("attach to the media")
    number = max((one.id for one in found.attachments), default=0) + 1
    made = Attachment(number, name, str(body.get("mediaType") or "application/octet-stream"), size)
    call.instance.library.store(replace(found, attachments=(*found.attachments, made)))
    return call.answer(attachment_item(call, found, made), 201, location=f"/medias/{found.id}/attachments/{number}")
