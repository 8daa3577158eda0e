"""Uploads in one request are sent once; what a lost response made is looked for."""

from __future__ import annotations

import pytest

from dam_sync.model.errors import IntegrityError, Transient, Uncertain
from dam_sync.model.ports import Content
from dam_sync.model.values import Json
from dam_sync.transfer.upload import send_single
from tests.support.state.memory_journal import Crash, MemoryJournal
from tests.support.transfer.upload_servers import WEEK, Once


class Post:
    """A single request that gives a handle."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.lose = False

    async def __call__(self, content: Content) -> Json:
        self.sent.append(content.name)
        if self.lose:
            self.lose = False
            raise Transient("the response was lost")
        return f"handle {len(self.sent)}"


async def test_a_single_request_is_sent_once() -> None:
    post, journal = Post(), MemoryJournal()
    assert [await send_single(Once(), post, journal) for _ in range(2)] == ["handle 1", "handle 1"]
    assert len(post.sent) == 1


async def test_a_handle_whose_response_was_lost_is_made_again() -> None:
    post, journal = Post(), MemoryJournal()
    post.lose = True
    with pytest.raises(Transient):
        await send_single(Once(), post, journal)
    assert await send_single(Once(), post, journal) == "handle 2"


async def test_a_handle_of_another_file_or_too_old_is_not_used() -> None:
    post, journal = Post(), MemoryJournal()
    assert await send_single(Once(), post, journal, ttl=WEEK) == "handle 1"
    assert await send_single(Once(digest="another"), post, journal, ttl=WEEK) == "handle 2"
    journal.now += WEEK
    assert await send_single(Once(digest="another"), post, journal, ttl=WEEK) == "handle 3"


async def test_a_damaged_file_leaves_no_handle() -> None:
    post, journal = Post(), MemoryJournal()
    with pytest.raises(IntegrityError):
        await send_single(Once(wrong=True), post, journal)
    assert journal.done == {}


async def test_a_journal_in_memory_behaves_like_a_durable_one() -> None:
    journal = MemoryJournal(blow_at=2)

    async def call() -> Json:
        return 1

    with pytest.raises(Crash):
        await journal.run("a", call)
    with pytest.raises(Uncertain):
        await journal.run("a", call)
    assert await journal.run("a", call, idempotent=True) == 1
    assert await journal.get("a") == 1
