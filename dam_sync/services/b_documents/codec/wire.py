"""The JSON of service B and our model: documents, versions, files, rights. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Asset, AssetId, Entry, FileRef, Loss, Placement, Relation, Revision, Rights, digest_of
from dam_sync.model.errors import ContractBroken
from dam_sync.model.mistyped import shown_json, size_of_file
from dam_sync.model.values import Json, Value
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.codec.fields import (
    DERIVED_PREFIXES,
    OWN_PREFIXES,
    SYSTEM,
    ServerSchema,
    is_read,
)
from dam_sync.services.b_documents.codec.rights import Access, access_of
from dam_sync.services.b_documents.codec.values import Terms, decode, fitting, words_of
from dam_sync.services.b_documents.options import DocumentsOptions

CONTENT = "file:content"
ATTACHED = "files:files"
TAGS = "nxtag:tags"
COLLECTED = "collectionMember:collectionIds"
DIGEST_LETTERS = {"md5": 32, "sha1": 40, "sha256": 64, "sha384": 96, "sha512": 128}
_HEX = re.compile(r"[0-9a-f]+")
_NOT_WRITTEN = (OWN_PREFIXES | DERIVED_PREFIXES) - {"files"}


@dataclass(frozen=True, slots=True)
class Around:
    """What is not in the document itself: versions, its folder, its relations, the terms of its fields."""

    versions: Sequence[Json] = ()
    folder: tuple[str, ...] = ()
    folder_id: str = ""
    collections: Mapping[str, Placement] = field(default_factory=dict)
    relations: frozenset[Relation] = frozenset()
    losses: tuple[Loss, ...] = ()
    terms: Terms = field(default_factory=dict)
    user: str = ""  # of the job
    mark: str = ""  # see `mark_of`


@interprets_response
def uid_of(row: Json) -> AssetId:
    """The document's id. Raises ContractBroken without one."""
    return _uid(row)


def _uid(row: Json) -> AssetId:
    uid = row.get("uid") if isinstance(row, dict) else None
    if not uid:
        raise ContractBroken("a document has no `uid`")
    return AssetId(str(uid))


@interprets_response
def is_asset(row: Json) -> bool:
    """Whether a listed document is an asset; the query already checked this (assumption 1)."""
    return not (row.get("isVersion") or row.get("isProxy")) and facts.NO_ASSET_FACETS.isdisjoint(
        row.get("facets") or ()
    )


@interprets_response
def is_trashed(row: Json) -> bool:
    """Whether it is in the trash; older data has a state for it (wire B 6.5)."""
    return _is_trashed(row)


def _is_trashed(row: Json) -> bool:
    return row.get("isTrashed") is True or row.get("state") == "deleted"


@interprets_response
def document_of(row: Json) -> Json:
    """A document whose properties, where it has any, are an object. Raises ContractBroken for anything else."""
    if not isinstance(row.get("properties") or {}, dict):
        raise TypeError("the properties of a document are not an object")
    return row


@interprets_response
def has_no_properties(row: Json) -> bool:
    """Whether a document came without properties at all: even one without a value has an object of them."""
    return not isinstance(row.get("properties"), dict)


def is_lean(row: Json) -> bool:
    """Whether a document came with no more properties than say which collections it is in."""
    return not any(key.startswith("dc:") for key in row.get("properties") or ())


@interprets_response
def revision_of(row: Json, folder: tuple[str, ...], mark: str = "") -> Revision:
    """Changes with every change of the document, with its path, and with its mark (wire B 2.6)."""
    return _revision(row, folder, _is_trashed(row), mark)


def _revision(row: Json, folder: tuple[str, ...], trashed: bool, mark: str) -> Revision:
    place = _digest_of_place(folder, trashed, str(row.get("state")), mark)
    return Revision(f"{row.get('changeToken') or row.get('lastModified') or ''}~{place}")


@lru_cache(maxsize=4096)  # most documents share their folder
def _digest_of_place(folder: tuple[str, ...], trashed: bool, state: str, mark: str) -> str:
    return digest_of([list(folder), trashed, state, *([mark] if mark else [])])[:8]


@interprets_response
def mark_of(row: Json, collections: Mapping[str, Placement], inherited: str) -> str:
    """What a document shows of others, and its token is silent about: the titles of its collections, without those in
    the trash, and what its folder lets it inherit; empty if there is neither (wire B 2.6)."""
    titles = sorted(collections[uid].path for uid in collection_ids(row) if uid in collections)
    return digest_of([inherited, *map(list, titles)])[:8] if titles or inherited else ""


@interprets_response
def entry_of(row: Json, folder: tuple[str, ...], asset: Asset | None = None, mark: str = "") -> Entry:
    """A listed document; only its id without `asset`, which else has the revision."""
    changed, trashed = _moment(row.get("lastModified")), _is_trashed(row)
    revision = _revision(row, folder, trashed, mark) if asset is None else asset.revision
    return Entry(_uid(row), revision, changed, asset, trashed)


