"""The ground truth of an emulated tenant of service D in the catalogue's neutral form: one row a family of versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from dam_sync.emulators.d_templates.collections import Collections
from dam_sync.emulators.d_templates.formats import content_type_of, mime_of
from dam_sync.emulators.d_templates.metadata import epoch_of_date
from dam_sync.emulators.d_templates.records import Attribute, Record, instant
from dam_sync.emulators.d_templates.schema import CASCADE, EXTERNAL, TABLE, VOCABULARY
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.environment import Json


def ground_truth(tenant: Tenant, collections: Collections) -> Iterator[Mapping[str, Json]]:
    """Every family that exists, the recycle bin included; the id is the family's (`originalFileId`)."""
    for ids in list(tenant.families.values()):
        family = [tenant.records[each] for each in ids]
        if family[0].kind != "Asset":
            continue
        yield _asset(tenant, collections, family)


def _asset(tenant: Tenant, collections: Collections, family: Sequence[Record]) -> Mapping[str, Json]:
    live = [each for each in family if each.deleted is None]
    record = next((each for each in reversed(family) if each.current), family[-1])
    fields = _fields(tenant, record)
    parts = {name: fields.pop(slug, None) for name, slug in _parts(tenant).items()}
    rights = {"release_at": _midnight(parts.get("release")), "expires_at": _midnight(parts.get("expiry"))}
    groups = sorted(tenant.schema.security[each].name for each in record.security)
    status = str((parts.get("status") or {}).get("label") or "published")
    return {
        "record": "asset",
        "id": record.original,
        "catalogue_id": family[0].catalogue_id,
        "filename": record.filename,
        "status": status if live else "trash",
        "form_type": content_type_of(record.filename).upper(),
        "type": tenant.schema.templates[record.template].name,
        "fields": fields,
        "versions": [_file(each) for each in family if each.blob is not None],
        "attachments": [],
        "placements": _placements(collections, family),
        "tags": sorted(_labels(parts.get("tags"))),
        "machine_tags": [],
        "rights": {**rights, "groups": groups},
        "relations": _relations(tenant, family),
        "created_at": instant(family[0].created),
        "imported_at": instant(family[0].created),
        "changed_at": instant(record.updated),
        "object_id": record.object_id,
        "records": len(family),
    }


def _parts(tenant: Tenant) -> Mapping[str, str]:
    """The attributes that hold other parts of an asset, by the part."""
    options = tenant.options
    named = {
        "tags": options.tags_field,
        "release": options.release_field,
        "expiry": options.expiry_field,
        "status": options.status_field,
    }
    return {part: slug for part, slug in named.items() if slug}


def _placements(collections: Collections, family: Sequence[Record]) -> Json:
    found = {one.id: one for each in family for one in collections.of(each.file_id)}
    rows = [{"kind": "collection", "path": [one.name], "id": one.id} for one in found.values()]
    return sorted(rows, key=lambda row: str(row["path"]))


def _relations(tenant: Tenant, family: Sequence[Record]) -> Json:
    """Those of all versions: a relation stays at the version that it was made for."""
    links = [(each, link) for each in family for link in tenant.relations.of(each.object_id)]
    found = {
        (link.kind, tenant.records[link.secondary].original) for each, link in links if link.primary == each.object_id
    }
    return [{"kind": kind, "target": target} for kind, target in sorted(found)]


def _fields(tenant: Tenant, record: Record) -> dict[str, Json]:
    found = {}
    for attribute in tenant.schema.of_template(record.template).values():
        value = record.values.get(attribute.id)
        if value is not None and attribute.type != EXTERNAL:
            found[attribute.slug] = _value(tenant, attribute, value)
    return found


def _value(tenant: Tenant, attribute: Attribute, value: Json) -> Json:
    if attribute.type == VOCABULARY:
        vocabulary = tenant.schema.vocabularies[attribute.vocabulary]
        if sorted(vocabulary.values.values()) == ["No", "Yes"] and not attribute.multiple:
            return vocabulary.shown(value["valueId"]) == "Yes"  # a flag of the catalogue
        terms = [
            {"id": item["valueId"], "label": vocabulary.shown(item["valueId"]) or ""}
            for item in (value if attribute.multiple else [value])
        ]
        return terms if attribute.multiple else terms[0]
    if attribute.type == "date":
        return {"date": _day(value)}
    if attribute.type == TABLE:
        return [{"row": _cells(tenant, row)} for row in value]
    if attribute.type == CASCADE:
        return [{"row": _cells(tenant, value)}]
    return value


def _cells(tenant: Tenant, entries: Json) -> Json:
    cells = {}
    for entry in entries:
        attribute = tenant.schema.attributes[entry["metadataDefinitionId"]]
        if entry.get("metadataDefinitionValue") is not None:
            cells[attribute.slug] = _value(tenant, attribute, entry["metadataDefinitionValue"])
    return cells


def _day(text: str) -> str:
    return datetime.fromtimestamp(epoch_of_date(text) / 1000, UTC).date().isoformat()


def _midnight(value: Json) -> str | None:
    return f"{value['date']}T00:00:00Z" if value else None


def _labels(value: Json) -> list[str]:
    if not value:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [item["label"] for item in (value if isinstance(value, list) else [value])]


def _file(record: Record) -> Mapping[str, Json]:
    assert record.blob is not None
    digests = record.blob.digests()
    return {
        "id": record.file_id,
        "object_id": record.object_id,
        "name": record.filename,
        "size": record.blob.size,
        "media_type": mime_of(record.filename),
        "digests": {"md5": digests.md5, "sha256": digests.sha256, "crc32": digests.crc32},
        "created_at": instant(record.created),
        "status": "trash" if record.deleted is not None else "available",
    }
