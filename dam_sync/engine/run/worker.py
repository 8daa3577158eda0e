"""Reads, drafts and writes one asset: what the stages of the pipeline do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.engine.compare.file_keys import kept_versions, version_key
from dam_sync.engine.compare.name_paths import Known
from dam_sync.engine.context.error_policy import ReleaseAsset, RestartAsset, react
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import Concluded, DraftedAsset, Failed, ReadAsset, Written
from dam_sync.engine.context.writers import AssetWriter
from dam_sync.engine.guards.doubles import CreateGuard
from dam_sync.engine.guards.drift import refuse_lost_terms
from dam_sync.engine.guards.exposure import ExposureGate, listed_terms, remember_release
from dam_sync.engine.guards.missing import MissingMonitor
from dam_sync.engine.guards.probation import removed_before
from dam_sync.engine.guards.way_back import WayBack, came_back
from dam_sync.engine.names.containers import CONTAINERS, TargetContainers
from dam_sync.engine.names.registry import TargetChanged
from dam_sync.engine.names.renamed_containers import ContainerRenames
from dam_sync.engine.names.renamed_terms import TermRenames
from dam_sync.engine.names.source_terms import SourceTerms
from dam_sync.engine.names.terms import TERMS, TargetTerms
from dam_sync.engine.read.linked import with_present_files
from dam_sync.engine.run.fitness import unfit
from dam_sync.engine.run.originals import as_adopted
from dam_sync.engine.write.accounts import bare_names
from dam_sync.engine.write.filenames import FilenameAllocator
from dam_sync.engine.write.partial_creates import trash_partial_create
from dam_sync.engine.write.trash import TargetTrash
from dam_sync.engine.write.writers import OwnWriter
from dam_sync.mapping.compile import marker_value
from dam_sync.mapping.crosswalk import Drafted, TermKey
from dam_sync.mapping.selection import SelectionVerdict
from dam_sync.model.asset import Asset, AssetId, Loss, Placement
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import Conflict, DamSyncError, InvalidValue, NotFound, OversizedResponse, Transient
from dam_sync.model.exposure import Purpose
from dam_sync.model.link import LinkRow
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.mistyped import damage_named
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import MappingCause, ParkReason, SkipReason
from dam_sync.model.policy import Policy
from dam_sync.model.service import TRASH
from dam_sync.model.values import Term
from dam_sync.store.rows import READ_AGAIN, Work
from dam_sync.store.waves import SortedAsset

GONE = Outcome(action="skipped", cause=SkipReason.GONE, message="gone from the source since a webhook named it")
NOT_FOUND = Outcome(action="skipped", cause=SkipReason.DELETED, message="gone from the source")
IN_TRASH = Outcome(action="skipped", cause=SkipReason.DELETED, message="in the trash of the source")


@dataclass(frozen=True, slots=True)
class KnownAssets:
    """What the state knows of some assets: their links, and the containers that the source has them in."""

    links: Mapping[AssetId, LinkRow]
    members: Mapping[AssetId, frozenset[Placement]]
    waves: Mapping[AssetId, SortedAsset]


@dataclass(slots=True)
class Worker:
    """Reads, drafts and writes assets for one run."""

    context: RunContext
    terms: TargetTerms
    containers: TargetContainers
    names: FilenameAllocator
    confirmed: frozenset[AssetId] = frozenset()  # gone from the source: to be removed
    compared: bool = False  # whether the target's lists were compared with those of the last run
    ahead: dict[AssetId, KnownAssets] = field(default_factory=dict)  # of assets that were claimed and are not read yet
    trashed: bool | None = None  # whether anything was removed before; None: not asked yet
    purpose: Purpose = Purpose.MOVE  # what its assets are drafted for
    missing: MissingMonitor = field(init=False)
    doubles: CreateGuard = field(init=False)
    way_back: WayBack = field(init=False)
    writer: AssetWriter = field(init=False)
    origins: SourceTerms = field(init=False)
    renamed_terms: TermRenames = field(init=False)
    renamed_containers: ContainerRenames = field(init=False)

    def __post_init__(self) -> None:
        context, known = self.context, self.context.target.counterparts
        self.missing, self.origins = (
            MissingMonitor(context.source, context.target, context.state, context.stopping, context.accepted),
            SourceTerms.of(context.source, context.mapping.crosswalk),
        )
        self.doubles = CreateGuard(
            context.source, context.target, context.mapping.crosswalk, context.state.store, context.accepted
        )
        self.way_back = WayBack.of(context.target.service, context.target.account)
        self.writer = context.workers or OwnWriter(context)
        self.renamed_terms = TermRenames(
            context.source,
            context.target,
            context.mapping.crosswalk,
            context.state,
            context.task,
            self.terms,
            self.origins,
            known,
        )
        self.terms.met_before = self.renamed_terms.call
        self.renamed_containers = ContainerRenames(
            context.source,
            context.target,
            context.mapping.crosswalk,
            context.state.run,
            context.task,
            self.containers,
            known,
        )

    # -- reading: any number at once ------------------------------------------------------------------------------

    async def read(self, work: Work) -> ReadAsset | Concluded | Failed:
        """Read the complete asset and its link."""
        try:
            return await self._read(work)
        except NotFound as error:
            return Concluded(work, GONE) if self.context.task.options.hinted else Failed(work, error)
        except DamSyncError as error:
            return Failed(work, error)

    async def _read(self, work: Work) -> ReadAsset | Concluded:
        context, ahead = self.context, self.ahead.pop(work.asset, None)
        if work.deleted:
            return await self._deleted(work)
        asset = work.payload or await self._fetch(work)
        if asset is None or asset.status == TRASH:
            return await self._gone(work, asset)
        self.missing.was_read()
        known = ahead if ahead is not None and asset.id == work.asset else await self._known([asset.id])
        if known.members.get(asset.id):
            asset = replace(asset, placements=asset.placements | known.members[asset.id])
        link = known.links.get(asset.id)
        aside = None if context.task.wave is None else context.task.wave.set_aside(asset, known.waves.get(asset.id))
        if aside is not None:
            return Concluded(work, aside, asset)
        removed = await self._removed(work, asset) or await self._back(work, asset) if link is None else None
        return self._by_present_keys(removed or ReadAsset(work, damage_named(asset), link))

    def _by_present_keys(self, item: ReadAsset | Concluded) -> ReadAsset | Concluded:
        if isinstance(item, Concluded) or item.link is None:
            return item
        asset, link = with_present_files(self.context.target, self.context.task.policy, item.asset, item.link)
        return replace(item, asset=asset, link=link)

    async def _removed(self, work: Work, asset: Asset) -> ReadAsset | Concluded | None:
        """What becomes of an asset that was at the target before; None for one that never was."""
        context = self.context
        if context.target.service.limits.dedup_window:
            kept = kept_versions(asset, context.target.service.capabilities, context.task.policy)
            outcome = await removed_before(context.state.store, asset, version_key(kept[-1]) if kept else "")
            if outcome is not None:
                return Concluded(work, outcome, asset)
        return await self._returned(work, asset)

    async def _back(self, work: Work, asset: Asset) -> Concluded | None:
        """An asset that a job in the other direction made; None for any other, and for one that a run began."""
        outcome = None if work.begun else await came_back(self.context.mapping.crosswalk, self.way_back, asset)
        return None if outcome is None else Concluded(work, outcome, asset)

    async def read_ahead(self, works: Sequence[Work]) -> None:
        """Read what the state knows of claimed assets, at once for all of them: nobody else writes it meanwhile."""
        assets = [work.asset for work in works if not work.deleted]
        if assets:
            self.ahead.update(dict.fromkeys(assets, await self._known(assets)))

    async def _known(self, assets: Sequence[AssetId]) -> KnownAssets:
        store, reads = self.context.state.store, self.context.source.service.capabilities
        members = await store.members_of(assets) if Operation.MEMBERS in reads else {}
        waves = await store.sorted_assets(assets) if self.context.task.wave is not None else {}
        return KnownAssets(await store.links(assets), members, waves)

    async def _gone(self, work: Work, asset: Asset | None) -> Concluded:
        """Gone from the source, or in its trash."""
        if asset is not None:
            self.missing.was_read()
        await trash_partial_create(self.context, work)
        return Concluded(work, IN_TRASH if asset is not None else NOT_FOUND)

    async def _deleted(self, work: Work) -> Concluded:
        """In the trash of the source, or confirmed to be gone and to be removed."""
        link = (
            (await self.context.state.store.links([work.asset])).get(work.asset)
            if work.asset in self.confirmed
            else None
        )
        if link is None:
            await trash_partial_create(self.context, work)
        return Concluded(work, IN_TRASH, remove=link)

    async def _returned(self, work: Work, asset: Asset) -> ReadAsset | Concluded | None:
        """An asset that was removed and is listed again; None for any other. It becomes the same asset again where that
        is possible."""
        store = self.context.state.store
        if self.trashed is None:
            self.trashed = await store.trashed_count() > 0
        found = (await store.trashed([asset.id])).get(asset.id) if self.trashed else None
        return None if found is None else await TargetTrash(self.context).returned(work, damage_named(asset), found)

    async def _fetch(self, work: Work) -> Asset | None:
        """The asset; None if it is gone and was read again only to be compared. Raises NotFound for one that this run
        listed."""
        try:
            return await self.context.source.service.fetch(work.asset)
        except NotFound as error:
            gone = None if self.context.task.options.hinted else self.missing.from_source(work.asset)
            if work.revision == READ_AGAIN:
                return None
            await trash_partial_create(self.context, work)
            raise gone or error from error
        except OversizedResponse as error:  # its own trouble, and not that of the run
            raise InvalidValue(
                "what the service says of the asset is larger than anything that is read",
                asset=work.asset, operation=error.operation, code="large asset",
                hint="shorten its longest texts at the source, then run `errors JOB --retry`",
            ) from error  # fmt: skip

    # -- drafting: one at a time, in the order of the listing, so that names come out the same in every run --------

    async def draft(self, item: ReadAsset) -> DraftedAsset | Concluded | Failed:
        """Draft the asset; its terms, containers and file name then exist. Raises errors that concern the whole run."""
        try:
            await self._know_target()
        except Transient as error:
            return Failed(item.work, error)
        try:
            return await self._draft_again(item)
        except DamSyncError as error:
            return Failed(item.work, error, item.asset)

    async def _draft_again(self, item: ReadAsset) -> DraftedAsset | Concluded:
        """The draft, made again whenever other processes created terms or containers meanwhile: they may be what it
        needs."""
        for known, scope in ((self.terms, TERMS), (self.containers, CONTAINERS)):
            if self.context.target.shared.has_news(scope):
                await known.learn()
        while True:
            try:
                return await self._draft(item)
            except TargetChanged:
                continue

    async def _know_target(self) -> None:
        """Read once what drafting needs; errors here concern the run, not one asset."""
        known = await self.terms.known()
        if not self.compared:
            await refuse_lost_terms(self.context.target, self.context.state.store, self.context.accepted, known)
        if self.context.mapping.crosswalk.plan.placements:
            await self.containers.known()
        if not self.compared and self.context.task.planned is not None:
            for made in (self.terms, self.containers):
                await self.context.task.planned.refuse_existing(made.names(), made.journal)
        self.compared = True

    async def _draft(self, item: ReadAsset) -> DraftedAsset | Concluded:
        crosswalk, work, asset, link = self.context.mapping.crosswalk, item.work, item.asset, item.link
        verdict = crosswalk.selects(asset)
        if not verdict and link is None:
            return Concluded(work, unselected(verdict), asset)
        marker = marker_value(self.context.source.account.tenant, asset.id)
        await self._load_terms(asset)
        drafted = await self.context.mapping.draft(
            self.context.target, self.origins.whole(asset), marker, await self.terms.known()
        )
        self.context.mapping.samples.add(asset.id, drafted)
        self.context.mapping.samples.add_left_out(asset, crosswalk.coverage)
        refused = rejected(drafted)
        if refused is not None and link is None and not work.begun:
            return Concluded(work, refused, asset)
        if verdict:
            drafted = await self._placed(asset, drafted)
        gate = ExposureGate.of(self.context.source, self.context.target, self.context.task.policy)
        exposure = gate.judge(asset, drafted, link, await self._containers(), self.purpose)
        if exposure.parked is not None:
            await remember_release(self.context.target, self.context.state.store, asset, exposure.parked)
            return Concluded(work, exposure.parked, asset)
        hide = link if exposure.closed and not item.restores else None
        if not verdict:
            return Concluded(work, unselected(verdict), asset, hide)
        refused = refused or unfit(self.context, asset, drafted.draft, link)
        if refused is not None:
            return Concluded(work, refused, asset, hide)
        return await self._completed(DraftedAsset(work, asset, link, exposure.applied(drafted), item.restores), marker)

    async def _placed(self, asset: Asset, drafted: Drafted) -> Drafted:
        """The draft, after containers that were renamed at the source were renamed at the target."""
        placements = await self.renamed_containers.placed(asset, drafted.draft.placements)
        if placements == drafted.draft.placements:
            return drafted
        return replace(drafted, draft=replace(drafted.draft, placements=placements))

    async def _load_terms(self, asset: Asset) -> None:
        """Read the vocabularies of both services that the draft will look up and that were not read yet."""
        while self.terms.partial or self.origins.lacks(asset):
            mapping = await self.context.mapping.of(asset.id)
            new = mapping.look_up(self.origins.whole(asset), await self.terms.known())
            if await self.terms.complete():
                continue
            if not ((self.terms.pathless() or new) and await self.origins.load(asset)):
                return

    async def _completed(self, item: DraftedAsset, marker: str) -> DraftedAsset:
        """The draft with a free file name, and its terms and containers created. Raises Conflict, Unsupported before
        anything is created if the asset will be parked."""
        asset = item.asset
        drafted, held = as_adopted(self.context.target, item.drafted, item.link)
        if item.link is None and not item.work.begun:
            await self._refuse_double(asset, marker)
        if drafted.new_terms:
            self.terms.refuse_unmakeable(drafted.new_terms)
            await self.containers.refuse_unmakeable(drafted.draft.placements)
        wanted = drafted.draft.filename
        draft = await self.names.allocate(asset, drafted.draft, marker, new=item.link is None)
        if drafted.new_terms:
            await self.origins.load(asset, [term for _, term in drafted.new_terms])
        created = await self._terms(drafted.new_terms)
        draft = replace(draft, placements=await self.containers.resolve(draft.placements))
        await self.renamed_containers.keep(asset, draft.placements)
        stuck = self.renamed_containers.stuck(draft.placements)
        stuck += await self.renamed_containers.merged(asset, draft.placements)
        related = self.context.mapping.crosswalk.related(asset)
        taken = (Loss("filename", LossRule.NAME_TAKEN, wanted),) if wanted != draft.filename else ()
        bare = bare_names(asset, draft, self.context.target)
        draft = replace(draft, placements=draft.placements | held)
        listed = listed_terms(self.context.target, asset, draft, drafted.new_terms)
        losses = (
            *drafted.losses,
            *left_versions(asset, self.context.target, self.context.task.policy),
            *taken,
            *bare,
            *stuck,
            *listed,
        )
        return replace(item, asset=related, drafted=replace(drafted, draft=draft, losses=losses).with_terms(created))

    async def _refuse_double(self, asset: Asset, marker: str) -> None:
        """Raises SafetyStop for an asset that the target has already."""
        await self.doubles.refuse_double(asset.id, marker)

    async def _terms(self, new: Sequence[tuple[str, Term]]) -> dict[TermKey, Term]:
        """The target's terms for those that it lacks by this name: renamed, or created."""
        found = await self.renamed_terms.found(new)
        lacking = [(key, term) for key, term in new if (key, term.path) not in found]
        missing = [(key, self.origins.completed(term, self._source_of(key))) for key, term in lacking]
        created = await self.terms.ensure(missing)
        await self.renamed_terms.keep()
        return {**found, **created}

    def _source_of(self, vocabulary: str) -> str:
        """The vocabulary of the source that becomes this one of the target; empty if several do."""
        rules = self.context.mapping.crosswalk.rules.values()
        sources = {rule.source for rule in rules if rule.target == vocabulary}
        return sources.pop() if len(sources) == 1 else ""

    async def _containers(self) -> Known:
        """The target's containers, if the mapping writes placements."""
        return await self.containers.known() if self.context.mapping.crosswalk.plan.placements else {}

    # -- writing: any number at once ------------------------------------------------------------------------------

    async def write(self, item: DraftedAsset | Concluded) -> Written | Failed:
        """Write the asset to the target."""
        work, link = item.work, item.hide if isinstance(item, Concluded) else item.link
        try:
            return Written(work, await self.writer.outcome(item), item.asset)
        except NotFound as error:
            reason = await self._not_found(error, work, link)
            self.terms.doubted |= reason is error  # neither asset is gone, so that a recalled term may be
            return Failed(work, reason, item.asset)
        except DamSyncError as error:
            if not isinstance(react(error, work, writing=True), RestartAsset | ReleaseAsset):
                self.terms.doubted = True  # a recalled term may be gone
            return Failed(work, error, item.asset)

    async def _not_found(self, error: NotFound, work: Work, link: LinkRow | None) -> DamSyncError:
        """The error with its reason; a partial create of an asset that is gone is trashed."""
        try:
            gone = await self.missing.while_writing(error, work.asset, link)
            if gone.cause is ParkReason.GONE:
                await trash_partial_create(self.context, replace(work, begun=True))
        except (Transient, Conflict) as failure:
            return failure
        return gone


