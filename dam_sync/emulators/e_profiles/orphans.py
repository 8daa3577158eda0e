"""What lies about in a tenant besides its assets: sessions, files nobody used, uploads in conflict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.e_profiles.uploads import SESSION_SECONDS, Uploads
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.orphans import orphan


def orphans_of(tenant: Tenant, uploads: Uploads) -> Iterator[Mapping[str, Json]]:
    """Sessions and what was sent by them end after 7 days (wire E 6.3); what is queued waits for a person."""
    now = tenant.world.now().timestamp()
    for key, session in uploads.open().items():
        size, left = sum(blob.size for _, blob in session.chunks.values()), session.deadline - now
        yield orphan("upload session", key, SESSION_SECONDS - left, size, left)
    used = {id(version.blob) for asset in tenant.assets.values() for version in asset.versions}
    for key, (blob, deadline) in uploads.files().items():
        if id(blob) not in used:
            yield orphan("file of no asset", key, SESSION_SECONDS - (deadline - now), blob.size, deadline - now)
    for asset in tenant.assets.values():
        if asset.conflicted and asset.deleted is None:
            yield orphan("conflicted upload", asset.id, now - asset.created, asset.current.blob.size)
