"""Finds assets that are at the target twice: with the marker of an asset that is linked to another one.

A call may arrive twice, or long after it was given up, without anybody here noticing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field

from dam_sync.engine.context.libraries import Source, Target
from dam_sync.mapping.compile import marker_value
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, AssetId, Entry, Marker
from dam_sync.model.errors import NotFound
from dam_sync.model.link import LinkRow
from dam_sync.model.service import TRASH

CREATED_TWICE = "created twice"
MOST = 100_000  # marked assets without a link that are looked up


@dataclass(slots=True)
class DoubledAssets:
    """Assets of the target without a link, by what marks them. listed: from the listing, which may be behind."""

    source: Source
    target: Target
    crosswalk: Crosswalk
    listed: dict[str, list[AssetId]] = field(default_factory=dict)
    number: int = 0

    def collect(self, entries: Iterable[Entry]) -> None:
        """Those that are marked, of entries without a link."""
        marker = self.crosswalk.marker
        for entry in entries:
            if marker is None or entry.asset is None or entry.asset.status == TRASH:
                continue
            for mark in _marks(entry.asset, marker):
                if self.number < MOST:
                    self.listed.setdefault(mark, []).append(entry.id)
                    self.number += 1

    async def of(self, links: Iterable[LinkRow]) -> AsyncIterator[tuple[LinkRow, AssetId]]:
        """The second assets of these links, each read again before it counts."""
        for link in links:
            for mark in self._marks_of(link):
                for identity in self.listed.pop(mark, ()):
                    if await self._is_there(identity, mark):
                        yield link, identity

    def _marks_of(self, link: LinkRow) -> Iterator[str]:
        """By what an asset is recognized as created for this one of the source."""
        name = self.crosswalk.marker
        if name is not None and self.listed:
            marker = Marker(name, marker_value(self.source.account.tenant, AssetId(link.source)))
            yield marker.value
            yield self.target.service.token_of(marker)

    async def _is_there(self, identity: AssetId, mark: str) -> bool:
        try:
            asset = await self.target.service.fetch(identity)
        except NotFound:
            return False
        return asset.status != TRASH and mark in _marks(asset, self.crosswalk.marker or "")


def _marks(asset: Asset, marker: str) -> list[str]:
    value = asset.fields.get(marker)
    return [mark for mark in (value if isinstance(value, str) else "", asset.token) if mark]
