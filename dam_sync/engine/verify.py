"""Reads both sides back and reconciles them: which assets are where and as they should be, and on what evidence.

Evidence: V4 the target's own digest equals ours; V3 re-downloaded and hashed; V2 size agrees; V1 counted; V0 none.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dam_sync.engine.compare import Difference, differences
from dam_sync.engine.guards.sight import refuse_mostly_unlisted
from dam_sync.engine.names import with_suffix
from dam_sync.engine.plan import kept_versions, version_key
from dam_sync.engine.session import Session
from dam_sync.engine.settling import look_after, until_text
from dam_sync.mapping.compile import marker_value
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, Draft, Entry, FileRef
from dam_sync.model.errors import DamSyncError, Disposition, IntegrityError, NotFound, StopRequested
from dam_sync.model.service import TRASH, Operation, Service, Window
from dam_sync.store.rows import LinkRow
from dam_sync.store.store import SqlStore

LEVELS = ("count", "fields", "digest", "bytes")
SHOWN = 1000  # differences kept in a report; the rest is counted
PAGE = 500
SUSPECTS = 5000  # looked at again while the target's index may be behind


@dataclass(slots=True)
class Verdict:
    """What a verification found. `differences` are (source id, target id, difference), SHOWN at most.

    early: assets that the target's service may still remove, `until` then: it is too early to tell of them.
    """

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
    early: int = 0
    until: str = ""
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


@dataclass(frozen=True, slots=True)
class Judged:
    """What one look at an asset gave: which count of the verdict it belongs to, the evidence, the differences."""

    fate: str
    evidence: str
    found: list[Difference]


@dataclass(slots=True)
class Verifier:
    """One verification; `scratch` is an empty store that is thrown away afterwards, so that memory stays flat."""

    session: Session
    scratch: SqlStore
    level: str
    sample: float = 1.0
    terms: dict[str, TermIndex] = field(default_factory=dict)
    suspects: list[LinkRow] = field(default_factory=list)
    patience: float = 0.0
    verdict: Verdict = field(init=False)
    gate: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.verdict = Verdict(self.level)
        self.gate = asyncio.Semaphore(max(2, min(self.session.readers, self.session.writers)))

    async def run(self) -> Verdict:
        """Count, compare, and look for what is missing on either side."""
        session = self.session
        await self._look_for_removed()
        session.progress.phase = "verifying"
        await self._account_for_source()
        await refuse_mostly_unlisted(session, self.verdict.linked)
        await self._load_terms()
        self.patience = await self._lag_left()
        await self._load_members()
        async for shard in session.target.shards(Window()):
            async for batch in session.target.crawl(shard, None):
                await self._check_batch(batch.entries)
                self._heed()
        await self._check_unvisited()
        await self._look_again()
        return self.verdict

    async def _look_for_removed(self) -> None:
        """What the service took back is missing and parked from now on; what it may still take back is told."""
        for row in await look_after(self.session):
            self.verdict.missing += 1
            self.verdict.note(row.source, row.target, [Difference("asset", "in the target", row.message)])
        left = await self.session.store.unsettled()
        if left.last:
            self.verdict.early, self.verdict.until = left.number, until_text(self.session, left.last)

    async def _lag_left(self) -> float:
        """Seconds for which the target's index may still be behind the last run."""
        runs = await self.session.store.runs()
        ended = runs[0].ended_at if runs else None
        now = self.session.clock.now()
        since = (now - ended).total_seconds() if ended else 0.0
        return max(0.0, self.session.target.limits.lag.total_seconds() - since) if runs else 0.0

    async def _look_again(self) -> None:
        """What looked different is looked at until it agrees, or until the index cannot be behind any more."""
        pause = 0.5
        while self.suspects and self.patience > 0:
            pause = min(pause * 2, self.patience)
            await self.session.clock.sleep(pause)
            self.patience -= pause
            suspects, self.suspects = self.suspects, []
            await self._load_members()
            async with asyncio.TaskGroup() as group:
                for link in suspects:
                    group.create_task(self._check(link, None))

    async def _account_for_source(self) -> None:
        """Every listed source asset is linked, parked or left out by a rule."""
        store, verdict = self.session.store, self.verdict
        async for shard in self.session.source.shards(Window()):
            async for batch in self.session.source.crawl(shard, None):
                ids = [entry.id for entry in batch.entries if not entry.deleted]
                self._heed()
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

    def _heed(self) -> None:
        """Raises StopRequested when the operator wants an end."""
        if self.session.ask.stopped:
            raise StopRequested(self.session.ask.stopped, hint="run the same command again; it compares from the start")

    async def _load_terms(self) -> None:
        target = self.session.target
        for key in self.session.crosswalk.vocabularies:
            self.terms[key] = TermIndex()
            if Operation.TERMS in target.operations:
                async for term in target.terms(key):
                    self.terms[key].add(term)

    async def _load_members(self) -> None:
        await self.scratch.begin_members(0)
        for side, service in (("source", self.session.source), ("target", self.session.target)):
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

    async def _check_batch(self, entries: Iterable[Entry]) -> None:
        entries = [entry for entry in entries if not entry.deleted]
        links = await self.session.store.links_by_target([entry.id for entry in entries])
        async with asyncio.TaskGroup() as group:
            for entry in entries:
                link = links.get(entry.id)
                if link is not None and await self._visit(link):
                    group.create_task(self._check(link, entry.asset))

    async def _check_unvisited(self) -> None:
        """Linked assets that the target's listing did not show: its index may lag, so each is asked for."""
        after = ""
        while links := await self.session.store.iter_links(after, PAGE):
            after = links[-1].source
            async with asyncio.TaskGroup() as group:
                for link in links:
                    if await self._visit(link):
                        group.create_task(self._check(link, None))

    async def _visit(self, link: LinkRow) -> bool:
        """Whether this link is in the sample and was not looked at yet."""
        spot = int(hashlib.sha256(link.source.encode()).hexdigest()[:8], 16) / 0x1_0000_0000
        return spot < self.sample and await self.scratch.first_time(f"visited:{link.source}")

    async def _check(self, link: LinkRow, listed: Asset | None) -> None:
        async with self.gate:
            try:
                judged = await self._judge(link, listed)
            except DamSyncError as error:
                if error.disposition in (Disposition.STOP, Disposition.RETRY):
                    raise
                judged = Judged("different", "V0", [Difference("asset", "readable", str(error))])
        if judged.found and self.patience > 0 and len(self.suspects) < SUSPECTS:
            self.suspects.append(link)
        else:
            await self._count(link, judged)

    async def _count(self, link: LinkRow, judged: Judged) -> None:
        verdict = self.verdict
        verdict.checked += 1
        self.session.progress.listed += 1
        setattr(verdict, judged.fate, getattr(verdict, judged.fate) + 1)
        verdict.note(link.source, link.target, judged.found)
        if judged.evidence:
            verdict.evidence[judged.evidence] = verdict.evidence.get(judged.evidence, 0) + 1
        if judged.fate == "equal" and judged.evidence != link.evidence:
            await self.session.store.put_link(replace(link, evidence=judged.evidence))

    async def _judge(self, link: LinkRow, listed: Asset | None) -> Judged:
        session = self.session
        try:
            actual = listed or await session.target.fetch(AssetId(link.target))
        except NotFound:
            return Judged("missing", "", [Difference("asset", "in the target", "not there")])
        if self.level == "count":
            return Judged("equal", "V1", [])
        try:
            asset = await session.source.fetch(AssetId(link.source))
        except NotFound:
            return Judged("gone_at_source", "", [])
        if asset.status == TRASH:
            return Judged("gone_at_source", "", [])
        asset = await self._with_members("source", session.source, asset)
        actual = await self._with_members("target", session.target, actual)
        draft, found = self._draft(asset, link)
        found += differences(draft, actual, session.target_schema, session.target.limits)
        if found and self.patience > 0:  # it will be looked at again; no need to fetch its bytes now
            return Judged("different", "V1", found)
        more, evidence = await self._compare_files(asset, actual)
        found += [*more, *await self._compare_attachments(asset, actual, link)]
        return Judged("different" if found else "equal", evidence, found)

    def _draft(self, asset: Asset, link: LinkRow) -> tuple[Draft, list[Difference]]:
        """What the target should hold, and the fields of which nobody can say so: their values park the asset."""
        marker = marker_value(self.session.source_account.tenant, asset.id)
        drafted = self.session.crosswalk.draft(asset, marker, self.terms)
        draft, suffix = drafted.draft, with_suffix(drafted.draft.filename, marker, self.session.target.limits.filename)
        unfit = [
            Difference(fault.path, "a value that fits", f"{fault.rule}: {fault.detail}") for fault in drafted.faults
        ]
        return replace(draft, filename=suffix) if link.filename == suffix else draft, unfit

    async def _compare_files(self, asset: Asset, actual: Asset) -> tuple[list[Difference], str]:
        ours, theirs = asset.file, actual.file
        if ours is None:
            return [], "V2"
        if theirs is None:
            return [Difference("file", ours.name, "no file")], "V0"
        kept = kept_versions(asset, self.session.target.operations, self.session.policy)
        hidden = any(loss.path == "versions" for loss in actual.losses)  # there, and not given out
        if len(kept) > max(1, len(actual.versions)) and not hidden:
            return [Difference("versions", str(len(kept)), str(len(actual.versions)))], "V1"
        if not _same_size(ours, theirs):
            return [Difference("file.size", str(ours.size), str(theirs.size))], "V1"
        found, evidence = ([], "V2") if self.level == "fields" else await self._compare_digests(ours, theirs)
        if not hidden:
            for number, pair in enumerate(zip(kept[:-1], actual.versions[-len(kept) :], strict=False), 1):
                found += await self._compare_other(f"version {number}", *pair)
        return found, evidence

    async def _compare_attachments(self, asset: Asset, actual: Asset, link: LinkRow) -> list[Difference]:
        """Those that were moved; the target may call them otherwise, and keep others."""
        if any(loss.path == "attachments" for loss in actual.losses):  # there, and not given out
            return []
        moved = [file for file in asset.attachments if version_key(file) in link.attachments]
        pairs, missing = _paired(moved, actual.attachments)
        there = ", ".join(file.name for file in actual.attachments)
        found = [Difference("attachments", file.name, there) for file in missing]
        for ours, theirs in pairs:
            found += await self._compare_other(f"attachment {ours.name}", ours, theirs)
        return found

    async def _compare_other(self, path: str, ours: FileRef, theirs: FileRef) -> list[Difference]:
        if not _same_size(ours, theirs):
            return [Difference(f"{path}.size", str(ours.size), str(theirs.size))]
        if self.level == "fields":
            return []
        found, _ = await self._compare_digests(ours, theirs)
        return [replace(each, path=each.path.replace("file", path, 1)) for each in found]

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


def _paired(ours: Iterable[FileRef], theirs: Iterable[FileRef]) -> tuple[list[tuple[FileRef, FileRef]], list[FileRef]]:
    """Which is which: by name and size as long as there are such, then by size alone. And those without another."""
    pairs, mine, left = [], list(ours), list(theirs)
    for alike in (_same_name, _same_size):
        for one in tuple(mine):
            other = next((file for file in left if alike(one, file)), None)
            if other is not None:
                pairs.append((one, other))
                mine.remove(one)
                left.remove(other)
    return pairs, mine


def _same_name(ours: FileRef, theirs: FileRef) -> bool:
    return ours.name == theirs.name and _same_size(ours, theirs)


def _same_size(ours: FileRef, theirs: FileRef) -> bool:
    return None in (ours.size, theirs.size) or ours.size == theirs.size


def _digest_differences(names: list[str], ours: object, theirs: object) -> list[Difference]:
    pairs = [(name, ours[name], theirs[name]) for name in names]  # type: ignore[index]
    return [Difference(f"file.{name}", want, have) for name, want, have in pairs if want != have]
