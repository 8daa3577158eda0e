"""Digests of large blocks are computed in a thread: in order, once, and complete before anything is compared."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator

import pytest

from dam_sync.model.errors import IntegrityError
from dam_sync.model.limits import MIB
from dam_sync.transfer.digests import DigestTracker

BLOCK = MIB // 4
DATA = b"".join(bytes([number]) * BLOCK for number in range(25))  # no two MiB are equal


class Watched:
    """A digest that knows which threads compute it, and may be held up."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.go_on = threading.Event()
        self.go_on.set()
        self._total = hashlib.md5(usedforsecurity=False)

    def update(self, block: memoryview) -> None:
        self.go_on.wait(60)
        self.threads.add(threading.get_ident())
        self._total.update(block)

    def hexdigest(self) -> str:
        return self._total.hexdigest()


def _blocks() -> Iterator[tuple[int, bytes]]:
    return ((start, DATA[start : start + BLOCK]) for start in range(0, len(DATA), BLOCK))


def _tracker(**published: str) -> DigestTracker:
    return DigestTracker("film.mov", len(DATA), published, {"md5"})


def _watched(watched: Watched) -> DigestTracker:
    return DigestTracker("film.mov", len(DATA), {}, {"md5"}, lambda _: watched)


async def test_digests_of_blocks_that_threads_computed_are_those_of_the_file() -> None:
    tracker = DigestTracker("film.mov", len(DATA), {"sha256": hashlib.sha256(DATA).hexdigest()}, {"md5"})
    for start, block in _blocks():
        await tracker.offer(start, block)
        await tracker.offer(start, block)  # read again: not counted twice
    await tracker.check()
    expected = {"md5": hashlib.md5(DATA).hexdigest(), "sha256": hashlib.sha256(DATA).hexdigest()}
    assert tracker.digests == expected


async def test_a_file_with_another_byte_is_refused_by_its_last_block() -> None:
    tracker = _tracker(md5=hashlib.md5(DATA).hexdigest())
    await tracker.offer(0, DATA[:-1] + b"\xff")
    with pytest.raises(IntegrityError, match="digest"):
        await tracker.check()


async def test_the_event_loop_computes_no_digest_of_a_mib() -> None:
    watched = Watched()
    tracker = _watched(watched)
    await tracker.offer(0, DATA[:MIB])
    await tracker.offer(MIB, DATA[MIB : 2 * MIB])
    await tracker.settle()
    assert watched.threads
    assert threading.get_ident() not in watched.threads


async def test_reading_waits_for_a_digest_instead_of_piling_up_blocks() -> None:
    watched = Watched()
    watched.go_on.clear()
    tracker, held = _watched(watched), []

    async def read() -> None:
        for start, block in _blocks():
            await tracker.offer(start, block)
            held.append(start)

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.05)
    assert len(held) * BLOCK < 2 * MIB
    watched.go_on.set()
    await reading


async def test_who_is_cancelled_while_a_thread_computes_loses_no_block_and_computes_none_twice() -> None:
    watched = Watched()
    watched.go_on.clear()
    tracker = _watched(watched)
    await tracker.offer(0, DATA[:MIB])
    waiting = asyncio.create_task(tracker.offer(MIB, DATA[MIB : 2 * MIB]))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    watched.go_on.set()
    await tracker.offer(tracker.position, DATA[tracker.position :])
    await tracker.check()
    assert tracker.digests == {"md5": hashlib.md5(DATA).hexdigest()}


async def test_digests_that_are_not_complete_are_not_returned() -> None:
    tracker = _tracker()
    await tracker.offer(0, DATA[:BLOCK])
    with pytest.raises(RuntimeError):
        _ = tracker.digests
    await tracker.settle()
    assert tracker.digests == {"md5": hashlib.md5(DATA[:BLOCK]).hexdigest()}
