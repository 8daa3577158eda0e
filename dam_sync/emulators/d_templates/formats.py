"""File formats by extension: mime type and the service's content type."""

from __future__ import annotations

from collections.abc import Mapping

_MIME: Mapping[str, str] = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "psd": "image/vnd.adobe.photoshop",
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "pdf": "application/pdf",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "txt": "text/plain",
    "zip": "application/zip",
}
_UNITS = ("B", "kB", "MB", "GB", "TB")


def extension_of(filename: str) -> str:
    """Lower case, without the dot; empty if there is none."""
    return filename.rpartition(".")[2].lower() if "." in filename else ""


def mime_of(filename: str) -> str:
    """By extension alone."""
    return _MIME.get(extension_of(filename), "application/octet-stream")


def content_type_of(filename: str) -> str:
    """Image, Video, Audio, Document or Other."""
    mime = mime_of(filename)
    kind = mime.partition("/")[0].capitalize()
    if kind in ("Image", "Video", "Audio"):
        return kind
    return "Other" if mime in ("application/octet-stream", "application/zip") else "Document"


def human_size(size: int) -> str:
    """Rounded, for people: `44 kB`."""
    number = float(size)
    for unit in _UNITS:
        if number < 1024 or unit == _UNITS[-1]:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{size} B"
