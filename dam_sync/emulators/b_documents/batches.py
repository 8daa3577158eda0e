"""Upload batches: transient files that documents may refer to (wire B 6.2). Nothing is checked, as the service does."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.records import FileBlob, Refusal
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.object_store import Blob, ObjectStore


@dataclass(slots=True)
class Upload:
    """One file of a batch; `count` is 0 for one sent whole."""

    name: str
    media_type: str
    size: int
    count: int = 0
    chunks: dict[int, Blob] = field(default_factory=dict)
    blob: Blob | None = None
    uploaded: float = 0.0

    def json(self) -> dict[str, Json]:
        """As the service lists it."""
        shown: dict[str, Json] = {
            "name": self.name, "size": self.size, "uploadType": "chunked" if self.count else "normal",
        }  # fmt: skip
        if self.count:
            shown |= {"uploadedChunkIds": sorted(self.chunks), "chunkCount": self.count}
        return shown


@dataclass(slots=True)
class Batch:
    """One batch; `touched` is when it was last written or read."""

    id: str
    touched: float
    files: dict[int, Upload] = field(default_factory=dict)


class Batches:
    """All batches that are alive."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self._world, self._objects, self._options = world, objects, options
        self.by_id: dict[str, Batch] = {}
        self.cancelled: set[str] = set()

    def begin(self) -> Batch:
        """A new batch."""
        rng = self._world.rng
        key = f"batchId-{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-{rng.getrandbits(48):012x}"
        self.by_id[key] = made = Batch(key, self._now())
        return made

    def get(self, key: str) -> Batch:
        """Raises 404 for a batch that was dropped, has expired or never was; 410 when it was cancelled."""
        batch = self.alive(key)
        if batch is None:
            if key in self.cancelled and self._options.at_least("2025.3"):
                raise Refusal(410, "", empty=True)
            raise Refusal(404, "", empty=True)
        batch.touched = self._now()
        return batch

    def alive(self, key: str) -> Batch | None:
        """The batch, unless its life is over."""
        batch = self.by_id.get(key)
        if batch and self._now() > batch.touched + self._options.batch_life:
            del self.by_id[key]
            return None
        return batch

    def file(self, key: str, index: str) -> FileBlob | None:
        """A complete file of a batch; None silently for whatever does not resolve."""
        batch = self.alive(key)
        upload = batch.files.get(int(index)) if batch and index.isdigit() else None
        if upload is None or upload.blob is None:
            return None
        lag = self._options.digest_lag
        kind = usable_type(upload.media_type, upload.name)
        return FileBlob(upload.name, kind, upload.blob, known=upload.uploaded + lag if lag else 0.0)

    def drop(self, key: str) -> None:
        """Give it up; safe to repeat."""
        self.by_id.pop(key, None)

    def drop_all(self) -> None:
        """As after a restart of a server that keeps them in memory."""
        self.by_id.clear()

    async def put(self, key: str, index: int, given: Upload, body: AsyncIterator[bytes]) -> Upload:
        """A whole file; the same index again replaces it."""
        self.get(key)
        blob = await self._objects.put(body)
        batch = self.get(key)
        given.blob, given.uploaded = blob, self._now()
        batch.files[index] = given
        return given

    async def put_chunk(self, key: str, index: int, number: int, given: Upload, body: AsyncIterator[bytes]) -> Upload:
        """One chunk. Count and size are fixed by the first. Raises 500 for one that is there, or beyond the count."""
        self.get(key)
        blob = await self._objects.put(body)
        upload = self.get(key).files.setdefault(index, given)
        if not upload.count or number in upload.chunks or number >= upload.count:
            raise Refusal(500, f"Chunk with index {number} already exists or is out of range")
        upload.chunks[number] = blob
        if len(upload.chunks) == upload.count:
            whole = self._objects.joined([upload.chunks[each] for each in range(upload.count)])
            await self._objects.digests(whole)
            upload.blob, upload.uploaded = whole, self._now()
        return upload

    def _now(self) -> float:
        return self._world.now().timestamp()


def usable_type(given: str, name: str) -> str:
    """The MIME type as the server keeps it: one that is none is corrected, by itself or by the file's name (wire B,
    confirmed by clients)."""
    if re.fullmatch(r"[\w.+-]+/[\w.+-]+(\s*;.*)?", given):
        return given
    by_word = mimetypes.types_map.get(f".{given.lower()}")
    return by_word or mimetypes.guess_type(name)[0] or "application/octet-stream"
