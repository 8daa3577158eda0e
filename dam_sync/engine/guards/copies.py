"""Guards the first run of a state against a target that has the assets of the source already, without a marker of this
job: it is the same library under another name, a copy of it, or what another job moved there or came from there.

Looked at once, before anything is written, by the first assets of both: what none of them shows is created.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.first_assets import MOST, first_assets
from dam_sync.engine.guards.way_back import WayBack, is_same_file, marks_of
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.parking import ParkReason
from dam_sync.model.probed import Account
from dam_sync.model.service import TRASH, Service
from dam_sync.model.values import Json
from dam_sync.model.wording import counted, the_first
from dam_sync.store.note_keys import COMPARED
from dam_sync.store.store import SqlStore

ASKED = 2  # assets of the source that a target of the same kind is asked for by their ids
FEWEST = 2  # assets of both with one file, below which that may be chance
FETCHED = 5  # assets fetched of a service whose listing returns only ids
CONTINUE = "to create them all the same, continue with --accept-changes"


async def refuse_copies(
    source: Source, target: Target, crosswalk: Crosswalk, store: SqlStore, accepted: Accepted
) -> None:
    """Raises SafetyStop if a run of a state without links would create what the target has. Looks again if one of the
    two is another tenant than when it looked."""
    if await store.get_meta(COMPARED) == _pair(source, target) or await store.link_count():
        return
    look = FirstLook(
        source.service,
        target.service,
        target.account,
        crosswalk.selects,
        alike=target.alike,
    )
    found = await look.finding()
    await accepted.accept(refuse([found] if found is not None else [], accepted.options))
    await note_compared(source, target, store)


async def note_compared(source: Source, target: Target, store: SqlStore) -> None:
    """Record that the assets of the two were compared, and what is there was linked or accepted."""
    await store.set_meta(COMPARED, _pair(source, target))


def _pair(source: Source, target: Target) -> list[Json]:
    return [source.account.tenant, target.account.tenant]


@dataclass(slots=True)
class FirstLook:
    """Compares the first assets of both libraries. alike: both services are of one kind, so that an id may be one of
    both; apart: afterwards, whether such an id showed that they are two."""

    source: Service
    target: Service
    account: Account  # of the target
    selects: Callable[[Asset], object]
    alike: bool
    apart: bool = False

    async def finding(self) -> GuardFinding | None:
        """What it saw; None if nothing speaks against creating what the target has not."""
        if self.account.total == 0:
            self.apart = True
            return None
        assets = [one for one in (await first_assets(self.source, FETCHED))[0] if self.selects(one)][:MOST]
        same = await self._same_asset(assets) if self.alike else None
        return same or await self._came_back(assets) or await self._same_files(assets)

    async def _same_asset(self, assets: Sequence[Asset]) -> GuardFinding | None:
        """Both have one asset: by its id, its dates and its file."""
        for asset in assets[:ASKED]:
            try:
                found = await self.target.fetch(asset.id)
            except (NotFound, Rejected):
                self.apart = True
                continue
            if is_one(asset, found):
                self.apart = False
                return GuardFinding(
                    f"the target has asset {asset.id} ({asset.filename}) of the source, with the same id, dates and "
                    "file: both are one library under two names, or one is a copy of the other",
                    "if they are one library, correct the source or the target in the job file; if the target is a "
                    f"copy, `adopt JOB --by-file` links its assets; {CONTINUE}",
                )
            self.apart = True
        return None

    async def _came_back(self, assets: Sequence[Asset]) -> GuardFinding | None:
        """Another job made assets of the source from assets of the target."""
        way_back = WayBack.of(self.target, self.account)
        for asset in assets:
            original = await way_back.original_of(asset)
            if original is not None:
                made = sum(any(mark.origin in way_back.origins for mark in marks_of(one)) for one in assets)
                return GuardFinding(
                    f"of {the_first(len(assets), 'asset')} of the source, another job made {made:,} from assets of the "
                    f"target, such as {asset.id} from {original}: a run would create a second one of each there",
                    f"{ParkReason.CAME_FROM_TARGET.to_do}; --accept-changes continues, and parks them",
                )
        return None

    async def _same_files(self, assets: Sequence[Asset]) -> GuardFinding | None:
        """Most of what both list first are the same files."""
        there = [one for one in (await first_assets(self.target, FETCHED))[0] if one.file is not None][:MOST]
        here = [one for one in assets if one.file is not None]
        same = [one for one in here if any(is_same_file(one, other) for other in there)]
        if len(same) < FEWEST or 2 * len(same) < min(len(here), len(there)):
            return None
        return GuardFinding(
            f"of {the_first(len(here), 'asset')} of the source, the target has {counted(len(same), 'file')} already, "
            f"such as that of {same[0].id} ({same[0].filename}), and this state has no links: a run would create them "
            "again",
            f"`adopt JOB --by-file` links what is there; {CONTINUE}",
        )


def is_one(asset: Asset, found: Asset) -> bool:
    """Whether two assets with one id are one: no copy has all dates of its original."""
    dates = (asset.created_at, asset.imported_at)
    if found.status == TRASH or dates != (found.created_at, found.imported_at) or dates == (None, None):
        return False
    same = asset.file is found.file or is_same_file(asset, found)
    return same and asset.filename == found.filename
