"""Old public links and those that take their place: what both services say about each moved asset."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dam_sync.aio.task_group import TaskGroup
from dam_sync.engine.error_policy import ParkAsset, react
from dam_sync.engine.run_context import RunContext
from dam_sync.model.asset import AssetId
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import DamSyncError, StopRequested
from dam_sync.model.public_link import EXPIRES, Redirect, counterpart, is_signed, plain_url
from dam_sync.model.service import Service
from dam_sync.store.redirect_list import RedirectList

PAGE = 200
NONE = "no counterpart: "
UNPUBLISHED = f"{NONE}the target publishes no link of the asset"
GONE = f"{NONE}the asset is gone from the target"
INVALID = f"{NONE}not a URL that a rule can have"
COLLECTING = "reading public links"
Links = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LinkReader:
    """Reads the public links of assets of both services into a list."""

    context: RunContext
    found: RedirectList

    async def read(self) -> None:
        """Every moved asset, then those that were listed and not moved. Raises what stops a run; safe to repeat."""
        context, after = self.context, ""
        context.progress.begin(COLLECTING)
        while page := await context.store.iter_links(after, PAGE):
            after = page[-1].source
            pairs = [(AssetId(link.source), AssetId(link.target), "") for link in page]
            await self._read_page(pairs)
        after = ""
        while rest := await context.store.unlinked(after, PAGE):
            after = rest[-1][0]
            await self._read_page([(asset, AssetId(""), _why(action, cause)) for asset, action, cause in rest])

    async def _read_page(self, pairs: Sequence[tuple[AssetId, AssetId, str]]) -> None:
        permits = asyncio.Semaphore(self.context.readers)

        async def read(source: AssetId, target: AssetId, reason: str) -> list[Redirect]:
            async with permits:
                return await self._of(source, target, reason)

        async with TaskGroup() as group:
            tasks = [group.start(read, *pair) for pair in pairs]
        for task in tasks:
            self.found.add(task.result())
        self.context.progress.listed += len(pairs)
        if self.context.stop.reason:
            raise StopRequested(self.context.stop.reason, hint="run the same command again")

    async def _of(self, source: AssetId, target: AssetId, reason: str) -> list[Redirect]:
        old = await _links(self.context.source, source)
        if not old:
            return []  # an asset that nobody could link to
        new: Links | None = {}
        if not reason and Operation.PUBLIC_LINKS not in self.context.target.capabilities:
            reason = f"{NONE}{_without_links(self.context.target)}"
        elif not reason:
            new = await _links(self.context.target, target)
            reason = GONE if new is None else UNPUBLISHED
        return list(redirects_of(old, new or {}, source, target, reason))


def redirects_of(old: Links, new: Links, asset: str, target: str, reason: str) -> Iterator[Redirect]:
    """What becomes of each old link of one asset. reason: why links have no counterpart, if `new` has none."""
    lasting = {name: plain_url(url) for name, url in new.items() if not is_signed(url)}
    lasting = {name: url for name, url in lasting.items() if url}
    if new and not lasting:
        reason = EXPIRES
    for name, url in sorted(old.items()):
        if is_signed(url):
            yield Redirect("", "", asset, target, name, reason=EXPIRES)
            continue
        there = plain_url(url)
        became = counterpart(name, lasting)
        if not there or not became:
            yield Redirect(there, "", asset, target, name, reason=INVALID if not there else reason)
        elif there != lasting[became]:  # the link stays the same
            yield Redirect(there, lasting[became], asset, target, name, became)


async def _links(service: Service, asset: AssetId) -> Links | None:
    """None for an asset that is gone, or that the service refuses to show."""
    try:
        return await service.public_links(asset)
    except DamSyncError as error:
        if not isinstance(react(error), ParkAsset):
            raise
        return None


def _without_links(service: Service) -> str:
    support = service.capabilities.features.get(Feature.LINKS)
    return f"the target has no public links{f': {support.why}' if support is not None and support.why else ''}"


def _why(action: str, cause: str) -> str:
    """Why an asset was not moved."""
    return f"{NONE}not moved ({': '.join(part for part in (action or 'open', cause) if part)})"
