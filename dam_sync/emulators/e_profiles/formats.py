"""File formats as the service names them, by the extension of the file name in any case."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from PIL import Image

from dam_sync.emulators.kit.object_store import Blob


class Format(NamedTuple):
    """`format`, `format_type` and a media type."""

    name: str
    type: str
    media: str


_KNOWN = {
    "jpg": Format("JPEG", "image", "image/jpeg"),
    "jpeg": Format("JPEG", "image", "image/jpeg"),
    "png": Format("PNG", "image", "image/png"),
    "gif": Format("GIF", "image", "image/gif"),
    "tif": Format("TIFF", "image", "image/tiff"),
    "tiff": Format("TIFF", "image", "image/tiff"),
    "webp": Format("WEBP", "image", "image/webp"),
    "heic": Format("HEIC", "image", "image/heic"),
    "psd": Format("PSD", "image", "image/vnd.adobe.photoshop"),
    "ai": Format("Illustrator", "image", "application/postscript"),
    "mp4": Format("MP4", "video", "video/mp4"),
    "mov": Format("QuickTime", "video", "video/quicktime"),
    "mp3": Format("MP3", "audio", "audio/mpeg"),
    "wav": Format("WAV", "audio", "audio/wav"),
    "pdf": Format("PDF", "pdf", "application/pdf"),
    "doc": Format("MSWord", "office", "application/msword"),
    "docx": Format("MSWord", "office", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "xlsx": Format("MSExcel", "office", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "pptx": Format(
        "MSPowerPoint", "office", "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    ),
    "odt": Format("OpenDocument", "open_office", "application/vnd.oasis.opendocument.text"),
    "indd": Format("InDesign", "indesign", "application/x-indesign"),
    "zip": Format("ZIP", "compressed_archive", "application/zip"),
    "epub": Format("EPUB", "ebook", "application/epub+zip"),
}


@lru_cache(maxsize=4096)
def format_of(filename: str) -> Format:
    """The format; an unknown extension is a generic binary."""
    extension = filename.rpartition(".")[2].lower() if "." in filename else ""
    return _KNOWN.get(extension) or Format(extension.upper() or "Unknown", "generic_binary", "application/octet-stream")


_measured: dict[str, tuple[int, int] | None] = {}


def pixels_of(blob: Blob) -> tuple[int, int] | None:
    """Width and height of an image that lies on disk, None if they cannot be read; remembered."""
    if blob.path is None:
        return None
    if blob.id not in _measured:
        try:
            with Image.open(blob.path) as image:
                _measured[blob.id] = image.size
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning):
            _measured[blob.id] = None
    return _measured[blob.id]
