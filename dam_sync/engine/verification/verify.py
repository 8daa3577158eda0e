"""Reads both services back and compares them in both directions: what the target lacks or has differently, what it has
in addition, and on what evidence.

Evidence of a file: V4 the target's own digest equals ours; V3 what is at the target now was downloaded, and agrees with
what is at the source now, or with its digest; V2 size agrees; V1 counted; V0 none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.aio.polling import sleep_looking
from dam_sync.aio.task_group import TaskGroup
from dam_sync.engine.compare.comparison import hides
from dam_sync.engine.compare.differences import Difference, hidden_instead
from dam_sync.engine.compare.facts import Scope, scope_of
from dam_sync.engine.compare.file_keys import ATTACHMENTS, RELATIONS, VERSIONS, kept_versions, version_key
from dam_sync.engine.compare.files import FilePair, in_other_order, pair_files
from dam_sync.engine.compare.parts import not_compared
from dam_sync.engine.compare.patterns import MISSING, OTHER_ORDER
from dam_sync.engine.context.error_policy import RetryAsset, StopRun, react
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.sampling import is_sampled
from dam_sync.engine.decide.patches import overlay
from dam_sync.engine.decide.three_way import kept_values
from dam_sync.engine.decide.update import fixed_among, fresh_attachments
from dam_sync.engine.guards.exposure import ExposureGate, expected, seen_though_closed
from dam_sync.engine.guards.mass_deletion import refuse_mostly_unlisted
from dam_sync.engine.guards.probation import still_deletable, watch_probation
from dam_sync.engine.names.source_terms import SourceTerms
from dam_sync.engine.read.compared import with_everybody, with_unsure
from dam_sync.engine.read.facts import differing, facts_of
from dam_sync.engine.read.index import lag_left
from dam_sync.engine.read.linked import with_present_files
from dam_sync.engine.read.members import TARGET, UNSURE
from dam_sync.engine.read.relations import compare_relations
from dam_sync.engine.verification.doubled import CREATED_TWICE, DoubledAssets
from dam_sync.engine.verification.evidence import FileCheck
from dam_sync.engine.verification.overwritten import find_causes
from dam_sync.engine.verification.renamed import Renamed
from dam_sync.engine.verification.unwritten import (
    PLACEMENTS,
    REJECTED,
    has_conflict,
    is_unwritten,
    may_agree_later,
)
from dam_sync.engine.verification.verdict import FileProof, Judgement, Verdict, proofs_by_key
from dam_sync.engine.write.filenames import names_beside
from dam_sync.mapping.compile import marker_value
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, Draft, Entry, Placement
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import DamSyncError, NotFound
from dam_sync.model.link import LinkRow
from dam_sync.model.name_bounds import within_bounds
from dam_sync.model.outcome import REMOVED
from dam_sync.model.run_options import COMPARING
from dam_sync.model.service import TRASH, Batch, Service, Shard, Window
from dam_sync.model.waits import INDEX
from dam_sync.model.wording import counted
from dam_sync.model.writes import Membership
from dam_sync.store.store import SqlStore

LEVELS = ("count", "fields", "digest", "bytes")
LOOKING_AGAIN = "waiting up to {:.0f} s for the search index of the target, then comparing {} again"
COMPARING_AGAIN = "comparing {} again"
NOTHING_MOVED = "nothing was moved: listing the source alone"
PAGE = 500
NOT_MOVED, ROLLED_BACK = "not moved yet", "moved, and rolled back since"
UNLINKED = {REMOVED: "removed before", **dict.fromkeys(("created", "updated", "unchanged"), ROLLED_BACK)}
GONE_WHILE_NEW, IN_TRASH = "gone while it may be removed as a duplicate", "in its trash"
SUSPECTS = 5000  # compared again while the target's index may be behind
FEW, FIRST_PAUSE = 8, 1.0  # of them, looked at again and again; seconds before the first look


@dataclass(frozen=True, slots=True)
class ComparedAgain:
    """Assets that differed while the index of the target may have been behind: how many, how many of them agreed later,
    and how long that took."""

    number: int
    agreed: int
    seconds: float


@dataclass(slots=True)
class Verifier:
    """One verification; `scratch` is a temporary store, so that memory does not grow."""

    context: RunContext
    scratch: SqlStore
    level: str
    sample: float = 1.0
    sink: Callable[[str, str, Difference], None] | None = None  # gets every difference
    terms: dict[str, TermIndex] = field(default_factory=dict)
    suspects: list[LinkRow] = field(default_factory=list)
    patience: float = 0.0  # seconds for which the index of the target may still be behind
    members_late: bool = False  # whether a suspect differs in its containers
    again: ComparedAgain | None = None
    linked_elsewhere: int = 0  # moved assets of other waves
    unsorted: int = 0  # assets that no run sorted into a wave yet
    unread_containers: list[str] = field(default_factory=list)
    uncompared: frozenset[Placement] = frozenset()  # containers of the target among them
    verdict: Verdict = field(init=False)
    scope: Scope = field(init=False)
    files: FileCheck = field(init=False)
    doubles: DoubledAssets = field(init=False)
    origins: SourceTerms = field(init=False)
    gate: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        source, target, crosswalk = self.context.source, self.context.target, self.context.mapping.crosswalk
        self.verdict = Verdict(self.level, self.context.task.policy.extras, sink=self.sink)
        self.scope, self.files = scope_of(crosswalk), FileCheck(source, target, self.level)
        self.origins, self.doubles = SourceTerms.of(source, crosswalk), DoubledAssets(source, target, crosswalk)
        self.gate = asyncio.Semaphore(max(2, min(self.context.source.readers, self.context.writers)))

    async def run(self) -> Verdict:
        """Count, compare, and look for what either side lacks."""
        context = self.context
        await self._look_for_removed()
        moved = await context.state.store.anything_moved()
        context.phases.progress.phase = COMPARING if moved else NOTHING_MOVED
        await self._account_for_source(ids_only=not moved or self.level == "count")
        await refuse_mostly_unlisted(context.state.store, context.accepted, self.verdict.linked + self.linked_elsewhere)
        if moved:
            await self._compare_linked()
        self.verdict.bytes = self.files.bytes
        self.verdict.removed = await context.state.store.trashed_count()
        return self.verdict

    async def _compare_linked(self) -> None:
        """Read the target, and compare what is linked with it. Without anything linked it could tell nothing."""
        context = self.context
        await self.load_terms()
        self.patience = await lag_left(context.target, context.state)
        await self._load_members()
        async for shard in context.target.service.shards(Window()):
            async for batch in context.target.service.crawl(shard, None):
                await self._check_batch(batch.entries)
                self._raise_if_stopped()
        await self._check_unvisited()
        await self._note_doubled()
        await self._look_again()
        groups = self.verdict.groups.most_frequent()
        await find_causes(context.source, context.target, context.state.store, groups)

    async def compare_one(self, link: LinkRow) -> Judgement:
        """One asset as both services return it now, without containers that are read from their own listings."""
        await self.load_terms()
        judged = await self._judge(link, None, fresh=True)
        members = any(
            Operation.MEMBERS in side.capabilities
            for side in (self.context.source.service, self.context.target.service)
        )
        judged.found = [one for one in judged.found if one.path != "placements" or not members]
        return judged

    async def _look_for_removed(self) -> None:
        """New assets that are gone count as missing and get parked; what the service may still remove is reported."""
        for row in await watch_probation(self.context.target, self.context.state.store, self.context.phases):
            self.verdict.missing += 1
            self.verdict.note(
                row.source, row.target, [Difference("asset", "in the target", row.message, pattern=GONE_WHILE_NEW)]
            )
        if left := await still_deletable(self.context.target, self.context.state.store):
            self.verdict.early, self.verdict.until = left

    async def _look_again(self) -> None:
        """Compare suspects again until they agree, or until the index can no longer be behind: a few of them after ever
        longer pauses, and all of them once one agrees, and in the end."""
        clock, first, pause = self.context.clock, len(self.suspects), FIRST_PAUSE
        before, began, left = (
            self._wrong,
            clock.monotonic(),
            await lag_left(self.context.target, self.context.state),
        )
        while self.suspects and self.patience > 0:
            self.context.phases.progress.begin(LOOKING_AGAIN.format(left, counted(len(self.suspects), "asset")))
            await sleep_looking(clock, min(pause, left), self._raise_if_stopped, INDEX)
            self._raise_if_stopped()
            later = await lag_left(self.context.target, self.context.state)
            waited = pause >= left >= later  # all of it, and no other run ended meanwhile; clocks may be set back
            left = self.patience = 0.0 if waited else later
            pause *= 2
            if left <= 0 or await self._some_agree():
                self.context.phases.progress.begin(COMPARING_AGAIN.format(counted(len(self.suspects), "asset")))
                await self._compare_again(self.suspects)
        self.again = ComparedAgain(first, first - (self._wrong - before), clock.monotonic() - began)

    @property
    def _wrong(self) -> int:
        return self.verdict.different + self.verdict.missing_compared

    async def _some_agree(self) -> bool:
        """Whether one of a few suspects agrees now."""
        number = len(self.suspects)
        await self._compare_again(self.suspects[:: -(-number // FEW)])
        return len(self.suspects) < number

    async def _compare_again(self, links: Sequence[LinkRow]) -> None:
        """Compare these suspects as both services return them now; those that still differ remain suspects as long as
        the index may be behind."""
        again = frozenset(link.source for link in links)
        self.suspects = [link for link in self.suspects if link.source not in again]
        if self.members_late:
            await self._load_members()
        async with TaskGroup() as group:
            for link in links:
                group.start(self._check, link, None, fresh=True)

    async def _account_for_source(self, *, ids_only: bool) -> None:
        """Every listed source asset is linked, parked or left out by a rule. ids_only: none of them is compared."""
        store, verdict = self.context.state.store, self.verdict
        async for shard in self.context.source.service.shards(Window(ids_only=ids_only)):
            async for batch in self.context.source.service.crawl(shard, None):
                listed = [entry.id for entry in batch.entries if not entry.deleted]
                self._raise_if_stopped()
                ids, theirs = await self._of_wave(listed)
                links = await store.links(ids)
                self.linked_elsewhere += theirs
                actions = await store.actions([asset for asset in ids if asset not in links])
                verdict.source_assets += len(ids)
                verdict.linked += len(links)
                verdict.parked += sum(1 for action in actions.values() if action == "parked")
                verdict.skipped += sum(1 for action in actions.values() if action == "skipped")
                for asset in ids:
                    if asset not in links and actions.get(asset) not in ("parked", "skipped"):
                        verdict.unaccounted += 1
                        found = UNLINKED.get(actions.get(asset, ""), NOT_MOVED)
                        verdict.note(asset, "", [Difference("asset", "moved or parked", found, pattern=found)])
                await self._keep_listed(shard, [entry for entry in batch.entries if entry.id in links])

    async def _of_wave(self, assets: list[AssetId]) -> tuple[list[AssetId], int]:
        """Those of these assets that are verified, and how many others were moved: with waves, one of them is
        verified."""
        if self.context.task.wave is None:
            return assets, 0
        known, name = await self.context.state.store.sorted_assets(assets), self.context.task.wave.name
        self.unsorted += len(assets) - len(known)
        others = sum(1 for row in known.values() if row.linked and row.wave != name)
        return [asset for asset in assets if asset in known and known[asset].wave == name], others

    async def _keep_listed(self, shard: Shard, entries: Iterable[Entry]) -> None:
        """Keep assets that the source listing returned completely and that will be compared: they cost no further
        call."""
        carried = tuple(entry for entry in entries if entry.asset is not None and self._sampled(entry.id))
        if carried and self.level != "count":
            await self.scratch.record(self.context.state.run.id, shard, Batch(carried, None), ())

    def _raise_if_stopped(self) -> None:
        """Raises StopRequested if the operator asked to stop."""
        if self.context.stopping.token.reason:
            raise self.context.stopping.token.error("run the same command again; it compares from the start")

    async def load_terms(self) -> None:
        """Read the vocabularies of the target that the mapping uses."""
        target = self.context.target.service
        for key in self.context.mapping.crosswalk.vocabularies:
            self.terms[key] = TermIndex()
            if Operation.TERMS in target.capabilities:
                async for term in target.terms(key):
                    self.terms[key].add(term)

    async def _load_members(self) -> None:
        await self.scratch.begin_members(0)
        for side, service in (("source", self.context.source.service), ("target", self.context.target.service)):
            if Operation.MEMBERS in service.capabilities:
                async for membership in service.members():
                    if membership.unread:
                        self.unread_containers.append(f"{membership.placement.text}: {membership.unread}")
                        membership = await self._as_known(side, membership)
                    prefix = f"{side}:{UNSURE}" if membership.unsure else f"{side}:"
                    prefixed = tuple(AssetId(f"{prefix}{asset}") for asset in membership.assets)
                    await self.scratch.add_members([replace(membership, assets=prefixed)])
        await self.scratch.end_members()

    async def _as_known(self, side: str, membership: Membership) -> Membership:
        """What the last run read of a container of the source that can no longer be read. Of one of the target nothing
        is known, so that it is not compared."""
        if side == "source":
            return replace(membership, assets=await self.context.state.store.members_in(membership.placement, TARGET))
        self.uncompared |= {membership.placement}
        return membership

    async def _with_members(self, side: str, service: Service, asset: Asset) -> Asset:
        if Operation.MEMBERS not in service.capabilities:
            return asset
        key = AssetId(f"{side}:{asset.id}")
        found = await self.scratch.members_of([key])
        return replace(asset, placements=asset.placements | found.get(key, frozenset()))

    async def _check_batch(self, entries: Iterable[Entry]) -> None:
        entries = [entry for entry in entries if not entry.deleted]
        links = await self.context.state.store.links_by_target([entry.id for entry in entries])
        strange = [entry for entry in entries if entry.id not in links]
        known = await self._note_taken_out([entry.id for entry in strange])
        self.doubles.collect(entry for entry in strange if entry.id not in known)
        own = await self._own([link.source for link in links.values()])
        async with TaskGroup() as group:
            for entry in entries:
                link = links.get(entry.id)
                if link is not None and link.source in own and await self._visit(link):
                    group.start(self._check, link, entry.asset)

    async def _note_taken_out(self, strange: Sequence[AssetId]) -> Collection[AssetId]:
        """Assets that a run moved to the trash and somebody took out of it are additions. Returns them."""
        taken_out = await self.context.state.store.trashed_at(strange)
        for target, kept in taken_out.items():
            self.verdict.extra += 1
            taken = "taken out of it"
            found = [Difference("asset", "in the trash of the target", taken, extra=True, pattern=taken)]
            self.verdict.note(kept.link.source, target, found)
        return taken_out.keys()

    async def _note_doubled(self) -> None:
        """Assets with the marker of a linked asset, which is another one."""
        after = ""
        while self.doubles.listed and (links := await self.context.state.store.iter_links(after, PAGE)):
            after = links[-1].source
            own = await self._own([link.source for link in links])
            async for link, second in self.doubles.of(link for link in links if link.source in own):
                self.verdict.doubled += 1
                wrong = Difference("asset", f"once, as {link.target}", f"also as {second}", pattern=CREATED_TWICE)
                self.verdict.note(link.source, second, [wrong])

    async def _check_unvisited(self) -> None:
        """Linked assets missing from the target's listing: its index may lag, so each is requested."""
        after = ""
        while links := await self.context.state.store.iter_links(after, PAGE):
            after = links[-1].source
            own = await self._own([link.source for link in links])
            async with TaskGroup() as group:
                for link in links:
                    if link.source in own and await self._visit(link):
                        group.start(self._check, link, None)

    async def _own(self, sources: Sequence[str]) -> Collection[str]:
        """Those of these linked assets that are verified."""
        assets, wave = [AssetId(source) for source in sources], self.context.task.wave
        return sources if wave is None else await wave.own_of(self.context.state.store, assets)

    async def _visit(self, link: LinkRow) -> bool:
        """Whether this link is in the sample and was not compared yet."""
        return self._sampled(link.source) and await self.scratch.first_time(f"visited:{link.source}")

    def _sampled(self, source: str) -> bool:
        return is_sampled(source, self.sample)

    async def _check(self, link: LinkRow, listed: Asset | None, *, fresh: bool = False) -> None:
        """Compare one asset as listed. fresh: as both services return it now; they are also called if a difference
        may come from a listing that is behind."""
        async with self.gate:
            try:
                judged = await self._judge(link, listed, fresh=fresh)
                if judged.outcome == "different" and not fresh and (self.patience <= 0 or judged.set_aside):
                    judged = await self._judge(link, None, fresh=True)
            except DamSyncError as error:
                if isinstance(react(error), StopRun | RetryAsset):
                    raise
                wrong = Difference("asset", "readable", str(error), pattern=f"not readable: {error.cause}")
                judged = Judgement("different", [wrong], evidence="V0")
        late = set() if judged.unwritten or judged.set_aside else may_agree_later(judged.found)
        if late and self.patience > 0 and len(self.suspects) < SUSPECTS:
            self.suspects.append(link)
            self.members_late |= PLACEMENTS in late
        else:
            await self._count(link, judged)

    async def _count(self, link: LinkRow, judged: Judgement) -> None:
        self.context.phases.progress.listed += 1
        self.verdict.count(link.source, link.target, judged)
        self.context.phases.progress.unchanged += 1
        if judged.outcome in ("equal", "different") and self.level != "count":
            known = judged.link or link
            fresh = replace(known, evidence=judged.whole, proofs=proofs_by_key(judged.proofs))
            if fresh != link:
                await self.context.state.store.put_link(fresh)

    async def _judge(self, link: LinkRow, listed: Asset | None, *, fresh: bool) -> Judgement:
        context = self.context
        try:
            actual = listed or await context.target.service.fetch(AssetId(link.target))
        except NotFound:
            return Judgement("missing", [Difference("asset", "in the target", MISSING, pattern=MISSING)])
        if actual.status == TRASH:
            return Judgement("missing", [Difference("asset", "in the target", IN_TRASH, pattern=IN_TRASH)])
        if self.level == "count":
            return Judgement("equal", evidence="V1")
        try:
            known = {} if fresh else await self.scratch.payloads([link.source])
            asset = known.get(AssetId(link.source)) or await context.source.service.fetch(AssetId(link.source))
        except NotFound:
            return Judgement("gone_at_source")
        if asset.status == TRASH:
            return Judgement("gone_at_source")
        asset = within_bounds(await self._with_members("source", context.source.service, asset))
        asset, link = with_present_files(context.target, context.task.policy, asset, link)
        actual = await self._with_members("target", context.target.service, actual)
        judged = await self._compare(link, asset, actual, fresh=fresh)
        judged.link = link
        return judged

    async def _compare(self, link: LinkRow, asset: Asset, actual: Asset, *, fresh: bool) -> Judgement:
        context, target, crosswalk = self.context, self.context.target, self.context.mapping.crosswalk
        draft, found, left, refused = await self._draft(asset, actual, link)
        if Operation.MEMBERS in target.service.capabilities:
            key = AssetId(f"target:{UNSURE}{actual.id}")
            unsure = (await self.scratch.members_of([key])).get(key, frozenset())
            actual = with_unsure(actual, draft.placements, unsure | self.uncompared, target.schema)
        found += seen_though_closed(context.target, draft, actual)
        found += [] if draft.closed else hidden_instead(facts_of(target), draft, actual)
        actual, more = with_everybody(target, actual, draft, hidden=True), context.task.policy.extras != "ignore"
        found += [one for one in differing(target, crosswalk, draft, actual) if more or not one.extra]
        able = target.service.capabilities
        kept = kept_versions(asset, able, context.task.policy)
        new = tuple(map(version_key, fresh_attachments(asset, link, able)))  # those that the next run writes
        files = pair_files(asset, actual, kept, replace(link, attachments=(*link.attachments, *new)))
        found += files.differences(actual)
        found += await compare_relations(target, crosswalk, context.state.store, asset, actual, link)
        hidden = files.unread | ({RELATIONS} if hides(actual, RELATIONS) else set())
        judged = Judgement(_outcome(found), found, unread=self._unread(asset, hidden), changed_at=actual.changed_at)
        judged.left = left | ({VERSIONS} if files.left else frozenset())
        judged.unwritten = self.patience > 0 and await is_unwritten(context, draft, actual, self.scope, found)
        differs = any(not one.extra for one in found)
        if self.patience > 0 and not judged.unwritten and differs:
            judged.set_aside = refused or await has_conflict(context.state.store, link.source)
        if differs and self._is_compared_again(judged, fresh=fresh):
            return judged  # no need to download its bytes now
        await self._compare_files(files.pairs, judged)
        judged.proofs += [FileProof(part, version_key(file), "V0") for part, file in files.missing]
        if context.task.policy.extras == "ignore":
            judged.found = [difference for difference in judged.found if not difference.extra]
        judged.outcome = _outcome(judged.found)
        return judged

    def _is_compared_again(self, judged: Judgement, *, fresh: bool) -> bool:
        """Whether an asset that differs is compared again: when the index has caught up, or as both services return
        it now."""
        if self.patience > 0 and not judged.set_aside:
            return not judged.unwritten
        return not fresh

    async def _compare_files(self, pairs: Sequence[FilePair], judged: Judgement) -> None:
        compared = [(pair, await self.files.compare(pair)) for pair in pairs]
        judged.proofs += [FileProof(pair.part, pair.key, each.evidence, each.by) for pair, each in compared]
        versions = [pair for pair, each in compared if each.found and pair.part != ATTACHMENTS]
        moved = versions if in_other_order(versions) else []
        for pair, each in compared:
            judged.found += [replace(one, pattern=OTHER_ORDER) for one in each.found] if pair in moved else each.found

    async def _draft(
        self, asset: Asset, actual: Asset, link: LinkRow
    ) -> tuple[Draft, list[Difference], frozenset[str], bool]:
        """What the target should have, by the names that it has; these, where others gave them, and the fields of
        which it is unknown because their values park the asset; the paths where it keeps what no call changes; and
        whether runs write nothing of it, because the mapping refuses a value or more people would see it."""
        marker = marker_value(self.context.source.account.tenant, asset.id)
        drafted = await self.context.mapping.draft(
            self.context.target, await self.origins.placed(asset), marker, self.terms
        )
        gate = ExposureGate.of(self.context.source, self.context.target, self.context.task.policy)
        drafted, unfit = expected(gate, self.context.target, asset, drafted, link)
        beside = names_beside(drafted.draft.filename, marker, self.context.target.service.limits.filename)
        unfit += [
            Difference(
                rejection.path,
                "a value that fits",
                f"{rejection.rule}: {rejection.detail}",
                pattern=REJECTED.format(rejection.rule),
            )
            for rejection in drafted.rejections
        ]
        if asset.file is None:  # without a file a name means nothing, and some services invent one
            drafted = replace(drafted, draft=replace(drafted.draft, filename=""))
        if drafted.draft.filename and link.filename in beside:
            drafted = replace(drafted, draft=replace(drafted.draft, filename=link.filename))
        kept = kept_values(link, drafted.draft, asset.file)  # a name that others gave is no change of the source
        names = Renamed(self.context.target, self.context.mapping.crosswalk, asset, actual, self.terms)
        draft, renamed = names.of(drafted, kept)
        draft = names.named(overlay(draft, kept), kept)
        return draft, [*unfit, *renamed], fixed_among(kept, self.context.target.schema), bool(unfit)

    def _unread(self, asset: Asset, hidden: Iterable[str]) -> frozenset[str]:
        """Parts of the asset that are not compared: the target does not return them, or cannot store them."""
        return frozenset(hidden) | not_compared(asset, self.context.target.service.capabilities)


def _outcome(found: Iterable[Difference]) -> str:
    """The fate of an asset with these differences; additions alone leave it equal."""
    return "different" if any(not difference.extra for difference in found) else "equal"
