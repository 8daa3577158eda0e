"""One asset from claim to completion: read, draft, decide, act; the one place where an error becomes a disposition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import structlog

from dam_sync.engine.apply import Prepared, TargetWriter
from dam_sync.engine.decide import kept_versions, version_key
from dam_sync.engine.drafting import draft_of
from dam_sync.engine.filenames import FilenameAllocator
from dam_sync.engine.fitness import unfit
from dam_sync.engine.guards.drift import refuse_lost_terms
from dam_sync.engine.guards.exposure import judge, remember_release
from dam_sync.engine.guards.missing import CAUSE, MissingMonitor
from dam_sync.engine.partial_creates import trash_partial_create
from dam_sync.engine.probation import removed_before
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.source_terms import SourceTerms
from dam_sync.engine.taxonomy import Known, TargetContainers, TargetTerms
from dam_sync.mapping.compile import marker_value
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.model.asset import Asset, Loss
from dam_sync.model.errors import DamSyncError, Disposition, NotFound
from dam_sync.model.exposure import EXPOSURE
from dam_sync.model.service import TRASH, Operation
from dam_sync.store.rows import Outcome, Work

log = structlog.get_logger(__name__)
MAX_ATTEMPTS = 4
NOT_SELECTED = Outcome(action="skipped", cause="not selected", message="not selected")


@dataclass(slots=True)
class Worker:
    """Reads, drafts and writes assets for one run."""

    context: RunContext
    terms: TargetTerms
    containers: TargetContainers
    names: FilenameAllocator
    told: bool = False  # whether the target's lists were compared with those of the last run
    missing: MissingMonitor = field(init=False)
    origins: SourceTerms = field(init=False)

    def __post_init__(self) -> None:
        self.missing, self.origins = MissingMonitor(self.context), SourceTerms.of(self.context)

    # -- reading: any number at once ------------------------------------------------------------------------------

    async def read(self, work: Work) -> Prepared:
        """The whole asset and what we know of it. Park-worthy errors become outcomes; others are raised."""
        try:
            return await self._read(work)
        except DamSyncError as error:
            return Prepared(work, outcome=self.outcome_of(error.within(asset=work.asset), work))

    async def _read(self, work: Work) -> Prepared:
        context = self.context
        if work.deleted:
            await trash_partial_create(context, work)
            return Prepared(work, outcome=Outcome(action="skipped", cause="deleted", message="in the source's trash"))
        asset = work.payload or await self._fetch(work)
        self.missing.was_read()
        if asset.status == TRASH:
            await trash_partial_create(context, work)
            return Prepared(work, outcome=Outcome(action="skipped", cause="deleted", message="in the source's trash"))
        if Operation.MEMBERS in context.source.operations:
            members = await context.store.members_of([asset.id])
            asset = replace(asset, placements=asset.placements | members.get(asset.id, frozenset()))
        link = (await context.store.links([asset.id])).get(asset.id)
        if link is None:
            kept = kept_versions(asset, context.target.operations, context.policy)
            outcome = await removed_before(context, asset, version_key(kept[-1]) if kept else "")
            return Prepared(work, asset=asset, outcome=outcome)
        return Prepared(work, asset=asset, link=link)

    async def _fetch(self, work: Work) -> Asset:
        try:
            return await self.context.source.fetch(work.asset)
        except NotFound as error:
            gone = self.missing.from_source(work.asset)
            await trash_partial_create(self.context, work)
            raise gone from error

    # -- drafting: one at a time, in the order of the listing, so that names fall the same way in every run --------

    async def draft(self, prepared: Prepared) -> Prepared:
        """The draft, with the terms, containers and the file name it needs made sure of."""
        if prepared.outcome is not None or prepared.asset is None:
            return prepared
        await self._know_target()
        try:
            return await self._draft(prepared, prepared.asset)
        except DamSyncError as error:
            return replace(prepared, outcome=self.outcome_of(error.within(asset=prepared.work.asset), prepared.work))

    async def _know_target(self) -> None:
        """Read, once, what drafts are made of; what goes wrong here concerns the run and not one asset."""
        known = await self.terms.known()
        if not self.told:
            await refuse_lost_terms(self.context, known)
            self.told = True
        if self.context.crosswalk.plan.placements:
            await self.containers.known()

    async def _draft(self, prepared: Prepared, asset: Asset) -> Prepared:
        crosswalk = self.context.crosswalk
        if not crosswalk.selects(asset) and prepared.link is None:
            return replace(prepared, outcome=NOT_SELECTED)
        marker = marker_value(self.context.source_account.tenant, asset.id)
        drafted = await self._drafted(asset, marker)
        if drafted.new_terms and not drafted.rejections and await self.origins.load(asset):
            drafted = await self._drafted(asset, marker)
        if drafted.rejections and prepared.link is None and not prepared.work.begun:
            return replace(prepared, drafted=drafted, outcome=rejected(drafted))
        exposure = judge(self.context, asset, drafted, prepared.link, await self._containers())
        if exposure.parked is not None:
            await remember_release(self.context, asset, exposure.parked)
            return replace(prepared, drafted=drafted, outcome=exposure.parked)
        if not crosswalk.selects(asset):
            return replace(prepared, drafted=drafted, outcome=NOT_SELECTED, hide=exposure.closed)
        refused = rejected(drafted) or unfit(self.context, asset, drafted.draft, prepared.link)
        if refused is None:
            drafted = await self._with_terms(asset, drafted, marker, new=prepared.link is None)
            refused = rejected(drafted)
        if refused is not None:
            return replace(prepared, drafted=drafted, outcome=refused, hide=exposure.closed)
        return await self._completed(replace(prepared, asset=asset, drafted=exposure.applied(drafted)), marker)

    async def _with_terms(self, asset: Asset, drafted: Drafted, marker: str, *, new: bool) -> Drafted:
        """The draft once the terms it needs are made. Raises Conflict, Unsupported before anything is made where the
        asset will be parked."""
        if not drafted.new_terms:
            return drafted
        self.terms.refuse_unmakeable(drafted.new_terms)
        await self.containers.refuse_unmakeable(drafted.draft.placements)
        await self.names.allocate(asset, drafted.draft, marker, new=new)
        await self.terms.ensure([(key, self.origins.completed(term)) for key, term in drafted.new_terms])
        return await self._drafted(asset, marker)

    async def _drafted(self, asset: Asset, marker: str) -> Drafted:
        drafted = await draft_of(self.context, self.origins.whole(asset), marker, await self.terms.known())
        if await self.terms.completed():  # a term that no run met before
            drafted = await draft_of(self.context, self.origins.whole(asset), marker, await self.terms.known())
        if self.terms.pathless() and await self.origins.load(asset):  # its label alone may lead to a namesake
            drafted = await draft_of(self.context, self.origins.whole(asset), marker, await self.terms.known())
        return drafted

    async def _completed(self, prepared: Prepared, marker: str) -> Prepared:
        """With the file name that is free, and the containers made."""
        asset, drafted = prepared.whole()
        draft = await self.names.allocate(asset, drafted.draft, marker, new=prepared.link is None)
        draft = replace(draft, placements=await self.containers.resolve(draft.placements))
        related = self.context.crosswalk.related(asset)
        losses = (*drafted.losses, *left_versions(asset, self.context))
        return replace(prepared, asset=related, drafted=replace(drafted, draft=draft, losses=losses))

    async def _containers(self) -> Known:
        """The target's containers, where the mapping places anything."""
        return await self.containers.known() if self.context.crosswalk.plan.placements else {}

    # -- writing: any number at once ------------------------------------------------------------------------------

    async def write(self, prepared: Prepared) -> Outcome | None:
        """Do what has to be done; None when the work was put back for later."""
        work = prepared.work
        try:
            if prepared.outcome is not None:
                return await self._concluded(prepared, prepared.outcome)
            return await TargetWriter(self.context).act(prepared)
        except NotFound as error:
            told = await self.missing.while_writing(error, work.asset, prepared.link)
            if told.code == CAUSE:
                await trash_partial_create(self.context, replace(work, begun=True))
            return self.outcome_of(told, work)
        except DamSyncError as error:
            error.within(asset=work.asset)
            if error.disposition is Disposition.RESTART and work.attempt < MAX_ATTEMPTS:
                await self.context.store.retry(work, 0.0)
                return None
            self.terms.doubted = True  # a term may be gone since it was met
            return self.outcome_of(error, work)

    async def _concluded(self, prepared: Prepared, outcome: Outcome) -> Outcome:
        """The outcome of work that is not written, once what must not be visible is hidden."""
        if outcome.cause.startswith(EXPOSURE):
            await trash_partial_create(self.context, prepared.work)
        if not prepared.hide or prepared.link is None:
            return outcome
        return replace(outcome, link=await TargetWriter(self.context).hide(prepared.work, prepared.link))

    def outcome_of(self, error: DamSyncError, work: Work) -> Outcome:
        """A parked outcome, or the error itself again when it concerns more than this asset."""
        if error.disposition in (Disposition.STOP, Disposition.RETRY):
            raise error
        log.warning("asset.parked", asset=work.asset, cause=error.cause, message=error.message)
        return Outcome(
            action="parked",
            cause=error.cause,
            message=error.message,
            hint=error.hint,
            operation=error.operation,
            passing=error.passing,
        )


def left_versions(asset: Asset, context: RunContext) -> tuple[Loss, ...]:
    """Older versions that the policy leaves behind; those that the target cannot hold are a loss of their own."""
    older = len(asset.versions) - 1
    if older < 1 or context.policy.versions == "all" or "versions" not in context.target_schema.holds:
        return ()
    return (Loss("versions", "policy versions: current", f"{older} older"),)


def rejected(drafted: Drafted) -> Outcome | None:
    """Why the mapping parks the asset, if it does."""
    if not drafted.rejections:
        return None
    first: Loss = drafted.rejections[0]
    told = "; ".join(f"{loss.path}: {loss.rule} {loss.detail}".strip() for loss in drafted.rejections)
    return Outcome(
        action="parked",
        cause=f"mapping {first.path}: {first.rule}",
        message=told,
        hint="change the value at the source or the line in the mapping file; by another mapping it is tried again",
        operation="mapping",
    )
