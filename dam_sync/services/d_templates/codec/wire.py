"""Parses records of the service; all documented spellings are handled here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.parsing import InvalidJson, parsed_text
from dam_sync.model.asset import AssetId, FileRef, Revision
from dam_sync.model.errors import ContractBroken, NotFound
from dam_sync.model.mistyped import is_textual, size_of_file
from dam_sync.model.values import Json

BINNED = "recycle bin"  # wire D 2.5
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """The value of one attribute as received, or the rows of a table, each a list of entries."""

    id: str
    value: Json = None
    rows: tuple[tuple[MetadataEntry, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One version of an asset; timestamps in ms. order: position among the versions of its group; place: position in a
    listing; superseded: the service says that another version is current."""

    object: str
    file: str
    family: str
    filename: str
    deleted: bool
    current: bool
    order: tuple[int, int, str]
    created: int
    changed: int
    deleted_at: int
    template: str
    security: tuple[str, ...] | None
    entries: tuple[MetadataEntry, ...]
    shown: Json
    md5: str
    size: int | None
    federated: bool
    creator: str
    superseded: bool = False

    @property
    def place(self) -> tuple[int, str]:
        """Sort key: order of creation."""
        return (self.created, self.object)

    @property
    def is_first(self) -> bool:
        """Whether it is the first version of its asset."""
        return self.file == self.family

    @property
    def has_file(self) -> bool:
        """Whether its file was uploaded and processed (wire D 6.9)."""
        return bool(self.md5) or self.size is not None


@dataclass(frozen=True, slots=True)
class VersionGroup:
    """All visible versions of one asset, oldest first. The asset exists as long as one version does."""

    records: tuple[Record, ...]

    @classmethod
    def of(cls, records: Iterable[Record]) -> VersionGroup:
        """From the records of one asset, duplicates removed. Raises NotFound if there are none."""
        once = {record.object: record for record in records}
        if not once:
            raise NotFound("there is no such asset, or this credential may not see it")
        return cls(tuple(sorted(once.values(), key=lambda record: record.order)))

    @property
    def id(self) -> AssetId:
        """The id of the asset: that of the file of its first version; it never changes (wire D 3.3)."""
        return AssetId(self.records[0].family)

    @property
    def living(self) -> tuple[Record, ...]:
        """The versions outside the recycle bin; all of them if the whole asset is in the bin."""
        return tuple(record for record in self.records if not record.deleted) or self.records

    @property
    def deleted(self) -> bool:
        """Whether every version is in the recycle bin."""
        return all(record.deleted for record in self.records)

    @property
    def current(self) -> Record:
        """The current version (assumption 9)."""
        current = [record for record in self.living if record.current]
        return (current or self.living)[-1]

    @property
    def awaits_file(self) -> bool:
        """Whether the current version is a newer one that shows no file: it was made for one, which is not there yet,
        not processed, or not in the search index (wire D 6.9)."""
        current = self.current
        return not (current.has_file or current.is_first or current.federated or self.deleted)

    @property
    def versions(self) -> tuple[Record, ...]:
        """The versions with a file; the current one last, if it has a file."""
        current = self.current
        older = [record for record in self.living if record.has_file and record.object != current.object]
        return (*older, current) if current.has_file else tuple(older)

    def with_security(self, security: tuple[str, ...] | None) -> VersionGroup:
        """The same with these security templates of the current version."""
        current = self.current
        records = [replace(one, security=security) if one is current else one for one in self.records]
        return VersionGroup(tuple(records))

    @property
    def revision(self) -> Revision:
        """Changes with metadata, versions, the recycle bin, and once the file was processed (assumption 21)."""
        return revision_of(self.current, self.deleted)


def revision_of(record: Record, deleted: bool) -> Revision:
    """The revision, from the current record."""
    file = record.md5[:8] or str(record.size or "")
    return Revision(f"{record.changed}/{record.object}/{file}{'/bin' if deleted else ''}")


@interprets_response
def record_of(row: Json) -> Record:
    """One record from a listing or lookup. Raises ContractBroken if its ids are missing."""
    identity, file = member_text(row, "objectId"), member_text(row, "fileId")
    if not identity:
        raise ContractBroken("a record has no `objectId`")
    created = number_of(row.get("createdEpoch"))
    technical = _technical_facts(row)
    shown = row.get("metadataDenormalized")
    return Record(
        object=identity,
        file=file,
        family=member_text(row, "originalFileId") or file or identity,
        filename=member_text(row, "filename", "fileName"),
        deleted=is_binned(row),
        current=row.get("currentVersion") in ("Y", True),
        order=(number_of(row.get("versionNumber")) or created, created, identity),
        created=created,
        changed=number_of(row.get("lastUpdatedEpoch")) or created,
        deleted_at=max(number_of(row.get("fileDeletedEpoch")), number_of(row.get("metadataDeletedEpoch"))),
        template=member_text(row, "metadataTemplateId"),
        security=_security(row.get("securityTemplateIds")),
        entries=tuple(_attributes(_loaded(row.get("metadata") or row.get("metadataDocument")))),
        shown=shown if isinstance(shown, dict) else {},
        md5=member_text(technical, "MD5Checksum").lower(),
        size=_size(technical),
        federated=isinstance(shown, dict) and shown.get("system_is_federated") in ("Yes", True),
        creator=member_text(row, "createdBy"),
        superseded=row.get("currentVersion") in ("N", False),
    )


