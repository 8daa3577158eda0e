"""Calls that assets being made at the same time share: who waits for whom, and what an error does to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dam_sync.aio.coalescing import RequestCoalescer
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import InvalidValue, Transient
from dam_sync.model.journal import begin_results


class Sent:
    """What was sent, batch by batch; a text that is refused makes the whole batch fail."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    async def __call__(self, some: Sequence[str]) -> Sequence[str]:
        self.batches.append(list(some))
        if "refused" in some:
            raise InvalidValue("not this one")
        return [text.upper() for text in some]


async def ask(shared: RequestCoalescer[str, str], text: str, after: float = 0.0) -> str:
    with shared.participant() as participant:
        await asyncio.sleep(after)
        return await shared.ask(text, participant)


async def test_all_who_are_on_the_way_go_together_and_each_has_its_own_result() -> None:
    sent = Sent()
    shared = RequestCoalescer(SystemClock(), sent, 10)
    assert await asyncio.gather(ask(shared, "a"), ask(shared, "b", 0.2), ask(shared, "c", 0.1)) == ["A", "B", "C"]
    assert [sorted(batch) for batch in sent.batches] == [["a", "b", "c"]]


async def test_one_alone_waits_for_nobody() -> None:
    sent = Sent()
    shared = RequestCoalescer(SystemClock(), sent, 10)
    assert await asyncio.wait_for(ask(shared, "a"), 2) == "A"
    assert sent.batches == [["a"]]


async def test_as_many_as_a_call_takes_do_not_wait_for_more() -> None:
    sent = Sent()
    shared = RequestCoalescer(SystemClock(), sent, 2)
    with shared.participant():
        assert await asyncio.wait_for(asyncio.gather(ask(shared, "a"), ask(shared, "b")), 2) == ["A", "B"]


async def test_one_that_is_slow_is_not_waited_for_for_ever() -> None:
    sent = Sent()
    shared = RequestCoalescer(SystemClock(), sent, 10, timeout=0.2)
    with shared.participant():
        assert await asyncio.wait_for(ask(shared, "a"), 5) == "A"


async def test_an_error_reaches_each_caller_as_its_own() -> None:
    sent = Sent()
    shared = RequestCoalescer(SystemClock(), sent, 10)
    first, second = await asyncio.gather(ask(shared, "a"), ask(shared, "refused"), return_exceptions=True)
    assert isinstance(first, InvalidValue)
    assert isinstance(second, InvalidValue)
    assert first is not second
    assert await ask(shared, "b") == "B"


async def test_what_each_recorded_is_durable_before_their_call() -> None:
    sent = Sent()
    shared = RequestCoalescer(SystemClock(), sent, 10, timeout=0.2)
    stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def ask_after_a_record() -> str:
        begin_results().stored.append(stored)
        return await ask(shared, "b")

    later = asyncio.create_task(ask_after_a_record())
    assert await asyncio.wait_for(ask(shared, "a"), 5) == "A"
    assert sent.batches == [["a"]]
    stored.set_result(None)
    assert await asyncio.wait_for(later, 5) == "B"


async def test_the_first_of_several_can_be_cancelled_before_it_sends() -> None:
    sent = Sent()
    shared = RequestCoalescer(SystemClock(), sent, 10)
    with shared.participant():  # nothing is due yet
        first, *others = (asyncio.ensure_future(ask(shared, text)) for text in "abc")
        await asyncio.sleep(0.1)
        first.cancel()
        await asyncio.wait([first])
    assert await asyncio.wait_for(asyncio.gather(*others), 5) == ["B", "C"]
    assert [sorted(batch) for batch in sent.batches] == [["b", "c"]]


async def test_a_call_that_is_cancelled_is_a_lost_response_to_the_others() -> None:
    async def never(some: Sequence[str]) -> Sequence[str]:
        under_way.set()
        await asyncio.sleep(600)
        return some

    under_way = asyncio.Event()
    shared = RequestCoalescer(SystemClock(), never, 2)
    first, other = (asyncio.ensure_future(ask(shared, text)) for text in "ab")
    await under_way.wait()
    first.cancel()
    with pytest.raises(Transient, match="shared"):
        await asyncio.wait_for(other, 5)
    assert first.cancelled()


async def test_too_few_results_fail_for_all() -> None:
    async def short(some: Sequence[str]) -> Sequence[str]:
        return some[1:]

    shared = RequestCoalescer(SystemClock(), short, 2)
    outcomes = await asyncio.wait_for(asyncio.gather(ask(shared, "a"), ask(shared, "b"), return_exceptions=True), 5)
    assert all(isinstance(outcome, ValueError) for outcome in outcomes)
