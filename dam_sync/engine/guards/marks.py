"""Guards a new state against a target that already has assets of ours: without links they would be created again."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dam_sync.engine.guards.finding import Finding, refuse
from dam_sync.engine.guards.sight import TRASH
from dam_sync.engine.session import Session
from dam_sync.mapping.compile import is_mark_of
from dam_sync.model.asset import Asset, Entry
from dam_sync.model.errors import NotFound
from dam_sync.model.service import Service, Window

LOOKED = "marks"  # note: the target was searched for our markers before this state wrote anything
LOST_HINT = (
    "restore the state file from an export with `state JOB import FILE`, or rebuild its links from the target with "
    "`adopt JOB`; if another job made them, go on with --accept-changes"
)


async def refuse_lost_state(session: Session) -> None:
    """Raises SafetyStop when a state without links meets a target with assets that carry our markers. Looks once in
    the life of a state, before its first write."""
    store = session.store
    if await store.noted(LOOKED) or await store.link_count():
        return
    field, tenant = session.crosswalk.marker, session.source_account.tenant
    marked = await count_marks(session.target, field, tenant) if field else 0
    refuse_marks(session, marked)
    await store.note(LOOKED, True)


def refuse_marks(session: Session, marked: int) -> None:
    """Raises SafetyStop when there are `marked` assets of ours that this state does not know."""
    if marked:
        session.accept(refuse([lost_state(marked)], session.ask))


def lost_state(marked: int) -> Finding:
    """What is wrong, and the ways forward."""
    assets = "1 asset" if marked == 1 else f"{marked:,} assets"
    return Finding(
        f"the target has {assets} with the markers of this source, and this state has no links to them: a run would "
        "create them again",
        LOST_HINT,
    )


async def count_marks(target: Service, field: str, tenant: str) -> int:
    """How many living assets of the target carry a marker of this source."""
    return sum([is_marked(asset, field, tenant) async for asset in everything_in(target)])


async def everything_in(service: Service) -> AsyncIterator[Asset]:
    """Every living asset of a service, whole; one that a listing gives without its record is fetched."""
    async for shard in service.shards(Window()):
        async for batch in service.crawl(shard, None):
            for entry in batch.entries:
                asset = await whole(service, entry)
                if asset is not None and asset.status != TRASH:
                    yield asset


async def whole(service: Service, entry: Entry) -> Asset | None:
    """The record behind a row of a listing; None for one that is in the trash or gone."""
    if entry.deleted or entry.asset is not None:
        return None if entry.deleted else entry.asset
    try:
        return await service.fetch(entry.id)
    except NotFound:
        return None


def is_marked(asset: Asset, field: str, tenant: str) -> bool:
    """Whether an asset of the target carries the marker of an asset of this source."""
    return is_mark_of(tenant, asset.fields.get(field))
