"""What the service reads out of the bytes of a file: dimensions, colours, the XMP document id."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PIL import Image

from dam_sync.emulators.kit.object_store import Blob

_XMP = re.compile(rb"xmpMM:DocumentID(?:=\"|>)([^\"<]+)[\"<]")
_HEAD = 1 << 20
_COLOURS = {"RGB": "sRGB", "RGBA": "sRGB", "CMYK": "CMYK", "L": "Gray", "1": "Gray", "P": "Indexed"}


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Dimensions in pixels, resolution in dpi; zeros and empty if the bytes are no image the service can read."""

    width: int = 0
    height: int = 0
    resolution: int = 0
    colours: str = ""

    @property
    def orientation(self) -> str:
        """LANDSCAPE, PORTRAIT, SQUARE, or empty without dimensions."""
        if not self.width:
            return ""
        if self.width == self.height:
            return "SQUARE"
        return "LANDSCAPE" if self.width > self.height else "PORTRAIT"


def facts_of(blob: Blob) -> FileFacts:
    """The facts of a blob, read once for each file."""
    return _facts(blob.path) if blob.path is not None else FileFacts()


@lru_cache(maxsize=4096)
def _facts(path: Path) -> FileFacts:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path) as image:
                resolution = image.info.get("dpi", (72,))[0]
                return FileFacts(image.width, image.height, int(resolution or 72), _COLOURS.get(image.mode, image.mode))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, ZeroDivisionError, TypeError):
        return FileFacts()


def xmp_id_of(blob: Blob) -> str:
    """The XMP document id in the first MiB of the file, empty if there is none."""
    found = _XMP.search(blob.read(0, _HEAD))
    return found.group(1).decode("utf-8", "replace") if found else ""
