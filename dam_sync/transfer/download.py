"""Bytes of a file in order, across broken connections and renewed links, checked for length on the way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from dam_sync.model.errors import ContractBroken, IntegrityError, Transient
from dam_sync.model.ports import Stream

Opener: TypeAlias = Callable[[int], Awaitable[Stream]]
"""Opens the file at an offset; called again after a break, so it renews expired links itself."""

TRIES = 5
LENGTH_TRIES = 3


@dataclass(frozen=True, slots=True)
class EmptyStream:
    """The empty rest at the end of a file."""

    start: int
    total: int | None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing is open."""


class Download:
    """One forward pass over a file from `position` on. `size` is taken from the first response if unknown.

    Broken connections are resumed by range; a response that ignores the range is read and skipped. After TRIES attempts
    in a row without progress it raises the error of the last one, or IntegrityError if the responses simply ended. A
    file of unknown size that seems to be empty is requested again: the response may have lost its body. A
    response that announces another length than expected, or than the previous one, may be a page of a proxy: it is
    requested again. Raises IntegrityError after LENGTH_TRIES such responses in a row, and at once if there are more
    bytes than the file should have.
    """

    def __init__(self, opener: Opener, name: str, size: int | None, position: int = 0) -> None:
        self._opener, self._name = opener, name
        self.size = size
        self._doubtful = size is None  # an empty response may be one that lost its body
        self.position = position
        self._blocks = self._run()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._blocks

    async def __anext__(self) -> bytes:
        return await anext(self._blocks)

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        await self._blocks.aclose()

    async def _run(self) -> AsyncGenerator[bytes, None]:
        fruitless = other = 0
        if 0 < self.position == self.size:
            return
        while fruitless < TRIES:
            before, broken = self.position, None
            stream = await self._opener(self.position)
            try:
                other = 0 if self._fits(stream, last=other + 1 == LENGTH_TRIES) else other + 1
                if other:
                    continue
                async for block in self._fresh(stream):
                    yield block
            except Transient as error:
                broken = error
            finally:
                await stream.aclose()
            if self._ended(broken):
                return
            fruitless = 0 if self.position > before else fruitless + 1
            if broken is not None and fruitless == TRIES:
                raise broken
        raise IntegrityError(f"{self._name}: only {self.position} of {self.size} bytes arrived", code="length")

    async def _fresh(self, stream: Stream) -> AsyncGenerator[bytes, None]:
        """The bytes of the stream beyond the position; raises IntegrityError if there are more than the file should
        have."""
        at = stream.start
        async for block in stream:
            skip, at = max(0, self.position - at), at + len(block)
            fresh = block[skip:] if skip else block
            self.position += len(fresh)
            if self.size is not None and self.position > self.size:
                raise IntegrityError(f"{self._name} has more than the {self.size} bytes expected", code="length")
            if fresh:
                yield fresh

    def _fits(self, stream: Stream, *, last: bool) -> bool:
        """Whether a response announces the known length; raises IntegrityError on the last attempt."""
        if stream.start > self.position:
            raise ContractBroken(
                f"{self._name}: requested from byte {self.position}, received from byte {stream.start}"
            )
        if self.size is None:
            self.size = stream.total
        if stream.total in (None, self.size):
            return True
        if last:
            text = f"{self._name} should have {self.size} bytes but has {stream.total}"
            raise IntegrityError(text, code="length", hint="it may have changed meanwhile: run the same command again")
        return False

    def _ended(self, broken: Transient | None) -> bool:
        if self.size is None and broken is None:
            self.size = self.position
        if self._doubtful and self.position == self.size == 0:
            self.size, self._doubtful = None, False
        return self.position == self.size


async def regrouped(blocks: AsyncIterator[bytes], least: int) -> AsyncGenerator[bytes, None]:
    """The same bytes in blocks of at least `least` bytes, except for the last."""
    waiting: list[bytes] = []
    size = 0
    async for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= least:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
