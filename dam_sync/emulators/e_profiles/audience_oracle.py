"""Who sees the assets of a tenant.

Readings (wire E 2.6, 3.1, 5.6): an asset without a release date is not available; archived assets and uploads in the
conflict queue are seen by nobody. The asset group `public` is everybody's, without a login too; any other group is that
of its users alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dam_sync.emulators.e_profiles.records import Asset
from dam_sync.emulators.kit.audience import NOBODY, PUBLIC, USER, group

if TYPE_CHECKING:
    from dam_sync.emulators.e_profiles.state import Tenant

OPEN_GROUP = "public"


class AudienceOracle:
    """Viewers `public`, `user`, `group:NAME`."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant

    def assets(self) -> Iterable[str]:
        """The ids of all assets; what was to happen by now has happened."""
        self._tenant.settle()
        return list(self._tenant.assets)

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Those whose group it is, from its release until it expires."""
        found = self._tenant.assets.get(asset)
        public = "null_is_public" in self._tenant.options.plays
        if found is None or not _shown(found, at.timestamp(), public):
            return NOBODY
        if OPEN_GROUP in found.groups:
            return frozenset({PUBLIC, USER, *map(group, self._tenant.groups)})
        return frozenset(map(group, found.groups))

    def turns(self, asset: str) -> Iterable[datetime]:
        """Release and expiration."""
        found = self._tenant.assets.get(asset)
        dates = (found.release, found.expiration) if found else ()
        return [datetime.fromtimestamp(date, UTC) for date in dates if date is not None]


def _shown(asset: Asset, now: float, public: bool) -> bool:
    """public: also without a release date."""
    if asset.deleted is not None or asset.archived or asset.conflicted or (asset.release is None and not public):
        return False
    return (asset.release or 0) <= now and (asset.expiration is None or asset.expiration > now)
