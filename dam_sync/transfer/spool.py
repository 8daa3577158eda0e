"""Spool files: owner-only, locked while in use, deleted after use; leftovers of a crash are removed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from aiofiles.threadpool import wrap
from aiofiles.threadpool.binary import AsyncBufferedIOBase

from dam_sync.model.errors import NO_ROOM, ConfigError, DiskFull

_PREFIX, _SUFFIX = "spool-", ".part"


class SpoolFile:
    """One file of the spool: first appended to, then flushed, then read."""

    def __init__(self, path: Path, file: AsyncBufferedIOBase) -> None:
        self._path, self._file = path, file

    async def append(self, block: bytes) -> None:
        """Write at the end. Raises DiskFull."""
        with _explained(self._path.parent):
            await self._file.write(block)

    async def flush(self) -> None:
        """Make what was appended readable. Raises DiskFull."""
        with _explained(self._path.parent):
            await self._file.flush()

    async def clear(self) -> None:
        """Forget what was appended, to begin again."""
        await self._file.seek(0)
        await self._file.truncate()

    async def read(self, start: int, stop: int) -> bytes:
        """The bytes [start, stop), fewer if the file is shorter; several callers may read at once, even after somebody
        has removed the file."""
        return await asyncio.to_thread(self._read, start, stop)

    async def blocks(self, size: int, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        """The bytes [start, stop), by default to the end, in blocks of at most `size` bytes; may be called again."""
        end = os.fstat(self._file.fileno()).st_size if stop is None else stop
        while start < end and (block := await self.read(start, min(start + size, end))):
            start += len(block)
            yield block

    def _read(self, start: int, stop: int) -> bytes:
        return os.pread(self._file.fileno(), stop - start, start)


@asynccontextmanager
async def spool_file(folder: Path) -> AsyncIterator[SpoolFile]:
    """A new file in `folder`, which is created if missing; deleted at the end.

    Raises DiskFull, or ConfigError if the folder cannot be written.
    """
    with _explained(folder):
        descriptor, path = _make(folder)
    file = wrap(os.fdopen(descriptor, "wb"))  # without a thread: nothing may come between the file and its removal
    try:
        yield SpoolFile(path, file)
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):  # a full disk raises again when the last bytes are discarded
            await file.close()


def clean_spool(folder: Path) -> int:
    """Remove what a crashed process left in the spool; files in use are kept. Returns how many were removed."""
    swept = 0
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                _lock(descriptor)
                path.unlink()
                swept += 1
            finally:
                os.close(descriptor)
    return swept


def _make(folder: Path) -> tuple[int, Path]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(_SUFFIX, _PREFIX, folder)  # owner-only by itself
    _lock(descriptor)
    return descriptor, Path(name)


def _lock(descriptor: int) -> None:
    """Lock the file until it is closed, even by a crash. Raises OSError if another process holds it."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFull(f"no space left in the spool folder {folder}", path=folder) from error
        hint = "set `state:` to a path in a folder that this user can write to"
        raise ConfigError(f"cannot use the spool folder {folder}: {error.strerror}", hint=hint) from error
