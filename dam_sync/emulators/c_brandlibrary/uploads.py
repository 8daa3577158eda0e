"""Upload requests and the objects behind them: single uploads and resumable sessions (wire C 6.1, 6.2). No HTTP."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from dam_sync.emulators.c_brandlibrary.links import UPLOAD_SECONDS, Links
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob, ObjectStore, Partial

WEEK = 7 * 86_400_000
ALIGNMENT = 262_144
_CHUNK = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)$")
_CHECKSUM_MOST = 1 << 16


class StoreRefusal(Exception):
    """The object store refuses, in its own words: status, code, message."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(slots=True)
class Session:
    """A resumable upload in progress; `blob` when it is complete."""

    id: str
    started: int
    partial: Partial
    blob: Blob | None = None
    chunks: int = 0


@dataclass(slots=True)
class Upload:
    """One upload request: its addresses are good for 24 h, its object for 7 days after the upload."""

    key: str
    issued: int
    blob: Blob | None = None
    uploaded: int = 0
    used: bool = False
    sessions: dict[str, Session] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a Content-Range says: bytes [start, stop) of `total`; a status query has no bytes, an open end no total."""

    start: int
    stop: int
    total: int | None
    query: bool = False


class Uploads:
    """Every upload request of a tenant."""

    def __init__(self, tenant: Tenant, links: Links) -> None:
        self._tenant = tenant
        self._links = links
        self._objects: ObjectStore = tenant.objects
        self.requests: dict[str, Upload] = {}

    def issue(self) -> Json:
        """A new upload request as the service shows it: flat, without a wrapper."""
        upload = Upload(self._tenant.world.word(24), self._tenant.now())
        self.requests[upload.key] = upload
        single, resumable, address = self._links.upload(upload.key, upload.issued)
        return {"upload_url": single, "resumable_upload_url": resumable, "service": "gcs", "object_url": address}

    def signed(self, key: str, query: dict[str, str], how: str) -> Upload:
        """The request behind a signed address. Raises StoreRefusal 403 for a wrong signature, 400 when it expired."""
        upload = self.requests.get(key)
        expires = query.get("X-Expires", "")
        if upload is None or not self._links.holds(query.get("X-Signature", ""), f"/up/{key}", f"{expires}{how}"):
            raise StoreRefusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.")
        if self._tenant.now() > upload.issued + UPLOAD_SECONDS * 1000:
            raise StoreRefusal(400, "ExpiredToken", "The provided token has expired.")
        return upload

    def took(self, upload: Upload, blob: Blob) -> None:
        """The object's bytes are there; another upload to the same address puts others in their place."""
        if upload.used:
            raise StoreRefusal(403, "AccessDenied", "The object is in use.")
        upload.blob, upload.uploaded = blob, self._tenant.now()

    def begin(self, upload: Upload) -> Session:
        """A new resumable session."""
        session = Session(self._tenant.world.word(32), self._tenant.now(), self._objects.begin())
        upload.sessions[session.id] = session
        return session

    def session(self, key: str, number: str) -> tuple[Upload, Session]:
        """A session by its address. Raises StoreRefusal 404 for an unknown one, 410 after a week."""
        upload = self.requests.get(key)
        session = upload.sessions.get(number) if upload else None
        if upload is None or session is None:
            raise StoreRefusal(404, "NoSuchUpload", "The upload session does not exist.")
        if self._tenant.now() > session.started + WEEK:
            raise StoreRefusal(410, "Gone", "The upload session has expired.")
        return upload, session

    def cancel(self, upload: Upload, session: Session) -> None:
        """Give a session up."""
        session.partial.discard()
        del upload.sessions[session.id]

    async def append(
        self, upload: Upload, session: Session, chunk: Chunk, body: AsyncIterator[bytes], *, in_part: bool = False
    ) -> None:
        """Take a chunk: bytes that are already there are passed over; with `in_part` only half of it is kept.

        Raises StoreRefusal 400 for a chunk that leaves a gap or is no multiple of 256 KiB; a connection that breaks
        leaves nothing of its chunk.
        """
        partial = session.partial
        last = chunk.total is not None and chunk.stop == chunk.total
        if chunk.start > partial.size:
            raise StoreRefusal(400, "InvalidArgument", f"The chunk begins behind byte {partial.size}.")
        if not last and (chunk.stop - chunk.start) % ALIGNMENT:
            raise StoreRefusal(400, "InvalidArgument", f"A chunk must be a multiple of {ALIGNMENT} bytes.")
        session.chunks += 1
        keep = chunk.stop
        if in_part and chunk.stop - partial.size > ALIGNMENT:
            keep = partial.size + (chunk.stop - partial.size) // 2 // ALIGNMENT * ALIGNMENT
        taken = _Between(body, partial.size - chunk.start, keep - chunk.start)
        await partial.append(taken.pieces())
        if last and partial.size == chunk.total:
            session.blob = partial.finish()
            self.took(upload, session.blob)

    def object(self, key: str, at: int) -> Blob | None:
        """The bytes behind an `object_url` at that time, None when there are none or they were purged after 7 days."""
        upload = self.requests.get(key)
        if upload is None or upload.blob is None or at > upload.uploaded + WEEK:
            return None
        return upload.blob

    def use(self, key: str, at: int) -> Blob | None:
        """The same for an attachment that is made of it; the second may get nothing (wire C 12, line 13)."""
        upload = self.requests.get(key)
        if upload is None or (upload.used and "single_use" in self._tenant.plays):
            return None
        blob = self.object(key, at)
        upload.used = blob is not None
        return blob


class _Between:
    """Passes on the bytes [start, stop) of a body, which is read to its end."""

    def __init__(self, body: AsyncIterator[bytes], start: int, stop: int) -> None:
        self._body, self._start, self._stop = body, start, stop
        self._seen = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        """What lies between."""
        async for piece in self._body:
            at, self._seen = self._seen, self._seen + len(piece)
            part = piece[max(0, self._start - at) : max(0, self._stop - at)]
            if part:
                yield part


def chunk_of(header: str, length: int | None) -> Chunk:
    """What a Content-Range and a Content-Length say; without a range the body is the whole. Raises StoreRefusal 400, or
    411 without a length."""
    if length is None:
        raise StoreRefusal(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
    if not header:
        return Chunk(0, length, length)
    found = _CHUNK.match(header.strip())
    if found is None:
        raise StoreRefusal(400, "InvalidArgument", "Content-Range cannot be read.")
    first, last, total = found.groups()
    whole = None if total == "*" else int(total)
    if first is None:
        return Chunk(0, 0, whole, query=True)
    chunk = Chunk(int(first), int(last) + 1, whole)
    if chunk.stop <= chunk.start or (whole is not None and chunk.stop > whole):
        raise StoreRefusal(400, "InvalidArgument", "Content-Range contradicts itself.")
    if length != chunk.stop - chunk.start:
        raise StoreRefusal(400, "InvalidArgument", "Content-Length and Content-Range disagree.")
    return chunk


def checksums(blob: Blob) -> str:
    """The `x-goog-hash` of an object; the slower of the two sums only for small ones."""
    md5 = "md5=" + base64.b64encode(bytes.fromhex(blob.digests().md5)).decode()
    if blob.size > _CHECKSUM_MOST:
        return md5
    return "crc32c=" + base64.b64encode(crc32c(blob.read()).to_bytes(4, "big")).decode() + "," + md5


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _table_row(number: int) -> int:
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    return number


_TABLE = tuple(_table_row(number) for number in range(256))
