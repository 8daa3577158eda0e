"""Service A where an instance spells, orders or refuses things in another way than assumed, over sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dam_sync.model.errors import IntegrityError
from tests.support.connected import Bytes, entries
from tests.support.served_a import Open, asset, serving
from tests.support.steps import MemorySteps


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


class Broken(Bytes):
    """Content whose bytes are not what its source promised."""

    async def check(self) -> None:
        raise IntegrityError("the digest differs")


async def test_bytes_that_fail_their_check_are_attached_in_no_attempt(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (entry,) = await entries(service)
    steps = MemorySteps()
    for _ in range(2):
        with pytest.raises(IntegrityError):
            await service.attach(entry.id, Broken("plan.pdf", b"p" * 40, "application/pdf"), steps)
    assert not (await service.fetch(entry.id)).attachments
    sound = Bytes("plan.pdf", b"p" * 40, "application/pdf")
    await service.attach(entry.id, sound, steps)
    assert sound.checked
    assert [file.name for file in (await service.fetch(entry.id)).attachments] == ["plan.pdf"]
