"""The storage host: ranges, entity tags, signed links that expire; refuses credentials, as object stores do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.kit.bodies import pieces_of
from dam_sync.emulators.kit.object_store import Blob, Held, ObjectStore, TooLong

_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a blob that a response carries; `status` is 200, 206 or 416."""

    status: int
    start: int
    stop: int


def piece_of(size: int, header: str) -> Piece:
    """The range of a Range header for a body of this size; a header without a single range is ignored."""
    found = _RANGE.match(header.strip())
    if not header or found is None or found.group(0) == "bytes=-":
        return Piece(200, 0, size)
    first, last = found.groups()
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(size, int(last) + 1 if last else size)
    return Piece(206, start, stop) if start < stop else Piece(416, 0, 0)


class BlobResponse(Response):
    """Streams a blob, or a range of it; `ranges=False` always gives the whole. A condition holds for a strong entity
    tag that is the same (RFC 9110, 13.1.5). tag: the text of the entity tag, where the service has one of its own."""

    def __init__(self, held: Held, request: Request, *, ranges: bool = True, tag: str = "") -> None:
        self.blob = held.blob
        etag = entity_tag(held.blob, tag)
        asked = request.headers.get("range", "") if ranges else ""
        condition = request.headers.get("if-range")
        if condition is not None and (condition != etag or not etag.startswith('"')):
            asked = ""
        self.piece = piece_of(held.blob.size, asked)
        headers = {"content-length": str(self.piece.stop - self.piece.start), "content-type": held.content_type}
        if ranges:
            headers["accept-ranges"] = "bytes"
        if ranges and etag:
            headers["etag"] = etag
        if held.filename:
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(held.filename, safe='')}"
        if self.piece.status == 206:
            headers["content-range"] = f"bytes {self.piece.start}-{self.piece.stop - 1}/{held.blob.size}"
        elif self.piece.status == 416:
            headers["content-range"] = f"bytes */{held.blob.size}"
        super().__init__(None, self.piece.status, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, then the pieces."""
        headers = [(key, value) for key, value in self.raw_headers if key != b"content-length"]
        headers.append((b"content-length", str(self.piece.stop - self.piece.start).encode()))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        if scope["method"] != "HEAD":
            for body in self.blob.pieces(self.piece.start, self.piece.stop):
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def entity_tag(blob: Blob, tag: str = "") -> str:
    """The entity tag of a blob, as its storage gives it; empty if it gives none."""
    if blob.tags == "none":
        return ""
    return f'{"W/" if blob.tags == "weak" else ""}"{tag or quote(blob.version)}"'


CREDENTIALS = frozenset({"authorization", "cookie", "x-api-key", "accesstoken", "x-authentication-token"})


def carries_credential(headers: Mapping[str, str]) -> bool:
    """Whether a call to a signed address brings a credential of the API along; stores refuse that."""
    return any(name in headers for name in CREDENTIALS)


def storage_host(objects: ObjectStore) -> ASGIApp:
    """The ASGI application of the storage host."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        answer = await _answer(objects, Request(scope, receive, send))
        await answer(scope, receive, send)

    return app


async def _answer(objects: ObjectStore, request: Request) -> Response:
    if carries_credential(request.headers):
        return xml_error(400, "InvalidArgument", "Only one auth mechanism allowed")
    path = request.scope.get("raw_path", request.url.path.encode()).decode("ascii").partition("?")[0]
    if path.startswith("/uploads/"):
        return await _take(objects, request, path)
    if request.method not in ("GET", "HEAD"):
        return xml_error(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
    return _give(objects, request, path)


def _give(objects: ObjectStore, request: Request, path: str) -> Response:
    if not path.startswith("/objects/"):
        held = objects.resolve(unquote(path)) if objects.resolve else None
        return BlobResponse(held, request) if held else xml_error(404, "NoSuchKey", "The specified key does not exist.")
    query = dict(parse_qsl(request.url.query))
    refused = objects.allowed(request.method, path, query)
    if refused:
        return xml_error(
            403, refused, "Request has expired" if refused == "AccessDenied" else "The signature is wrong."
        )
    blob_id, name = (unquote(part) for part in path.removeprefix("/objects/").split("/", 1))
    blob = objects.blobs.get(blob_id)
    if blob is None:
        return xml_error(404, "NoSuchKey", "The specified key does not exist.")
    filename = name if name != blob_id else ""
    return BlobResponse(Held(blob, filename, query.get("response-content-type", "")), request)


async def _take(objects: ObjectStore, request: Request, path: str) -> Response:
    upload = objects.uploads.get(path.removeprefix("/uploads/"))
    if request.method != "PUT" or upload is None:
        return xml_error(404, "NoSuchUpload", "The specified upload does not exist.")
    refused = objects.allowed("PUT", path, dict(parse_qsl(request.url.query)))
    if refused:
        return xml_error(
            403, refused, "Request has expired" if refused == "AccessDenied" else "The signature is wrong."
        )
    if "content-length" not in request.headers:
        return xml_error(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
    try:
        blob = await objects.put(body_of(request), upload.limit)
    except TooLong:
        return xml_error(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size.")
    return await _done(upload.done(blob), blob)


async def _done(finished: Awaitable[None] | None, blob: Blob) -> Response:
    if finished is not None:
        await finished
    return Response(status_code=200, headers={"etag": f'"{blob.digests().md5}"'})


def body_of(request: Request) -> AsyncIterator[bytes]:
    """The bytes of a request's body as they come. Raises ClientDisconnect if the connection breaks."""
    return pieces_of(request.receive)


def xml_error(status: int, code: str, message: str) -> Response:
    """An error as object stores spell it."""
    body = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return Response('<?xml version="1.0" encoding="UTF-8"?>\n' + body, status, media_type="application/xml")
