"""What all kinds of content say of the file that they are of."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator

from dam_sync.model.asset import FileLink, FileRef
from dam_sync.model.limits import MIB

BLOCK = MIB
UNKNOWN = "application/octet-stream"
_TYPES = mimetypes.MimeTypes(filenames=())  # independent of this host
for _type, _extension in (
    ("image/webp", ".webp"),
    ("image/jxl", ".jxl"),
    ("image/vnd.adobe.photoshop", ".psd"),
    ("image/x-adobe-dng", ".dng"),
):
    _TYPES.add_type(_type, _extension)


def media_type_of(file: FileRef) -> str:
    """The media type; guessed from the name if the source does not state it."""
    stated = file.media_type
    return stated if stated not in ("", UNKNOWN) else _TYPES.guess_type(file.name)[0] or UNKNOWN


class Described:
    """What all kinds of content have in common."""

    def __init__(self, file: FileRef, size: int) -> None:
        self._file = file
        self._size = size

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.size} bytes)"

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def media_type(self) -> str:
        return media_type_of(self._file)

    @property
    def size(self) -> int:
        return self._size

    @property
    def link(self) -> FileLink | None:
        """See `Content.link`; None, because these bytes are read by us."""
        return None

    async def version(self) -> str:
        """See `Content.version`; the digests are of all bytes."""
        return ""

    def _within(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop <= self._size:
            raise ValueError(f"bytes {start} to {stop} of a file of {self._size}")

    def _cut(self, start: int, stop: int | None) -> Iterator[tuple[int, int]]:
        """Blocks of a range."""
        end = self._size if stop is None else stop
        self._within(start, end)
        return ((at, min(at + BLOCK, end)) for at in range(start, end, BLOCK))
