"""The bytes of an emulated world: files in a folder, generated blobs, signed links on another host."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import hmac
import os
import shutil
import stat
import tempfile
import weakref
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlencode

from dam_sync.emulators.kit.environment import Environment

STEP = 1 << 18
_CELL = 1 << 16


@dataclass(frozen=True, slots=True)
class Digests:
    """md5 and sha256 in lower-case hexadecimal, crc32 as eight hexadecimal characters."""

    md5: str
    sha256: str
    crc32: str


@dataclass(slots=True)
class Blob:
    """Some bytes that never change: a file, or generated from a seed, or several blobs joined. size in bytes. tags:
    what is said of the version, `strong`, `weak` or `none`."""

    id: str
    size: int
    path: Path | None = None
    seed: int | str = 0
    parts: tuple[Blob, ...] = ()
    known: Digests | None = field(default=None, repr=False)
    tags: str = "strong"

    @property
    def version(self) -> str:
        """What changes with the bytes: also those of a file on disk that somebody writes although nobody should."""
        if self.parts:
            return "-".join(part.version for part in self.parts)
        return self.id if self.path is None else f"{self.id}-{self.path.stat().st_mtime_ns:x}"

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes of [start, stop) in pieces of at most 256 KiB; never the whole in memory."""
        stop = self.size if stop is None else min(stop, self.size)
        if self.parts:
            yield from _joined(self.parts, start, stop)
        elif self.path is not None:
            yield from _from_file(self.path, start, stop)
        else:
            yield from _generated(self.size, self.seed, start, stop)

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """The bytes of [start, stop), for small blobs."""
        return b"".join(self.pieces(start, stop))

    def digests(self) -> Digests:
        """Computed at the first call, by streaming, then remembered."""
        if self.known is None:
            sums = Sums()
            for piece in self.pieces():
                sums.update(piece)
            self.known = sums.digests()
        return self.known


class Sums:
    """Three running digests and the size."""

    def __init__(self) -> None:
        self.size = 0
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._sha256 = hashlib.sha256()
        self._crc32 = 0

    def update(self, piece: bytes) -> None:
        """Take some more bytes."""
        self.size += len(piece)
        self._md5.update(piece)
        self._sha256.update(piece)
        self._crc32 = zlib.crc32(piece, self._crc32)

    def copy(self) -> Sums:
        """The same so far, to go on separately."""
        other = Sums()
        other.size, other._md5, other._sha256, other._crc32 = (
            self.size,
            self._md5.copy(),
            self._sha256.copy(),
            self._crc32,
        )
        return other

    def digests(self) -> Digests:
        """Of what was taken so far."""
        return Digests(self._md5.hexdigest(), self._sha256.hexdigest(), f"{self._crc32:08x}")


class TooLong(Exception):
    """More bytes came than were allowed; nothing was kept of them."""


