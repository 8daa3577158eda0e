"""multipart/form-data, streamed with an exact length: httpx's own form would block the loop on large files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

Blocks = Callable[[], AsyncIterator[bytes]]


@dataclass(frozen=True, slots=True)
class FormPart:
    """One part: text, bytes, or a factory of blocks whose `size` in bytes must then be given."""

    name: str
    value: str | bytes | Blocks
    filename: str = ""
    content_type: str = ""
    size: int | None = None

    @property
    def length(self) -> int:
        """Bytes of the value."""
        if isinstance(self.value, str):
            return len(self.value.encode())
        if isinstance(self.value, bytes):
            return len(self.value)
        if self.size is None:
            raise ValueError(f"the form part {self.name} has no length")
        return self.size


@dataclass(frozen=True, slots=True)
class Form:
    """A form ready to be sent, as often as a retry needs."""

    parts: Sequence[FormPart]
    boundary: str

    @property
    def content_type(self) -> str:
        """With the boundary."""
        return f"multipart/form-data; boundary={self.boundary}"

    @property
    def length(self) -> int:
        """Bytes of the whole body."""
        heads = sum(len(self._head(part)) + part.length + 2 for part in self.parts)
        return heads + len(self._tail())

    async def blocks(self) -> AsyncIterator[bytes]:
        """The body; may be called again."""
        for part in self.parts:
            yield self._head(part)
            if isinstance(part.value, str):
                yield part.value.encode()
            elif isinstance(part.value, bytes):
                yield part.value
            else:
                async for block in part.value():
                    yield block
            yield b"\r\n"
        yield self._tail()

    def _head(self, part: FormPart) -> bytes:
        lines = [f"--{self.boundary}", f'Content-Disposition: form-data; name="{_quoted(part.name)}"']
        if part.filename:
            lines[1] += f'; filename="{_quoted(part.filename)}"'
        if part.content_type:
            lines.append(f"Content-Type: {part.content_type}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def _tail(self) -> bytes:
        return f"--{self.boundary}--\r\n".encode()


def _quoted(text: str) -> str:
    """As browsers do it: quotes and line breaks percent-encoded, everything else in UTF-8."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
