"""Reads the assets of a library for its inventory: all of them, a share chosen by id, or the first ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from dam_sync.aio.closing import closing
from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.engine.context.error_policy import ParkAsset, react
from dam_sync.engine.context.sampling import is_sampled
from dam_sync.engine.inventory.rights import RiskCounter
from dam_sync.model.asset import Asset, AssetId, Entry
from dam_sync.model.errors import ConfigError, DamSyncError, NotFound, TruncatedListing
from dam_sync.model.run_options import RunOptions, fraction_of
from dam_sync.model.service import TRASH, Service, Window

REMEMBERED = 50_000  # ids of the latest rows: those of two neighboring shards may be listed twice
AT_ONCE = 8  # assets fetched at once


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which assets are read. number: the first so many; share: of the complete listing, by a hash of their ids."""

    number: int | None = None
    share: float = 1.0

    @classmethod
    def of(cls, text: str) -> Sampling:
        """From `2%` or `500`. Raises ConfigError."""
        if text.strip().isdecimal() and int(text):
            return cls(int(text))
        try:
            return cls(None, fraction_of(text))
        except ConfigError:
            hint = "write 2% for two of a hundred assets, or 500 for the first 500"
            raise ConfigError(f"--sample expects a percentage or a number, not {text!r}", hint=hint) from None

    def takes(self, asset: str) -> bool:
        """Whether this asset is in the share."""
        return is_sampled(asset, self.share)


@dataclass(slots=True)
class SampleReader:
    """Reads one library once. listed: rows that are not in the trash; whole: afterwards, whether every one of them was
    read; refused: assets that the credential could not read."""

    service: Service
    sampling: Sampling
    options: RunOptions
    listed: int = 0
    read: int = 0
    trashed: int = 0
    whole: bool = True
    refused: RiskCounter = field(default_factory=RiskCounter)
    latest: dict[AssetId, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    async def assets(self) -> AsyncIterator[Asset]:
        """The assets of the sample. Raises what the service raises, and StopRequested."""
        async with closing(self._listings()) as listings:
            async for entries in listings:
                chosen = self._chosen(entries)
                for start in range(0, len(chosen), AT_ONCE):
                    for asset in await self._read(chosen[start : start + AT_ONCE]):
                        self.read += 1
                        self.options.progress.unchanged += 1
                        yield asset
                if self._full and not self.whole:
                    return

    @property
    def complete(self) -> bool:
        """Whether the listing was read to its end, whatever was chosen of it."""
        return (self.whole or self.sampling.number is None) and not self.notes

    @property
    def _full(self) -> bool:
        return self.sampling.number is not None and self.read >= self.sampling.number

    async def _listings(self) -> AsyncIterator[Sequence[Entry]]:
        """Rows of the listing, each once."""
        async with closing(self.service.shards(Window())) as shards:
            async for shard in shards:
                try:
                    async with closing(self.service.crawl(shard, None)) as batches:
                        async for batch in batches:
                            yield self._fresh(batch.entries)
                except TruncatedListing as error:
                    self.whole = False
                    self.notes.append(f"the listing is incomplete: {error}")

    def _fresh(self, entries: Sequence[Entry]) -> list[Entry]:
        """Rows that were not among the latest. Raises StopRequested."""
        if self.options.stop_token.reason:
            raise self.options.stop_token.error("run the same command again")
        fresh = [entry for entry in entries if entry.id not in self.latest]
        self.latest.update(dict.fromkeys(entry.id for entry in fresh))
        while len(self.latest) > REMEMBERED:
            del self.latest[next(iter(self.latest))]
        return fresh

    def _chosen(self, entries: Sequence[Entry]) -> list[Entry]:
        """Rows to read; the others are counted."""
        trashed = [entry for entry in entries if _in_trash(entry)]
        self.trashed += len(trashed)
        there = [entry for entry in entries if not _in_trash(entry)]
        self.listed += len(there)
        chosen = [entry for entry in there if self.sampling.takes(entry.id)]
        if self.sampling.number is not None:
            chosen = chosen[: self.sampling.number - self.read]
        self.whole = self.whole and len(chosen) == len(there)
        return chosen

    async def _read(self, entries: Sequence[Entry]) -> list[Asset]:
        return [
            asset for asset in await gather_or_raise([self._asset(entry) for entry in entries]) if asset is not None
        ]

    async def _asset(self, entry: Entry) -> Asset | None:
        try:
            asset = entry.asset or await self.service.fetch(entry.id)
        except NotFound:
            return None
        except DamSyncError as error:
            if not isinstance(react(error), ParkAsset):
                raise
            self.refused.add(Asset(entry.id, entry.revision))
            return None
        if asset.status != TRASH:
            return asset
        self.trashed, self.listed = self.trashed + 1, self.listed - 1
        return None


def _in_trash(entry: Entry) -> bool:
    return entry.deleted or (entry.asset is not None and entry.asset.status == TRASH)
