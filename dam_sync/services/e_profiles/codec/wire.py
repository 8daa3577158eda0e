"""The JSON of service E and our model: listings, assets, versions, bodies to send. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlsplit

from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.redaction import excerpt
from dam_sync.model.asset import Asset, AssetId, Draft, Entry, FileRef, Loss, Revision
from dam_sync.model.errors import ContractBroken, IntegrityError, Rejected
from dam_sync.model.mistyped import size_of_file
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Json, Value
from dam_sync.services.e_profiles.codec.fields import DERIVED, ProfilesField, TenantSchema
from dam_sync.services.e_profiles.codec.security import rights_of
from dam_sync.services.e_profiles.codec.values import decode, encode
from dam_sync.services.e_profiles.facts import LAG, LINK_RESERVE

FRESH = "~fresh"  # behind the revision of an asset that was changed a moment before it was read
TOGGLE_NAME, DESCRIPTION = 100, 300  # characters that are shown
DOCUMENT = "document:"  # before the id of an attached document in a file's id

# -- listings ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProfilesHits:
    """One response of a search, with the id of its scroll where it has one; `most`: rows requested."""

    rows: tuple[Json, ...]
    total: int
    scroll: str = ""
    most: int = 0

    @property
    def complete(self) -> bool:
        """Whether all that was found fits into the rows requested."""
        return self.total <= self.most


@interprets_response
def hits_of(reply: Json) -> ProfilesHits:
    """A search response. Raises ContractBroken if the query was misread or the envelope differs (wire E 2.1)."""
    if not isinstance(reply, dict) or not isinstance(reply.get("items"), list):
        raise ContractBroken("a search response has no `items`")
    if reply.get("query_syntax_ok") is not True:
        raise ContractBroken(f"the service misread the query {str(reply.get('query'))[:120]!r}")
    total = reply.get("total_count")
    if not isinstance(total, int):
        raise ContractBroken("a search response has no `total_count`")
    return ProfilesHits(tuple(reply["items"]), total, member_text(reply, "scroll_id"))


def link_query(address: str) -> list[tuple[str, str]]:
    """The query parameters of a link the service gave; its URL is not followed, only the query is sent again."""
    return parse_qsl(urlsplit(address).query, keep_blank_values=True)


@interprets_response
def entry_of(row: Json, tenant: TenantSchema, more: More | None) -> Entry:
    """A search row, with the whole record where its versions and documents were read."""
    asset = asset_of(row, tenant, more or More())
    whole = None if more is None else asset
    return Entry(asset.id, asset.revision, asset.changed_at, whole, row.get("deleted_date") is not None)


# -- one asset ---------------------------------------------------------------------------------------------------------


@interprets_response
def id_of(row: Json) -> AssetId:
    """The asset's id. Raises ContractBroken without one."""
    identity = row.get("id") if isinstance(row, dict) else None
    if not identity:
        raise ContractBroken("an asset has no `id`")
    return AssetId(str(identity))


@interprets_response
def revision_of(row: Json) -> Revision:
    """Changes with every edit, by `last_update_date`, and with every file, by `version_id` (absent on old servers)."""
    return Revision(f"{row.get('last_update_date') or ''}~{version_of(row)}")


def as_read(entry: Entry, now: datetime) -> Entry:
    """The same with a revision that is not the final one, where the change it tells of is so fresh that another of the
    same second may follow, or is not in the index yet (wire E 1.5, 6.8): the next reading looks again."""
    if entry.changed_at is None or now - entry.changed_at > LAG:
        return entry
    revision = Revision(f"{entry.revision}{FRESH}")
    asset = None if entry.asset is None else replace(entry.asset, revision=revision)
    return replace(entry, revision=revision, asset=asset)


@interprets_response
def version_of(row: Json) -> str:
    """What distinguishes a file version from another: its id, or its upload timestamp on servers that show no id."""
    return member_text(row, "version_id", "file_upload_date")


@interprets_response
def filename_of(row: Json) -> str:
    """The file name of an asset, which a new version is uploaded under. Raises ContractBroken if it has none."""
    name = member_text(row, "filename")
    if not name:
        raise ContractBroken("an asset has no `filename`")
    return name


@dataclass(frozen=True, slots=True)
class More:
    """What separate calls return about an asset: file versions, attached documents, whether it is archived, losses."""

    versions: Sequence[Json] = ()
    documents: Sequence[Json] = ()
    archived: bool = False
    losses: tuple[Loss, ...] = ()


