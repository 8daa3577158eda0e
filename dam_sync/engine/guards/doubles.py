"""Guards creates against a state that is not the only one of its job, or that lacks links: it may have been copied,
used on a second computer, or restored. Before an asset is created, the target is asked for one that carries its marker.

The first creates of a run are asked for one by one. Before more of them, what was changed at the target since it was
last looked through is listed once, where the state knows since when: what carries our marker and has no link is known
then. Either is as fresh as the search of the target, see `Limits.lag`. A run that looked through the whole target asks
nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.asset_labels import plain_text
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.lost_state import LOST_HINT, is_marked, target_now, whole
from dam_sync.engine.guards.mass_deletion import is_gone
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, AssetId, Entry, Marker
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Rejected
from dam_sync.model.service import TRASH, Window
from dam_sync.model.values import instant_text, parse_instant
from dam_sync.store.note_keys import DOUBLES_REPORTED, MARKS_UNTIL
from dam_sync.store.store import SqlStore

SINGLY = 20  # creates that are asked for one by one, and more in a large library, whose listing costs more
LINKS_FOR_ONE = 1_000
READ_FOR_ONE = 10  # assets of others that a listing may have to read, for each create that is asked for singly
SLACK = timedelta(minutes=1)  # between the clocks of a service


@dataclass(slots=True)
class CreateGuard:
    """Refuses to create what the target has already."""

    source: Source
    target: Target
    crosswalk: Crosswalk
    store: SqlStore
    accepted: Accepted
    asked: int = 0
    most: int | None = None  # asked for one by one before the target is listed; None: not decided yet
    lists: bool = True  # whether that may still cost less
    listed: bool = False
    unlinked: dict[str, AssetId] = field(default_factory=dict)  # by marker, once it was listed

    async def refuse_double(self, source: AssetId, marker: str) -> None:
        """Raises SafetyStop if the target has an asset with this marker. Only for an asset without a link of which no
        create was begun."""
        key = self.crosswalk.marker
        if key is None or self.target.looked_through or Operation.FIND not in self.target.service.capabilities:
            return
        found = await self._found(Marker(key, marker))
        if found is not None:
            await self._refuse(_double(source, found))

    async def _refuse(self, finding: GuardFinding) -> None:
        """Raises SafetyStop unless a run was stopped for this before and it was accepted since: who accepts something
        else accepts no doubles."""
        reported = bool(await self.store.get_meta(DOUBLES_REPORTED))
        if not reported:
            await self.store.set_meta(DOUBLES_REPORTED, True)
        options = self.accepted.options if reported else replace(self.accepted.options, accept_changes=False)
        await self.accepted.accept(refuse([finding], options))

    async def _found(self, marker: Marker) -> AssetId | None:
        if self.lists and not self.listed and self.asked >= await self._most():
            self.listed = self.lists = await self._list()
        if self.listed:
            return self.unlinked.get(marker.value)
        self.asked += 1
        try:
            found = await self.target.service.look_for(marker)
        except Rejected:  # a marker that cannot be searched for
            return None
        return None if found is None or await is_gone(self.target.service, found) else found

    async def _most(self) -> int:
        if self.most is None:
            self.most = max(SINGLY, await self.store.link_count() // LINKS_FOR_ONE)
        return self.most

    async def _list(self) -> bool:
        """Learn what carries our markers, has no link and was changed since the target was last looked through. False
        if that is not known, or others changed so much that asking for single creates costs less."""
        key = self.crosswalk.marker
        noted, until = await self.store.get_meta(MARKS_UNTIL), target_now(self.target)
        if key is None or not isinstance(noted, str):
            return False
        left = READ_FOR_ONE * self.asked
        async for entry in self._unlinked(parse_instant(noted) - self.target.service.limits.lag - SLACK):
            if left == 0:
                return False
            left -= 1
            asset = await _asset_of(self.target, entry)
            if asset is not None and is_marked(asset, key, self.source.account.tenant):
                self.unlinked[plain_text(asset.fields.get(key))] = asset.id
        await self.store.set_meta(MARKS_UNTIL, instant_text(until))
        return True

    async def _unlinked(self, since: datetime) -> AsyncIterator[Entry]:
        target = self.target.service
        async for shard in target.shards(Window(since=since, ids_only=True)):
            async for batch in target.crawl(shard, None):
                there = [entry for entry in batch.entries if not entry.deleted]
                linked = await self.store.links_by_target([entry.id for entry in there])
                for entry in there:
                    if entry.id not in linked:
                        yield entry


async def forget_reported(store: SqlStore) -> None:
    """A run is complete: what was accepted for it was accepted for it alone."""
    if await store.get_meta(DOUBLES_REPORTED):
        await store.set_meta(DOUBLES_REPORTED, False)


async def _asset_of(target: Target, entry: Entry) -> Asset | None:
    """A listing of ids alone may lack fields: the asset as it is."""
    try:
        asset = await whole(target.service, Entry(entry.id, entry.revision))
    except Rejected:
        return None
    return None if asset is None or asset.status == TRASH else asset


def _double(source: AssetId, found: AssetId) -> GuardFinding:
    return GuardFinding(
        f"the target has the asset {found} with the marker of the source asset {source}, and the state has no link to "
        "it: a run would create it again. The state lacks what was written since it was copied or restored, on this or "
        "on another computer",
        LOST_HINT,
    )
