"""Signed addresses on the storage host: of files, of thumbnails, of uploads (wire C 4, 6.1)."""

from __future__ import annotations

import hashlib
import hmac
from urllib.parse import quote, urlencode

from dam_sync.emulators.c_brandlibrary.records import Asset, Attachment
from dam_sync.emulators.c_brandlibrary.state import Tenant

UPLOAD_SECONDS = 86_400
CDN_KEY = "D8K2TX4W"


class Links:
    """Makes the addresses, a fresh one with each read, and checks their signatures."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._key = hashlib.sha256(f"brand {tenant.world.seed}".encode()).digest()
        self._count = 0

    def file(self, attachment: Attachment) -> str:
        """The bytes of an attachment's current version."""
        expires = int(self._now() + self._tenant.options.file_link)
        path = f"/files/{attachment.id}/v/{attachment.number}/original/{quote(attachment.filename, safe='')}"
        self._count += 1
        key = f"k{self._count % 2 + 1}"
        query = {"Expires": expires, "KeyName": key, "Signature": self.signature(path, f"{expires}{key}")}
        return f"{self._origin}{path}?{urlencode(query)}"

    def thumbnail(self, what: str, key: str, height: int = 162, width: int = 262) -> str:
        """A preview of an asset (`as`) or an attachment (`at`)."""
        expiry = int(self._now() + self._tenant.options.thumbnail_link)
        path = f"/thumbs/{what}/{key}"
        query = {"expiry": expiry, "fit": "bounds", "height": height, "sig": self.signature(path, str(expiry))}
        return f"{self._origin}{path}?{urlencode({**query, 'width': width})}"

    def cdn_asset(self, asset: Asset) -> str:
        """The delivery link of an asset: a rendition, never the original."""
        return f"{self._origin}/cdn/{CDN_KEY}/as/{asset.id}/{quote(asset.name, safe='')}"

    def cdn_attachment(self, attachment: Attachment) -> str:
        """The delivery link of an attachment."""
        return f"{self._origin}/cdn/{CDN_KEY}/at/{attachment.id}/{quote(attachment.filename, safe='')}"

    def upload(self, key: str, issued: int) -> tuple[str, str, str]:
        """The addresses for a single upload, for a resumable one, and of the object (wire C 6.1)."""
        path = f"/up/{key}"
        expires = issued // 1000 + UPLOAD_SECONDS
        single, resumable = (
            f"{self._origin}{path}?"
            + urlencode({"X-Expires": expires, "X-Signature": self.signature(path, f"{expires}{how}")})
            for how in ("single", "resumable")
        )
        return single, resumable, f"{self._origin}{path}"

    def object_key(self, url: str) -> str | None:
        """The upload that an `object_url` means, None for an address that is not ours."""
        prefix = f"{self._origin}/up/"
        return url.removeprefix(prefix).partition("?")[0] if url.startswith(prefix) else None

    def holds(self, signature: str, path: str, text: str) -> bool:
        """Whether a signature is ours."""
        return hmac.compare_digest(signature.encode(), self.signature(path, text).encode())

    def signature(self, path: str, text: str) -> str:
        """The signature of a path and what else is signed."""
        return hmac.new(self._key, f"{path} {text}".encode(), hashlib.sha256).hexdigest()

    def _now(self) -> float:
        return self._tenant.world.now().timestamp()

    @property
    def _origin(self) -> str:
        return self._tenant.world.storage_origin
