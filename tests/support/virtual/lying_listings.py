"""Listings that lie: what a service returns when a key was withdrawn, an index is being built, or pages are lost."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.connector import Connector, Context
from dam_sync.model.errors import Denied, NotFound, TruncatedListing
from dam_sync.model.service import Batch, Cursor, Service, Shard

EMPTY, FORBIDDEN, NOTHING_SEEN, TRUNCATED, SHORTENED, PARTIAL = (
    "empty",  # a listing without rows; assets are found by id
    "forbidden",  # the listing is refused
    "nothing seen",  # no rows, and no asset is found by id: a key without rights
    "truncated",  # rows are missing, and the service says so
    "shortened",  # the same, and it says nothing
    "partly indexed",  # some rows are missing; the assets are found by id
)
LIES = (EMPTY, FORBIDDEN, NOTHING_SEEN, TRUNCATED, SHORTENED, PARTIAL)


@dataclass(slots=True)
class Lie:
    """What the next run is shown. seed: which rows are missing. slow: what every fetch waits for."""

    kind: str = ""
    seed: int = 0
    told: int = 0  # rows left out so far
    slow: Callable[[], Awaitable[None]] | None = None
    purged: set[AssetId] = field(default_factory=set)  # assets that were deleted permanently


def planted(connectors: dict[str, Connector], kind: str, lie: Lie) -> dict[str, Connector]:
    """The connectors; the source of this kind lies as given."""
    connector = connectors[kind]
    usual = connector.service

    def service() -> type[Service]:
        return _lying(usual(), lie)

    return {**connectors, kind: replace(connector, service=service)}


def _lying(usual: type[Service], lie: Lie) -> type[Service]:
    class Lying(usual):  # type: ignore[misc, valid-type]
        def __init__(self, context: Context) -> None:
            super().__init__(context)
            self.lie = lie if context.read_only else Lie()

        async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
            async for batch in super().crawl(shard, cursor):
                there = tuple(entry for entry in batch.entries if entry.id not in self.lie.purged)
                yield _told(self.lie, replace(batch, entries=there))

        async def fetch(self, asset: AssetId) -> Asset:
            if self.lie.slow is not None:
                await self.lie.slow()
            if self.lie.kind == NOTHING_SEEN:
                raise NotFound("nothing is seen", asset=asset)
            found: Asset = await super().fetch(asset)
            return found

        async def missing(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
            found: frozenset[AssetId] = await super().missing(assets, since)
            return frozenset(assets) if self.lie.kind == NOTHING_SEEN else found | self.lie.purged.intersection(assets)

    return Lying


def _told(lie: Lie, batch: Batch) -> Batch:
    rows, rng = batch.entries, random.Random(lie.seed)
    match lie.kind:
        case "":
            return batch
        case "forbidden":
            raise Denied("the listing is refused")
        case "truncated":
            raise TruncatedListing("rows are missing")
        case "empty" | "nothing seen":
            kept: Sequence[Any] = ()
        case "shortened":
            kept = rows[: rng.randrange(len(rows) + 1)]
        case _:
            kept = [row for row in rows if rng.random() < 0.5]
    lie.told += len(rows) - len(kept)
    return replace(batch, entries=tuple(kept))
