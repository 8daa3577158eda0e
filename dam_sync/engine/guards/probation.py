"""Watches new assets of which it is open whether they stay; parks those that do not.

Some services accept an upload and silently delete it later if they already have its bytes. Creating it again
would only repeat that, so an asset that is gone within this time is parked until its file changes or a person retries
it: nothing tells whether the service deleted it, or somebody. Others accept an
upload under a name that is in use, and queue it until a person decides about it; nobody sees the asset until then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.phases import Phases
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.errors import NotFound
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.run_options import Progress
from dam_sync.model.values import instant_text
from dam_sync.store.rows import Removal
from dam_sync.store.store import SqlStore

log = structlog.get_logger(__name__)
PARKED = Outcome(action="parked", cause=ParkReason.GONE_WHILE_NEW, hint=ParkReason.GONE_WHILE_NEW.to_do)
PAGE = 500
AT_ONCE = 20_000  # links checked at once by one listing of the target


async def watch_probation(
    target: Target, store: SqlStore, phases: Phases, *, due: bool = False, run: int = 0
) -> list[Removal]:
    """Check the assets that are on probation. due: only once that of some has ended.

    Those that stay are completed; those that wait for a decision are parked; those that are gone are parked and
    returned. Safe to repeat.
    """
    now = target.time.earliest()
    stays = now - target.service.limits.probation
    if not (await store.on_probation(stays if due else None)).number:
        return []
    await phases.enter("checking new assets")
    gone: list[LinkRow] = []
    after = ""
    while links := await store.iter_probation(after, AT_ONCE):
        after = links[-1].source
        asked = [link for link in links if not due or _stays(link, stays)]
        made = min((link.made_at for link in asked if link.made_at), default=now)
        if target.service.limits.dedup_window:
            missing = await target.service.missing([AssetId(link.target) for link in asked], made)
            gone += [link for link in asked if link.target in missing]
            there = [link.source for link in asked if link.target not in missing and _stays(link, stays)]
        else:
            incomplete = await target.service.incomplete([AssetId(link.target) for link in asked], made)
            there = [link.source for link in asked if link.target not in incomplete]
            queued = [link for link in asked if link.target in incomplete and _stays(link, stays)]
            await _park_queued(target, store, phases.progress, queued, run)
        await store.end_probation(there)
    return await _park(target, store, phases.progress, gone, run) if gone else []


async def still_deletable(target: Target, store: SqlStore) -> tuple[int, str] | None:
    """How many assets the service may still delete as duplicates, and until when; None if there are none."""
    left = await store.on_probation()
    if not left.last or not target.service.limits.dedup_window:
        return None
    return left.number, until_text(target, left.last)


def until_text(target: Target, last: datetime) -> str:
    """The end of the last probation as text, to the second."""
    until = last + target.service.limits.probation + timedelta(seconds=1)
    return instant_text(until.replace(microsecond=0))


async def removed_before(store: SqlStore, asset: Asset, file: str) -> Outcome | None:
    """Why this asset is not created: this file (by its key) was removed before. Only for a target that removes
    duplicates."""
    known = (await store.removals([asset.id])).get(asset.id)
    return replace(PARKED, message=known.message) if known is not None and known.file == file else None


async def refuse_removed(target: Target, store: SqlStore, source: AssetId, made: AssetId, file: str) -> None:
    """Called when a new asset is missing. Raises NotFound if the service removed it; it is created again only if the
    operator retries it."""
    service = target.service
    if not service.limits.dedup_window or not await service.missing([made], target.time.clock.now()):
        return
    message = f"it was {made} at the target, and disappeared before it was complete"
    await store.removed([Removal(source, made, file, message)], PARKED)
    raise NotFound(message, asset=source, code=ParkReason.GONE_WHILE_NEW, hint=ParkReason.GONE_WHILE_NEW.to_do)


def _stays(link: LinkRow, stays: datetime) -> bool:
    """Whether the probation of an existing asset has ended."""
    return link.made_at is None or link.made_at <= stays


async def _park_queued(target: Target, store: SqlStore, progress: Progress, links: Sequence[LinkRow], run: int) -> None:
    """They keep their links, so that nothing is uploaded again, and stay on probation."""
    for link in links:
        window = target.service.limits.queue_window.total_seconds() / 60
        message = f"{link.target} is still not complete at the target {window:.0f} minutes after its upload"
        outcome = Outcome("parked", ParkReason.UPLOAD_QUEUED, message, ParkReason.UPLOAD_QUEUED.to_do)
        if await store.park_settled(link.source, outcome, run):
            progress.parked += 1
            log.warning("asset.queued_by_target", asset=link.source, target=link.target, message=message)


async def _park(
    target: Target, store: SqlStore, progress: Progress, gone: Sequence[LinkRow], run: int
) -> list[Removal]:
    await target.service.probe()  # the credential still works, so what it does not see is gone
    twins = await _twins(store, gone)
    rows = [_removal(link, twins.get(link.source)) for link in gone]
    await store.removed(rows, PARKED, run)
    for row in rows:
        log.warning("asset.removed_by_target", asset=row.source, target=row.target, message=row.message)
    progress.parked += len(rows)
    return rows


def _removal(link: LinkRow, twin: LinkRow | None) -> Removal:
    made = f", made at {instant_text(link.made_at.replace(microsecond=0))}" if link.made_at else ""
    same = (
        f"{twin.source} has the same file, and exists as {twin.target}"
        if twin
        else "no asset with the same file is known"
    )
    file = link.versions[-1] if link.versions else ""
    return Removal(link.source, link.target, file, f"it was {link.target} at the target{made}, and is gone; {same}")


async def _twins(store: SqlStore, gone: Sequence[LinkRow]) -> dict[str, LinkRow]:
    """Existing assets of ours with the same bytes, by the source id of the one that is gone."""
    wanted: dict[str, list[str]] = {}
    for link in gone:
        if link.digests:
            wanted.setdefault(_bytes_of(link), []).append(link.source)
    missing = {link.source for link in gone}
    twins: dict[str, LinkRow] = {}
    after = ""
    while wanted and (links := await store.iter_links(after, PAGE)):
        after = links[-1].source
        for link in links:
            if link.source not in missing:
                twins.update(dict.fromkeys(wanted.pop(_bytes_of(link), ()), link))
    return twins


def _bytes_of(link: LinkRow) -> str:
    return json.dumps([dict(link.digests), link.size], sort_keys=True)
