"""Files that a target fetches by a link: their bytes are opened only if it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import Self

from dam_sync.model.asset import FileLink, FileRef
from dam_sync.model.errors import ContractBroken
from dam_sync.model.ports import Content
from dam_sync.transfer.described import media_type_of

OpenContent = Callable[[], AbstractAsyncContextManager[Content]]


class LinkedContent:
    """A file of known size with a link. The first read opens the bytes, as for a file without one; `is_open` says
    whether that happened. `digests` are those of the source until then. Use `opened` before sending it."""

    def __init__(self, file: FileRef, link: FileLink, size: int, open_content: OpenContent, stack: AsyncExitStack):
        self.name, self.link, self.size = file.name, link, size
        self.media_type = media_type_of(file)
        self._file, self._open, self._stack = file, open_content, stack
        self._lock = asyncio.Lock()
        self._content: Content | None = None

    @classmethod
    @asynccontextmanager
    async def of(cls, file: FileRef, link: FileLink, open_content: OpenContent) -> AsyncIterator[Self]:
        """The content; what was opened is closed at the end. Raises what `open_content` raises, on the first read."""
        if file.size is None:
            raise ContractBroken("a file of unknown size cannot be fetched by the target")
        async with AsyncExitStack() as stack:
            yield cls(file, link, file.size, open_content, stack)

    def __repr__(self) -> str:
        return f"LinkedContent({self.name!r}, {self.size} bytes)"

    @property
    def is_open(self) -> bool:
        """Whether bytes went through us."""
        return self._content is not None

    @property
    def digests(self) -> Mapping[str, str]:
        return self._file.digests if self._content is None else self._content.digests

    async def version(self) -> str:
        return await (await self.unlinked()).version()

    async def read(self, start: int, stop: int) -> bytes:
        return await (await self.unlinked()).read(start, stop)

    async def blocks(self, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes, None]:
        blocks = (await self.unlinked()).blocks(start, stop)
        if isinstance(blocks, AsyncGenerator):
            async with aclosing(blocks):
                async for block in blocks:
                    yield block
            return
        async for block in blocks:
            yield block

    async def check(self) -> None:
        await (await self.unlinked()).check()

    async def unlinked(self) -> Content:
        """The same file as content without a link."""
        async with self._lock:
            if self._content is None:
                self._content = await self._stack.enter_async_context(self._open())
            return self._content


async def opened(content: Content) -> Content:
    """What to send of a file that the target does not fetch: the same as of a file without a link, so that a journal
    recognizes its bytes whether or not the source gave a link that time."""
    return await content.unlinked() if isinstance(content, LinkedContent) else content
