"""Decodes compressed bodies one block at a time, so that a small response never becomes a large one in memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator

from dam_sync.http.bounds import BLOCK

_GZIP = 16 + zlib.MAX_WBITS
_CODINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}
MOST_MEMBERS = 10_000  # of one body: empty ones would never reach a limit of decoded bytes


class Undecodable(ValueError):
    """The body does not match its `Content-Encoding`."""


def codings_of(header: str) -> tuple[str, ...]:
    """The codings named by a header, without `identity`."""
    named = (part.strip().lower() for part in header.split(","))
    return tuple(part for part in named if part not in ("", "identity"))


async def decoded(blocks: AsyncIterator[bytes], coding: str) -> AsyncGenerator[bytes, None]:
    """The decoded body, at most `BLOCK` bytes at a time. Raises Undecodable."""
    decoder = _Decoder(coding)
    async for block in blocks:
        for part in decoder.feed(block):
            yield part
    decoder.end()


class _Decoder:
    """Decoder of one coding; a gzip body may have several members (RFC 1952, 2.2)."""

    def __init__(self, coding: str) -> None:
        if coding not in _CODINGS:
            raise Undecodable(f"the coding {coding[:20]!r} was not requested")
        self._window = _CODINGS[coding]
        self._inner = zlib.decompressobj(self._window)
        self._begun = False
        self._members = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode some bytes."""
        part = b""
        while data or len(part) == BLOCK:  # a full block may leave output inside the decoder
            try:
                part = self._inner.decompress(data, BLOCK)
            except zlib.error:
                part = self._bare(data)
            self._begun = True
            if part:
                yield part
            data = self._inner.unconsumed_tail
            if self._inner.eof and (rest := self._inner.unused_data):
                if self._window != _GZIP:
                    raise Undecodable("bytes follow the end of the compressed body")
                self._members += 1
                if self._members > MOST_MEMBERS:
                    raise Undecodable(f"the compressed body has more than {MOST_MEMBERS:,} members")
                self._inner, data = zlib.decompressobj(self._window), rest

    def end(self) -> None:
        """End of input. Raises Undecodable if it is incomplete."""
        if self._begun and not self._inner.eof:
            raise Undecodable("the compressed body ends too early")

    def _bare(self, data: bytes) -> bytes:
        """Some servers send `deflate` without a zlib header (RFC 9110, 8.4.1.2)."""
        if self._window != zlib.MAX_WBITS or self._begun:
            raise Undecodable("the body does not match its Content-Encoding")
        self._window = -zlib.MAX_WBITS
        self._inner = zlib.decompressobj(self._window)
        try:
            return self._inner.decompress(data, BLOCK)
        except zlib.error:
            raise Undecodable("the body does not match its Content-Encoding") from None
