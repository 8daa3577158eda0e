"""ArchiveNames in archives: what separates their folders, and in which code page they are, which few archives say."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from dam_sync.model.errors import InvalidValue
from dam_sync.services.folder.api.disk import shortened

USUAL = "cp437"  # of a name in a zip file that says nothing (APPNOTE 4.4.4, D.1)
OF_DOS: Final = frozenset({0, 6, 10, 11, 14})  # systems with the separator `\\`: FAT, HPFS, NTFS (by two lists), VFAT
_IS_UTF8 = 0x800  # flag of a name in a zip file
_IS_FOLDER = 0x10  # attribute of DOS
_UNICODE_PATH = 0x7075  # extra field with the name in UTF-8 (APPNOTE 4.6.9)
GUESSED = (
    "names in the archive that do not say their code page, and are read as {}, which is a guess: {:,}, “{}” for one; "
    "if they look wrong, name the code page, `options: {{code_page: cp850}}`, or cp1252, cp866, cp932, …"
)
UNREADABLE = (
    "names in the archive that are not in UTF-8, and whose files are left out: {:,}; name their code page, "
    "`options: {{code_page: cp1252}}` for one"
)


class ArchiveNames:
    """Reads the names of one archive and counts those that are a guess. code_page: of names that do not say theirs,
    if that is known."""

    def __init__(self, code_page: str = "") -> None:
        self._code_page = code_page
        self._guessed: list[str] = []  # the first one
        self._number = self._unreadable = 0

    def in_zip(self, info: zipfile.ZipInfo) -> str:
        """The name of a member, with `/` between its folders and after one. Raises InvalidValue."""
        name = self._told(info)
        path = name.replace("\\", "/") if info.create_system in OF_DOS else name
        guessed = bool(self._number) and "//" in path  # a byte of another code page, which is no separator
        return name if guessed else path

    def in_tar(self, name: str) -> str:
        """The same; `name` has surrogates for what is not UTF-8."""
        try:
            name.encode()
        except UnicodeEncodeError:
            raw = name.encode("utf-8", "surrogateescape")
            if self._code_page:
                return self._decoded(raw)
            self._unreadable += 1
        return name

    def notes(self) -> Iterator[str]:
        """What `check` says."""
        if self._number:
            yield GUESSED.format(USUAL.upper(), self._number, shortened(self._guessed[0]))
        if self._unreadable:
            yield UNREADABLE.format(self._unreadable)

    def _told(self, info: zipfile.ZipInfo) -> str:
        if info.flag_bits & _IS_UTF8:
            return info.filename
        raw = info.filename.encode(USUAL)
        if raw.isascii():
            return info.filename
        if (unicode := _unicode_path(info, raw)) is not None:
            return unicode
        if self._code_page:
            return self._decoded(raw)
        try:
            return raw.decode()  # the `zip` of Linux and macOS does not set the flag
        except UnicodeDecodeError:
            self._number += 1
            self._guessed = self._guessed or [info.filename]
            return info.filename

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode(self._code_page)
        except UnicodeDecodeError:
            shown = shortened(raw.decode(USUAL))
            raise InvalidValue(f"the name of {shown} is not in the code page {self._code_page}") from None


def is_folder(info: zipfile.ZipInfo, name: str) -> bool:
    """Whether a member of a zip file is a folder, by its name as read or by its attributes."""
    return name.endswith("/") or (
        info.create_system in OF_DOS and bool(info.external_attr & _IS_FOLDER) and not info.file_size
    )


def _unicode_path(info: zipfile.ZipInfo, raw: bytes) -> str | None:
    """The name in UTF-8 beside one in a code page; none if the name was changed since."""
    extra = info.extra
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        data, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == _UNICODE_PATH and data[:1] == b"\1" and data[1:5] == struct.pack("<L", zlib.crc32(raw)):
            with suppress(UnicodeDecodeError):
                return data[5:].decode()
    return None