def _security(shown: Json) -> tuple[str, ...] | None:
    """None if the service does not show them: that is not the same as none."""
    return tuple(map(str, shown)) if isinstance(shown, list) else None


@interprets_response
def owner_of(row: Json) -> tuple[str, AssetId]:
    """The file of a listed record, and the asset that it is a version of: what `record_of` says, for less."""
    file = member_text(row, "fileId")
    return file, AssetId(member_text(row, "originalFileId") or file or member_text(row, "objectId"))


@interprets_response
def is_binned(row: Json) -> bool:
    """Whether a listed record is in the recycle bin."""
    return BINNED in (row.get("fileState"), row.get("metadataState"))


@interprets_response
def is_asset(row: Json) -> bool:
    """Whether a row is an asset; searches may return other kinds of records (wire D 11.25). Raises ContractBroken for
    what is not a record."""
    kind = row.get("objectType", "Asset") if isinstance(row, dict) else None
    if not isinstance(kind, str) or not is_textual(row.get("objectId", "")):
        raise TypeError(f"a row of assets is {row!r:.60}")
    if kind != "Asset":
        return False
    if not row.get("objectId"):
        raise ContractBroken("a record has no `objectId`")
    return True


@interprets_response
def records_of(reply: Json) -> list[Record]:
    """The records of a version list, bare or wrapped in an object."""
    rows = reply.get("result") or reply.get("data") if isinstance(reply, dict) else reply
    if not isinstance(rows, list):
        raise ContractBroken("a list of versions has no records")
    return [record_of(row) for row in rows if is_asset(row)]


def file_of(record: Record) -> FileRef:
    """The file of one version; its id names the asset and the record."""
    return FileRef(
        id=f"{record.family}/{record.object}",
        name=record.filename,
        size=record.size,
        digests={"md5": record.md5} if record.md5 else {},
        created_at=moment(record.created),
    )


def _attributes(items: Json) -> Iterator[MetadataEntry]:
    """The attributes of a record. Anything else is kept without an id, so that it is reported as a loss."""
    if items and not isinstance(items, list):
        yield MetadataEntry("", items)
    yield from entries_of(items)


@interprets_response
def entries_of(items: Json) -> Iterator[MetadataEntry]:
    """A list of attributes, in any spelling of their keys (wire D 3.2)."""
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            yield MetadataEntry("", item)
            continue
        named = {str(key).casefold(): value for key, value in item.items()}
        rows = named.get("metadatadefinitiontablevalue")
        identity = named.get("metadatadefinitionid")
        if identity and not is_textual(identity):
            yield MetadataEntry("", item)
            continue
        yield MetadataEntry(
            str(identity or ""),
            named.get("metadatadefinitionvalue"),
            tuple(tuple(entries_of(row)) for row in rows) if isinstance(rows, list) else None,
        )


def value_ids(entries: Iterable[MetadataEntry]) -> Iterator[str]:
    """Ids of the vocabulary values in these entries, at any depth."""
    for entry in entries:
        for row in entry.rows or ():
            yield from value_ids(row)
        for item in entry.value if isinstance(entry.value, list) else [entry.value]:
            if isinstance(item, dict) and item.get("valueId"):
                yield member_text(item, "valueId")
            elif isinstance(item, dict):
                # one that cannot be read is an entry with itself as its value
                yield from value_ids(inner for inner in entries_of([item]) if inner.value is not item)


# -- small readings ----------------------------------------------------------------------------------------------------


@interprets_response
def moment(epoch: Json) -> datetime | None:
    """A timestamp from ms since 1970, as number or text; None if missing."""
    number = number_of(epoch)
    return datetime.fromtimestamp(number / 1000, UTC) if number else None


def milliseconds(when: datetime) -> int:
    """Milliseconds since 1970."""
    return round(when.timestamp() * 1000)


@interprets_response
def number_of(value: Json) -> int:
    """An integer; 0 if missing (wire D 3.2: numbers or texts)."""
    try:
        return int(float(value))
    except (TypeError, ValueError, OverflowError):
        return 0


