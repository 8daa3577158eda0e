"""Reading media and their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.call import Call
from dam_sync.emulators.a_hypermedia.errors import not_found
from dam_sync.emulators.a_hypermedia.finding import listing, medias_page
from dam_sync.emulators.a_hypermedia.hal import embedded, hal, partial
from dam_sync.emulators.a_hypermedia.records import Attachment, Media, Version
from dam_sync.emulators.a_hypermedia.taxonomy import published
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

_ATTACHMENT_LIFE_S = 900


async def medias(call: Call) -> Response:
    """GET /medias: Published only, and silently empty above a size nobody states."""
    every = [one for one in call.instance.library.medias.values() if published(call, one)]
    return medias_page(call, "/medias", every if len(every) <= call.instance.options.medias_limit else ())


async def media(call: Call) -> Response:
    """GET /medias/{id}; trashed ones too."""
    found = call.media()
    await known(call, found)
    return call.answer(partial(shown(call, found), call.tree))


def shown(call: Call, found: Media) -> dict[str, Json]:
    """The whole media as the call's flags ask for it."""
    return call.instance.medias.full(
        found,
        call.user,
        call.language,
        force=call.force,
        folders=call.flag("embeddedFolders"),
        everything=call.flag("embedAllMetadata"),
    )


async def known(call: Call, found: Media) -> None:
    """Compute the digests of a media's files next to the event loop where they are large."""
    for version in found.versions:
        await call.instance.objects.digests(version.blob)


async def metadatas(call: Call) -> Response:
    """GET /medias/{id}/metadatas: paged by 40."""
    found, views = call.media(), call.instance.medias
    everything = call.flag("embedAllMetadata")
    rows = views.metadata(found, call.user, call.language, force=call.force, everything=everything)
    return listing(call, f"/medias/{found.id}/metadatas", "metadata", rows, default=40)


async def metadata(call: Call) -> Response:
    """GET /medias/{id}/metadatas/{field}."""
    found, name = call.media(), call.request.path_params["field"]
    field = call.instance.library.form(found).fields.get(name)
    if field is None:
        raise not_found("metadata")
    return call.answer(call.instance.medias.metadata_item(found, call.user, field, call.language, force=call.force))


async def folders(call: Call) -> Response:
    """GET /medias/{id}/folders."""
    found = _with_member_lists(call)
    rows = [call.instance.medias.folder_item(number) for number in found.folders]
    return listing(call, f"/medias/{found.id}/folders", "folder", rows)


async def labels(call: Call) -> Response:
    """GET /medias/{id}/labels."""
    found = _with_member_lists(call)
    rows = [call.instance.medias.label(number) for number in found.labels]
    return listing(call, f"/medias/{found.id}/labels", "label", rows)


def _with_member_lists(call: Call) -> Media:
    """The media of the path. Raises 404 where the instance has no lists of its folders and labels."""
    found = call.media()
    if not call.instance.options.member_lists:
        raise not_found("page")
    return found


async def versions(call: Call) -> Response:
    """GET /medias/{id}/file-versions: the newest first."""
    found = call.media()
    await known(call, found)
    rows = [call.instance.medias.version(found, one, call.user) for one in reversed(found.versions)]
    return listing(call, f"/medias/{found.id}/file-versions", "file-version", rows)


def version_of(call: Call, found: Media) -> Version:
    """The version of the path. Raises 404."""
    number = call.id("version")
    one = next((version for version in found.versions if version.id == number), None)
    if one is None:
        raise not_found("file-version")
    return one


async def version(call: Call) -> Response:
    """GET /medias/{id}/file-versions/{version}."""
    found = call.media()
    await known(call, found)
    return call.answer(call.instance.medias.version(found, version_of(call, found), call.user))


async def permalinks(call: Call) -> Response:
    """GET /medias/{id}/permalinks: the formats the instance generates, `original` where configured."""
    found = call.media()
    formats = [*call.instance.medias.renditions(found, ("preview", "whr")), *_original(call, found)]
    rows = [_permalink(call, found, name.rpartition(":")[2]) for name in formats]
    return listing(call, f"/medias/{found.id}/permalinks", "permalink", rows)


