"""Assets that the target's service may still remove by itself: looked after until they stay, parked when they are gone.

Some services take an upload and remove it later, without a word, when they have its bytes already. Making it again
would only repeat that, so such an asset is parked until its file changes or a person says that it shall be tried again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from dam_sync.engine.run_context import RunContext
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import NotFound
from dam_sync.model.values import instant_text
from dam_sync.store.rows import LinkRow, Outcome, Removal

log = structlog.get_logger(__name__)
CAUSE = "removed by the service as a duplicate"
HINT = (
    "look in the target for the asset that has the same file; if both are wanted, switch its duplicate detection off, "
    f'then `errors JOB --cause "{CAUSE}" --retry`'
)
PARKED = Outcome(action="parked", cause=CAUSE, hint=HINT)
PAGE = 500
AT_ONCE = 20_000  # links looked after at once: a listing of the target serves them all


async def watch_probation(context: RunContext, *, due: bool = False, run: int = 0) -> list[Removal]:
    """Look for the assets that may have been removed, `due`: only once some of them can be sure to stay.

    Those that are there and stay are settled; those that are gone are parked, and returned. Safe to repeat.
    """
    now = context.clock.now()
    stays = now - context.target.limits.dedup_window
    if not (await context.store.on_probation(stays if due else None)).number:
        return []
    context.progress.phase = "looking after new assets"
    gone: list[LinkRow] = []
    after = ""
    while links := await context.store.iter_probation(after, AT_ONCE):
        after = links[-1].source
        asked = [link for link in links if not due or _stays(link, stays)]
        made = min((link.made_at for link in asked if link.made_at), default=now)
        missing = await context.target.missing([AssetId(link.target) for link in asked], made)
        gone += [link for link in asked if link.target in missing]
        there = [link.source for link in asked if link.target not in missing and _stays(link, stays)]
        await context.store.end_probation(there)
    return await _park(context, gone, run) if gone else []


def until_text(context: RunContext, last: datetime) -> str:
    """When the last of them stays, as text to the second."""
    until = last + context.target.limits.dedup_window + timedelta(seconds=1)
    return instant_text(until.replace(microsecond=0))


async def removed_before(context: RunContext, asset: Asset, file: str) -> Outcome | None:
    """Why this asset is not made: its very file (by its key) was removed before."""
    if not context.target.limits.dedup_window:
        return None
    known = (await context.store.removals([asset.id])).get(asset.id)
    return replace(PARKED, message=known.message) if known is not None and known.file == file else None


async def refuse_removed(context: RunContext, source: AssetId, target: AssetId, file: str) -> None:
    """Called when a new asset is missing. Raises NotFound if the service removed it; it is created again only if the
    operator asks for it."""
    if not context.target.limits.dedup_window or not await context.target.missing([target], context.clock.now()):
        return
    message = f"the target had it as {target}, and it was gone before it was complete"
    await context.store.removed([Removal(source, target, file, message)], PARKED)
    raise NotFound(message, asset=source, code=CAUSE, hint=HINT)


def _stays(link: LinkRow, stays: datetime) -> bool:
    """Whether an asset that is there now is there for good: made so long ago."""
    return link.made_at is None or link.made_at <= stays


async def _park(context: RunContext, gone: Sequence[LinkRow], run: int) -> list[Removal]:
    await context.target.probe()  # the credential still sees the target, so that what it does not see is not there
    twins = await _twins(context, gone)
    rows = [_removal(link, twins.get(link.source)) for link in gone]
    await context.store.removed(rows, PARKED, run)
    for row in rows:
        log.warning("asset.removed_by_target", asset=row.source, target=row.target, message=row.message)
    context.progress.parked += len(rows)
    return rows


def _removal(link: LinkRow, twin: LinkRow | None) -> Removal:
    made = f", made at {instant_text(link.made_at.replace(microsecond=0))}" if link.made_at else ""
    same = f"{twin.source} has the same file, and is there as {twin.target}" if twin else "no twin of it is known here"
    file = link.versions[-1] if link.versions else ""
    return Removal(link.source, link.target, file, f"the target had it as {link.target}{made}, and it is gone; {same}")


async def _twins(context: RunContext, gone: Sequence[LinkRow]) -> dict[str, LinkRow]:
    """Assets of ours that are there with the same bytes, by the source id of the one that is gone."""
    wanted: dict[str, list[str]] = {}
    for link in gone:
        if link.digests:
            wanted.setdefault(_bytes_of(link), []).append(link.source)
    missing = {link.source for link in gone}
    twins: dict[str, LinkRow] = {}
    after = ""
    while wanted and (links := await context.store.iter_links(after, PAGE)):
        after = links[-1].source
        for link in links:
            if link.source not in missing:
                twins.update(dict.fromkeys(wanted.pop(_bytes_of(link), ()), link))
    return twins


def _bytes_of(link: LinkRow) -> str:
    return json.dumps([dict(link.digests), link.size], sort_keys=True)
