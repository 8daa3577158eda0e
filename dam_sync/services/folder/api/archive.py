"""An archive (zip, tar, compressed tar) as a folder: unpacked for as long as a connection lasts, and never trusted."""

from __future__ import annotations

import bz2
import errno
import fcntl
import gzip
import io
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, cast

from dam_sync.model.errors import ContractBroken, DiskFull, InvalidValue, Rejected
from dam_sync.model.limits import MIB
from dam_sync.services.folder.api.archive_names import ArchiveNames, is_folder
from dam_sync.services.folder.api.disk import DIRECTORY, Disk, explained, parts_of, shortened
from dam_sync.services.folder.api.walk import is_bin

PREFIX: Final = "dam-sync-archive-"
FRESH = 60.0  # seconds in which a new folder is surely locked
SUFFIXES: Final = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MOST_MEMBERS = 10_000_000  # files and folders
MOST_PADDING = 64 * MIB  # of zeros that follow the end of a tar file
OURS = frozenset({"archive.json", "bagit.txt", "catalogue.jsonl", "catalogue.csv"})
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError)
PACKED: Final[Mapping[bytes, Callable[[Path], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
LONGEST_MAGIC = max(map(len, PACKED))
MOST_READ = 4 * MIB  # of a tar file: at once for a block of a file, in all for a header with a name
Member = tuple[str, int, IO[bytes] | None]  # name, size, content; None for a folder


def is_archive(path: Path) -> bool:
    """Whether this is a file that can be unpacked, by its name."""
    return named_as_archive(path) and path.is_file()


def named_as_archive(path: Path) -> bool:
    """Whether a file of this name would be an archive."""
    return path.name.lower().endswith(SUFFIXES)


class Unpacked:
    """An archive, unpacked below the folder for temporary files, where what killed processes left is removed. Links,
    devices, paths that lead out, a file that is there twice and more bytes than the archive declares are refused, and
    so is an archive that is damaged anywhere or not complete. Raises ContractBroken, DiskFull."""

    def __init__(self, archive: Path, most: int = MOST_MEMBERS, code_page: str = "") -> None:
        self._most = most
        self.names = ArchiveNames(code_page)
        self._folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        self._lock = _locked(Path(self._folder.name))
        try:
            _remove_left(Path(self._folder.name))
            self._unpack(archive, Disk(Path(self._folder.name)))
        except BaseException:
            self.close()
            raise
        self.root = _library_in(Path(self._folder.name))

    def close(self) -> None:
        """Remove the files; safe to repeat."""
        self._folder.cleanup()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def _unpack(self, archive: Path, disk: Disk) -> None:
        free = shutil.disk_usage(disk.root).free
        try:
            with explained(str(archive)), closing(self._members(archive)) as members:
                for name, size, data in members:
                    free -= size
                    if free < 0:
                        hint = "set TMPDIR to a folder with more room, or unpack the archive by hand"
                        raise DiskFull(f"there is no room to unpack {archive.name}", hint=hint)
                    _store(disk, name, size, data)
        except Rejected as problem:
            hint = "make or copy the archive again; another program that unpacks it shows what is wrong"
            raise ContractBroken(f"{archive.name} cannot be unpacked: {problem}", hint=hint) from None

    def _members(self, archive: Path) -> Generator[tuple[str, int, IO[bytes]], None, None]:
        """Its files. Raises InvalidValue for too many of them and of folders."""
        members = (_of_zip if archive.name.lower().endswith(".zip") else _of_tar)(archive, self.names)
        with closing(members):
            for number, (name, size, data) in enumerate(members):
                if number >= self._most:
                    raise InvalidValue(f"it has more than {self._most:,} files and folders")
                if data is not None:
                    with data:
                        yield name, size, data


def _remove_left(ours: Path) -> None:
    """Remove what killed processes of this user have unpacked beside this new folder: a living one holds the lock of
    its own."""
    made = ours.stat()
    for path in ours.parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = path.lstat()
            if found.st_uid != made.st_uid or made.st_mtime - found.st_mtime < FRESH:
                continue
            if (lock := _locked(path)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """An open folder that is locked until it is closed, even by a crash; None if another process holds it."""
    descriptor = os.open(folder, DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def _read() -> Iterator[None]:
    """Errors of the modules that read archives, for a damaged one. Errors of the disk have a number, those that `gzip`
    and `bz2` raise as such have none; a position before the beginning of the file is an invalid one. Raises
    InvalidValue."""
    try:
        yield
    except BROKEN as problem:
        raise InvalidValue(shortened(str(problem))) from None
    except OSError as problem:
        if problem.errno not in (None, errno.EINVAL):
            raise
        raise InvalidValue(shortened(str(problem))) from None


def _store(disk: Disk, name: str, size: int, data: IO[bytes]) -> None:
    path = "/".join(parts_of(name.removeprefix("./")))
    if disk.size(path) is not None:
        raise InvalidValue(f"{shortened(name)} is twice in the archive")
    with os.fdopen(disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as out:
        while block := _block(data, min(MIB, size + 1)):
            size -= len(block)
            if size < 0:
                raise InvalidValue(f"{shortened(name)} is larger than the archive says")
            out.write(block)
    if size:
        raise InvalidValue(f"{shortened(name)} is shorter than the archive says")


def _block(data: IO[bytes], size: int) -> bytes:
    with _read():
        return data.read(size)


def _of_zip(archive: Path, names: ArchiveNames) -> Generator[Member, None, None]:
    with _read(), zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise InvalidValue(f"{shortened(info.filename)} in the archive is not a regular file")
            name = names.in_zip(info)
            yield name, info.file_size, None if is_folder(info, name) else opened.open(info)


def _of_tar(archive: Path, names: ArchiveNames) -> Generator[Member, None, None]:
    with _read(), _decompressed(archive) as data:
        bounded = _Bounded(data)
        with tarfile.open(fileobj=bounded, mode="r:") as opened:
            kept: list[tarfile.TarInfo] = vars(opened)["members"]  # every one that was read
            while (info := bounded.next_of(opened)) is not None:
                kept.clear()
                if info.size < 0:
                    raise InvalidValue(f"{shortened(info.name)} in the archive has a size below zero")
                file = opened.extractfile(info) if info.isreg() and not info.issparse() else None
                if file is None and not info.isdir():
                    raise InvalidValue(f"{shortened(info.name)} in the archive is not a regular file")
                yield names.in_tar(info.name), info.size, file
        bounded.expect_end()


def _decompressed(archive: Path) -> IO[bytes]:
    """Its tar file, by what it begins with."""
    with archive.open("rb") as opened:
        begins = opened.read(LONGEST_MAGIC)
    for magic, decompress in PACKED.items():
        if begins.startswith(magic):
            return cast("IO[bytes]", decompress(archive))
    return archive.open("rb")


class _Bounded(io.RawIOBase):
    """A tar file of which little is kept in memory: `tarfile` reads a name or a list of attributes whole, as
    long as its header says, in one piece or, since Python 3.14, in many. Raises InvalidValue for a longer one."""

    def __init__(self, data: IO[bytes]) -> None:
        self._data = data
        self._last = b""
        self._left: int | None = MOST_READ  # of the header that is being read; None for bytes of a file

    def next_of(self, opened: tarfile.TarFile) -> tarfile.TarInfo | None:
        """The next member; None at the end."""
        self._left = MOST_READ
        member = opened.next()
        self._left = None
        return member

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= (MOST_READ if self._left is None else self._left):
            raise InvalidValue("the archive has a header of a size that no name has")
        self._last = self._data.read(size)
        if self._left is not None:
            self._left -= len(self._last)
        return self._last

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if offset < 0:
            raise InvalidValue("the archive has a header of a size below zero")
        return self._data.seek(offset, whence)

    def tell(self) -> int:
        return self._data.tell()

    def expect_end(self) -> None:
        """`tarfile` takes whatever is no header for the end, and reads no checksum of the compressed data, which
        follows. Raises InvalidValue if the last block is not that of the end, or more than padding follows."""
        if len(self._last) != tarfile.BLOCKSIZE or any(self._last):
            raise InvalidValue("it is damaged, or its end is missing")
        padding = 0
        while block := self._data.read(MIB):
            padding += len(block)
            if any(block) or padding > MOST_PADDING:
                raise InvalidValue("bytes follow its end")


def _library_in(folder: Path) -> Path:
    """The folder itself, or the only one in it where that is what was packed, but for what systems keep beside it."""
    inside = [path for path in folder.iterdir() if not (path.name.startswith(".") or is_bin(path.name))]
    only = inside[0] if len(inside) == 1 and inside[0].is_dir() else None
    return only if only is not None and any((only / name).is_file() for name in OURS) else folder
