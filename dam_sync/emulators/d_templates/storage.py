"""The object store behind presigned links: it checks signature, expiry and signed headers, and takes no credentials
(wire D 4, 6.2, 12.5)."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.d_templates.formats import mime_of
from dam_sync.emulators.d_templates.records import Record
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.object_store import Blob, Held, TooLong
from dam_sync.emulators.kit.storage import BlobResponse, body_of, carries_credential, entity_tag, xml_error

META = "x-amz-meta-objectid"
LONGEST = 604_800
_STAMP = "%Y%m%dT%H%M%SZ"
_EXPIRED = ("AccessDenied", "Request has expired")
_WRONG = ("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")


class Uploads(Protocol):
    """Who takes what is put; both give the blob's entity tag, or None when there is no such upload."""

    def take_file(self, file_id: str, blob: Blob) -> str | None:
        """A single PUT."""
        ...

    def take_part(self, upload: str, number: int, blob: Blob) -> str | None:
        """One part."""
        ...


class Storage:
    """Makes presigned links, and answers for them on the storage host; `inner` answers for all other paths."""

    def __init__(self, tenant: Tenant, inner: ASGIApp) -> None:
        self._tenant = tenant
        self._inner = inner
        self._key = hashlib.sha256(f"presigned {tenant.world.seed}".encode()).digest()
        self.uploads: Uploads | None = None

    def download(self, record: Record, seconds: float) -> str:
        """A link to the original."""
        return self._signed("GET", _path("masters", record), seconds, {})

    def preview(self, record: Record, name: str, seconds: float) -> str:
        """A presigned link to a rendition."""
        return self._signed("GET", f"{_path('renditions', record)}/{name}", seconds, {})

    def upload(self, record: Record, seconds: float, upload: str = "", number: int = 0) -> str:
        """A link that takes the bytes of a record by PUT, or one part of them."""
        more = {"partNumber": str(number), "uploadId": upload} if upload else {META: record.object_id}
        return self._signed("PUT", _path("masters", record), seconds, more)

    def rendition(self, record: Record, size: str) -> str:
        """A link with a token that ends."""
        path = f"/{record.file_id}-{size}"
        expires = int(self._tenant.world.now().timestamp() + self._tenant.options.rendition_seconds)
        return f"{self._tenant.world.storage_origin}/content{path}?token={self._token(path, expires)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The storage host."""
        if scope["path"].startswith(("/masters/", "/content/", "/renditions/")):
            answer = await self._answer(Request(scope, receive, send))
            await answer(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if carries_credential(request.headers):
            return xml_error(400, "InvalidArgument", "Only one auth mechanism allowed")
        path = request.scope.get("raw_path", request.url.path.encode()).decode("ascii").partition("?")[0]
        query = dict(parse_qsl(request.url.query, keep_blank_values=True))
        if path.startswith("/content/"):
            return self._rendered(request, unquote(path).removeprefix("/content"), query.get("token", ""))
        refused = self._refused(request, path, query)
        if refused is not None:
            return xml_error(403, *refused)
        if request.method == "PUT":
            return await self._take(request, path, query)
        if path.startswith("/renditions/"):
            return BlobResponse(Held(self._picture(path), content_type="image/webp"), request)
        return self._give(request, path)

    def _give(self, request: Request, path: str) -> Response:
        record = self._tenant.found(path.split("/")[2])
        if record is None or record.blob is None:
            return xml_error(404, "NoSuchKey", "The specified key does not exist.")
        etag = entity_tag(record.blob, record.etag)
        if request.headers.get("if-match", etag) != etag:
            return xml_error(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        return BlobResponse(Held(record.blob, content_type=mime_of(record.filename)), request, tag=record.etag)

    async def _take(self, request: Request, path: str, query: Mapping[str, str]) -> Response:
        if "content-length" not in request.headers:
            return xml_error(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        try:
            blob = await self._tenant.objects.put(body_of(request), self._tenant.options.put_most)
        except TooLong:
            return xml_error(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size.")
        if not blob.size and "refuse_empty" in self._tenant.options.plays:
            return xml_error(400, "InvalidRequest", "The request body is empty.")
        self._tenant.settle()
        if self.uploads is None:
            etag = None
        elif "uploadId" in query:
            etag = self.uploads.take_part(query["uploadId"], int(query["partNumber"]), blob)
        else:
            etag = self.uploads.take_file(path.split("/")[2], blob)
        self._tenant.wake()
        if etag is None:
            return xml_error(404, "NoSuchUpload", "The specified upload does not exist.")
        return Response(status_code=200, headers={"etag": f'"{etag}"'})

    def _refused(self, request: Request, path: str, query: Mapping[str, str]) -> tuple[str, str] | None:
        signature = self._signature(request.method, path, query)
        if not hmac.compare_digest(query.get("X-Amz-Signature", "").encode(), signature.encode()):
            return _WRONG  # HEAD, too: the link is signed for another method
        begun = datetime.strptime(query["X-Amz-Date"], _STAMP).replace(tzinfo=UTC)
        if self._tenant.world.now() > begun + timedelta(seconds=int(query["X-Amz-Expires"])):
            return _EXPIRED
        if self._tenant.options.strict_signed_headers:
            names = query["X-Amz-SignedHeaders"].split(";")
            if any(name != "host" and request.headers.get(name) != query.get(name) for name in names):
                return _WRONG
            if "content-type" in request.headers and request.method == "PUT" and "content-type" not in names:
                return _WRONG  # wire D 6.2: none unless it is signed
        return None

    def _rendered(self, request: Request, path: str, token: str) -> Response:
        claims = token.split(".")
        if request.method != "GET" or len(claims) != 3:
            return xml_error(403, "AccessDenied", "Access denied")
        expires = int(claims[1]) if claims[1].isdigit() else 0
        if token != self._token(path, expires) or expires < self._tenant.world.now().timestamp():
            return xml_error(403, "AccessDenied", "Access denied")
        return BlobResponse(Held(self._picture(path), content_type="image/webp"), request)

    def _picture(self, path: str) -> Blob:
        return self._tenant.objects.generated(2048, f"rendition {path}")

    def _token(self, path: str, expires: int) -> str:
        head = urlsafe_b64encode(json.dumps({"alg": "HS256"}).encode()).rstrip(b"=").decode()
        return f"{head}.{expires}.{hmac.new(self._key, f'{path} {expires}'.encode(), hashlib.sha256).hexdigest()}"

    def _signed(self, method: str, path: str, seconds: float, more: Mapping[str, str]) -> str:
        query = {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": "EMULATED/20260101/eu-1/s3/aws4_request",
            "X-Amz-Date": self._tenant.world.now().strftime(_STAMP),
            "X-Amz-Expires": str(int(seconds)),
            "X-Amz-SignedHeaders": f"host;{META}" if META in more else "host",
            **more,
        }
        signature = self._signature(method, path, query)
        return f"{self._tenant.world.storage_origin}{path}?{urlencode({**query, 'X-Amz-Signature': signature})}"

    def _signature(self, method: str, path: str, query: Mapping[str, str]) -> str:
        text = "&".join(f"{key}={query[key]}" for key in sorted(query) if key != "X-Amz-Signature")
        return hmac.new(self._key, f"{method} {path}?{text}".encode(), hashlib.sha256).hexdigest()


def _path(folder: str, record: Record) -> str:
    return f"/{folder}/{record.file_id}/{quote(record.filename, safe='')}"
