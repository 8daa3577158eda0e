"""Guards a new state against a target that already has assets of ours: without links they would be created again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.mapping.compile import is_mark_of
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, Entry
from dam_sync.model.errors import NotFound
from dam_sync.model.service import TRASH, Service, Window
from dam_sync.model.values import instant_text
from dam_sync.model.wording import counted
from dam_sync.store.note_keys import IMPORTED, MARKS_KNOWN, MARKS_UNTIL
from dam_sync.store.store import SqlStore

LOST_HINT = (
    "restore the state from an export with `state JOB import FILE`, or rebuild its links from the target with "
    "`adopt JOB`; if another job created them, continue with --accept-changes"
)


async def refuse_lost_state(
    source: Source, target: Target, crosswalk: Crosswalk, store: SqlStore, accepted: Accepted
) -> None:
    """Raises SafetyStop if the target has assets with our markers that the state has no links to. Looks once before
    the first write of a state without links, and once after a state was restored from an export."""
    if not await store.get_meta(IMPORTED) and (await store.get_meta(MARKS_KNOWN) or await store.link_count()):
        return
    until = target_now(target)
    await refuse_marks(accepted, await _unlinked_marks(source, target, crosswalk, store))
    await known_marks(store, until)
    target.looked_through = True


async def known_marks(store: SqlStore, until: datetime) -> None:
    """Record that the marked assets that the target had by then are linked or were accepted."""
    await store.set_meta(MARKS_KNOWN, True)
    await store.set_meta(MARKS_UNTIL, instant_text(until))
    if await store.get_meta(IMPORTED):
        await store.set_meta(IMPORTED, False)


def target_now(target: Target) -> datetime:
    """The time at the target."""
    return target.time.clock.now() + target.account.clock_skew


async def _unlinked_marks(source: Source, target: Target, crosswalk: Crosswalk, store: SqlStore) -> int:
    field, tenant = crosswalk.marker, source.account.tenant
    if field is None:
        return 0
    marked = 0
    async for asset in everything_in(target.service):
        if is_marked(asset, field, tenant):
            marked += not await store.links_by_target([asset.id])
    return marked


async def refuse_marks(accepted: Accepted, marked: int) -> None:
    """Raises SafetyStop if there are `marked` assets of ours that this state does not know."""
    if marked:
        await accepted.accept(refuse([lost_state(marked)], accepted.options))


def lost_state(marked: int) -> GuardFinding:
    """The finding, with the ways to recover."""
    return GuardFinding(
        f"the target has {counted(marked, 'asset')} with the markers of this source, and the state has no links to "
        "them: a run would create them again",
        LOST_HINT,
    )


async def everything_in(service: Service) -> AsyncIterator[Asset]:
    """Every existing asset of a service, complete; one listed by id only is fetched."""
    async for shard in service.shards(Window()):
        async for batch in service.crawl(shard, None):
            for entry in batch.entries:
                asset = await whole(service, entry)
                if asset is not None and asset.status != TRASH:
                    yield asset


async def whole(service: Service, entry: Entry) -> Asset | None:
    """The asset of an entry; None if it is in the trash or gone."""
    if entry.deleted or entry.asset is not None:
        return None if entry.deleted else entry.asset
    try:
        return await service.fetch(entry.id)
    except NotFound:
        return None


def is_marked(asset: Asset, field: str, tenant: str) -> bool:
    """Whether an asset of the target carries the marker of an asset of this source."""
    return is_mark_of(tenant, asset.fields.get(field))
