"""How much of a large file has arrived, for the progress line."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dam_sync.model.ports import EncodedStream, Stream, codings_of
from dam_sync.model.validator import Validator
from dam_sync.transfer.download import Opener


class ArrivalCounter:
    """Opens a file and counts its bytes as they arrive. bytes: how far it was read, however often."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self.bytes = 0

    async def open(self, offset: int, validator: Validator) -> Stream:
        return _Counted(await self._opener(offset, validator), self)


class _Counted:
    def __init__(self, stream: Stream, counter: ArrivalCounter) -> None:
        self._stream, self._counter = stream, counter

    @property
    def start(self) -> int:
        return self._stream.start

    @property
    def total(self) -> int | None:
        return self._stream.total

    @property
    def validator(self) -> Validator:
        return self._stream.validator

    @property
    def codings(self) -> tuple[str, ...]:
        return codings_of(self._stream)

    def decode(self) -> None:
        if isinstance(self._stream, EncodedStream):
            self._stream.decode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        at = self._stream.start
        async for block in self._stream:
            at += len(block)
            self._counter.bytes = max(self._counter.bytes, at)
            yield block

    async def aclose(self) -> None:
        await self._stream.aclose()
