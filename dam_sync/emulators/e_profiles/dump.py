"""The ground truth of an emulated tenant of service E in the catalogue's neutral form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.e_profiles.formats import format_of
from dam_sync.emulators.e_profiles.records import Asset, Field, Version, instant
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob


def ground_truth(tenant: Tenant) -> Iterator[Mapping[str, Json]]:
    """Every asset that exists, the trash and the queue of conflicts included, with every file's size and digests."""
    tenant.settle()
    for asset in list(tenant.assets.values()):
        yield _asset(tenant, asset)


def _asset(tenant: Tenant, asset: Asset) -> Mapping[str, Json]:
    status = "trash" if asset.deleted is not None else "archived" if asset.archived else "published"
    return {
        "record": "asset",
        "id": asset.id,
        "catalogue_id": asset.catalogue_id,
        "filename": asset.filename,
        "status": "conflicted" if asset.conflicted and asset.deleted is None else status,
        "form_type": asset.type,
        "type": asset.type,
        "fields": {key: _value(tenant.metadata.fields[key], values) for key, values in asset.fields.items() if values},
        "versions": [_version(version) for version in asset.versions],
        "attachments": [_file(item.id, item.title, item.blob) for item in asset.attachments],
        "placements": _placements(tenant, asset),
        "tags": sorted(asset.tags),
        "machine_tags": sorted(asset.ai_tags),
        "rights": {
            "release_at": instant(asset.release),
            "expires_at": instant(asset.expiration),
            "groups": sorted(asset.groups),
        },
        "relations": [],
        "created_at": instant(asset.created),
        "changed_at": instant(asset.updated),
        "imported_at": instant(asset.created),
        "source_links": {},
    }


def _placements(tenant: Tenant, asset: Asset) -> Json:
    taxonomy = tenant.taxonomy
    rows: list[dict[str, Json]] = [
        {"kind": "category", "path": list(taxonomy.path(each)), "id": each} for each in asset.categories
    ]
    rows += [
        {"kind": "collection", "path": [taxonomy.collections[each].title], "id": each} for each in asset.collections
    ]
    return sorted(rows, key=lambda row: (row["kind"], row["path"]))


def _value(field: Field, values: tuple[str, ...]) -> Json:
    shaped = [_scalar(field, value) for value in values]
    return shaped if field.multiple else shaped[0]


def _scalar(field: Field, value: str) -> Json:
    if field.words is not None:
        return {"id": "", "label": value}
    if field.field_type == "numeric":
        return float(value) if "." in value else int(value)
    if field.field_type == "date":
        return {"date": value} if len(value) == 10 else {"instant": value}
    return value


def _version(version: Version) -> Mapping[str, Json]:
    return {**_file(version.id, version.filename, version.blob), "created_at": instant(version.uploaded)}


def _file(key: str, name: str, blob: Blob) -> dict[str, Json]:
    digests = blob.digests()
    return {
        "id": key,
        "name": name,
        "size": blob.size,
        "media_type": format_of(name).media,
        "digests": {"md5": digests.md5, "sha256": digests.sha256},
        "md5": digests.md5,
        "sha256": digests.sha256,
    }