def left_versions(asset: Asset, target: Target, policy: Policy) -> tuple[Loss, ...]:
    """Older versions that the policy leaves out; those that the target cannot store are a separate loss."""
    older = len(asset.versions) - 1
    if older < 1 or policy.versions == "all" or not target.service.capabilities.writes(Feature.VERSIONS):
        return ()
    return (Loss("versions", LossRule.CURRENT_ONLY, f"{older} older"),)


def unselected(verdict: SelectionVerdict) -> Outcome:
    """The outcome of an asset that a condition of the mapping leaves out, or that it cannot be decided for."""
    if not verdict.fault:
        return Outcome(
            action="skipped", cause=SkipReason.NOT_SELECTED, message=f"{SkipReason.NOT_SELECTED}: {verdict.condition}"
        )
    return Outcome(
        action="parked",
        cause=ParkReason.SELECT,
        message=f"select.where: {verdict.fault}",
        hint=ParkReason.SELECT.to_do,
        operation="mapping",
    )


def rejected(drafted: Drafted) -> Outcome | None:
    """Why the mapping parks the asset, if it does."""
    if not drafted.rejections:
        return None
    first: Loss = drafted.rejections[0]
    message = "; ".join(loss.text for loss in drafted.rejections)
    return Outcome(
        action="parked",
        cause=MappingCause(first.path, first.rule),
        message=message,
        hint=MappingCause.to_do,
        operation="mapping",
        failed=drafted.failed,
    )