class Partial:
    """A file that grows by appending, for resumable uploads."""

    def __init__(self, store: ObjectStore, path: Path) -> None:
        self.path = path
        self.size = 0
        self._store = store
        self._sums = Sums()

    async def append(self, chunks: AsyncIterator[bytes], limit: int | None = None) -> int:
        """Write what comes; the new size. Raises TooLong past `limit` bytes of this call, taking the call back.

        A connection that breaks in mid-call leaves nothing of the call behind.
        """
        start = self.size
        sums = self._sums.copy()
        with self.path.open("r+b") as file:
            file.seek(start)
            try:
                async for chunk in chunks:
                    sums.update(chunk)
                    if limit is not None and sums.size - start > limit:
                        raise TooLong
                    file.write(chunk)
            except BaseException:
                file.truncate(start)
                raise
        self._sums = sums
        self.size = self._sums.size
        return self.size

    def finish(self) -> Blob:
        """The blob of all that was appended."""
        return self._store.adopt(Blob(self._store.name(), self.size, self.path, known=self._sums.digests()))

    def discard(self) -> None:
        """Give the bytes up."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Held:
    """What an address of the storage host gives."""

    blob: Blob
    filename: str = ""
    content_type: str = "application/octet-stream"


@dataclass(slots=True)
class Upload:
    """An address of the storage host that takes bytes by PUT; `done` is called with the blob."""

    done: Callable[[Blob], Awaitable[None] | None]
    limit: int | None = None


class ObjectStore:
    """Blobs by id, and the addresses of the storage host that lead to them.

    `resolve`, when set, is called with a path (`/medias/8857.jpg`) that is not a signed link: an unsigned, public
    link lives as long as `resolve` answers it. `folder` is a temporary one when not given.
    """

    def __init__(self, world: Environment, folder: Path | None = None) -> None:
        self.world = world
        self.folder = folder or Path(tempfile.mkdtemp(prefix="emulated-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._removal = None if folder else weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.blobs: dict[str, Blob] = {}
        self.tags = "strong"  # see `Blob.tags`
        self.resolve: Callable[[str], Held | None] | None = None
        self.uploads: dict[str, Upload] = {}
        self._files: dict[Path, Blob] = {}
        self._key = hashlib.sha256(f"links {world.seed}".encode()).digest()
        self._count = 0

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._removal:
            self._removal()

    def name(self) -> str:
        """A new blob id."""
        self._count += 1
        return hashlib.sha256(f"{self.world.seed} {self._count}".encode()).hexdigest()[:20]

    def adopt(self, blob: Blob) -> Blob:
        """Keep a blob under its id."""
        blob.tags = self.tags
        self.blobs[blob.id] = blob
        return blob

    def file(self, path: Path) -> Blob:
        """The blob of a file on disk, which stays where it is; the same blob for the same path, digests on demand.

        Raises OSError for what is not a plain file, a symbolic link among them.
        """
        blob = self._files.get(path)
        if blob is None:
            with opened(path) as file:
                size = os.fstat(file.fileno()).st_size
            blob = self._files[path] = self.adopt(Blob(self.name(), size, path))
        return blob

    def generated(self, size: int, seed: int | str) -> Blob:
        """A blob of that size made on the fly from the seed; the same blob for the same two, no disk."""
        key = f"g{size}-{seed}"
        return self.blobs.get(key) or self.adopt(Blob(key, size, seed=seed))

    def joined(self, parts: Sequence[Blob]) -> Blob:
        """The blob of these one after another, without copying them."""
        return self.adopt(Blob(self.name(), sum(part.size for part in parts), parts=tuple(parts)))

    def begin(self) -> Partial:
        """An empty file that grows."""
        path = self.folder / self.name()
        path.touch(exist_ok=False)
        return Partial(self, path)

    async def put(self, chunks: AsyncIterator[bytes], limit: int | None = None) -> Blob:
        """Stream the bytes to disk. Raises TooLong past `limit` bytes, keeping nothing."""
        sums = Sums()
        path = self.folder / self.name()
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    sums.update(chunk)
                    if limit is not None and sums.size > limit:
                        raise TooLong
                    file.write(chunk)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return self.adopt(Blob(path.name, sums.size, path, known=sums.digests()))

    async def keep(self, data: bytes) -> Blob:
        """A blob of bytes at hand."""

        async def one() -> AsyncIterator[bytes]:
            yield data

        return await self.put(one())

    async def digests(self, blob: Blob) -> Digests:
        """The blob's digests, a large one's computed next to the event loop."""
        if blob.known is None and blob.size > 1 << 23:
            return await asyncio.to_thread(blob.digests)
        return blob.digests()

    def sign(self, blob: Blob, ttl: float, filename: str = "", content_type: str = "application/octet-stream") -> str:
        """A link on the storage host that gives the blob for `ttl` seconds, to whoever has it."""
        path = f"/objects/{quote(blob.id, safe='')}/{quote(filename or blob.id, safe='')}"
        return self._signed("GET", path, ttl, {"response-content-type": content_type})

    def sign_upload(self, ttl: float, done: Callable[[Blob], Awaitable[None] | None], limit: int | None = None) -> str:
        """A link on the storage host that takes bytes by PUT for `ttl` seconds; each PUT tells `done` its blob."""
        key = self.name()
        self.uploads[key] = Upload(done, limit)
        return self._signed("PUT", f"/uploads/{key}", ttl, {})

    def allowed(self, method: str, path: str, query: Mapping[str, str]) -> str:
        """Empty if the signature holds now, else the code of the refusal, as object stores spell it."""
        expires = query.get("Expires", "")
        if not expires.isdigit() or not hmac.compare_digest(
            query.get("Signature", ""), self._signature(method, path, expires, query.get("response-content-type", ""))
        ):
            return "SignatureDoesNotMatch"
        return "AccessDenied" if self.world.now().timestamp() > int(expires) else ""

    def _signed(self, method: str, path: str, ttl: float, extra: Mapping[str, str]) -> str:
        expires = str(int(self.world.now().timestamp() + ttl))
        signature = self._signature(method, path, expires, extra.get("response-content-type", ""))
        return f"{self.world.storage_origin}{path}?" + urlencode({**extra, "Expires": expires, "Signature": signature})

    def _signature(self, method: str, path: str, expires: str, content_type: str) -> str:
        verb = "GET" if method == "HEAD" else method
        return hmac.new(self._key, f"{verb} {path} {expires} {content_type}".encode(), hashlib.sha256).hexdigest()


def opened(path: Path) -> BinaryIO:
    """A plain file for reading. Raises OSError for anything else: a link, a folder, a device, a pipe."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return file


def _from_file(path: Path, start: int, stop: int) -> Iterator[bytes]:
    with opened(path) as file:
        file.seek(start)
        while start < stop:
            piece = file.read(min(STEP, stop - start))
            if not piece:
                return
            start += len(piece)
            yield piece


def _joined(parts: Sequence[Blob], start: int, stop: int) -> Iterator[bytes]:
    at = 0
    for part in parts:
        if at < stop and at + part.size > start:
            yield from part.pieces(max(0, start - at), min(part.size, stop - at))
        at += part.size


def _generated(size: int, seed: int | str, start: int, stop: int) -> Iterator[bytes]:
    """Cells of 64 KiB: one random pattern per seed, each cell beginning with its own number, so that no two cells of a
    file are alike and a swapped or repeated range shows."""
    pattern = _pattern(min(size, _CELL), seed)
    while start < stop:
        end = min(stop, (start // STEP + 1) * STEP)
        first, last = start // _CELL, (end - 1) // _CELL
        cells = b"".join(_cell(pattern, number, seed) for number in range(first, last + 1))
        yield cells[start - first * _CELL : end - first * _CELL]
        start = end


def _cell(pattern: bytes, number: int, seed: int | str) -> bytes:
    return hashlib.sha256(f"{seed} {number}".encode()).digest() + pattern[32:] if number else pattern


@lru_cache(maxsize=64)
def _pattern(size: int, seed: int | str) -> bytes:
    return hashlib.shake_128(f"pattern {seed}".encode()).digest(size)
