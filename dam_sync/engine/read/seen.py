"""A linked asset as it is at the target, before anything is written to it."""

from __future__ import annotations

from dam_sync.engine.context.libraries import Target
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import NotFound
from dam_sync.model.link import LinkRow
from dam_sync.model.service import TRASH


async def held(target: Target, asset: AssetId) -> Asset | None:
    """The asset of the target, in the trash or not; None if it is gone."""
    try:
        return await target.service.fetch(asset)
    except NotFound:
        return None


def living(asset: Asset | None) -> Asset | None:
    """The asset, unless it is gone or in the trash."""
    return None if asset is None or asset.status == TRASH else asset


async def living_asset(target: Target, link: LinkRow) -> Asset:
    """The asset, for a write that compares it first. Raises NotFound for one that is gone or in the trash."""
    actual = await target.service.fetch(AssetId(link.target))
    if actual.status == TRASH:
        raise _in_trash(link)
    return actual


async def refuse_trashed(target: Target, link: LinkRow) -> None:
    """Raises NotFound for one in the trash, before a write that compares nothing: most services accept it there. Costs
    a call, which some of them save in the write, but not where a removed asset is gone: the write is refused then."""
    if target.service.capabilities.reads(Feature.TRASH) and await target.service.is_trashed(AssetId(link.target)):
        raise _in_trash(link)


def _in_trash(link: LinkRow) -> NotFound:
    return NotFound(f"{link.target} is in the target's trash", asset=link.source)
