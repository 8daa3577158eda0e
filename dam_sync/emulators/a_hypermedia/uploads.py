"""Temporary files: uploaded in one piece or in chunks, gone after their time."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from dam_sync.emulators.a_hypermedia.errors import Refusal, bad, not_found
from dam_sync.emulators.a_hypermedia.options import Options
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.object_store import Blob, ObjectStore, Partial, TooLong

FILE_GB = 20
CHUNK_MB = 20
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)$")


@dataclass(slots=True)
class Descriptor:
    """A temporary file; `total` bytes are expected, `blob` is there when they have all come."""

    id: str
    name: str
    media_type: str
    total: int
    expires: datetime
    partial: Partial | None = None
    blob: Blob | None = None
    busy: bool = False

    @property
    def received(self) -> int:
        """Bytes that have come."""
        return self.blob.size if self.blob else self.partial.size if self.partial else 0


class Uploads:
    """The temporary files of an instance."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self._by_id: dict[str, Descriptor] = {}
        self._at_once = 0

    def get(self, number: str) -> Descriptor:
        """Raises 404 when unknown or expired."""
        found = self._by_id.get(number)
        if found is None or self.world.now() >= found.expires:
            self.expire(number)
            raise not_found("file")
        return found

    def alive(self) -> list[Descriptor]:
        """All that have not expired."""
        now = self.world.now()
        return [one for one in self._by_id.values() if now < one.expires]

    def expire(self, number: str) -> None:
        """Take a temporary file away, with what had come of it."""
        found = self._by_id.pop(number, None)
        if found is not None and found.partial is not None:
            found.partial.discard()

    def complete(self, number: str) -> tuple[str, str, Blob]:
        """Name, media type and bytes. Raises 404, or 409 while bytes are missing."""
        found = self.get(number)
        if found.blob is None:
            raise Refusal(409, "file-incomplete", "The upload is not complete.")
        return found.name, found.media_type, found.blob

    async def single(self, name: str, media_type: str, length: int, body: AsyncIterator[bytes]) -> Descriptor:
        """A file in one request. Raises 413 above 50 MB, 503 above 200 uploads at once."""
        limit = self.options.single_mb * self.options.megabyte
        if length > limit:
            raise _too_large(f"One request takes at most {self.options.single_mb} MB.")
        self._enter()
        try:
            blob = await self.objects.put(body, limit)
        except TooLong:
            raise _too_large(f"One request takes at most {self.options.single_mb} MB.") from None
        finally:
            self._at_once -= 1
        if blob.size != length:
            raise bad("file-truncated", f"{length} bytes were announced, {blob.size} came.")
        return self._keep(name, media_type, blob.size, blob=blob)

    def begin(self, name: str, media_type: str, total: int) -> Descriptor:
        """A file that will come in chunks. Raises 413 above 20 GB."""
        if total > FILE_GB * 1000 * self.options.megabyte:
            raise _too_large(f"A file has at most {FILE_GB} GB.")
        if total <= 0:
            raise bad("file-empty", "A chunked upload needs a length above zero.")
        return self._keep(name, media_type, total, partial=self.objects.begin())

    async def chunk(self, found: Descriptor, content_range: str, length: int, body: AsyncIterator[bytes]) -> None:
        """The next bytes. Raises 416 on a gap, an overlap or past the end, 409 while another chunk is coming."""
        if found.busy:
            raise Refusal(409, "file-busy", "Another chunk of this file is being received.")
        partial = found.partial
        first, last = self._bounds(found, content_range)
        if partial is None or length != last - first + 1:
            raise self._bad_range(found)
        if not self.options.large_chunks and length > CHUNK_MB * self.options.megabyte:
            raise _too_large(f"A chunk has at most {CHUNK_MB} MB.")
        found.busy = True
        self._enter()
        try:
            await partial.append(body, length)
        except TooLong:
            raise self._bad_range(found) from None
        finally:
            found.busy = False
            self._at_once -= 1
        if partial.size == found.total:
            found.blob, found.partial = partial.finish(), None

    def _bounds(self, found: Descriptor, content_range: str) -> tuple[int, int]:
        parsed = _RANGE.match(content_range)
        if parsed is None:
            raise self._bad_range(found)
        first, last, total = map(int, parsed.groups())
        if first != found.received or total != found.total or not first <= last < total:
            raise self._bad_range(found)
        return first, last

    def _bad_range(self, found: Descriptor) -> Refusal:
        extra = {"nextExpectedRanges": expected_ranges(found)}
        return Refusal(416, "file-range-invalid", "The chunk does not fit what is expected next.", extra)

    def _keep(
        self, name: str, media_type: str, total: int, partial: Partial | None = None, blob: Blob | None = None
    ) -> Descriptor:
        expires = self.world.now() + timedelta(seconds=self.options.descriptor_life)
        number = self.world.word(8)
        made = self._by_id[number] = Descriptor(number, name, media_type, total, expires, partial, blob)
        return made

    def _enter(self) -> None:
        most = self.options.uploads_at_once
        if self._at_once >= most:  # spec 000, Limits: 200 simultaneous uploads
            raise Refusal(503, "too-many-uploads", f"At most {most} uploads at once.", {})
        self._at_once += 1


def expected_ranges(found: Descriptor) -> list[str]:
    """What a chunked upload expects next; nothing when it is complete."""
    return [] if found.blob else [f"{found.received}-"]


def _too_large(message: str) -> Refusal:
    return Refusal(413, "file-too-large", message)