@interprets_response
def asset_of(row: Json, tenant: TenantSchema, more: More = More()) -> Asset:
    """An asset with its file versions, oldest first; without `more` the current file alone."""
    created = parse_timestamp(row.get("created_date"))
    return Asset(
        id=id_of(row),
        revision=revision_of(row),
        filename=member_text(row, "filename"),
        status="trash" if row.get("deleted_date") else "archived" if more.archived else "published",
        form_type=str((row.get("file_properties") or {}).get("format_type") or ""),
        type=metadata_type_of(row),
        fields=_derived(row) | _metadata(row, tenant),
        versions=tuple(file_of(item, id_of(row)) for item in _oldest_first(row, more.versions)),
        attachments=tuple(document_of(item, id_of(row)) for item in more.documents if item.get("downloadUrl")),
        tags=_words(row.get("tags")),
        machine_tags=_words(row.get("ai_tags")),
        rights=rights_of(row.get("security"), tenant.everybody),
        created_at=created,
        changed_at=parse_timestamp(row.get("last_update_date")),
        imported_at=created,
        source_links=public_links(row),
        losses=more.losses + _without_link(more.documents),
    )


def _without_link(documents: Sequence[Json]) -> tuple[Loss, ...]:
    lost = ((member_text(item, "title") or str(item["uuid"])) for item in documents if not item.get("downloadUrl"))
    return tuple(Loss("attachments", "no download link", name) for name in lost)


@interprets_response
def public_links(row: Json) -> dict[str, str]:
    """Public URLs by rendition, where they were requested; URL templates are left out (wire E 3.1)."""
    embeds = row.get("embeds") or {}
    links = {str(name): str((found or {}).get("url") or "") for name, found in embeds.items()}
    return {name: address for name, address in links.items() if address and "{" not in address}


def _oldest_first(row: Json, versions: Sequence[Json]) -> list[Json]:
    """Older versions by upload timestamp, equal ones in the order of the list (newest first, assumed), then the
    current. A row of a search may lag behind the list: later versions are left for the reading that shows them (wire
    E 6.8)."""
    current = version_of(row)
    older = [item for item in reversed(versions) if version_of(item) != current]
    if not any(item.get("current_version") and version_of(item) == current for item in versions):
        older = [item for item in older if not _is_later(item, row)]
    older.sort(key=lambda item: member_text(item, "file_upload_date"))
    return [*older, row]


def _is_later(item: Json, row: Json) -> bool:
    """Whether a version was uploaded after the file of the row; False if either does not say."""
    theirs, ours = parse_timestamp(item.get("file_upload_date")), parse_timestamp(row.get("file_upload_date"))
    return theirs is not None and ours is not None and theirs > ours


@interprets_response
def file_of(item: Json, asset: AssetId) -> FileRef:
    """The file of one version; its id is the asset's and the version's."""
    return FileRef(
        id=file_id(asset, version_of(item)),
        name=member_text(item, "filename"),
        size=size_of_file((item.get("file_properties") or {}).get("size_in_bytes")),
        created_at=parse_timestamp(item.get("file_upload_date")),
        withheld="" if download_link(item) else NO_LINK,
    )


@interprets_response
def has_bytes(item: Json) -> bool:
    """Whether an older server, which gives sizes in kB alone, says that a file is not empty (wire E 3.1, 4)."""
    properties = item.get("file_properties") or {}
    size = properties.get("size_in_kbytes") if properties.get("size_in_bytes") is None else None
    return isinstance(size, int | float) and size >= 1


@interprets_response
def document_of(item: Json, asset: AssetId) -> FileRef:
    """An attached document; its size is unknown (wire E 3.4)."""
    return FileRef(file_id(asset, DOCUMENT + member_text(item, "uuid")), member_text(item, "title"))


NO_LINK = "the service returns no link to the original"
_OF_ASSET = frozenset({"uuid", "name", "metadataType", "attachedDocs"})  # wire E 3.4


