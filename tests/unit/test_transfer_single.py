"""Uploads in one request are sent once; what a lost answer made is looked for."""

from __future__ import annotations

import pytest

from dam_sync.model.errors import IntegrityError, Transient, Uncertain
from dam_sync.model.ports import Content
from dam_sync.model.values import Json
from dam_sync.transfer.upload import send_single
from tests.support.steps import Crash, MemorySteps
from tests.support.uploads import WEEK, Once


class Post:
    """A single request that gives a handle."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.lose = False

    async def __call__(self, content: Content) -> Json:
        self.sent.append(content.name)
        if self.lose:
            self.lose = False
            raise Transient("the answer was lost")
        return f"handle {len(self.sent)}"


async def test_a_single_request_is_sent_once() -> None:
    post, steps = Post(), MemorySteps()
    assert [await send_single(Once(), post, steps) for _ in range(2)] == ["handle 1", "handle 1"]
    assert len(post.sent) == 1


async def test_a_handle_whose_answer_was_lost_is_made_again() -> None:
    post, steps = Post(), MemorySteps()
    post.lose = True
    with pytest.raises(Transient):
        await send_single(Once(), post, steps)
    assert await send_single(Once(), post, steps) == "handle 2"


@pytest.mark.parametrize(("there", "handle", "sent"), [("asset 1", "asset 1", 1), (None, "handle 2", 2)])
async def test_what_a_lost_request_made_is_looked_for_first(there: Json, handle: str, sent: int) -> None:
    post, steps = Post(), MemorySteps()
    post.lose = True

    async def found() -> Json:
        return there

    with pytest.raises(Transient):
        await send_single(Once(), post, steps, found=found)
    assert await send_single(Once(), post, steps, found=found) == handle
    assert len(post.sent) == sent


async def test_a_handle_of_another_file_or_too_old_is_not_used() -> None:
    post, steps = Post(), MemorySteps()
    assert await send_single(Once(), post, steps, keep=WEEK) == "handle 1"
    assert await send_single(Once(digest="another"), post, steps, keep=WEEK) == "handle 2"
    steps.now += WEEK
    assert await send_single(Once(digest="another"), post, steps, keep=WEEK) == "handle 3"


async def test_a_damaged_file_leaves_no_handle() -> None:
    post, steps = Post(), MemorySteps()
    with pytest.raises(IntegrityError):
        await send_single(Once(wrong=True), post, steps)
    assert steps.done == {}


async def test_steps_in_memory_have_the_manners_of_durable_ones() -> None:
    steps = MemorySteps(blow_at=2)

    async def call() -> Json:
        return 1

    with pytest.raises(Crash):
        await steps.once("a", call)
    with pytest.raises(Uncertain):
        await steps.once("a", call)
    assert await steps.once("a", call, harmless=True) == 1
    assert await steps.recall("a") == 1
