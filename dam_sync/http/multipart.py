"""multipart/form-data, streamed, with its exact length known in advance."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dam_sync.http.bounds import BLOCK
from dam_sync.model.errors import InvalidValue

Block: TypeAlias = bytes | memoryview
BodyFactory: TypeAlias = Callable[[], AsyncIterator[Block]]


async def in_blocks(data: bytes) -> AsyncGenerator[Block, None]:
    """Yields views of bytes in memory block by block, so that sending them copies only what a socket does not take at
    once, and holds up no other connection."""
    view = memoryview(data)
    for start in range(0, len(data), BLOCK):
        yield view[start : start + BLOCK]


@dataclass(frozen=True, slots=True)
class FormPart:
    """One field of a form. A factory as `value` streams the bytes and needs `size`; it is called again on a retry."""

    name: str
    value: str | bytes | BodyFactory = field(repr=False)
    filename: str = ""
    content_type: str = ""
    size: int | None = None

    def __post_init__(self) -> None:
        if not self.content_type.isprintable():
            raise InvalidValue(f"a media type cannot contain {self.content_type[:40]!r}")

    @property
    def length(self) -> int:
        """Bytes of the value. Raises ValueError for a factory of unknown size."""
        if isinstance(self.value, str):
            return len(self.value.encode())
        if isinstance(self.value, bytes):
            return len(self.value)
        if self.size is None:
            raise ValueError(f"the form part {self.name!r} is streamed and needs a size")
        return self.size


@dataclass(slots=True)
class MultipartForm:
    """A form with its boundary: `size` is exactly what `blocks()` yields; `blocks()` may be called again."""

    parts: Sequence[FormPart]
    boundary: str
    _heads: Sequence[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._heads = [self._head(part) for part in self.parts]

    @property
    def content_type(self) -> str:
        """The header that names the boundary."""
        return f"multipart/form-data; boundary={self.boundary}"

    @property
    def size(self) -> int:
        """Bytes of the whole body."""
        return sum(len(head) + part.length + 2 for head, part in self._pairs) + len(self._end)

    async def blocks(self) -> AsyncGenerator[Block, None]:
        """The body, block by block."""
        for head, part in self._pairs:
            if not callable(part.value) and part.length <= BLOCK:
                value = part.value.encode() if isinstance(part.value, str) else part.value
                yield head + value + b"\r\n"
                continue
            yield head
            async for block in _streamed(part.value):
                yield block
            yield b"\r\n"
        yield self._end

    @property
    def _pairs(self) -> Iterator[tuple[bytes, FormPart]]:
        return zip(self._heads, self.parts, strict=True)

    @property
    def _end(self) -> bytes:
        return f"--{self.boundary}--\r\n".encode()

    def _head(self, part: FormPart) -> bytes:
        lines = [f"--{self.boundary}", f'Content-Disposition: form-data; name="{_quoted(part.name)}"']
        if part.filename:
            lines[1] += f'; filename="{_quoted(part.filename)}"'
        kind = part.content_type or ("application/octet-stream" if part.filename else "")
        if kind:
            lines.append(f"Content-Type: {kind}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _streamed(value: str | bytes | BodyFactory) -> AsyncIterator[Block]:
    if callable(value):
        return value()
    return in_blocks(value.encode() if isinstance(value, str) else value)


def _quoted(text: str) -> str:
    """As browsers write names: UTF-8, with only the quote and line ends escaped (WHATWG HTML, multipart form data)."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
