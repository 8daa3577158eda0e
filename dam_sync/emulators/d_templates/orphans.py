"""What lies about in a tenant besides its assets: records without their file, uploads in progress, helper
collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.d_templates.bulk import HELPER
from dam_sync.emulators.d_templates.collections import Collections
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.d_templates.uploads import Creation
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.orphans import orphan


def orphans_of(tenant: Tenant, creation: Creation, collections: Collections) -> Iterator[Mapping[str, Json]]:
    """Nothing says that the parts of an upload are ever removed, or records without a file (wire D 14, line 20): they
    lie there permanently. An upload of which no part came is nothing any more once its links ended (wire D 6.2)."""
    tenant.settle()
    now, life = tenant.now(), tenant.options.upload_seconds
    for upload in creation.open():
        age = (now - tenant.records[upload.object_id].created) / 1000
        size = sum(part.size for part in upload.parts.values())
        if upload.parts:
            yield orphan("upload session", upload.id, age, size)
        elif age <= life:
            yield orphan("upload session without parts", upload.id, age, 0, life - age)
    for record in tenant.records.values():
        if record.blob is None and record.deleted is None and not record.federated:
            yield orphan("record without a file", record.object_id, (now - record.created) / 1000)
    for collection in collections.all.values():
        if collection.name.startswith(HELPER):
            yield orphan("helper collection", collection.id, (now - collection.created) / 1000)
