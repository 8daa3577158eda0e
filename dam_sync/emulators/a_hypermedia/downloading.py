"""Uploads and downloads: temporary files, `/download-express`, archives."""

from __future__ import annotations

import asyncio
import base64
import binascii
import zipfile
from collections.abc import Sequence
from pathlib import Path

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.call import Call
from dam_sync.emulators.a_hypermedia.errors import Refusal, bad, forbidden, not_found
from dam_sync.emulators.a_hypermedia.records import Media, instant
from dam_sync.emulators.a_hypermedia.uploads import Descriptor, expected_ranges
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob, Held
from dam_sync.emulators.kit.storage import BlobResponse, body_of


async def upload(call: Call) -> Response:
    """POST /files: the whole file, or the announcement of one that comes in chunks (4.31.0)."""
    headers, prefix = call.request.headers, call.instance.options.header_prefix
    name, length = _file_name(call), _length(call)
    announced = headers.get(f"{prefix}Upload-Content-Length")
    if announced is not None and length == 0 and call.instance.options.at_least("4.31.0"):
        if not announced.isdigit():
            raise bad("file-length-invalid", "The announced length is not a number.")
        media_type = headers.get(f"{prefix}Upload-Content-Type", "application/octet-stream")
        made = call.instance.uploads.begin(name, media_type, int(announced))
    else:
        media_type = headers.get("content-type", "application/octet-stream").partition(";")[0]
        made = await call.instance.uploads.single(name, media_type, length, body_of(call.request))
    return call.answer(_descriptor(call, made), 201, location=f"/files/{made.id}")


async def chunk(call: Call) -> Response:
    """PUT /files/{id}: the next chunk; 202, and 200 with the last (4.31.0)."""
    call.needs("4.31.0")
    found = _found(call)
    content_range = call.request.headers.get("content-range", "")
    await call.instance.uploads.chunk(found, content_range, _length(call), body_of(call.request))
    return call.answer(_descriptor(call, found), 200 if found.blob else 202)


async def descriptor(call: Call) -> Response:
    """GET /files/{id}: where to go on."""
    return call.answer(_descriptor(call, _found(call)))


def _found(call: Call) -> Descriptor:
    number = call.request.path_params["id"]
    if "expire" in call.request.scope.get("emulation.play", ()):
        call.instance.uploads.expire(number)
    return call.instance.uploads.get(number)


def _descriptor(call: Call, made: Descriptor) -> dict[str, Json]:
    href, odd = call.instance.writer.href(f"/files/{made.id}"), call.instance.options.odd_descriptors
    body = {
        "id": made.id,
        "expirationDate": instant(made.expires),
        "fileName": made.name,
        "fileContentType": made.media_type,
        "size": str(made.total) if odd else made.total,
        "_links": {"self": href if odd else {"href": href}},
    }
    return body if made.blob else body | {"nextExpectedRanges": expected_ranges(made)}


def _file_name(call: Call) -> str:
    headers, prefix = call.request.headers, call.instance.options.header_prefix
    encoded, plain = headers.get(f"{prefix}Base64FileName"), headers.get(f"{prefix}FileName")
    if encoded:
        try:
            name = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise bad("file-name-invalid", "The file name is not base64 of UTF-8.") from None
    else:
        name = plain or ""
    if not name:
        raise bad("file-name-missing", "A file name header is needed.")
    return name


def _length(call: Call) -> int:
    text = call.request.headers.get("content-length")
    if text is None or not text.isdigit():
        raise Refusal(411, "length-required", "A Content-Length is needed.")
    return int(text)


async def express(call: Call) -> Response:
    """GET /download-express?mid=…: one file as it is, without ranges; several as a ZIP."""
    ids = call.every("mid")
    if not ids or not all(one.isdigit() for one in ids):
        raise bad("media-id-missing", "mid must be given.")
    medias = [call.instance.library.media(int(one), call.user) for one in ids]
    if any(one.level(call.user) == "NONE" for one in medias):
        raise forbidden("download")
    if len(medias) > 1:
        blob = await zipped(call, medias)
        return BlobResponse(Held(blob, "download.zip", "application/zip"), call.request, ranges=False)
    file = medias[0].file
    if file is None:
        raise not_found("file")
    if not _accepts(call, file.media_type):
        raise Refusal(406, "not-acceptable", f"The file is {file.media_type}.")
    held = Held(_allowed(call, medias[0]), file.name, file.media_type)
    return BlobResponse(held, call.request, ranges=False)


def _accepts(call: Call, media_type: str) -> bool:
    """Whether the request takes a file of this type: a type, `image/*` or `*/*`, or no header at all (RFC 9110)."""
    wanted = call.request.headers.get("accept", "*/*")
    taken = {part.partition(";")[0].strip().lower() for part in wanted.split(",")}
    return not taken.isdisjoint({"*/*", f"{media_type.partition('/')[0]}/*", media_type})


async def zipped(call: Call, medias: Sequence[Media]) -> Blob:
    """An archive of the media's current files."""
    path = call.instance.objects.folder / f"{call.instance.objects.name()}.zip"
    named = [(f"{one.id}-{one.file.name}".replace("/", "_"), _allowed(call, one)) for one in medias if one.file]
    await asyncio.to_thread(_write_zip, path, named)
    return call.instance.objects.file(path)


def _write_zip(path: Path, named: Sequence[tuple[str, Blob]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, blob in named:
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as target:
                for piece in blob.pieces():
                    target.write(piece)


def _allowed(call: Call, media: Media) -> Blob:
    """The original, or for users of the low definition a smaller file with other bytes."""
    file = media.file
    if file is None:
        raise not_found("file")
    if media.level(call.user) == "HD":
        return file.blob
    return call.instance.objects.generated(max(1, file.blob.size // 4), f"low {file.id}")
