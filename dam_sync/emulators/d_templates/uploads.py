"""Creating records and the uploads that follow (wire D 6.1 to 6.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from dam_sync.emulators.d_templates.records import Record, Refusal, User, failed
from dam_sync.emulators.d_templates.state import Draft, Tenant
from dam_sync.emulators.d_templates.storage import Storage
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

PARTS_MOST = 10_000


@dataclass(slots=True)
class Upload:
    """A multipart upload in progress; `size` None: not stated. small: its PUT alone makes the file available."""

    id: str
    object_id: str
    size: int | None
    count: int
    small: bool
    parts: dict[int, Blob] = field(default_factory=dict)
    over: bool = False


class Creation:
    """Creates records and takes their bytes."""

    def __init__(self, tenant: Tenant, storage: Storage) -> None:
        self._tenant = tenant
        self._storage = storage
        self._uploads: dict[str, Upload] = {}
        storage.uploads = self

    def create(self, sent: Mapping[str, Json], user: User) -> Json:
        """`POST /asset`. Raises Refusal 403 with the texts of wire D 7."""
        if not _name_holds(sent.get("filename")):
            raise failed(403, "Failed to parse Asset")
        if "metadata" not in sent:
            raise failed(403, "Unexpected end of JSON input")
        size = self._size(sent)
        record = self._tenant.create(self._draft(sent, sent["metadata"] or []), user)
        return self._answer(record, size)

    def create_simply(self, sent: Mapping[str, Json], user: User) -> Json:
        """`POST /assets/asset`: values by name, `filename` optional (wire D 6.5)."""
        filename = sent.get("filename", "")
        if filename and not _name_holds(filename):
            raise failed(403, "Failed to parse Asset")
        template = self._template(sent)
        entries = self._tenant.metadata.named(template, sent.get("metadata") or [])
        record = self._tenant.create(self._draft({**sent, "filename": filename}, entries), user)
        return self._answer(record, self._size(sent)) if filename else _ids(record)

    def _draft(self, sent: Mapping[str, Json], entries: Json) -> Draft:
        template = self._template(sent)
        security = self._tenant.security(sent.get("securityTemplateIds"))
        values = self._tenant.metadata.read(template, entries, creating=True)
        paths = sent.get("contentPath") or sent.get("contentPaths") or ""
        return Draft(
            str(sent["filename"]),
            template,
            {key: value for key, value in values.items() if value is not None},
            security,
            str(sent.get("originalFileId") or ""),
            paths if isinstance(paths, str) else str(next(iter(paths), "")),
        )

    def _template(self, sent: Mapping[str, Json]) -> str:
        template = sent.get("metadataTemplateId")
        if not template or template not in self._tenant.schema.templates:
            raise failed(403, "Invalid Asset: Missing Metadata Template ID")
        return str(template)

    def _size(self, sent: Mapping[str, Json]) -> int | None:
        size = sent.get("filesize", sent.get("fileSize"))
        if size is None:
            return None
        options = self._tenant.options
        strict = "least_multipart" in options.plays and "always_urls" not in options.plays
        least = options.multipart_least if strict else 1
        if not isinstance(size, int) or not least <= size <= PARTS_MOST * options.part:
            raise failed(403, "Failed to parse Asset")
        return size

    def _answer(self, record: Record, size: int | None) -> Json:
        if record.federated:
            return _ids(record)
        seconds, options = self._tenant.options.upload_seconds, self._tenant.options
        if size is None and "always_urls" not in options.plays:
            return {**_ids(record), "url": self._storage.upload(record, seconds)}
        count = 1 if size is None else -(-size // options.part)
        upload = self._begin(record, size, count)
        numbers = range(1, count + 1)
        urls = [{"partNumber": n, "url": self._storage.upload(record, seconds, upload.id, n)} for n in numbers]
        return {**_ids(record), "uploadId": upload.id, "urls": urls}

    def _begin(self, record: Record, size: int | None, count: int) -> Upload:
        small = "must_complete" not in self._tenant.options.plays and count == 1
        upload = Upload(self._tenant.world.word(21), record.object_id, size, count, small)
        self._uploads[upload.id] = upload
        return upload

    def take_file(self, file_id: str, blob: Blob) -> str | None:
        """A single PUT: the file is there."""
        record = self._tenant.found(file_id)
        if record is None:
            return None
        self._tenant.received(record.object_id, blob)
        return blob.digests().md5

    def take_part(self, upload: str, number: int, blob: Blob) -> str | None:
        """A part: one of the same number before is replaced."""
        found = self._uploads.get(upload)
        if found is None or found.over or not 1 <= number <= found.count:
            return None
        found.parts[number] = blob
        if found.small:
            self._tenant.received(found.object_id, blob, _etag([blob]))
        return blob.digests().md5

    def open(self) -> list[Upload]:
        """Multipart uploads neither completed nor cancelled; one of a single part is over with its bytes."""
        return [each for each in self._uploads.values() if not each.over and not (each.small and each.parts)]

    def complete(self, sent: Mapping[str, Json], user: User) -> Json:
        """`POST /asset/complete`: join the parts, or give them up (wire D 6.3). Raises Refusal 400."""
        action = "cancel" if sent.get("action") == "abort" else sent.get("action")
        upload = self._uploads.get(str(sent.get("uploadId", "")))
        needed = ("fileId", "filename", "uploadId", *(("filesize", "parts") if action == "complete" else ()))
        if action not in ("complete", "cancel") or upload is None or upload.over or not all(map(sent.get, needed)):
            raise _unparsed()
        record = self._tenant.record(upload.object_id, user)
        if sent["fileId"] != record.file_id or sent.get("originalFileId", record.original) != record.original:
            raise _unparsed()
        if upload.small and "refuse_complete" in self._tenant.options.plays:
            raise _unparsed()
        if action == "complete":
            self._join(upload, sent)
        upload.over = True
        return {
            "fileId": record.file_id,
            "filename": record.filename,
            "action": action,
            "originalFileId": record.original,
            "uploadId": upload.id,
            "s3Key": f"masters/{record.file_id}/{record.filename}",
            "status": "success",
        }

    def _join(self, upload: Upload, sent: Mapping[str, Json]) -> None:
        etags = {row.get("partNumber"): str(row.get("etag", "")).strip('"') for row in sent["parts"]}
        held = {number: blob.digests().md5 for number, blob in upload.parts.items()}
        parts = [upload.parts[number] for number in sorted(upload.parts)]
        size = sum(part.size for part in parts)
        if etags != held or len(held) != upload.count or sent["filesize"] != size or upload.size not in (None, size):
            raise _unparsed()
        part = self._tenant.options.part
        if any(each.size != part for each in parts[:-1]) or (upload.size is not None and parts[-1].size > part):
            raise _unparsed()
        if not upload.small:
            blob = parts[0] if len(parts) == 1 else self._tenant.objects.joined(parts)
            self._tenant.received(upload.object_id, blob, _etag(parts))

    def preview(self, sent: Mapping[str, Json], user: User) -> Json:
        """`POST /asset/content/preview`: where to put a picture of one's own (wire D 6.8)."""
        files = sent.get("fileIds")
        if not files or not isinstance(files, list) or not sent.get("filename") or not sent.get("filesize"):
            raise Refusal(400, "Invalid Request: Missing preview details")
        record = self._tenant.record(str(files[0]), user)
        self._tenant.demand(record, user, "Replace Preview")
        key = self._tenant.objects.sign_upload(self._tenant.options.upload_seconds, lambda blob: None)
        return {"url": key}


def _ids(record: Record) -> dict[str, Json]:
    return {
        "filename": record.filename,
        "objectId": record.object_id,
        "fileId": record.file_id,
        "originalFileId": record.original,
    }


def _etag(parts: list[Blob]) -> str:
    """Of a multipart object: the MD5 of the parts' MD5s, and their number."""
    sums = hashlib.md5(b"".join(bytes.fromhex(part.digests().md5) for part in parts), usedforsecurity=False)
    return f"{sums.hexdigest()}-{len(parts)}"


def _name_holds(name: Json) -> bool:
    return isinstance(name, str) and bool(name.strip()) and name.isprintable() and "/" not in name


def _unparsed() -> Exception:
    return failed(400, "Failed to parse asset: Missing fields")
