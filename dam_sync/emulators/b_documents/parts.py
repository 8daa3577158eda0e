"""The parts of a multipart body (wire B 6.1; clients send operations with a file in one)."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import Message

from dam_sync.emulators.b_documents.records import Refusal


@dataclass(frozen=True, slots=True)
class Part:
    """One part. filename: empty for one that is not a file."""

    media_type: str
    filename: str
    data: bytes


def parts_of(content_type: str, body: bytes) -> list[Part]:
    """The parts in their order, bytes as they are. Raises 400 for a body that has none."""
    boundary = _parameter(content_type, "boundary")
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("latin-1"))
    if not boundary or len(pieces) < 3 or not pieces[-1].startswith(b"--"):
        raise Refusal(400, "Unable to read the multipart body")
    return [_part(piece) for piece in pieces[1:-1]]


def _part(piece: bytes) -> Part:
    head, _, data = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    headers = dict(line.partition(":")[::2] for line in head.decode("utf-8", "replace").split("\r\n"))
    plain = {key.strip().lower(): value.strip() for key, value in headers.items()}
    kind = plain.get("content-type", "application/octet-stream")
    return Part(kind, _parameter(plain.get("content-disposition", ""), "filename"), data)


def _parameter(header: str, name: str) -> str:
    message = Message()
    message["content-type"] = header
    return str(message.get_param(name, "") or "")
