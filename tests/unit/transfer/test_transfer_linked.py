"""Files that a target fetches by a link: nothing is opened before it is read, and then once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dam_sync.model.asset import FileLink, FileRef
from dam_sync.model.errors import ContractBroken
from dam_sync.transfer.linked import LinkedContent, opened
from tests.support.services.connections import Bytes

LINK = FileLink("https://x.example/?Signature=s3cret", "one")
FILE = FileRef("1", "a.jpg", 3, digests={"md5": "of the source"})


class Opened:
    """Counts how often the bytes are opened and closed."""

    def __init__(self) -> None:
        self.opened = self.closed = 0

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Any]:
        self.opened += 1
        yield Bytes("a.jpg", b"abc", known=True)
        self.closed += 1


async def test_nothing_is_opened_before_it_is_read() -> None:
    making = Opened()
    async with LinkedContent.of(FILE, LINK, making) as content:
        assert (content.name, content.size, content.media_type) == ("a.jpg", 3, "image/jpeg")
        assert content.digests == {"md5": "of the source"}
        assert content.link is LINK
        assert not content.is_open
    assert (making.opened, making.closed) == (0, 0)


async def test_what_is_read_is_opened_once() -> None:
    making = Opened()
    async with LinkedContent.of(FILE, LINK, making) as content:
        assert await asyncio.gather(content.read(0, 1), content.read(1, 3)) == [b"a", b"bc"]
        assert b"".join([block async for block in content.blocks()]) == b"abc"
        assert b"".join([block async for block in content.blocks(1, 2)]) == b"b"
        await content.check()
        assert content.is_open
        assert content.digests != FILE.digests
    assert (making.opened, making.closed) == (1, 1)


async def test_what_is_sent_is_what_would_be_sent_without_a_link() -> None:
    making = Opened()
    async with LinkedContent.of(FILE, LINK, making) as content:
        sent = await opened(content)
        assert sent.link is None
        assert sent.digests == content.digests != FILE.digests
        assert await opened(sent) is sent
    assert making.opened == 1


async def test_a_file_of_unknown_size_is_refused() -> None:
    with pytest.raises(ContractBroken):
        async with LinkedContent.of(FileRef("1", "a.jpg"), LINK, Opened()):
            pass


async def test_a_link_is_not_shown() -> None:
    async with LinkedContent.of(FILE, LINK, Opened()) as content:
        assert "s3cret" not in repr(content) + repr(content.link) + repr(vars(content))