async def permalink(call: Call) -> Response:
    """GET /medias/{id}/permalinks/{format}."""
    found, name = call.media(), call.request.path_params["format"]
    formats = call.instance.medias.renditions(found, (name,)) if name in ("preview", "whr") else _original(call, found)
    if not formats or name not in ("preview", "whr", "original"):
        raise not_found("permalink")
    return call.answer(_permalink(call, found, name))


def _original(call: Call, found: Media) -> Sequence[str]:
    there = found.file and call.instance.options.original_permalink and found.level(call.user) == "HD"
    return ("original",) if there else ()


def _permalink(call: Call, found: Media, name: str) -> dict[str, Json]:
    file = found.file
    if file is None:
        raise not_found("permalink")
    href = call.instance.medias.static(found, file, "" if name == "original" else name)
    links = {
        "self": call.instance.writer.link(f"/medias/{found.id}/permalinks/{name}"),
        "latest-version": {"href": href},
    }
    return {"id": name, "title": name.capitalize(), "_links": links}


async def media_links(call: Call) -> Response:
    """GET /medias/{id}/media-links: the link types that have members here."""
    found, writer = call.media(), call.instance.writer
    rows = []
    for kind, targets in found.links.items():
        own = f"/medias/{found.id}/media-links/{kind}"
        links = {"self": writer.link(own), writer.rel("medias"): writer.link(f"{own}/medias")}
        title = call.instance.library.schema.link_types[kind]
        rows.append({"id": kind, "title": title, "mediaCount": len(targets), "_links": links})
    return listing(call, f"/medias/{found.id}/media-links", "media-link", rows)


async def media_link_medias(call: Call) -> Response:
    """GET /medias/{id}/media-links/{type}/medias."""
    found, kind = call.media(), call.id("type")
    if kind not in call.instance.library.schema.link_types:
        raise not_found("media-link")
    medias = call.instance.library.medias
    linked = [medias[number] for number in found.links.get(kind, ()) if number in medias]
    if not linked and call.instance.options.links_404:
        raise not_found("media-link")
    return medias_page(call, f"/medias/{found.id}/media-links/{kind}/medias", linked)


async def duplicates(call: Call) -> Response:
    """GET /medias/{id}/duplicates: other media with the same file."""
    found = call.media()
    await known(call, found)
    return medias_page(call, f"/medias/{found.id}/duplicates", call.instance.library.duplicates(found))


async def attachments(call: Call) -> Response:
    """GET /medias/{id}/attachments."""
    found = call.media()
    rows = [attachment_item(call, found, one) for one in found.attachments]
    return listing(call, f"/medias/{found.id}/attachments", "attachment", rows)


def attachment_item(call: Call, found: Media, one: Attachment) -> dict[str, Json]:
    """A side file; with a link to its bytes when they are there, else one to send them, for who may (wire A 4)."""
    writer = call.instance.writer
    links: dict[str, Json] = {"self": writer.link(f"/medias/{found.id}/attachments/{one.id}")}
    if one.blob is None and call.user.may("WRITE", "PUBLISH", "DELETE"):
        links[_relation(call, "upload-link")] = {"href": _upload_link(call, found.id, one)}
    if one.blob:
        signed = call.instance.objects.sign(one.blob, 900, one.name, one.media_type)
        links[_relation(call, "download-link")] = {"href": signed}
    return {
        "id": one.id,
        "title": one.name,
        "fileName": one.name,
        "mediaType": one.media_type,
        "fileSize": one.size,
        "status": "ONLINE" if one.blob else "PENDING_TO_ONLINE",
        "_links": links,
    }


def _relation(call: Call, name: str) -> str:
    """Bare as the seed names them, or with the prefix of all other relations (wire A 3.2)."""
    return name if call.instance.library.options.bare_links else call.instance.writer.rel(name)


def _upload_link(call: Call, media_id: int, one: Attachment) -> str:
    library = call.instance.library

    def received(blob: Blob) -> None:
        media = library.medias.get(media_id)
        if media is not None and blob.size == one.size:
            kept = tuple(replace(each, blob=blob) if each.id == one.id else each for each in media.attachments)
            library.store(replace(media, attachments=kept))

    return call.instance.objects.sign_upload(_ATTACHMENT_LIFE_S, received, one.size)


async def terms_of_use(call: Call) -> Response:
    """GET /medias/{id}/terms-of-use, and those of selections and baskets: none are configured."""
    return hal({"_links": {"curies": call.instance.writer.curies()}, **embedded({}, force=True), "totalCount": 0})
