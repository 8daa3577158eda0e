"""Who sees the assets of a tenant.

Readings: an ordinary user is a guest of every library and sees what is published (wire C 1); pending, unpublished and
expired assets are seen by nobody, from the second on at which a date passes. A library or collection that is `public`
is read without a key. Nobody shows what `stealth` does: whoever holds its link sees it (the viewer `link`), while lists
leave it out. Somebody may be a guest of one collection alone, public or not: the viewer `collection:NAME`. View-only
assets are seen without their original: the viewers end in `:preview`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dam_sync.emulators.c_brandlibrary.records import Asset
from dam_sync.emulators.kit.audience import NOBODY, PUBLIC, USER

if TYPE_CHECKING:
    from dam_sync.emulators.c_brandlibrary.state import Tenant

LINK = "link"
_BY_PRIVACY = {"public": frozenset({PUBLIC, LINK}), "stealth": frozenset({LINK})}


class AudienceOracle:
    """Viewers `public`, `link`, `user`, `collection:NAME`."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant

    def assets(self) -> Iterable[str]:
        """The ids of all assets; what was to happen by now has happened."""
        self._tenant.settle()
        return list(self._tenant.assets)

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Guests of the library and of the collections, and what is open without a key."""
        found = self._tenant.assets.get(asset)
        if found is None or found.deleted is not None or found.state(int(at.timestamp() * 1000)) != "published":
            return NOBODY
        readers = self._readers(found)
        return frozenset(f"{each}:preview" for each in readers) if found.view_only else readers

    def turns(self, asset: str) -> Iterable[datetime]:
        """Start and end of availability."""
        found = self._tenant.assets.get(asset)
        dates = (found.start, found.end) if found else ()
        return [datetime.fromtimestamp(date / 1000, UTC) for date in dates if date is not None]

    def _readers(self, asset: Asset) -> frozenset[str]:
        readers = {USER, *_BY_PRIVACY.get(self._tenant.libraries[asset.library].privacy, ())}
        for key in asset.collections:
            collection = self._tenant.collections.get(key)
            if collection is not None:
                privacy = "public" if collection.public else "stealth" if collection.stealth else ""
                readers |= {f"collection:{collection.name}", *_BY_PRIVACY.get(privacy, ())}
        return frozenset(readers)
