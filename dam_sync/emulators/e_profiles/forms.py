"""multipart/form-data read as it comes: text parts in memory, the file part straight to disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from io import BufferedWriter
from pathlib import Path

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from dam_sync.emulators.e_profiles.records import Refusal
from dam_sync.emulators.kit.object_store import Blob, ObjectStore

TEXT_MOST = 4 << 20


class Form:
    """The parts: `text` by name; `blob` and `filename` of the part `file`, if it came."""

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.blob: Blob | None = None
        self.filename = ""

    def need(self, name: str) -> str:
        """A text part that must be there. Raises Refusal 400."""
        value = self.text.get(name, "")
        if not value:
            raise Refusal(400, "invalid_request", f"The part `{name}` is missing")
        return value


async def read_form(content_type: str, body: AsyncIterator[bytes], objects: ObjectStore, most: int) -> Form:
    """The form. Raises Refusal 400 for a malformed one, 413 when the file has more than `most` bytes; a connection
    that breaks leaves nothing behind."""
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise Refusal(400, "invalid_request", "multipart/form-data is expected")
    reader = _Reader(objects, most)
    try:
        parser = MultipartParser(options[b"boundary"], reader.callbacks())  # type: ignore[arg-type]
        try:
            async for piece in body:
                parser.write(piece)
            parser.finalize()
        except FormParserError:
            raise Refusal(400, "invalid_request", "The form is malformed") from None
        return reader.form()
    except BaseException:
        reader.discard()
        raise


class _Reader:
    def __init__(self, objects: ObjectStore, most: int) -> None:
        self._objects = objects
        self._most = most
        self._form = Form()
        self._header = b""
        self._value = b""
        self._name = ""
        self._text = bytearray()
        self._path: Path | None = None
        self._file: BufferedWriter | None = None
        self._size = 0
        self._ended = False

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._part_begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._part_data,
            "on_part_end": self._part_end,
            "on_end": self._end,
        }

    def form(self) -> Form:
        if not self._ended:
            raise Refusal(400, "invalid_request", "The form ends too early")
        if self._size > self._most:
            raise Refusal(413, "too_large", f"The file has more than {self._most} bytes")
        if self._path is not None:
            self._form.blob = self._objects.adopt(Blob(self._path.name, self._size, self._path))
        return self._form

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _part_begin(self) -> None:
        self._name, self._header, self._value = "", b"", b""
        self._text.clear()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            if self._name == "file":
                self._form.filename = options.get(b"filename", b"").decode("utf-8", "replace")
        self._header, self._value = b"", b""

    def _headers_finished(self) -> None:
        if self._name == "file" and self._path is None:
            self._path = self._objects.folder / self._objects.name()
            self._file = self._path.open("wb")

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._name != "file":
            self._text += data[start:end]
            if len(self._text) > TEXT_MOST:
                raise Refusal(413, "too_large", f"The part `{self._name}` is too long")
            return
        self._size += end - start
        if self._file is not None and self._size <= self._most:
            self._file.write(memoryview(data)[start:end])

    def _part_end(self) -> None:
        if self._name == "file":
            if self._file is not None:
                self._file.close()
                self._file = None
        else:
            self._form.text[self._name] = self._text.decode("utf-8", "replace")

    def _end(self) -> None:
        self._ended = True
