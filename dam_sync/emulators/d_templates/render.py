"""Asset records as the service shows them (wire D 3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping

from dam_sync.emulators.d_templates.formats import content_type_of, extension_of, human_size, mime_of
from dam_sync.emulators.d_templates.records import CUSTOMER, Record, User, long_instant
from dam_sync.emulators.d_templates.schema import EXTERNAL
from dam_sync.emulators.d_templates.state import Tenant, state_of
from dam_sync.emulators.d_templates.texts import content_text, system_texts
from dam_sync.emulators.kit.environment import Json

Rendition = Callable[[Record, str], str]
SIZES: Mapping[str, str] = {
    "imageThumb": "200x200.webp",
    "imagePreview": "700x700.webp",
    "imagePreviewLarge": "1000x1000.webp",
    "mezzaninePreview": "3000x3000.png",
}
SLIM = ("objectId", "fileId", "originalFileId", "filename", "fileState", "createdEpoch", "lastUpdatedEpoch")


class Renderer:
    """Shows records to users; `rendition` makes the links of previews."""

    def __init__(self, tenant: Tenant, rendition: Rendition) -> None:
        self._tenant = tenant
        self._rendition = rendition
        self._shown = 0

    def record(self, record: Record, user: User, excludes: Collection[str] = ()) -> dict[str, Json]:
        """The whole record, in the field names of some release."""
        shown = self.plain(record, user)
        for name in excludes:
            _exclude(shown, name)
        if "field_names" in self._tenant.options.plays:
            self._shown += 1
            return _RELEASES[self._shown % len(_RELEASES)](shown)
        return shown

    def plain(self, record: Record, user: User) -> dict[str, Json]:
        """The whole record in the usual field names."""
        shown: dict[str, Json] = {
            "objectId": record.object_id,
            "fileId": record.file_id,
            "originalFileId": record.original,
            "objectType": record.kind,
            "customerId": CUSTOMER,
            "filename": record.filename,
            "fileState": state_of(record),
            "metadataState": state_of(record),
            "currentVersion": "Y" if record.current else "N",
            "versionNumber": record.number,
            "createdBy": record.created_by,
            "createdEpoch": record.created,
            "lastUpdatedBy": record.updated_by,
            "lastUpdatedEpoch": record.updated,
            "metadataTemplateId": record.template,
            "metadata": self._metadata(record, user),
            "metadataDenormalized": self.denormalised(record, user),
            "securityTemplateIds": list(record.security),
            "securityDenormalized": self._security(record),
            "presignedURL": "",
            "linkType": "",
            "relationshipId": "",
            "secondaryId": "",
            "primaryID": "",
            "defaultMetadata": {},
        }
        if record.deleted is not None:
            shown |= {"fileDeletedEpoch": record.deleted, "fileDeletedBy": record.deleted_by}
            shown |= {"metadataDeletedEpoch": record.deleted, "metadataDeletedBy": record.deleted_by}
        technical = self._technical(record)
        if technical is not None:
            shown |= {"technicalMetadata": technical, "renditions": self._renditions(record)}
        if "no_security" in self._tenant.options.plays:
            del shown["securityTemplateIds"], shown["securityDenormalized"]
        return shown

    def slim(self, record: Record, user: User, includes: Collection[str]) -> dict[str, Json]:
        """A hit of `POST /search`: a few fields, and those requested (wire D 2.3)."""
        plain = self.plain(record, user)
        names = [*SLIM, *(each for each in includes if each in plain)]
        prefix = "metadataDocument."
        custom = {each.removeprefix(prefix) for each in includes if each.startswith(prefix)}
        document = {key: value for key, value in plain["metadataDenormalized"].items() if key in custom}
        return {name: plain[name] for name in names} | ({"metadataDocument": document} if custom else {})

    def simplified(self, record: Record, user: User, *, empty: bool, system: bool) -> dict[str, Json]:
        """`GET /assets/asset/{id}`: names and display texts (wire D 3.5)."""
        entries: list[Json] = []
        for attribute in self._tenant.schema.of_template(record.template).values():
            if attribute.type == EXTERNAL or (attribute.sensitive and not user.sensitive):
                continue
            value = self._tenant.metadata.by_name(attribute, record.values.get(attribute.id))
            if empty or value not in (None, []):
                entries.append({"name": attribute.name, "value": value})
        if system:
            entries += [{"name": each.name, "value": self._text(record, slug)} for slug, each in self._system()]
        size = {"fileSizeInBytes": record.blob.size} if record.processed and record.blob else {}
        return {
            "objectId": record.object_id,
            "createdDate": long_instant(record.created),
            "lastUpdatedDate": long_instant(record.updated),
            "fileId": record.file_id,
            "filename": record.filename,
            **size,
            "originalFileId": record.original,
            "metadata": entries,
        }

    def denormalised(self, record: Record, user: User) -> dict[str, Json]:
        """By search field, as the index knows it; nothing before the record was indexed (wire D 3.2)."""
        indexed = self._tenant.index.docs.get(record.object_id)
        if indexed is None:
            return {}
        schema, metadata = self._tenant.schema, self._tenant.metadata
        shown: dict[str, Json] = {}
        for attribute in schema.of_template(indexed.template).values():
            if attribute.type == EXTERNAL:
                shown[attribute.slug] = content_text(indexed, self._tenant.options.text_content) or None
            elif not attribute.sensitive or user.sensitive:
                shown[attribute.slug] = metadata.denormalised(attribute, indexed.values.get(attribute.id))
        return shown | self._denormalised_system(indexed)

    def _denormalised_system(self, record: Record) -> dict[str, Json]:
        shown: dict[str, Json] = {slug: self._text(record, slug) for slug, _ in self._system()}
        shown |= {"system_security_templates": system_texts(self._tenant.schema, record, "system_security_templates")}
        shown |= {"system_created_epoch": str(record.created), "system_created_date": record.created}
        shown |= {"system_last_updated_date": record.updated, "system_layout_links": []}
        if record.processed and record.blob is not None:
            shown |= {"system_file_size": human_size(record.blob.size), "system_match": "Unique File"}
            shown |= {"system_skip_transcode": False}
        return shown

    def _text(self, record: Record, slug: str) -> Json:
        texts = system_texts(self._tenant.schema, record, slug)
        return ", ".join(texts) if texts else None

    def _system(self) -> Collection[tuple[str, Json]]:
        return self._tenant.schema.system.items()

    def _metadata(self, record: Record, user: User) -> list[Json]:
        schema = self._tenant.schema
        entries = self._tenant.metadata.written(record.template, record.values, sensitive=user.sensitive)
        values: dict[str, Json] = {
            "system_metadata_templates": {"valueId": record.template},
            "system_security_templates": [{"valueId": each} for each in record.security],
            "system_created_by": {"valueId": record.created_by},
            "system_last_updated_by": {"valueId": record.updated_by},
        }
        for slug in ("system_content_type", "system_mime_type", "system_is_federated"):
            (text,) = system_texts(schema, record, slug)
            values[slug] = {"valueId": schema.system_value(slug, text)}
        for slug, attribute in schema.system.items():
            value = {"metadataDefinitionValue": values[slug]} if slug in values else {}
            entries.append({"metadataDefinitionId": attribute.id, **value})
        return entries

    def _security(self, record: Record) -> list[Json]:
        granted: dict[str, dict[str, None]] = {}
        for each in record.security:
            template = self._tenant.schema.security.get(each)
            for group, permissions in template.grants.items() if template else ():
                granted.setdefault(group, {}).update(dict.fromkeys(sorted(permissions)))
        return [{"groupId": group, "permissions": list(held)} for group, held in granted.items()]

    def _technical(self, record: Record) -> Json:
        if not record.processed:
            return None
        if record.blob is None:
            return record.technical or {}
        size, extension = record.blob.size, extension_of(record.filename)
        kept: dict[str, Json] = {
            "vendor_metadata": {
                "fileName": record.filename,
                "fileSize": human_size(size),
                "fileSizeInBytes": size,
                "MD5Checksum": record.blob.digests().md5,
            },
            "image_metadata": {
                "fileType": extension.upper(),
                "fileTypeExtension": extension,
                "mimeType": mime_of(record.filename),
            },
        }
        if content_type_of(record.filename) == "Image":
            kept["image_metadata"] |= {"imageWidth": 1400, "imageHeight": 1050, "imageSize": "1400x1050"}
        return kept

    def _renditions(self, record: Record) -> Json:
        if record.blob is None:
            return {}
        return {"width": 1400, "height": 1050, **{name: self._rendition(record, size) for name, size in SIZES.items()}}


def _exclude(shown: dict[str, Json], name: str) -> None:
    """Leave out what a storage name means (wire D 2.2)."""
    prefix = "metadataDocument."
    if name.startswith(prefix):
        shown["metadataDenormalized"].pop(name.removeprefix(prefix), None)
        return
    for key in _STORED.get(name, (name,)):
        if key not in ("objectId", "fileId", "originalFileId"):
            shown.pop(key, None)


_STORED: Mapping[str, tuple[str, ...]] = {
    "technicalMetadataDocument": ("technicalMetadata",),
    "renditionsDocument": ("renditions",),
    "metadataDocument": ("metadata", "metadataDenormalized"),
}


def _named_otherwise(shown: dict[str, Json]) -> dict[str, Json]:
    """Lower-case ids, JSON inside strings, numbers as texts."""
    made = _renamed(shown, {"filename": "fileName", "renditions": "renditionsDocument"})
    if "technicalMetadata" in made:
        made["technical_metadata"] = json.dumps(made.pop("technicalMetadata"))
    if "metadata" in made:
        made["metadata"] = _lowered(made["metadata"])
    made["lastUpdatedEpoch"] = str(made["lastUpdatedEpoch"])
    denormalised = made.get("metadataDenormalized", {})
    for key, value in denormalised.items():
        if isinstance(value, int) and not isinstance(value, bool):
            denormalised[key] = str(value)
    return made


def _stored_names(shown: dict[str, Json]) -> dict[str, Json]:
    """The names of the store; the denormalised metadata again as a JSON string."""
    made = _renamed(shown, {"technicalMetadata": "technicalMetadataDocument"})
    if "metadataDenormalized" in made:
        made["metadataDocument"] = json.dumps(made["metadataDenormalized"])
    if "technicalMetadataDocument" in made:
        technical = made["technicalMetadataDocument"]
        made["technicalMetadataDocument"] = _renamed(technical, {"vendor_metadata": "acme_metadata"})
    return made | {"lockStatus": "unlocked", "lockType": [], "AITags": [], "digitalAssetIds": []}


def _renamed(shown: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    return {names.get(key, key): value for key, value in shown.items()}


def _lowered(value: Json) -> Json:
    if isinstance(value, list):
        return [_lowered(each) for each in value]
    if isinstance(value, dict):
        names = {"metadataDefinitionId": "metadatadefinitionId"}
        return {names.get(key, key): _lowered(inner) for key, inner in value.items()}
    return value


_RELEASES: tuple[Callable[[dict[str, Json]], dict[str, Json]], ...] = (dict, _named_otherwise, _stored_names)
