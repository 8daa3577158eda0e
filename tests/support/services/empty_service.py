"""A service without assets, from which a test makes the one that it needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from dam_sync.model.service import Calls, Service, Shard, Window


class EmptyService(Service):
    """What every service has, and nothing of it does anything."""

    kind = "x_empty"

    @property
    def calls(self) -> Calls:
        return {}

    async def probe(self) -> Any: ...

    async def schema(self) -> Any: ...

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        yield Shard("1")

    async def crawl(self, shard: Any, cursor: Any) -> AsyncIterator[Any]:
        return
        yield

    async def fetch(self, asset: Any) -> Any: ...

    async def open(self, file: Any, offset: int = 0, validator: Any = None) -> Any: ...

    async def close(self) -> None: ...
