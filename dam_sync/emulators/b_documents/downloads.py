"""Bytes: conditional, ranged with the quirks of the service, or by a redirect to the object store (wire B 4)."""

from __future__ import annotations

import asyncio
import base64
import re
from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.b_documents.calls import Call, Reply
from dam_sync.emulators.b_documents.records import Document, FileBlob, Refusal, moment_of
from dam_sync.emulators.b_documents.security import require
from dam_sync.emulators.b_documents.values import blob_at
from dam_sync.emulators.kit.object_store import Blob
from dam_sync.emulators.kit.storage import entity_tag

_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")
Headers = list[tuple[bytes, bytes]]


def of_document(call: Call) -> Reply:
    """`@blob/{xpath}`."""
    doc = call.document()
    return give(call, doc, call.params.get("xpath", "file:content"))


def servlet(call: Call) -> Reply:
    """`/nxfile/{repository}/{id}[/{xpath}[/{filename}]]`."""
    doc = call.server.repository.get(call.params["id"])
    require(call.server.repository, call.user, doc, "Read")
    return give(call, doc, call.params.get("xpath", "file:content"))


def remove(call: Call) -> Reply:
    """`DELETE @blob/{xpath}`."""
    doc, xpath = call.document(), call.params["xpath"]
    if blob_at(doc, xpath) is None:
        raise Refusal(404, f"No blob at {xpath}")
    call.server.saver.writable(doc, call.user)
    call.server.saver.put(doc, without(doc, xpath), call.user)
    return Reply(204)


def without(doc: Document, xpath: str) -> dict[str, object]:
    """The changed properties of a document that loses one blob; an attachment goes with its place in the list."""
    head, *rest = xpath.split("/")
    if not rest:
        return {head: None}
    kept = list(doc.props.get(head) or [])
    del kept[int(rest[0])]
    return {head: kept}


def give(call: Call, doc: Document, xpath: str) -> Reply:
    """The response for one blob. Raises 404."""
    file = blob_at(doc, xpath)
    if file is None:
        raise Refusal(404, f"No blob found for document {doc.uid} at {xpath}")
    return sent(call, file, str(doc.props.get("dc:modified") or ""))


def sent(call: Call, file: FileBlob, modified: str = "") -> Reply:
    """A blob as a response: 200, 206, 302 or 304."""
    head, options = call.scope["method"] == "HEAD", call.server.options
    if options.direct and not head:
        link = call.server.objects.sign(file.blob, options.link_life, file.name, file.media_type)
        return Reply(302, headers=((b"location", link.encode()),))
    headers = _headers(call, file, modified)
    if _unchanged(call, file, modified):
        return Reply(304, headers=tuple(headers))
    asked = _RANGE.match(call.headers.get("range", "").strip())
    start, stop, partial = _piece(asked, file.blob.size)
    if partial:
        headers.append((b"content-range", f"bytes {start}-{stop - 1}/{file.blob.size}".encode()))
    elif "contentmd5" in call.headers.get("want-digest", "").lower():
        headers.append((b"content-md5", _base64_md5(file)))
    headers.append((b"content-length", str(stop - start).encode()))
    return Reply(206 if partial else 200, app=_streamed(file.blob, start, stop, 206 if partial else 200, headers))


def _headers(call: Call, file: FileBlob, modified: str) -> Headers:
    where = "inline" if call.query.get("inline") == "true" else "attachment"
    digest = call.server.repository.digest_of(file)[1]
    headers: Headers = [
        (b"accept-ranges", b"bytes"),
        (b"content-type", file.media_type.encode()),
        (b"content-disposition", f"{where}; filename*=UTF-8''{quote(file.name, safe='')}".encode()),
    ]
    if tag := entity_tag(file.blob, digest) if digest else "":
        headers.append((b"etag", tag.encode()))
    if modified and file.blob.tags != "none":
        headers.append((b"last-modified", f"{moment_of(modified):%a, %d %b %Y %H:%M:%S GMT}".encode()))
    if call.headers.get("want-digest", "").lower() == "md5":
        headers.append((b"digest", b"MD5=" + _base64_md5(file)))
    return headers


def _base64_md5(file: FileBlob) -> bytes:
    return base64.b64encode(bytes.fromhex(file.blob.digests().md5))


def _unchanged(call: Call, file: FileBlob, modified: str) -> bool:
    known = call.headers.get("if-none-match", "")
    if known:
        return bool(known.strip('"') == call.server.repository.digest_of(file)[1])
    since = call.headers.get("if-modified-since", "")
    return bool(since and modified) and since == f"{moment_of(modified):%a, %d %b %Y %H:%M:%S GMT}"


def _piece(asked: re.Match[str] | None, size: int) -> tuple[int, int, bool]:
    """(start, stop, partial): an open range past the end and a malformed one give the whole, an end is not clamped."""
    if asked is None or asked.group(0) == "bytes=-":
        return 0, size, False
    first, last = asked.groups()
    if not first:
        return max(0, size - int(last)), size, True
    start = int(first)
    if not last:
        return (start, size, True) if start < size else (0, size, False)
    stop = int(last) + 1
    return (start, stop, True) if start < stop else (0, size, False)


def _streamed(blob: Blob, start: int, stop: int, status: int, headers: Headers) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if scope["method"] != "HEAD":
            for body in blob.pieces(start, min(stop, blob.size)):
                await send({"type": "http.response.body", "body": body, "more_body": True})
            if stop > max(start, blob.size):
                await _broken(scope)
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


async def _broken(scope: Scope) -> None:
    """More was promised than there is: the connection ends in the middle of the body."""
    transport: asyncio.Transport | None = scope.get("emulation.transport")
    if transport is None:
        raise ConnectionResetError("the emulated service ended the body early")
    transport.close()
    for _ in range(3):
        turned = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turned.set_result, None)
        await turned
