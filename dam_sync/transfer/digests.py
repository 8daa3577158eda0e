"""Digests computed in the same pass as the copy."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from dam_sync.model.errors import IntegrityError
from dam_sync.model.limits import MIB
from dam_sync.model.parking import ParkReason
from dam_sync.model.ports import Content

_APART = MIB  # bytes that are worth a thread
_KNOWN = frozenset(name for name in hashlib.algorithms_guaranteed if not name.startswith("shake"))


def computable(published: Mapping[str, str]) -> dict[str, str]:
    """Those of the published digests that this host can compute, which show whether bytes are the same."""
    return {name: digest for name, digest in published.items() if name.lower() in _KNOWN}


class Digest(Protocol):
    """As those of hashlib."""

    def update(self, block: memoryview, /) -> None:
        """More bytes."""
        ...

    def hexdigest(self) -> str:
        """The digest of all bytes."""
        ...


def _new(name: str) -> Digest:
    return hashlib.new(name, usedforsecurity=False)


class DigestTracker:
    """Length and digests of a file whose bytes are read from the start, in any number of passes.

    It takes only bytes that continue what it has, so a range read again is not counted twice. A thread computes digests
    of every MiB while the next is read; one block after the other, and never more than two MiB are held for that.
    Algorithms that this host does not support are left out.
    """

    def __init__(
        self,
        name: str,
        size: int | None,
        published: Mapping[str, str],
        wanted: Iterable[str],
        new: Callable[[str], Digest] = _new,
    ) -> None:
        self._name, self._size = name, size
        self._published = {algorithm.lower(): digest for algorithm, digest in published.items()}
        names = sorted({*self._published, *(algorithm.lower() for algorithm in wanted)})
        self._sums = {name: new(name) for name in names if name in _KNOWN}
        self._waiting: list[memoryview] = []  # taken, but not in the digests yet
        self._waiting_bytes = 0
        self._thread: asyncio.Future[None] | None = None
        self.position = 0

    @property
    def idle(self) -> bool:
        """Whether there is no digest to compute, so that no byte has to be read only for it."""
        return not self._sums

    @property
    def promised(self) -> dict[str, str]:
        """The published digests that `check` compares with."""
        return {algorithm: digest for algorithm, digest in self._published.items() if algorithm in self._sums}

    @property
    def digests(self) -> dict[str, str]:
        """The digests of the bytes taken so far. Raises RuntimeError unless `settle` was called since."""
        if self._waiting or self._thread is not None:
            raise RuntimeError("digests are still computed")
        return {algorithm: total.hexdigest() for algorithm, total in self._sums.items()}

    async def offer(self, start: int, block: bytes | memoryview) -> None:
        """Bytes read at `start`, which must not change any more."""
        skip = self.position - start
        if not 0 <= skip < len(block):
            return
        fresh = memoryview(block)[skip:]
        self.position += len(fresh)
        if self._sums:
            self._waiting.append(fresh)
            self._waiting_bytes += len(fresh)
            if self._waiting_bytes >= _APART:
                await self._hand_over()

    async def settle(self) -> None:
        """Wait until everything taken is in the digests; safe to repeat."""
        await self._thread_done()
        self._add(self._taken())

    async def check(self) -> None:
        """Raises IntegrityError unless length and published digests agree with what was taken."""
        await self.settle()
        if self._size is not None and self.position != self._size:
            raise IntegrityError(
                f"{self._name} should have {self._size} bytes but has {self.position}", code=ParkReason.LENGTH
            )
        for algorithm, made in self.digests.items():
            expected = self._published.get(algorithm, made)
            if made != expected.lower():
                text = f"{self._name}: the {algorithm} digest should be {expected} but is {made}"
                raise IntegrityError(
                    text, code=ParkReason.DIGEST, hint="the file may be damaged at the source: open it there"
                )

    async def _hand_over(self) -> None:
        """Let a thread have what waits, once it is done with what it has. Who is cancelled meanwhile leaves it to the
        next caller."""
        await self._thread_done()
        if self._waiting:
            self._thread = asyncio.get_running_loop().run_in_executor(None, self._add, self._taken())

    async def _thread_done(self) -> None:
        while (thread := self._thread) is not None:
            await asyncio.wait((thread,))
            if self._thread is thread:
                self._thread = None
                thread.result()

    def _taken(self) -> Sequence[memoryview]:
        taken, self._waiting, self._waiting_bytes = self._waiting, [], 0
        return taken

    def _add(self, blocks: Sequence[memoryview]) -> None:
        for block in blocks:
            for total in self._sums.values():
                total.update(block)


async def md5_of(content: Content) -> str:
    """The MD5 of a file: as reported, or computed by reading all bytes, which may be sent again afterwards."""
    if known := content.digests.get("md5"):
        return known
    digest = hashlib.md5(usedforsecurity=False)
    async for block in content.blocks():
        digest.update(block)
    return digest.hexdigest()
