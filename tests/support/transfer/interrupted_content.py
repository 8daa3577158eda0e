"""Content that is interrupted at a byte, as by a kill, and continues the next time it is read."""

from __future__ import annotations

import hashlib
import random
from collections.abc import AsyncIterator, Mapping

from tests.support.state.memory_journal import Crash


class Breaking:
    """Bytes in memory that differ everywhere, and for each seed; the first read at or behind `at` ends the process."""

    link = None
    media_type = "image/jpeg"

    def __init__(self, name: str, size: int, at: int | None = None, seed: str = "") -> None:
        self.name, self.at = name, at
        self.data = random.Random(seed).randbytes(size)
        self.digests: Mapping[str, str] = {}

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def md5(self) -> str:
        return hashlib.md5(self.data).hexdigest()

    async def read(self, start: int, stop: int) -> bytes:
        if self.at is not None and start >= self.at:
            self.at = None
            raise Crash
        return self.data[start:stop]

    async def blocks(self, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        yield await self.read(start, self.size if stop is None else stop)

    async def version(self) -> str:
        return ""

    async def check(self) -> None:
        return None
