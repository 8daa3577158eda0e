"""Old public links and those that take their place: what both services say about each moved asset."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dam_sync.aio.task_group import TaskGroup
from dam_sync.engine.context.error_policy import ParkAsset, react
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.stopping import Stopping
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import DamSyncError
from dam_sync.model.exposure import ExposureRule, Purpose, link_widenings
from dam_sync.model.link import LinkRow
from dam_sync.model.policy import Policy
from dam_sync.model.public_link import EXPIRES, LinkWidening, Redirect, counterpart, is_signed, plain_url
from dam_sync.model.run_options import Progress
from dam_sync.model.service import Published, Service
from dam_sync.store.redirect_list import RedirectList
from dam_sync.store.store import SqlStore

PAGE = 200
NONE = "no counterpart: "
UNPUBLISHED = f"{NONE}the target publishes no link of the asset"
GONE = f"{NONE}the asset is gone from the target"
INVALID = f"{NONE}not a URL that a rule can have"
LEFT_OUT = "left out: "
COLLECTING = "reading public links"
Links = Mapping[str, str]
WORDS: Mapping[ExposureRule, str] = {
    ExposureRule.ARCHIVED: "archived",
    ExposureRule.UNPUBLISHED: "not published",
    ExposureRule.UNRELEASED: "not released yet",
    ExposureRule.EXPIRY: "expired, or the new link would open for longer",
    ExposureRule.GROUPS: "only some groups see it",
    ExposureRule.DENIED: "denied to some by name",
    ExposureRule.TIMED: "open to some for a time only",
    ExposureRule.DOWNLOAD: "its original cannot be downloaded",
    ExposureRule.CONTAINER: "in a container that only some see",
    ExposureRule.SENSITIVE: "with values that only some see",
    ExposureRule.LOGIN: "the old link asked for a login, or did not open; the new one opens without",
}
"""What a rule says of a link that is left out by it."""


@dataclass(frozen=True, slots=True)
class LinkReader:
    """Reads the public links of assets of both services into a list."""

    source: Source
    target: Target
    store: SqlStore
    stopping: Stopping
    progress: Progress
    found: RedirectList

    async def read(self) -> None:
        """Every moved asset, then those that were listed and not moved. Raises what stops a run; safe to repeat."""
        after = ""
        self.progress.begin(COLLECTING)
        while page := await self.store.iter_links(after, PAGE):
            after = page[-1].source
            await self._read_page(
                [Moved(AssetId(link.source), AssetId(link.target), closed=_closed(link)) for link in page]
            )
        after = ""
        while rest := await self.store.unlinked(after, PAGE):
            after = rest[-1][0]
            await self._read_page([Moved(asset, AssetId(""), _why(action, cause)) for asset, action, cause in rest])

    async def _read_page(self, page: Sequence[Moved]) -> None:
        permits = asyncio.Semaphore(self.source.readers)

        async def read(moved: Moved) -> list[Redirect]:
            async with permits:
                return await self._of(moved)

        async with TaskGroup() as group:
            tasks = [group.start(read, each) for each in page]
        for task in tasks:
            self.found.add(task.result())
        self.progress.listed += len(page)
        if self.stopping.token.reason:
            raise self.stopping.token.error("run the same command again")

    async def _of(self, moved: Moved) -> list[Redirect]:
        old = await _published(self.source.service, moved.source)
        if old is None or not old.links:
            return []  # an asset that nobody could link to
        new, reason = None, moved.reason
        if not reason and Operation.PUBLIC_LINKS not in self.target.service.capabilities:
            reason = f"{NONE}{_without_links(self.target.service)}"
        elif not reason:
            new = await _published(self.target.service, moved.target)
            reason = GONE if new is None else UNPUBLISHED
        widened = () if new is None else self._widened(old.asset, new.asset, closed=moved.closed)
        links = {} if new is None else new.links
        rows = redirects_of(old.links, links, moved.source, moved.target, reason)
        return [replace(row, widened=widened) if row.new else row for row in rows]

    def _widened(self, source: Asset, target: Asset, *, closed: bool) -> tuple[LinkWidening, ...]:
        """The rules by which a new link that opens without a login lets in more people than see the asset, here or
        there, as both are now. closed: whether the job keeps the asset hidden at the target, whatever is seen of it."""
        service, now = self.target.service, self.target.time.earliest()
        until = target.rights.expires_at if service.capabilities.links.dates else None
        found = [
            LinkWidening(one.rule, side)
            for side, asset in (("source", source), ("target", target))
            for one in link_widenings(asset, until, now, service.limits.precision)
        ]
        if closed and not any(one.side == "target" for one in found):
            found.append(LinkWidening(ExposureRule.UNPUBLISHED, "target"))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Moved:
    """One asset and its counterpart. reason: why it has none; closed: whether the job wrote it hidden."""

    source: AssetId
    target: AssetId
    reason: str = ""
    closed: bool = False


def leave_out_exposed(source: Source, target: Target, policy: Policy, found: RedirectList) -> None:
    """Leave out each redirect by which more people could open an asset than before, by any rule that the job does not
    accept, and note by which rules the others were let through. Judged by the responses of the links where they were
    asked, else by what the services say of theirs."""
    old, new = source.service.capabilities.links, target.service.capabilities.links
    waivers = policy.exposure
    accepted = {rule for rule in ExposureRule if waivers.accepts(rule, Purpose.PUBLISH)}
    after = ""
    while page := found.page(after, PAGE):
        after = page[-1].old
        for row in page:
            probed = found.probe_of(row.old)
            rules = row.rules(probed.old, probed.new, old, new)
            if refused := [one for one in rules if one.rule not in accepted]:
                found.leave_out(row.old, LEFT_OUT + "; ".join(map(_words, refused)))
            elif rules:
                found.accept(row.old, [one.rule for one in rules])


def _words(one: LinkWidening) -> str:
    where = f"{one.side}: " if one.side else ""
    return f"{one.rule.value} ({where}{WORDS[one.rule]})"


def _closed(link: LinkRow) -> bool:
    return isinstance(link.draft, dict) and link.draft.get("closed") is True


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
        became = counterpart(name, lasting, url)
        if not there or not became:
            yield Redirect(there, "", asset, target, name, reason=INVALID if not there else reason)
        elif there != lasting[became]:  # the link stays the same
            yield Redirect(there, lasting[became], asset, target, name, became)


async def _published(service: Service, asset: AssetId) -> Published | None:
    """None for an asset that is gone, or that the service refuses to show."""
    try:
        return await service.published(asset)
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
