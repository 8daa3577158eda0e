"""What a file is that should be text, by its first bytes: people hand in the spreadsheet itself, or what an editor or a
mail program made of a file."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from dataclasses import dataclass
from typing import Final

HEAD: Final = 8192  # bytes that are looked at
_PACKED = b"PK\x03\x04"
_OFFICE = b"[Content_Types].xml"
_DOCUMENTS = (b"word/", b"ppt/")
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument."
_AS_CSV = "open it and save it as CSV in the encoding UTF-8 (“CSV UTF-8” in the list of file types)"
_UNPACK = "unpack it, and name the file in it"
_AS_TEXT = "save it as plain text in UTF-8"


SAVE_AS: Final = (
    "save it in the encoding UTF-8: spreadsheets offer it as the file type “CSV UTF-8”, or as the character set when "
    "they save as CSV; `iconv -f CP1252 -t UTF-8` converts a file in the encoding that Windows uses in Western Europe"
)
"""What to do with a table in an encoding that cannot be told."""


@dataclass(frozen=True, slots=True)
class OtherFormat:
    """name: with its article, for a message; remedy: what to do to have text in UTF-8. encoded: it is text in another
    encoding."""

    name: str
    remedy: str
    encoded: bool = False

    def instead_of(self, wanted: str) -> str:
        """What is wrong with a file that should be `wanted`."""
        return f"is not in UTF-8 but in {self.name}" if self.encoded else f"is {self.name}, not {wanted}"


SPREADSHEET: Final = OtherFormat("a spreadsheet", _AS_CSV)
UTF16: Final = OtherFormat(
    "UTF-16",
    "save it in the encoding UTF-8, a table as “CSV UTF-8”; `iconv -f UTF-16 -t UTF-8` converts a file that a "
    "spreadsheet saved as “Unicode text”",
    encoded=True,
)
UTF32: Final = OtherFormat("UTF-32", "save it in the encoding UTF-8", encoded=True)
_BY_START: Final = (
    (BOM_UTF32_LE, UTF32),
    (BOM_UTF32_BE, UTF32),
    (BOM_UTF16_LE, UTF16),
    (BOM_UTF16_BE, UTF16),
    (b"%PDF-", OtherFormat("a PDF", _AS_TEXT)),
    (b"\x1f\x8b", OtherFormat("a gzip file", _UNPACK)),
    (b"7z\xbc\xaf\x27\x1c", OtherFormat("a 7z archive", _UNPACK)),
    (b"Rar!\x1a\x07", OtherFormat("a RAR archive", _UNPACK)),
    (b"SQLite format 3\x00", OtherFormat("a database", _AS_TEXT)),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OtherFormat("a document of an old Office program", _AS_CSV)),
    (b"\x89PNG\r\n", OtherFormat("a picture", _AS_TEXT)),
    (b"\xff\xd8\xff", OtherFormat("a picture", _AS_TEXT)),
    (b"{\\rtf", OtherFormat("a text document (RTF)", _AS_TEXT)),
)


def other_format(head: bytes) -> OtherFormat | None:
    """What a file with these first bytes is; None if it may be text in UTF-8."""
    if head.startswith(_PACKED):
        return _packed(head)
    found = next((known for start, known in _BY_START if head.startswith(start)), None)
    return found or (UTF16 if _is_wide(head) else None)


def _packed(head: bytes) -> OtherFormat:
    if _OPEN_DOCUMENT in head:
        return SPREADSHEET if b"opendocument.spreadsheet" in head else OtherFormat("a text document", _AS_TEXT)
    if _OFFICE in head or b"docProps/" in head or b"xl/" in head:
        return OtherFormat("a text document", _AS_TEXT) if any(part in head for part in _DOCUMENTS) else SPREADSHEET
    return OtherFormat("a ZIP archive", _UNPACK)


def _is_wide(head: bytes) -> bool:
    """Whether it looks like UTF-16 without a mark: every second byte of its first characters is zero."""
    start = head[:64]
    return len(start) > 3 and any(set(start[at::2]) == {0} and 0 not in start[1 - at :: 2] for at in (0, 1))
