"""A source of file bytes that breaks, lies and ignores ranges as scripted."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dam_sync.model.asset import FileRef
from dam_sync.model.errors import Transient
from dam_sync.model.validator import Validator

BLOCK = 64 * 1024
FIRST = Validator(tag='"1"')


@dataclass
class Opening:
    """What one opening does: `stops` after so many bytes (`breaks`: with an error), serves `size` bytes in all."""

    stops: int | None = None
    breaks: bool = True
    whole: bool = False  # ignores the offset
    size: int | None = None
    total: bool = True  # says how long the file is
    refuses: Exception | None = None
    validator: Validator = FIRST
    read: Callable[[int, int], bytes] | None = None  # of another version of the file


@dataclass
class Source:
    """Openings follow `script`, then behave. `read` gives the bytes of a range without holding the file."""

    size: int
    read: Callable[[int, int], bytes]
    script: Sequence[Opening] = ()
    offsets: list[int] = field(default_factory=list)
    wanted: list[Validator] = field(default_factory=list)
    alive: int = 0
    served: int = 0

    async def open(self, offset: int, validator: Validator) -> FakeStream:
        number = len(self.offsets)
        self.offsets.append(offset)
        self.wanted.append(validator)
        opening = self.script[number] if number < len(self.script) else Opening()
        if opening.refuses is not None:
            raise opening.refuses
        return FakeStream(self, opening, 0 if opening.whole else offset)

    def file(self, *, size: int | None = -1, name: str = "photo.tif", **digests: str) -> FileRef:
        return FileRef("1", name, self.size if size == -1 else size, digests=digests)

    def digest(self, algorithm: str) -> str:
        total = hashlib.new(algorithm)
        for start in range(0, self.size, BLOCK):
            total.update(self.read(start, min(start + BLOCK, self.size)))
        return total.hexdigest()

    @property
    def data(self) -> bytes:
        return self.read(0, self.size)


class FakeStream:
    def __init__(self, source: Source, opening: Opening, start: int) -> None:
        self._source, self._opening, self.start = source, opening, start
        self._size = source.size if opening.size is None else opening.size
        self.total = self._size if opening.total else None
        self.validator = opening.validator
        self._open = True
        source.alive += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        end = self._size if self._opening.stops is None else min(self._size, self.start + self._opening.stops)
        for start in range(self.start, end, BLOCK):
            block = (self._opening.read or self._source.read)(start, min(start + BLOCK, end))
            self._source.served += len(block)
            yield block
        if self._opening.stops is not None and self._opening.breaks:
            raise Transient("the connection broke")

    async def aclose(self) -> None:
        self._source.alive -= self._open
        self._open = False


def source_of(data: bytes, *script: Opening) -> Source:
    return Source(len(data), lambda start, stop: data[start:stop].ljust(stop - start, b"+"), script)


def generated(size: int, *script: Opening) -> Source:
    """Bytes made on the fly; the same offset always gives the same byte."""
    tile = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(251)) * 2
    period = len(tile) // 2

    def tiles(start: int, stop: int) -> Iterator[bytes]:
        while start < stop:
            inside = start % period
            take = min(stop - start, len(tile) - inside)
            yield tile[inside : inside + take]
            start += take

    return Source(size, lambda start, stop: b"".join(tiles(start, stop)), script)
