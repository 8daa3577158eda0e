"""An archive (zip, tar, compressed tar) as a folder: unpacked for as long as a connection lasts, and never trusted."""

from __future__ import annotations

import bz2
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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, cast

from dam_sync.model.errors import ContractBroken, DiskFull, InvalidValue
from dam_sync.model.limits import MIB
from dam_sync.services.folder.api.disk import Disk, explained, parts_of

SUFFIXES: Final = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MOST_FILES = 10_000_000
OURS = frozenset({"archive.json", "bagit.txt", "catalogue.jsonl", "catalogue.csv"})
BROKEN = (InvalidValue, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, RuntimeError)
PACKED: Final[Mapping[bytes, Callable[[Path], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
LONGEST_MAGIC = max(map(len, PACKED))
MOST_READ = 4 * MIB  # of a tar file at once: a block of a file, or a header with a name
Member = tuple[str, int, IO[bytes]]
_IS_UTF8 = 0x800  # flag of a name in a zip file


def is_archive(path: Path) -> bool:
    """Whether this is a file that can be unpacked, by its name."""
    return named_as_archive(path) and path.is_file()


def named_as_archive(path: Path) -> bool:
    """Whether a file of this name would be an archive."""
    return path.name.lower().endswith(SUFFIXES)


class Unpacked:
    """An archive, unpacked below the folder for temporary files. Links, devices, paths that lead out, a file that is
    there twice and more bytes than the archive declares are refused. Raises ContractBroken, DiskFull."""

    def __init__(self, archive: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dam-sync-archive-")
        try:
            self._unpack(archive, Disk(Path(self._folder.name)))
        except BaseException:
            self.close()
            raise
        self.root = _library_in(Path(self._folder.name))

    def close(self) -> None:
        """Remove the files; safe to repeat."""
        self._folder.cleanup()

    def _unpack(self, archive: Path, disk: Disk) -> None:
        free = shutil.disk_usage(disk.root).free
        try:
            with explained(str(archive)):
                members = _of_zip(archive) if archive.name.lower().endswith(".zip") else _of_tar(archive)
                for number, (name, size, data) in enumerate(members):
                    free -= size
                    if free < 0 or number >= MOST_FILES:
                        hint = "set TMPDIR to a folder with more room, or unpack the archive by hand"
                        raise DiskFull(f"there is no room to unpack {archive.name}", hint=hint)
                    _store(disk, name, size, data)
        except BROKEN as problem:
            hint = "make or copy the archive again; another program that unpacks it shows what is wrong"
            raise ContractBroken(f"{archive.name} cannot be unpacked: {problem}", hint=hint) from None


def _store(disk: Disk, name: str, size: int, data: IO[bytes]) -> None:
    path = "/".join(parts_of(name.removeprefix("./")))
    if disk.size(path) is not None:
        raise InvalidValue(f"{name} is twice in the archive")
    with os.fdopen(disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as out, data:
        while block := data.read(min(MIB, size + 1)):
            size -= len(block)
            if size < 0:
                raise InvalidValue(f"{name} is larger than the archive says")
            out.write(block)
    if size:
        raise InvalidValue(f"{name} is shorter than the archive says")


def _of_zip(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise InvalidValue(f"{info.filename} in the archive is not a regular file")
            if not info.is_dir():
                yield _name_of(info), info.file_size, opened.open(info)


def _name_of(info: zipfile.ZipInfo) -> str:
    """As it was packed. The `zip` of Linux and macOS writes names in UTF-8 without the flag that says so."""
    if info.flag_bits & _IS_UTF8:
        return info.filename
    try:
        return info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def _of_tar(archive: Path) -> Iterator[Member]:
    with _decompressed(archive) as data, tarfile.open(fileobj=_Bounded(data), mode="r:") as opened:
        for info in opened:
            if info.size < 0:
                raise InvalidValue(f"{info.name} in the archive has a size below zero")
            if info.isdir():
                continue
            file = opened.extractfile(info) if info.isreg() and not info.issparse() else None
            if file is None:
                raise InvalidValue(f"{info.name} in the archive is not a regular file")
            yield info.name, info.size, file


def _decompressed(archive: Path) -> IO[bytes]:
    """Its tar file, by what it begins with."""
    with archive.open("rb") as opened:
        begins = opened.read(LONGEST_MAGIC)
    for magic, decompress in PACKED.items():
        if begins.startswith(magic):
            return cast("IO[bytes]", decompress(archive))
    return archive.open("rb")


class _Bounded(io.RawIOBase):
    """A tar file of which nobody reads very much at once: `tarfile` reads a name or a list of attributes in one piece,
    as long as its header says. Raises InvalidValue for a longer one."""

    def __init__(self, data: IO[bytes]) -> None:
        self._data = data

    def read(self, size: int = -1, /) -> bytes:
        """See `RawIOBase.read`."""
        if not 0 <= size <= MOST_READ:
            raise InvalidValue("the archive has a header of a size that no name has")
        return self._data.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """See `RawIOBase.seek`."""
        if offset < 0:
            raise InvalidValue("the archive has a header of a size below zero")
        return self._data.seek(offset, whence)

    def tell(self) -> int:
        """See `RawIOBase.tell`."""
        return self._data.tell()


def _library_in(folder: Path) -> Path:
    """The folder itself, or the only one in it where that is what was packed."""
    inside = list(folder.iterdir())
    only = inside[0] if len(inside) == 1 and inside[0].is_dir() else None
    return only if only is not None and any((only / name).is_file() for name in OURS) else folder
