"""Reads both sides back and reconciles them: which assets are where and as they should be, and on what evidence.

Evidence: V4 the target's own digest equals ours; V3 re-downloaded and hashed; V2 size agrees; V1 counted; V0 none.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dam_sync.engine.compare import Difference, differences
from dam_sync.engine.plan import kept_versions
from dam_sync.engine.session import Session
from dam_sync.engine.worker import with_suffix
from dam_sync.mapping.compile import marker_value
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, Draft, Entry, FileRef
from dam_sync.model.errors import DamSyncError, Disposition, IntegrityError, NotFound
from dam_sync.model.service import Operation, Service, Window
from dam_sync.store.rows import LinkRow
from dam_sync.store.store import SqlStore

LEVELS = ("count", "fields", "digest", "bytes")
SHOWN = 1000  # differences kept in a report; the rest is counted
PAGE = 500


@dataclass(slots=True)
class Verdict:
    """What a verification found. `differences` are (source id, target id, difference), SHOWN at most."""

    level: str
    source_assets: int = 0
    linked: int = 0
    parked: int = 0
    skipped: int = 0
    checked: int = 0
    equal: int = 0
    different: int = 0
    missing: int = 0
    unaccounted: int = 0
    gone_at_source: int = 0
    bytes: int = 0
    evidence: dict[str, int] = field(default_factory=dict)
    differences: list[tuple[str, str, Difference]] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """No difference found."""
        return not (self.different or self.missing or self.unaccounted)

    def note(self, source: str, target: str, found: Iterable[Difference]) -> None:
        """Keep differences for the report, up to its room."""
        for difference in found:
            if len(self.differences) < SHOWN:
                self.differences.append((source, target, difference))


@dataclass(slots=True)
class Verifier:
    """One verification; `scratch` is an empty store that is thrown away afterwards, so that memory stays flat."""

    session: Session
    scratch: SqlStore
    level: str
    sample: float = 1.0
    terms: dict[str, TermIndex] = field(default_factory=dict)
    verdict: Verdict = field(init=False)

    def __post_init__(self) -> None:
        self.verdict = Verdict(self.level)

    async def run(self) -> Verdict:
        """Count, compare, and look for what is missing on either side."""
        session = self.session
        session.progress.phase = "verifying"
        await self._account_for_source()
        await self._load_terms()
        for side, service in (("source", session.source), ("target", session.target)):
            await self._load_members(side, service)
        gate = asyncio.Semaphore(max(2, min(session.readers, session.writers)))
        async for shard in session.target.shards(Window()):
            async for batch in session.target.crawl(shard, None):
                await self._check_batch(batch.entries, gate)
        await self._check_unvisited(gate)
        return self.verdict

    async def _account_for_source(self) -> None:
        """Every listed source asset is linked, parked or left out by a rule."""
        store, verdict = self.session.store, self.verdict
        async for shard in self.session.source.shards(Window()):
            async for batch in self.session.source.crawl(shard, None):
                ids = [entry.id for entry in batch.entries if not entry.deleted]
                links = await store.links(ids)
                actions = await store.actions([asset for asset in ids if asset not in links])
                verdict.source_assets += len(ids)
                verdict.linked += len(links)
                verdict.parked += sum(1 for action in actions.values() if action == "parked")
                verdict.skipped += sum(1 for action in actions.values() if action == "skipped")
                for asset in ids:
                    if asset not in links and actions.get(asset) not in ("parked", "skipped"):
                        verdict.unaccounted += 1
                        verdict.note(asset, "", [Difference("asset", "moved or parked", "neither")])

    async def _load_terms(self) -> None:
        target = self.session.target
        for key in self.session.crosswalk.vocabularies:
            self.terms[key] = TermIndex()
            if Operation.TERMS in target.operations:
                async for term in target.terms(key):
                    self.terms[key].add(term)

    async def _load_members(self, side: str, service: Service) -> None:
        if Operation.MEMBERS in service.operations:
            async for membership in service.members():
                prefixed = tuple(AssetId(f"{side}:{asset}") for asset in membership.assets)
                await self.scratch.add_members(0, replace(membership, assets=prefixed))

    async def _with_members(self, side: str, service: Service, asset: Asset) -> Asset:
        if Operation.MEMBERS not in service.operations:
            return asset
        key = AssetId(f"{side}:{asset.id}")
        found = await self.scratch.members_of([key])
        return replace(asset, placements=asset.placements | found.get(key, frozenset()))

    async def _check_batch(self, entries: Iterable[Entry], gate: asyncio.Semaphore) -> None:
        entries = [entry for entry in entries if not entry.deleted]
        links = await self.session.store.links_by_target([entry.id for entry in entries])
        async with asyncio.TaskGroup() as group:
            for entry in entries:
                link = links.get(entry.id)
                if link is not None and await self._visit(link):
                    group.create_task(self._check(link, entry.asset, gate))

    async def _check_unvisited(self, gate: asyncio.Semaphore) -> None:
        """Linked assets that the target's listing did not show: its index may lag, so each is asked for."""
        after = ""
        while links := await self.session.store.iter_links(after, PAGE):
            after = links[-1].source
            async with asyncio.TaskGroup() as group:
                for link in links:
                    if await self._visit(link):
                        group.create_task(self._check(link, None, gate))

    async def _visit(self, link: LinkRow) -> bool:
        """Whether this link is in the sample and was not looked at yet."""
        spot = int(hashlib.sha256(link.source.encode()).hexdigest()[:8], 16) / 0x1_0000_0000
        return spot < self.sample and await self.scratch.first_time(f"visited:{link.source}")

    async def _check(self, link: LinkRow, listed: Asset | None, gate: asyncio.Semaphore) -> None:
        verdict = self.verdict
        async with gate:
            try:
                found, evidence = await self._compare(link, listed)
            except DamSyncError as error:
                if error.disposition in (Disposition.STOP, Disposition.RETRY):
                    raise
                found, evidence = [Difference("asset", "readable", str(error))], "V0"
        verdict.checked += 1
        self.session.progress.listed += 1
        if evidence == "":
            return
        verdict.evidence[evidence] = verdict.evidence.get(evidence, 0) + 1
        if found:
            verdict.different += 1
            verdict.note(link.source, link.target, found)
        else:
            verdict.equal += 1
            if evidence != link.evidence:
                await self.session.store.put_link(replace(link, evidence=evidence))

    async def _compare(self, link: LinkRow, listed: Asset | None) -> tuple[list[Difference], str]:
        """Differences and the evidence class; an empty class when one side has not got the asset, which is counted."""
        session = self.session
        try:
            actual = listed or await session.target.fetch(AssetId(link.target))
        except NotFound:
            self.verdict.missing += 1
            self.verdict.note(link.source, link.target, [Difference("asset", "in the target", "not there")])
            return [], ""
        if self.level == "count":
            return [], "V1"
        try:
            asset = await session.source.fetch(AssetId(link.source))
        except NotFound:
            self.verdict.gone_at_source += 1
            return [], ""
        asset = await self._with_members("source", session.source, asset)
        actual = await self._with_members("target", session.target, actual)
        draft = self._draft(asset, link)
        found = differences(draft, actual, session.target_schema, session.target.limits)
        more, evidence = await self._compare_files(asset, actual)
        return [*found, *more], evidence

    def _draft(self, asset: Asset, link: LinkRow) -> Draft:
        marker = marker_value(self.session.source_account.tenant, asset.id)
        draft = self.session.crosswalk.draft(asset, marker, self.terms).draft
        suffixed = with_suffix(draft.filename, marker, self.session.target.limits.filename)
        return replace(draft, filename=suffixed) if link.filename == suffixed else draft

    async def _compare_files(self, asset: Asset, actual: Asset) -> tuple[list[Difference], str]:
        ours, theirs = asset.file, actual.file
        if ours is None:
            return [], "V2"
        if theirs is None:
            return [Difference("file", ours.name, "no file")], "V0"
        kept = kept_versions(asset, self.session.target.operations, self.session.policy)
        if len(kept) > max(1, len(actual.versions)):
            return [Difference("versions", str(len(kept)), str(len(actual.versions)))], "V1"
        if ours.size is not None and theirs.size is not None and ours.size != theirs.size:
            return [Difference("file.size", str(ours.size), str(theirs.size))], "V1"
        if self.level == "fields":
            return [], "V2"
        return await self._compare_digests(ours, theirs)

    async def _compare_digests(self, ours: FileRef, theirs: FileRef) -> tuple[list[Difference], str]:
        common = sorted(set(ours.digests) & set(theirs.digests))
        if common and self.level != "bytes":
            return _digest_differences(common, ours.digests, theirs.digests), "V4"
        expected = ours.digests
        if self.level == "bytes" or not expected:
            async with self.session.contents(ours, ours.name) as content:
                await content.check()
                expected = content.digests
        try:
            async with self.session.target_contents(replace(theirs, digests=expected), theirs.name) as content:
                await content.check()
                self.verdict.bytes += content.size
        except IntegrityError as error:
            return [Difference("file.digest", "equal bytes", error.message)], "V3"
        return [], "V3"


def _digest_differences(names: list[str], ours: object, theirs: object) -> list[Difference]:
    pairs = [(name, ours[name], theirs[name]) for name in names]  # type: ignore[index]
    return [Difference(f"file.{name}", want, have) for name, want, have in pairs if want != have]