@interprets_response
def hits(reply: Json) -> list[Json]:
    """The rows of a search; the envelope may be an object or an array with one object (wire D 2.6)."""
    envelope = reply[0] if isinstance(reply, list) and reply else reply
    rows = envelope.get("result") if isinstance(envelope, dict) else None
    if rows is None and isinstance(envelope, dict):
        rows = envelope.get("results")
    if reply == []:
        return []
    if not isinstance(rows, list):
        raise ContractBroken("a search response has no `result`")
    return rows


@interprets_response
def total_of(reply: Json) -> int | None:
    """The total number of hits, if reported; `hitCount` is that of the page (wire D 2.1)."""
    envelope = reply[0] if isinstance(reply, list) and reply else reply
    total = envelope.get("totalCount") if isinstance(envelope, dict) else None
    return int(total) if isinstance(total, int | float) and not isinstance(total, bool) else None


@interprets_response
def listed(reply: Json, *members: str) -> list[Json]:
    """The rows of an administrative list: a bare array, or in one of these members (wire D 2.7, 5.4)."""
    if isinstance(reply, list):
        return reply
    for member in (*members, "results", "result"):
        rows = reply.get(member) if isinstance(reply, dict) else None
        if isinstance(rows, list):
            return rows
    raise ContractBroken("a list has no documented shape")


@interprets_response
def message_of(reply: Json) -> str:
    """The message of a response: an object's `message`, or a bare text (wire D 7)."""
    if isinstance(reply, list):
        return "; ".join(filter(None, map(message_of, reply)))
    return member_text(reply, "message") if isinstance(reply, dict) else reply if isinstance(reply, str) else ""


@interprets_response
def failed(reply: Json) -> bool:
    """Whether a successful response carries an error (wire D 11.5)."""
    one = reply[0] if isinstance(reply, list) and len(reply) == 1 else reply
    return isinstance(one, dict) and "error" in (one.get("status"), one.get("statusCode"))


def is_id(text: str) -> bool:
    """Whether a text is a well-formed id and can be part of a path."""
    return bool(_ID.fullmatch(text))


def signed_headers(url: str) -> dict[str, str]:
    """The headers that are part of an upload URL's signature, with the values given in the URL (wire D 6.2)."""
    try:
        given = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:  # not a URL: refused by the client before anything is sent
        given = []
    query = {name.lower(): value for name, value in given}
    names = query.get("x-amz-signedheaders", "").lower().split(";")
    signed = {name: query[name] for name in names if name not in ("", "host") and name in query}
    return {"content-type": "", **signed}


@interprets_response
def created_ids(reply: Json) -> tuple[str, str, str]:
    """Object, file and family of a new record; empty texts for what the response lacks (wire D 6.1)."""
    identity, file = member_text(reply, "objectId"), member_text(reply, "fileId")
    return identity, file, member_text(reply, "originalFileId") or file


@interprets_response
def upload_links(reply: Json) -> tuple[str, ...]:
    """The upload URLs returned by a create, in order of their parts; one for a single file."""
    parts = reply.get("urls")
    if isinstance(parts, list) and parts:
        return tuple(str(part["url"]) for part in sorted(parts, key=lambda part: int(part["partNumber"])))
    return (str(reply["url"]),) if reply.get("url") else ()


@interprets_response
def member_files(row: Json) -> Sequence[str]:
    """The files in a collection, except the nil id."""
    members = _loaded(row.get("collectionDocument"))
    if members and not isinstance(members, list):
        raise ContractBroken("the members of a collection are not a list")
    if any(one and not is_textual(one) for one in members or ()):
        raise ContractBroken("a member of a collection is not the id of a file")
    return [str(one) for one in members or () if one]


def _technical_facts(row: Json) -> dict[str, Any]:
    """Name, size and checksum of the file, from the technical metadata (wire D 0). Raises TypeError for facts of
    another shape, which would make a file look as if there was none."""
    for name in ("technicalMetadata", "technical_metadata", "technicalMetadataDocument"):
        document = _object(name, row.get(name))
        named = {key: block for key, block in document.items() if str(key).endswith("_metadata")}
        for fact in ("MD5Checksum", "fileSizeInBytes"):  # other blocks may have a size as well (wire D 0, 3.2)
            for block in named.values():
                if isinstance(block, dict) and fact in block:
                    return block
        for key, block in named.items():
            _object(key, block)
    return {}


def _object(name: str, value: Json) -> dict[str, Any]:
    """An object, as it is or encoded as text; empty if missing. Raises TypeError."""
    loaded = _loaded(value)
    if loaded and not isinstance(loaded, dict):
        raise TypeError(f"{name} is {loaded!r:.40}, not an object")
    return loaded or {}


def _loaded(value: Json) -> Json:
    """JSON that may be encoded a second time as text; other text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parsed_text(value)
    except InvalidJson:
        return value


def _size(facts: Json) -> int | None:
    size = member_text(facts, "fileSizeInBytes")
    return size_of_file(number_of(size)) if size or facts.get("fileSizeInBytes") == 0 else None
