"""The ground truth: what the tenant holds, in the neutral form, with every file's digests, older versions included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.c_brandlibrary.records import Asset, Attachment, Label, Stored, instant
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.environment import Json


def ground_truth(tenant: Tenant) -> Iterator[Mapping[str, Json]]:
    """One neutral asset each, deleted ones included; what was to happen by now has happened."""
    tenant.settle()
    for asset in list(tenant.assets.values()):
        yield _asset(tenant, asset)


def _asset(tenant: Tenant, asset: Asset) -> Mapping[str, Json]:
    first = asset.attachments[0] if asset.attachments else None
    return {
        "record": "asset",
        "id": asset.id,
        "catalogue_id": asset.catalogue_id,
        "filename": first.filename if first else "",
        "status": "trash" if asset.deleted is not None else "published" if asset.approved else "pending",
        "availability": asset.state(tenant.now()),
        "form_type": asset.type,
        "type": asset.type,
        "library": tenant.libraries[asset.library].name,
        "fields": _fields(tenant, asset),
        "versions": [_version(first, number, each) for number, each in enumerate(first.versions)] if first else [],
        "attachments": [_attachment(each) for each in asset.attachments[1:]],
        "placements": _placements(tenant, asset),
        "tags": sorted(tag.name for tag in asset.tags if not tag.auto_generated),
        "machine_tags": sorted(tag.name for tag in asset.tags if tag.auto_generated),
        "rights": {"release_at": _instant(asset.start), "expires_at": _instant(asset.end), "groups": []},
        "relations": [],
        "created_at": _instant(asset.created),
        "changed_at": _instant(asset.updated),
        "imported_at": _instant(asset.created),
        "source_links": {},
    }


def _instant(at: int | None) -> str | None:
    """Milliseconds only if there are any, as the neutral form has it."""
    text = instant(at)
    return text.replace(".000Z", "Z") if text else None


def _fields(tenant: Tenant, asset: Asset) -> Mapping[str, Json]:
    """Custom fields by the names of their keys, and the asset's own name and description. Several values, or those of a
    key that allows several, make a list."""
    found: dict[str, list[str]] = {}
    for value in asset.values:
        if value.key in tenant.keys:
            found.setdefault(value.key, []).append(value.value)
    own = {"name": asset.name, "description": asset.description}
    custom = {
        tenant.keys[key].name: texts if tenant.keys[key].multiple or len(texts) > 1 else texts[0]
        for key, texts in found.items()
    }
    return {**{key: text for key, text in own.items() if text}, **custom}


def _placements(tenant: Tenant, asset: Asset) -> Json:
    rows: list[dict[str, Json]] = [
        {"kind": "section", "path": [tenant.sections[asset.section].name], "id": asset.section}
    ]
    rows += [
        {"kind": "collection", "path": [tenant.collections[each].name], "id": each}
        for each in asset.collections
        if each in tenant.collections
    ]
    rows += [
        {"kind": "label", "path": _path(tenant, tenant.labels[each]), "id": each}
        for each in asset.labels
        if each in tenant.labels
    ]
    return sorted(rows, key=lambda row: (row["kind"], row["path"]))


def _path(tenant: Tenant, label: Label) -> list[str]:
    above = _path(tenant, tenant.labels[label.parent]) if label.parent else []
    return [*above, label.name]


def _version(attachment: Attachment, number: int, stored: Stored) -> Mapping[str, Json]:
    last = number == len(attachment.versions) - 1
    name = attachment.filename if last else stored.filename
    return {**_file(attachment.id, name, stored), "created_at": _instant(stored.at)}


def _attachment(attachment: Attachment) -> Mapping[str, Json]:
    if attachment.current is None:
        return {"id": attachment.id, "name": attachment.filename, "size": None, "media_type": "", "digests": {}}
    return _file(attachment.id, attachment.filename, attachment.current)


def _file(key: str, name: str, stored: Stored) -> dict[str, Json]:
    digests = stored.blob.digests()
    return {
        "id": key,
        "name": name,
        "size": stored.blob.size,
        "media_type": stored.mimetype,
        "digests": {"md5": digests.md5, "sha256": digests.sha256, "crc32": digests.crc32},
    }
