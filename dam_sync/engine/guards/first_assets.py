"""The first assets that a service lists: enough to see what kind of library it is."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dam_sync.aio.closing import closing
from dam_sync.model.asset import Asset, Entry
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.service import TRASH, Service, Window

MOST = 100  # rows read from listings
FETCHED = 20  # assets fetched because the listing returns only their ids


async def first_assets(service: Service, most_fetched: int = FETCHED) -> tuple[list[Asset], bool]:
    """The first assets that a service lists, one page per shard, and whether these are all."""
    found: list[Asset] = []
    fetched, whole = 0, True
    async for entry, more in _first(service):
        whole = whole and not more
        asset = entry.asset
        if asset is None and not entry.deleted:
            fetched += 1
            whole = whole and fetched <= most_fetched
            try:
                asset = await service.fetch(entry.id) if fetched <= most_fetched else None
            except Rejected as error:  # it is gone, or cannot be read: a run would park it
                whole = whole and isinstance(error, NotFound)
        if asset is not None and asset.status != TRASH:
            found.append(asset)
    return found, whole


async def _first(service: Service) -> AsyncIterator[tuple[Entry, bool]]:
    """Rows, and whether there are more."""
    seen = 0
    async with closing(service.shards(Window())) as shards:
        async for shard in shards:
            async with closing(service.crawl(shard, None)) as batches:
                batch = await anext(batches, None)
            if batch is not None:
                seen += len(batch.entries)
                for entry in batch.entries:
                    yield entry, batch.cursor is not None or seen > MOST
            if seen > MOST:
                return
