"""Signed links, previews and embeds of an emulated tenant of service E, and the storage host that serves them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.e_profiles.formats import format_of
from dam_sync.emulators.e_profiles.records import Asset, Version, expired, released
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.kit.object_store import Blob, Held, ObjectStore
from dam_sync.emulators.kit.storage import BlobResponse, carries_credential, xml_error

HOUR = 3600
DOWNLOAD_SECONDS = 12 * HOUR
THUMBNAIL_SECONDS = 24 * HOUR
SIZES = ("125px", "160px", "300px", "600px", "2048px")
_DEFERRED = "/download-deferred/originals"
_PREVIEW = "/preview/"
_CONTENT = "/content/"
_STORAGE_SECONDS = 15 * 60


class Links:
    """Makes links, and answers for them on the storage host; `inner` is the object store's own application."""

    def __init__(self, tenant: Tenant, inner: ASGIApp) -> None:
        self._tenant = tenant
        self._objects: ObjectStore = tenant.objects
        self._inner = inner
        self._key = hashlib.sha256(f"deferred {tenant.world.seed}".encode()).digest()

    def download(self, blob: Blob, filename: str) -> str:
        """A link to an original, good for about 12 h, to the full hour (wire E 4)."""
        return self._signed(_DEFERRED, {"o": blob.id, "n": filename}, DOWNLOAD_SECONDS)

    def thumbnail(self, version: Version, size: str) -> str:
        """A link to a preview, good for 24 h, rounded up to the hour."""
        return self._signed(f"{_PREVIEW}{version.id}/{size}.jpg", {}, THUMBNAIL_SECONDS)

    def embed(self, asset: Asset, kind: str, filename: str, query: str) -> str:
        """A public link that lives while the asset is released and not expired."""
        return f"{self._tenant.world.storage_origin}{_CONTENT}{asset.external_id}/{kind}/{slug(filename)}?{query}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The storage host."""
        path: str = scope["path"]
        if path.startswith((_DEFERRED, _PREVIEW, _CONTENT)):
            answer = self._answer(Request(scope, receive, send), path)
            await answer(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    def _answer(self, request: Request, path: str) -> Response:
        if carries_credential(request.headers):
            return xml_error(400, "InvalidArgument", "Only one auth mechanism allowed")
        if request.method not in ("GET", "HEAD"):
            return xml_error(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
        if path.startswith(_CONTENT):
            return self._content(request, path.removeprefix(_CONTENT).split("/"))
        query = dict(parse_qsl(request.url.query, keep_blank_values=True))
        if not self._allowed(path, query):
            return xml_error(403, "AccessDenied", "Access denied")
        if path.startswith(_PREVIEW):
            blob = self._objects.generated(2048, f"preview {path}")
            return BlobResponse(Held(blob, content_type="image/jpeg"), request)
        return self._redirect(query)

    def _redirect(self, query: Mapping[str, str]) -> Response:
        blob = self._objects.blobs.get(query.get("o", ""))
        if blob is None:
            return xml_error(404, "NoSuchKey", "The specified key does not exist.")
        name = query.get("n", "")
        where = self._objects.sign(blob, _STORAGE_SECONDS, name, format_of(name).media)
        return Response(status_code=302, headers={"location": where, "cache-control": "no-store"})

    def _content(self, request: Request, parts: list[str]) -> Response:
        found = self._embedded(parts[0])
        now = self._tenant.now()
        if found is None or len(parts) < 3:
            return xml_error(404, "NoSuchKey", "Not found")
        asset, version = found
        if asset.deleted is not None or asset.conflicted or expired(asset, now) or not released(asset, now):
            return xml_error(404, "NoSuchKey", "Not found")
        if parts[1] != "original":
            blob = self._objects.generated(4096, f"embed {version.id} {parts[1]}")
            return BlobResponse(Held(blob, content_type="image/jpeg"), request)
        name = version.filename if request.query_params.get("download") == "true" else ""
        return BlobResponse(Held(version.blob, name, format_of(version.filename).media), request)

    def _embedded(self, key: str) -> tuple[Asset, Version] | None:
        """By external id the version that the CDN knows, which may be an old one; or a version by its own id."""
        tenant = self._tenant
        asset = tenant.assets.get(tenant.embeds.get(key, ""))
        if asset is not None:
            fresh = tenant.now() - tenant.options.embed_stale
            known = [version for version in asset.versions if version.uploaded <= fresh]
            return asset, (known or list(asset.versions[:1]))[-1]
        for each in tenant.assets.values():
            for version in each.versions:
                if version.id == key:
                    return each, version
        return None

    def _signed(self, path: str, query: Mapping[str, str], seconds: int) -> str:
        expires = -(-(self._tenant.now() + seconds) // HOUR) * HOUR
        signed = {**query, "Expires": str(expires)}
        more = {"Signature": self._signature(path, signed), "Key-Pair-Id": "APKAEMULATED"}
        return f"{self._tenant.world.storage_origin}{path}?{urlencode({**signed, **more})}"

    def _allowed(self, path: str, query: Mapping[str, str]) -> bool:
        signed = {key: value for key, value in query.items() if key not in ("Signature", "Key-Pair-Id")}
        expires = query.get("Expires", "")
        holds = hmac.compare_digest(query.get("Signature", "").encode(), self._signature(path, signed).encode())
        return holds and expires.isdigit() and self._tenant.world.now().timestamp() <= int(expires)

    def _signature(self, path: str, query: Mapping[str, str]) -> str:
        text = path + "?" + "&".join(f"{key}={query[key]}" for key in sorted(query))
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()


def slug(filename: str) -> str:
    """The file name in an embed link, from which it cannot be read back (wire E 11)."""
    return quote("-".join(unquote(filename).split()) or "file", safe="-._")
