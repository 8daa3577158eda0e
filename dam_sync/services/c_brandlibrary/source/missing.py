"""Which assets still exist: the service silently deletes duplicates minutes after their upload."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime

from dam_sync.http.dates import parse_timestamp
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import NotFound
from dam_sync.model.service import Window
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import newest_first
from dam_sync.services.c_brandlibrary.source.crawl import BrandLibraryReader
from dam_sync.services.c_brandlibrary.source.listing import ids_of


class ExistenceCheck(BrandLibraryReader):
    """Lists ids in long pages; only a call by id proves that a missing one is gone."""

    long_page = facts.LONG_PAGE
    asked_singly = facts.ASKED_SINGLY

    async def missing(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
        """Which of these are gone: listings of ids alone, and one call for each asset missing there."""
        unseen = set(assets)
        if len(unseen) > self.asked_singly and not await self._see_newest(unseen, since - facts.EARLIER):
            await self._see_all(unseen)
        return frozenset([asset for asset in assets if asset in unseen and await self._is_gone(asset)])

    async def _see_newest(self, unseen: set[AssetId], since: datetime) -> bool:
        """Remove those among the newest assets; whether these are within reach."""
        library = await self._tenant.id()
        for number in range(1, self.limits.hits // self.long_page + 1):
            asked = (*newest_first(number, self.long_page), ("fields", "created_at"))
            document = await self._api.listed(facts.LIBRARY_ASSETS, (library,), asked)
            unseen.difference_update(map(AssetId, ids_of(document.rows)))
            made = parse_timestamp(document.rows[-1]["attributes"].get("created_at")) if document.rows else None
            if made is None or made < since or len(unseen) <= self.asked_singly or document.more is False:
                return True
            if not document.more and number * self.long_page >= (document.total or 0):
                return True
        return False

    async def _see_all(self, unseen: set[AssetId]) -> None:
        """Remove those in any listing."""
        async for shard in self.shards(Window()):
            wanted = replace(self._listing_of(shard), thin=True, size=self.long_page)
            async with aclosing(self._listing.rows(wanted)) as pages:
                async for rows, _ in pages:
                    unseen.difference_update(map(AssetId, ids_of(rows)))

    async def _is_gone(self, asset: AssetId) -> bool:
        try:
            await self._api.one(facts.ASSET, (asset,), asset=asset)
        except NotFound:
            return True
        return False