@interprets_response
def asset_of(row: Json, server: ServerSchema, options: DocumentsOptions, around: Around) -> Asset:
    """A complete document as an asset."""
    properties = row.get("properties") or {}
    uid = uid_of(row)
    versions = files_of([*around.versions, row])
    created = _moment(properties.get("dc:created"))
    access = access_of(row, options.everybody, around.user)
    return Asset(
        id=uid,
        revision=revision_of(row, around.folder, around.mark),
        filename=versions[-1].name if versions else title if isinstance(title := row.get("title"), str) else "",
        status=status_of(row, options),
        form_type=member_text(row, "type"),
        type=member_text(row, "type"),
        fields=_fields(properties, server, options, around.terms),
        versions=versions,
        attachments=attachments_of(row),
        placements=_placements(properties, around),
        tags=words_of(properties.get(TAGS) or (), "label"),
        rights=_rights(row, options, access),
        inherited_groups=access.inherited,
        relations=around.relations,
        created_at=created,
        changed_at=_moment(properties.get("dc:modified") or row.get("lastModified")),
        imported_at=created,
        losses=(*around.losses, *access.losses(), *_losses(row, server, options, around)),
    )


def _losses(row: Json, server: ServerSchema, options: DocumentsOptions, around: Around) -> Iterator[Loss]:
    """What the document has but an asset cannot store."""
    yield from _odd_moments(row, options)
    yield from _held(row)
    older = sum(map(_has_file, around.versions))
    if older and not _has_file(row):
        yield Loss("versions", "the asset has no current file", f"{older} older")
    for key, data in (row.get("properties") or {}).items():
        if _is_set(data) and not is_read(key, server, options):
            yield Loss(f"fields.{key}", "contains what no field can store, such as a file", shown_json(data))
        if (info := server.fields.get(key)) is not None and not fitting(info, data)[1]:
            yield Loss(f"fields.{key}", "has another type than the schema says", shown_json(data))


def _held(row: Json) -> Iterator[Loss]:
    """What keeps a document from being changed or deleted; part of every document (wire B 3)."""
    kept = (
        ("lock", bool(row.get("lockOwner")), row.get("lockOwner")),
        ("record", row.get("isRecord") is True, row.get("retainUntil")),
        ("legal hold", row.get("hasLegalHold") is True, ""),
    )
    yield from (Loss(path, "not carried", str(detail or "")[:60]) for path, holds, detail in kept if holds)


def _is_set(data: Json) -> bool:
    if isinstance(data, dict):
        return any(map(_is_set, data.values()))
    if isinstance(data, list):
        return any(map(_is_set, data))
    return data not in (None, "", False)


def _odd_moments(row: Json, options: DocumentsOptions) -> Iterator[Loss]:
    """Losses for invalid dates, such as a year of five digits; the rest of the document is read."""
    properties = row.get("properties") or {}
    named = {
        "created_at": properties.get("dc:created"),
        "changed_at": properties.get("dc:modified") or row.get("lastModified"),
        "release_at": properties.get(options.release_field),
        "expires_at": properties.get(options.expiry_field),
    }
    for path, text in named.items():
        if text and _moment(text) is None:
            yield Loss(path, "is not a timestamp", str(text)[:40])


def _moment(text: Json) -> datetime | None:
    """A timestamp; None if invalid, so that one document does not end a crawl."""
    try:
        return parse_timestamp(text)
    except ContractBroken:
        return None


def _fields(properties: Json, server: ServerSchema, options: DocumentsOptions, terms: Terms) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, data in properties.items():
        info = server.fields.get(key)
        if info is not None and (value := decode(info, fitting(info, data)[0], terms, options.timezone)) is not None:
            found[key] = value
    return found


def _placements(properties: Json, around: Around) -> frozenset[Placement]:
    found = {around.collections[uid] for uid in properties.get(COLLECTED) or () if uid in around.collections}
    return frozenset(found | ({Placement("folder", around.folder, around.folder_id)} if around.folder else set()))


@interprets_response
def collection_ids(row: Json) -> list[str]:
    """The collections that a document names (wire B 2.5)."""
    return [str(uid) for uid in (row.get("properties") or {}).get(COLLECTED) or ()]


@interprets_response
def rights_of(row: Json, options: DocumentsOptions, user: str) -> Rights:
    """Who may read a document, and its dates. user: that of the job."""
    return _rights(row, options, access_of(row, options.everybody, user))


def _rights(row: Json, options: DocumentsOptions, access: Access) -> Rights:
    properties = row.get("properties") or {}
    return Rights(
        release_at=_moment(properties.get(options.release_field)),
        expires_at=_moment(properties.get(options.expiry_field)),
        groups=access.readers,
        restrictions=access.restrictions,
    )


@interprets_response
def status_of(row: Json, options: DocumentsOptions) -> str:
    """The neutral status for the life cycle state, or the value of the configured property (wire B 13)."""
    if is_trashed(row):
        return "trash"
    if options.status_field:
        return str((row.get("properties") or {}).get(options.status_field) or "")
    state = member_text(row, "state")
    return next((word for word, each in options.states.items() if each == state), state)