@interprets_response
def documents_of(reply: Json) -> list[Json]:
    """The rows of `attachedDocs` in a v1 asset; empty if it has none. Raises Rejected for another shape, which is the
    trouble of this asset alone."""
    shown = reply.get("attachedDocs") if isinstance(reply, dict) else None
    rows = shown.get("docs") if isinstance(shown, dict) else shown
    is_asset = isinstance(reply, dict) and not _OF_ASSET.isdisjoint(reply)
    if is_asset and not rows and not isinstance(shown, str | int | float):
        return []
    if not isinstance(rows, list) or not isinstance(shown, dict) or not all(map(_is_document, rows)):
        raise Rejected(
            "the list of its attached documents has an undocumented shape",
            code="attachments",
            hint="check the documents attached to it there, or set `attachments: off`",
        )
    return rows


def _is_document(row: Json) -> bool:
    """Whether a row names a document; its title and link are texts where it has them."""
    if not isinstance(row, dict) or not row.get("uuid"):
        return False
    return all(isinstance(row.get(name) or "", str) for name in ("title", "downloadUrl"))


def file_id(asset: str, version: str) -> str:
    """How files are named in the model: `asset/version`."""
    return f"{asset}/{version}"


def texts_in(row: Json, field: str) -> list[str]:
    """The values of a metadata field of an asset."""
    return fields_of(row).get(field, [])


@interprets_response
def fields_of(row: Json) -> dict[str, list[str]]:
    """The values of all metadata fields of an asset."""
    fields = (row.get("metadata") or {}).get("fields") or {}
    return {str(key): [str(text) for text in texts or ()] for key, texts in fields.items()}


@interprets_response
def needs_versions(row: Json) -> bool:
    """Whether the asset has, or may have, more than one file version (assumption 5)."""
    created = row.get("created_date")
    return created is None or bool(row.get("file_upload_date") != created)


@interprets_response
def is_trashed(row: Json) -> bool:
    """Whether the asset is in the trash."""
    return row.get("deleted_date") is not None


@interprets_response
def is_complete(row: Json) -> bool:
    """Whether the last upload of an asset is complete."""
    return (row.get("status") or {}).get("upload_progress") in (None, "complete")


@interprets_response
def metadata_type_of(row: Json) -> str:
    """The metadata type of an asset; empty if it has none."""
    return str((row.get("metadata_info") or {}).get("field_set") or "")


@interprets_response
def names_of(reply: Json) -> frozenset[str]:
    """The names of the rows of a list. Raises ContractBroken for a row without one."""
    names = [member_text(row, "name") for row in items_of(reply)]
    if not all(names):
        raise TypeError("a row has no name")
    return frozenset(names)


@interprets_response
def items_of(reply: Json) -> list[Json]:
    """The rows of a list that is paged or not. Raises ContractBroken if there is none."""
    rows = reply.get("items") if isinstance(reply, dict) else reply
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ContractBroken("a list response has no `items`")
    return rows


@interprets_response
def toggles_of(reply: Json) -> dict[str, str]:
    """The opt-in behaviors of a tenant with their descriptions (assumption 32). Raises ContractBroken."""
    found = {}
    for row in items_of(reply):
        if not (name := member_text(row, "name")):
            raise ValueError("an opt-in behavior has no name")
        found[excerpt(name, TOGGLE_NAME)] = excerpt(member_text(row, "description"), DESCRIPTION)
    return found


@interprets_response
def whole_of(reply: Json) -> list[Json]:
    """The rows of a list that no parameter pages. Raises IntegrityError if more were counted than came, for the rest
    cannot be asked for (wire E 3.3: envelope as in other lists, assumed)."""
    rows = items_of(reply)
    total = reply.get("total_count") if isinstance(reply, dict) else None
    if isinstance(total, int) and total > len(rows):
        raise IntegrityError(f"a list announced {total} rows and returned {len(rows)}")
    return rows


def _words(rows: Json) -> frozenset[str]:
    return frozenset(str(word) for word in rows or ())


def _metadata(row: Json, tenant: TenantSchema) -> dict[str, Value]:
    shown = {str(each.get("key")): each for each in (row.get("metadata_info") or {}).get("field_set_fields") or ()}
    values = {}
    for key, texts in ((row.get("metadata") or {}).get("fields") or {}).items():
        value = decode(tenant.fields.get(key) or _info(key, shown.get(key) or {}), texts)
        if value is not None:
            values[key] = value
    return values


def _info(key: str, shown: Json) -> ProfilesField:
    """What the asset itself says of a field that the tenant's list did not show."""
    controlled = bool(shown.get("controlled_vocabulary"))
    values = tuple(str(value) for value in shown.get("vocabulary") or ())
    return ProfilesField(
        key, str(shown.get("field_type") or shown.get("type") or "text"), controlled=controlled, values=values
    )


