"""What lies about in an organization besides its assets: uploads that none was made of, files that never came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.c_brandlibrary.links import UPLOAD_SECONDS
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.c_brandlibrary.uploads import WEEK, Upload, Uploads
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.orphans import orphan


def orphans_of(tenant: Tenant, uploads: Uploads) -> Iterator[Mapping[str, Json]]:
    """Addresses live a day, sessions and objects a week (wire C 6.1, 6.2); the rest lies there permanently."""
    tenant.settle()
    now = tenant.now()
    coming = {each.coming for asset in tenant.assets.values() for each in asset.attachments if each.coming}
    for upload in uploads.requests.values():
        if not upload.used and not any(upload.key in address for address in coming):
            yield from _upload(upload, now)
    for asset in tenant.assets.values():
        if asset.deleted is not None:
            continue
        if not asset.attachments:
            yield orphan("asset without a file", asset.id, (now - asset.created) / 1000)
        for each in asset.attachments:
            if each.current is None or each.coming:
                yield orphan("file still to come", each.id, (now - each.updated) / 1000)


def _upload(upload: Upload, now: int) -> Iterator[Mapping[str, Json]]:
    if upload.blob is not None:
        yield from _kept("uploaded object", upload.key, now - upload.uploaded, WEEK, upload.blob.size)
        return
    for session in upload.sessions.values():
        yield from _kept("upload session", session.id, now - session.started, WEEK, session.partial.size)
    if not upload.sessions:
        yield from _kept("upload request", upload.key, now - upload.issued, UPLOAD_SECONDS * 1000)


def _kept(kind: str, name: str, age: int, life: int, size: int = 0) -> Iterator[Mapping[str, Json]]:
    if age <= life:
        yield orphan(kind, name, age / 1000, size, (life - age) / 1000)
