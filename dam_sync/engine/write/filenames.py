"""File names of a target where an upload under an existing name does not create a new asset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.guards.lost_state import is_marked, known_marks, refuse_marks, target_now, whole
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, Draft, Entry
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import Conflict, Rejected
from dam_sync.model.naming import parted
from dam_sync.model.service import TRASH, Window
from dam_sync.model.values import instant_text, parse_instant
from dam_sync.store.note_keys import MARKS_KNOWN, NAMES_KNOWN
from dam_sync.store.rows import AT_TARGET
from dam_sync.store.store import SqlStore

MOST_NAMES = 10  # tried for one asset: after each rollback, one more of them is in the trash
_SLACK = timedelta(seconds=1)


@dataclass(slots=True)
class FilenameAllocator:
    """Gives drafts unique file names."""

    source: Source
    target: Target
    crosswalk: Crosswalk
    store: SqlStore
    accepted: Accepted
    fresh: bool = False  # whether this process has listed the target

    async def load(self) -> None:
        """Load the names of a target not listed yet. The same listing shows whether there are assets of ours that
        a state without links does not know: raises SafetyStop if so (see `guards.lost_state`)."""
        if self._decide and not await self.store.get_meta(NAMES_KNOWN):
            await self._look(None)

    async def allocate(self, asset: Asset, draft: Draft, marker: str, *, new: bool) -> Draft:
        """The draft with a unique name; `new`: it will be created. Raises Conflict if no name is free."""
        if not self._decide:
            return draft
        if new and not self.fresh:
            await self._look(await self._known_until())
        others = names_beside(draft.filename, marker, self.target.service.limits.filename)
        for name in chain((draft.filename,), others):
            if await self._reserved(name.casefold(), asset.id):
                return draft if name == draft.filename else replace(draft, filename=name)
        raise Conflict(
            f"the target already has files called “{draft.filename}” and so on up to “{name}”",
            asset=asset.id,
            hint="assets in the trash of the target keep their names: delete those of earlier runs there permanently, "
            "or map `asset.filename` to something unique",
        )

    async def _reserved(self, folded: str, asset: str) -> bool:
        """First in the state of this job, which others ask whether it still has the name."""
        taken = await self.store.reserve_name(folded, asset)
        return taken is None and await self.target.shared.reserve_name(folded, asset)

    @property
    def _decide(self) -> bool:
        return not self.target.service.capabilities.writes(Feature.SAME_NAMES)

    async def _known_until(self) -> datetime | None:
        """None: list everything."""
        noted = await self.store.get_meta(NAMES_KNOWN)
        return parse_instant(noted) - self.target.service.limits.lag - _SLACK if isinstance(noted, str) else None

    async def _look(self, since: datetime | None) -> None:
        """Store the names of all assets, or of those added since then."""
        marked = 0
        until = target_now(self.target)
        blank = not (await self.store.get_meta(MARKS_KNOWN) or await self.store.link_count())
        async for shard in self.target.service.shards(Window(since=since)):
            async for batch in self.target.service.crawl(shard, None):
                assets = await self._of(batch.entries)
                await self.store.take_names([(one.filename.casefold(), f"{AT_TARGET}{one.id}") for one in assets])
                marked += sum(is_ours(self.source, self.crosswalk, one) for one in assets)
        if blank:
            await refuse_marks(self.accepted, marked)
            await known_marks(self.store, until)
            self.target.looked_through = True
        await self.store.set_meta(NAMES_KNOWN, instant_text(until))
        self.fresh = True

    async def _of(self, entries: Sequence[Entry]) -> list[Asset]:
        """The records of these; one listed by id only is fetched, unless it is gone. An asset in the
        trash keeps its name as well."""
        found: list[Asset] = []
        for entry in entries:
            asset = entry.asset
            if asset is None:
                with suppress(Rejected):
                    asset = await whole(self.target.service, entry)
            if asset is not None:
                found.append(asset)
        return found


def is_ours(source: Source, crosswalk: Crosswalk, asset: Asset) -> bool:
    """Whether an existing asset of the target carries the marker of an asset of this source."""
    field = crosswalk.marker
    return field is not None and asset.status != TRASH and is_marked(asset, field, source.account.tenant)


def names_beside(name: str, marker: str, most: int) -> Iterator[str]:
    """The names that an asset may get where its own is taken, in this order: `sea_MARKER.jpg`, `sea_MARKER-2.jpg` …"""
    for suffix in (marker, *(f"{marker}-{number}" for number in range(2, MOST_NAMES))):
        yield with_suffix(name, suffix, most)


def with_suffix(name: str, suffix: str, most: int) -> str:
    """`sea.jpg` as `sea_SUFFIX.jpg`, truncated before the suffix to fit."""
    stem, extension = parted(name)
    tail = f"_{suffix}" + (f".{extension}" if extension else "")
    return stem[: max(1, most - len(tail))] + tail
