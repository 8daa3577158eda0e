"""The storage host of an emulated tenant of service C: uploads, files, thumbnails and the CDN, apart by path.

Addresses are their own credentials; a call that carries another is refused, as object stores do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.records import Refusal
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.c_brandlibrary.uploads import StoreRefusal, Uploads, checksums, chunk_of
from dam_sync.emulators.kit.object_store import Held, TooLong
from dam_sync.emulators.kit.storage import BlobResponse, body_of, carries_credential

_HASHED_MOST = 1 << 22


class Storage:
    """The host; `inner` answers for everything that is not of this service."""

    def __init__(self, tenant: Tenant, links: Links, uploads: Uploads, inner: ASGIApp) -> None:
        self._tenant, self._links, self._uploads, self._inner = tenant, links, uploads, inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        prefix = scope["path"].strip("/").partition("/")[0]
        handlers: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "up": self._up, "files": self._file, "thumbs": self._thumbnail, "cdn": self._cdn,
        }  # fmt: skip
        if prefix not in handlers:
            await self._inner(scope, receive, send)
            return
        self._tenant.settle()
        request = Request(scope, receive, send)
        try:
            if carries_credential(request.headers):
                raise StoreRefusal(400, "InvalidArgument", "Only one auth mechanism allowed")
            answer = await handlers[prefix](request)
        except StoreRefusal as refusal:
            answer = _xml(refusal)
        await answer(scope, receive, send)

    # -- uploads -------------------------------------------------------------------------------------------------------

    async def _up(self, request: Request) -> Response:
        key = request.url.path.removeprefix("/up/")
        query = _query(request)
        if "upload_id" in query:
            return await self._resumed(request, key, query["upload_id"])
        if request.method == "POST" and "x-goog-resumable" in request.headers:
            return self._started(request, key, query)
        if request.method in ("PUT", "POST"):
            return await self._single(request, key, query)
        raise StoreRefusal(403, "AccessDenied", "Access denied.")

    async def _single(self, request: Request, key: str, query: dict[str, str]) -> Response:
        if request.method == "PUT" and "post_only" in self._tenant.plays:
            raise StoreRefusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.")
        upload = self._uploads.signed(key, query, "single")
        try:
            blob = await self._tenant.objects.put(body_of(request), self._tenant.options.single_most)
        except TooLong:
            raise StoreRefusal(400, "EntityTooLarge", "The object exceeds the maximum allowed size.") from None
        self._uploads.took(upload, blob)
        return Response(headers={"etag": f'"{blob.digests().md5}"', "x-goog-hash": checksums(blob)})

    def _started(self, request: Request, key: str, query: dict[str, str]) -> Response:
        """A body of the starting call is passed over (wire C 6.2)."""
        upload = self._uploads.signed(key, query, "resumable")
        if request.headers["x-goog-resumable"] != "start":
            raise StoreRefusal(400, "InvalidArgument", "x-goog-resumable must be start.")
        address = f"{self._tenant.world.storage_origin}/up/{key}?upload_id={self._uploads.begin(upload).id}"
        if "location_body" in self._tenant.plays:
            return JSONResponse({"location": address})
        return Response(status_code=201, headers={"location": address})

    async def _resumed(self, request: Request, key: str, number: str) -> Response:
        upload, session = self._uploads.session(key, number)
        if request.method == "DELETE":
            self._uploads.cancel(upload, session)
            return Response(status_code=499)
        if request.method != "PUT":
            raise StoreRefusal(405, "MethodNotAllowed", "The specified method is not allowed.")
        length = request.headers.get("content-length", "")
        chunk = chunk_of(request.headers.get("content-range", ""), int(length) if length.isdigit() else None)
        if session.blob is None and not chunk.query:
            every_second = "partial_chunks" in self._tenant.plays and session.chunks % 2 == 0
            in_part = every_second or "partial" in request.scope.get("emulation.play", ())
            await self._uploads.append(upload, session, chunk, body_of(request), in_part=in_part)
        if session.blob is not None:
            return Response(headers={"etag": f'"{session.blob.digests().md5}"'})
        size = session.partial.size
        return Response(status_code=308, headers={"range": f"bytes=0-{size - 1}"} if size else {})

    # -- reading -------------------------------------------------------------------------------------------------------

    async def _file(self, request: Request) -> Response:
        """An attachment's bytes: 403 when the link has expired or its version was replaced, 404 before they came."""
        path, query = _reading(request), _query(request)
        expires, key = query.get("Expires", ""), query.get("KeyName", "")
        signed = self._links.holds(query.get("Signature", ""), path, f"{expires}{key}")
        if not signed or not expires.isdigit() or self._now() > int(expires):
            raise StoreRefusal(403, "AccessDenied", "Access denied.")
        _, _, attachment_id, _, number, _, _ = path.split("/", 6)
        try:
            _, attachment = self._tenant.attachment(attachment_id, self._tenant.accounts.owner)
        except Refusal:
            raise StoreRefusal(403, "AccessDenied", "Access denied.") from None
        if str(attachment.number) != number:
            raise StoreRefusal(403, "AccessDenied", "Access denied.")
        current = attachment.current
        if attachment.coming or current is None:
            raise StoreRefusal(404, "NoSuchKey", "The specified key does not exist.")
        answer = BlobResponse(Held(current.blob, content_type=current.mimetype), request)
        if current.blob.size <= _HASHED_MOST:
            answer.headers["x-goog-hash"] = checksums(current.blob)
        return answer

    async def _thumbnail(self, request: Request) -> Response:
        path, query = _reading(request), _query(request)
        expiry = query.get("expiry", "")
        if not self._links.holds(query.get("sig", ""), path, expiry) or self._now() > int(expiry):
            raise StoreRefusal(403, "AccessDenied", "Access denied.")
        blob = self._tenant.objects.generated(2048, f"preview {path}")
        return BlobResponse(Held(blob, content_type="image/jpeg"), request)

    async def _cdn(self, request: Request) -> Response:
        """A rendition, only of what anybody may see (wire C 4.7)."""
        parts = _reading(request).split("/")
        tenant = self._tenant
        key = parts[4] if len(parts) > 4 else ""
        found = tenant.assets.get(tenant.homes.get(key, key))
        if found is None or found.deleted is not None or found.view_only or found.state(tenant.now()) != "published":
            raise StoreRefusal(404, "NoSuchKey", "The specified key does not exist.")
        blob = tenant.objects.generated(4096, f"rendition {key}")
        return BlobResponse(Held(blob, content_type="image/webp"), request)

    def _now(self) -> float:
        return self._tenant.world.now().timestamp()


def _reading(request: Request) -> str:
    """The path of a GET or HEAD as it was sent."""
    if request.method not in ("GET", "HEAD"):
        raise StoreRefusal(405, "MethodNotAllowed", "The specified method is not allowed.")
    raw = request.scope.get("raw_path")
    return raw.decode("ascii").partition("?")[0] if raw else request.url.path


def _query(request: Request) -> dict[str, str]:
    return dict(parse_qsl(request.url.query, keep_blank_values=True))


def _xml(refusal: StoreRefusal) -> Response:
    body = f"<Error><Code>{refusal.code}</Code><Message>{escape(unquote(refusal.message))}</Message></Error>"
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return Response(head + body, refusal.status, media_type="application/xml")
