"""Guards two jobs in opposite directions between the same tenants: what one moved, the other would create a second time
where it came from, and the first would move that again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from dam_sync.aio.single_flight import KeyedLock
from dam_sync.mapping.compile import Mark, mark_in, origin_of
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.probed import Account
from dam_sync.model.service import TRASH, Service

TRIES = 3  # assets of a source that nobody knows, of which the target is asked whether they are its own


@dataclass(slots=True)
class WayBack:
    """Recognizes assets that another job made from assets of the target. That job may have known the target by another
    URL: then its markers name a source that is not known here, and whether it is the target is told by a few of its
    assets, which the target has under the same ids with the same files."""

    target: Service
    origins: set[str]  # by which markers name the target
    asked: Counter[str] = field(default_factory=Counter)
    _asking: KeyedLock = field(default_factory=KeyedLock)

    @classmethod
    def of(cls, target: Service, account: Account) -> WayBack:
        """By the names that the target has now."""
        return cls(target, origins_of(account))

    async def original_of(self, asset: Asset) -> str | None:
        """Which asset of the target it was made from, if that still exists; None for any other asset."""
        for mark in marks_of(asset):
            if not await self._names_target(mark, asset):
                continue
            if mark.asset is None:
                return "an asset with a long id"
            if await self._living(mark.asset) is not None:
                return mark.asset
        return None

    async def _names_target(self, mark: Mark, asset: Asset) -> bool:
        """Whether the source that a marker names is the target. One asset at a time is asked for; others wait for what
        it shows."""
        if mark.origin in self.origins or mark.asset is None or self.asked[mark.origin] >= TRIES:
            return mark.origin in self.origins
        async with self._asking.of(mark.origin):
            if mark.origin not in self.origins and self.asked[mark.origin] < TRIES:
                self.asked[mark.origin] += 1
                found = await self._living(mark.asset)
                if found is not None and may_be_copy(asset, found):
                    self.origins.add(mark.origin)
            return mark.origin in self.origins

    async def _living(self, asset: AssetId) -> Asset | None:
        """An asset of the target; None for one that is in its trash, gone, or none that it could have."""
        try:
            found = await self.target.fetch(asset)
        except (NotFound, Rejected):
            return None
        return None if found.status == TRASH else found


def origins_of(account: Account) -> set[str]:
    """By which markers name a tenant, as far as it is known."""
    return {origin_of(name) for name in (account.tenant, account.unnamed, account.former) if name}


def marks_of(asset: Asset) -> Iterator[Mark]:
    """What its fields say of where it came from."""
    yield from (mark for value in asset.fields.values() if (mark := mark_in(value)) is not None)


def is_same_file(asset: Asset, other: Asset) -> bool:
    """Whether two assets have one file: by digests that both services publish, else by its name and size."""
    first, second = asset.file, other.file
    if first is None or second is None:
        return False
    same = first.has_bytes_of(second)
    if same is not None:
        return same
    return first.size is not None and first.agrees(second) and asset.filename.casefold() == other.filename.casefold()


def may_be_copy(asset: Asset, other: Asset) -> bool:
    """Whether one of two assets, of which a marker connects the ids, may be a copy of the other: it has its file, by
    digest or by size, or its file name."""
    first, second = asset.file, other.file
    if first is None or second is None or first.size is None or second.size is None:
        return first is second or asset.filename.casefold() == other.filename.casefold()
    return first.agrees(second)


async def came_back(crosswalk: Crosswalk, way_back: WayBack, asset: Asset) -> Outcome | None:
    """Why an asset that has no link is parked: the target still has the one that it was made from."""
    original = await way_back.original_of(asset) if crosswalk.selects(asset) else None
    if original is None:
        return None
    return Outcome(
        action="parked",
        cause=ParkReason.CAME_FROM_TARGET,
        message=f"another job made it from {original}, which the target still has: a run would create a second one",
        hint=ParkReason.CAME_FROM_TARGET.to_do,
    )