def _derived(row: Json) -> dict[str, Value]:
    properties = row.get("file_properties") or {}
    shape = properties.get("image_properties") or properties.get("video_properties") or {}
    found: dict[str, Json] = {
        "image_width": shape.get("width"),
        "image_height": shape.get("height"),
        "video_seconds": (properties.get("video_properties") or {}).get("duration"),
        "file_format": properties.get("format"),
        "embed_id": row.get("external_id"),
        "cutline_caption": (row.get("asset_properties") or {}).get("cutline_caption"),
    }
    return {key: _tidy(key, value) for key, value in found.items() if value not in (None, "")}


def _tidy(key: str, value: Json) -> Value:
    if DERIVED[key] is not FieldKind.NUMBER:
        return str(value)
    number = float(value)
    return int(number) if number.is_integer() else number


# -- signed links ------------------------------------------------------------------------------------------------------


@interprets_response
def download_link(row: Json) -> str:
    """The signed link to the original; empty if the credential may not download it (wire E 4)."""
    return str((row.get("_links") or {}).get("download") or "")


def is_fresh(link: str, now: datetime) -> bool:
    """Whether a signed link lives long enough to be used; one without `Expires` is taken at its word."""
    left = life_of(link, now)
    return left is None or left > LINK_RESERVE


def life_of(link: str, now: datetime) -> timedelta | None:
    """For how long a signed link opens; None if it does not say so."""
    expires = parse_qs(urlsplit(link).query).get("Expires", [""])[0]
    if not expires.isdecimal() or len(expires) > 11:  # none, or beyond the year 5000
        return None
    return datetime.fromtimestamp(int(expires), UTC) - now


# -- bodies ------------------------------------------------------------------------------------------------------------


def metadata_body(fields: Mapping[str, Value | None], tenant: TenantSchema) -> Json:
    """`{"fields": {...}}`, arrays of strings; fields that are empty come as `[]` (wire E 6.4)."""
    return {"fields": {key: encode(tenant.fields.get(key) or ProfilesField(key), fields[key]) for key in fields}}


def upload_metadata(draft: Draft, tenant: TenantSchema) -> str:
    """The `metadata` part of an upload: what the draft says and nothing empty (wire E 6.2)."""
    body = metadata_body(draft.fields, tenant)
    if draft.marker is not None:
        body["fields"][draft.marker.field] = [draft.marker.value]
    filled = {key: texts for key, texts in body["fields"].items() if texts}
    return json.dumps({"fields": filled}, ensure_ascii=False)


def members_body(kind: str, container: str, add: Iterable[str], remove: Iterable[str]) -> Json:
    """Bulk membership; all three keys always (wire E 5.4, 5.5)."""
    return {kind: {"uuids": [container]}, "add": {"uuids": list(add)}, "remove": {"uuids": list(remove)}}


@interprets_response
def made_id(reply: Json) -> AssetId:
    """The asset an upload made: the last segment of `_links.self`. Raises ContractBroken (wire E 6.2)."""
    address = str((reply.get("_links") or {}).get("self") or "") if isinstance(reply, dict) else ""
    identity = unquote(urlsplit(address).path.rstrip("/").rpartition("/")[2])
    if not identity:
        raise ContractBroken("an upload response has no `_links.self`")
    return AssetId(identity)


def vocabulary_path(key: str, value: str = "") -> str:
    """Where the list of a field is, or one value of it; display key and value are one path segment each."""
    path = f"/v2/metadata/{quote(key, safe='')}/vocabulary"
    return f"{path}/{quote(value, safe='')}" if value else path


@interprets_response
def refuse_other_title(row: Json, title: str, operation: str) -> None:
    """Raises Rejected if the response about a category has another title."""
    if (now := str(row.get("title", title))) != title:
        raise Rejected(f"the category kept the title {now[:60]!r} instead of {title!r}", operation=operation)


def category_path(parts: Sequence[str]) -> str:
    """Where the children of a category are; a slash inside a name travels as `%5C%2F` (spec 002, Resources)."""
    return "/v2/categories/" + "/".join(quote(part.replace("/", "\\/"), safe="") for part in parts)


def asset_path(asset: str, *more: str) -> str:
    """`/v2/assets/{id}/…`, every part one segment."""
    return "/v2/assets/" + "/".join(quote(part, safe="") for part in (asset, *more))