# -- files -------------------------------------------------------------------------------------------------------------


@interprets_response
def files_of(rows: Sequence[Json]) -> tuple[FileRef, ...]:
    """The versions of the main file, of versions and the live document, oldest first; those that `is_file_version`
    does not tell apart are one. None if the live one has lost its file: an older one is not current."""
    if not _has_file(rows[-1]):
        return ()
    found: list[FileRef] = []
    before: Json = None
    for row in rows:
        file = _main_file(row)
        if file is not None and before is not None and not is_file_version(before, row):
            last = found.pop()
            file = replace(file, repeats=last.repeats if _is_checked_in(row) else (*last.repeats, last.id))
        if file is not None:
            found.append(file)
        before = row if file is not None else None
    return tuple(found)


@interprets_response
def is_file_version(before: Json, row: Json) -> bool:
    """Whether a document has a version of the file of its own, and not that of the version right before it: it has
    another file, or what was saved between them changed nothing but the time of the last change, so that the same file
    was uploaded again (assumption 5). A live document that is checked in is its last version."""
    one, other = _main_file(before), _main_file(row)
    if one is None or other is None or not _is_same(one, other):
        return True
    moved = None not in (one.created_at, other.created_at) and one.created_at != other.created_at
    return moved and not _is_checked_in(row) and _written(before) == _written(row)


def _is_checked_in(row: Json) -> bool:
    return row.get("isCheckedOut") is False and not row.get("isVersion")


def _main_file(row: Json) -> FileRef | None:
    properties = row.get("properties") or {}
    blob = properties.get(CONTENT)
    if not isinstance(blob, dict):
        return None
    return file_of(blob, f"{uid_of(row)}/{CONTENT}", _moment(properties.get("dc:modified")))


def _written(row: Json) -> Json:
    """What people write into a document besides its file, and a version of it keeps: not what the service keeps for
    itself or reads from the file, and no URL, which names the document."""
    values = {
        key: _without_urls(value)
        for key, value in (row.get("properties") or {}).items()
        if value not in (None, "", []) and key not in SYSTEM and key.partition(":")[0] not in _NOT_WRITTEN
    }
    return [row.get("state"), values]


def _without_urls(value: Json) -> Json:
    if isinstance(value, list):
        return [_without_urls(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_urls(each) for key, each in value.items() if key not in ("data", "blobUrl")}
    return value


def _has_file(row: Json) -> bool:
    return isinstance((row.get("properties") or {}).get(CONTENT), dict)


def _is_same(one: FileRef, other: FileRef) -> bool:
    return bool(one.digests) and (one.name, one.size, one.digests) == (other.name, other.size, other.digests)


@interprets_response
def attachments_of(row: Json) -> tuple[FileRef, ...]:
    """Files besides the main one; items that lost their file are left out (wire B 6.4)."""
    rows = (row.get("properties") or {}).get(ATTACHED) or ()
    return tuple(
        file_of(item["file"], f"{uid_of(row)}/{ATTACHED}/{number}/file", None)
        for number, item in enumerate(rows)
        if isinstance(item, dict) and isinstance(item.get("file"), dict)
    )


@interprets_response
def file_of(blob: Json, identity: str, created: datetime | None) -> FileRef:
    """A stored file; its id is the document's and the path inside it."""
    return FileRef(
        id=identity,
        name=member_text(blob, "name"),
        size=size_of(blob),
        media_type=str(blob.get("mime-type") or ""),
        digests=digests_of(blob),
        created_at=created,
    )


@interprets_response
def size_of(blob: Json) -> int | None:
    """Bytes; sent as text (wire B 3)."""
    return size_of_file(blob.get("length"))


@interprets_response
def digests_of(blob: Json) -> dict[str, str]:
    """The digest, if valid: after a direct upload it is missing or something else for a while (wire B 3)."""
    name = member_text(blob, "digestAlgorithm").lower().replace("-", "").replace("_", "")
    digest = member_text(blob, "digest").lower()
    fits = DIGEST_LETTERS.get(name) == len(digest) and _HEX.fullmatch(digest)
    return {name: digest} if fits else {}


@interprets_response
def version_number(row: Json) -> tuple[int, int]:
    """Major and minor number, by which versions are ordered (assumption 4)."""
    properties = row.get("properties") or {}
    major, minor = properties.get("uid:major_version"), properties.get("uid:minor_version")
    if isinstance(major, int) and isinstance(minor, int):
        return major, minor
    numbers = [int(part) for part in re.findall(r"\d+", member_text(row, "versionLabel"))]
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (0, 0)


@interprets_response
def may_have_versions(row: Json) -> bool:
    """Whether asking for versions is worth a call: one without a number never had any (wire B 3)."""
    return row.get("isCheckedOut") is False or version_number(row) != (0, 0) or row.get("versionLabel") is None
