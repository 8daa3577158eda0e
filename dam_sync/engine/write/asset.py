"""Applies a decision to one asset: creates, updates, adds versions and attachments, each write once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from dam_sync.engine.compare.file_keys import VERSIONS, fresh_relations, kept_versions, version_key, without_attachments
from dam_sync.engine.compare.files import as_sent
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import DraftedAsset
from dam_sync.engine.decide.change import AssetChange, AssetCreate
from dam_sync.engine.decide.conflicts import Settlement
from dam_sync.engine.decide.operations import HIDE, digest_of_change
from dam_sync.engine.decide.patches import (
    changes_of,
    changes_of_patch,
    may_overwrite,
    merge_patches,
    overlay,
)
from dam_sync.engine.decide.removals import with_relations
from dam_sync.engine.decide.three_way import Files, kept_values
from dam_sync.engine.decide.update import (
    Create,
    Park,
    Skip,
    Update,
    decide,
    fixed_among,
    fixed_values,
    fresh_attachments,
    not_carried,
)
from dam_sync.engine.read.expected import expected_files
from dam_sync.engine.read.intents import record_intent, recorded_intents
from dam_sync.engine.read.linked import with_present_names
from dam_sync.engine.read.seen import living_asset, refuse_trashed
from dam_sync.engine.write.accounts import account_of
from dam_sync.engine.write.change_writer import ChangeWriter, ValuesCall
from dam_sync.engine.write.conflict_settler import Attempt, Settler, three_way_of
from dam_sync.engine.write.files import SourceFiles
from dam_sync.engine.write.repair import Repair, Repairer
from dam_sync.engine.write.resumed_creates import ResumedCreate
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Patch, Placement, Relation, digest_of
from dam_sync.model.capabilities import MembershipWrite
from dam_sync.model.codec import draft_from_json, draft_to_json, fingerprint
from dam_sync.model.conflict import FILE
from dam_sync.model.errors import ContractBroken
from dam_sync.model.journal import NamespacedJournal, note_fact
from dam_sync.model.link import LinkRow
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.outcome import Outcome
from dam_sync.model.policy import REPAIR
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json
from dam_sync.store.journal import StoredJournal
from dam_sync.store.rows import Work

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DeferredWrites:
    """Writes deferred until all assets exist."""

    placed: frozenset[Placement] = frozenset()
    unplaced: frozenset[Placement] = frozenset()
    relations: frozenset[Relation] = frozenset()
    unrelated: frozenset[Relation] = frozenset()


NOTHING = DeferredWrites()


@dataclass(frozen=True, slots=True)
class TargetWriter:
    """Writes to the target of one context."""

    context: RunContext

    async def act(self, item: DraftedAsset) -> Outcome:
        """Write the asset and return its outcome. Raises the errors of the target."""
        context = self.context
        asset, drafted = item.asset, item.drafted
        journal = context.store.journal(item.work, context.run.id)
        meant = await recorded_intents(journal) if item.work.begun else []
        meant, item = [self._present(one) for one in meant], await self._with_own_parts(item, journal)
        link, repair = item.link, await self._to_repair(item, meant)
        if link is not None and repair is not None and repair.settlement.open:
            return await self._parked(item, link, repair.settlement)
        patch = merge_patches([link.draft, *meant], drafted.draft) if link is not None and meant else None
        if repair is not None:
            link, patch = repair.link, repair.patch
        reads = context.source.capabilities
        action = decide(asset, drafted.draft, link, context.target_schema, context.policy, patch, reads)
        match action:
            case Park():
                return Outcome(action="parked", cause=action.cause, message=action.message, hint=action.hint)
            case Skip() if repair is not None and (repair.settlement.settled or self._is_new(drafted.draft, item.link)):
                return await self._update(item, Update(Patch()), meant, repair)
            case Skip():
                losses = repair.losses if repair is not None else await self._drift(item, meant)
                return self._completed("unchanged", item, item.link, losses=losses)
            case Create():
                return await self._create(item, action, meant)
            case Update():
                return await self._update(item, action, meant, repair)

    def _is_new(self, draft: Draft, link: LinkRow | None) -> bool:
        """Whether another draft was written last: one that the target has already, because an attempt wrote it that was
        not completed, is recorded as written."""
        return link is not None and link.draft != draft_to_json(draft)

    def _present(self, draft: Json) -> Json:
        return self.context.counterparts.present(draft, self.context.target_schema)

    async def _with_own_parts(self, item: DraftedAsset, journal: Journal) -> DraftedAsset:
        """The item with the link by present names, without attachments that an interrupted attempt removed and that are
        at the source again."""
        if item.link is None:
            return item
        link = with_present_names(self.context, item.link)
        if item.work.begun:
            here = [version_key(file) for file in item.asset.attachments]
            begun = {key: await journal.get(journal_names.detaching(key)) for key in here if key in link.attachments}
            back = {key: sent for key, sent in begun.items() if sent is not None}
            await ChangeWriter(self.context, AssetId(link.target), journal).write(AssetChange(detach=back))
            link = without_attachments(link, back)
        return replace(item, link=link)

    async def _to_repair(self, item: DraftedAsset, meant: Sequence[Json]) -> Repair | None:
        """What has to be restored of a linked asset, by a repairing run or by the rotation."""
        by_rotation = self.context.policy.drift == REPAIR and self.context.compares(item.asset.id)
        if item.link is None or item.restores or not (self.context.repair or by_rotation):
            return None
        journal = self.context.store.journal(item.work, self.context.run.id)
        attempt = Attempt(journal, item.work.begun)
        return await Repairer(self.context).of(item.asset, item.drafted.draft, item.link, meant, attempt)

    async def _parked(self, item: DraftedAsset, link: LinkRow, settlement: Settlement) -> Outcome:
        """Set aside for its conflicts; hidden if it must not be seen."""
        outcome = settlement.parked(link)
        log.warning("asset.parked", asset=link.source, cause=str(outcome.cause), message=outcome.message)
        return await self.hidden(outcome, item.work, link) if item.drafted.draft.closed else outcome

    async def _drift(self, item: DraftedAsset, meant: Sequence[Json], read: Asset | None = None) -> tuple[Loss, ...]:
        """What others changed at the target, if the rotation compares the asset. read: the asset there, if it was read
        already."""
        link, context = item.link, self.context
        if link is None or not context.compares(item.asset.id):
            return ()
        attempt = Attempt(context.store.journal(item.work, context.run.id), item.work.begun)
        found = await Repairer(context).of(item.asset, item.drafted.draft, link, meant, attempt, read)
        return (*(Loss(path, LossRule.CHANGED_AT_TARGET) for path in found.paths), *found.losses)

    async def hidden(self, outcome: Outcome, work: Work, link: LinkRow) -> Outcome:
        """Hide the target asset from ordinary users; the outcome with its new link. Safe to repeat."""
        if link.draft.get("closed"):
            return replace(outcome, link=link)
        await self.context.agree(work, HIDE)
        journal = self.context.store.journal(work, self.context.run.id)
        patch = Patch(closed=True)
        await record_intent(journal, {**link.draft, "closed": True}, await recorded_intents(journal))
        values = ValuesCall(journal_names.HIDE, changes_of_patch(patch, link.draft, self.context.policy.ledger))
        await ChangeWriter(self.context, AssetId(link.target), journal).write(AssetChange(patch=patch), values)
        return replace(outcome, link=replace(link, draft={**link.draft, "closed": True}), digest=HIDE)

    async def _create(self, item: DraftedAsset, action: Create, meant: Sequence[Json]) -> Outcome:
        asset, drafted = item.asset, item.drafted
        wanted = drafted.draft
        attachments = fresh_attachments(asset, None, self.context.target.capabilities)
        relations = fresh_relations(asset, None, self.context.target_schema)
        as_json = draft_to_json(wanted)
        intent = AssetChange(
            create=AssetCreate(wanted, next(iter(action.versions), None)),
            versions=action.versions[1:],
            attachments=attachments,
            relations=relations,
        )
        digest = await self.context.agree(item.work, digest_of_change(intent))
        journal = self.context.store.journal(item.work, self.context.run.id)
        resumed, written = Settlement(Patch()), None
        if meant:
            link = self._link(asset, as_json, AssetId(""), action.versions)
            found = await (await self._resumed(item, meant, journal)).settlement(asset, wanted, link)
            resumed, written = found.settlement, found.written
            if resumed.open:
                return resumed.parked(link)
        number = await record_intent(journal, as_json, meant, action.versions, attachments)
        draft = overlay(wanted, resumed.values)
        # the source may have changed between a crash and this run
        change = replace(
            intent,
            create=AssetCreate(draft, next(iter(action.versions), None)),
            patch=resumed.patch,
            versions=() if FILE in resumed.values else intent.versions,
        )
        values = self._values(resumed.patch, meant[-1] if meant else {}, number)
        sent = await ChangeWriter(self.context, AssetId(""), journal).write(change, values, SourceFiles(asset, draft))
        link = replace(
            self._link(asset, as_json, sent.asset, action.versions, sent.current),
            attachments=_keys(attachments),
            attached=sent.attached,
            relations=_pairs(relations),
            kept={**await self._created_before(item, action, written, journal), **resumed.values},
        )
        if FILE in resumed.values:
            link = replace(link, digests={}, size=None)
        bulk = DeferredWrites(draft.placements, relations=relations)
        return self._completed("created", item, link, bulk, resumed.losses, digest=digest)

    async def _created_before(
        self, item: DraftedAsset, action: Create, written: Json, journal: StoredJournal
    ) -> dict[str, Json]:
        """What an earlier attempt gave a new asset and no call changes since. written: the draft with which it created
        the asset; None if none did."""
        if written is None:
            return {}
        later = [await journal.get(journal_names.version(key)) for key in _keys(action.versions[1:])[-1:]]
        begun = replace(self._link(item.asset, written, AssetId(""), action.versions), draft=written)
        return fixed_values(begun, item.drafted.draft, self.context.target_schema, replaced=None in later)

    async def _resumed(self, item: DraftedAsset, meant: Sequence[Json], journal: StoredJournal) -> ResumedCreate:
        """The create that an earlier attempt began."""
        prefix = journal_names.inside(journal_names.CREATE)
        inner, entered = NamespacedJournal(journal, prefix), await journal.has_entries(prefix)
        return ResumedCreate(self.context, meant, Attempt(journal, item.work.begun), inner, entered)

    async def _update(
        self, item: DraftedAsset, action: Update, meant: Sequence[Json], repair: Repair | None
    ) -> Outcome:
        asset, drafted, link = item.asset, item.drafted, item.link
        if link is None:
            raise ContractBroken("an update without a link", asset=asset.id)
        journal, known = self.context.store.journal(item.work, self.context.run.id), AssetId(link.target)
        settlement = repair.settlement if repair is not None else await self._settled(item, link, action, meant)
        if settlement.open:
            return await self._parked(item, link, settlement)
        patch = action.patch if repair is not None else settlement.patch
        versions = () if FILE in settlement.values else action.versions
        change = action.change(patch, versions, repair.paths if repair is not None else ())
        digest = await self.context.agree(item.work, digest_of_change(change))
        as_json = draft_to_json(drafted.draft)
        number = await record_intent(journal, as_json, meant, versions, action.attachments)
        if repair is not None and repair.paths:
            values = await self._repaired_values(patch, repair, journal)
        else:
            values = self._values(patch, link.draft, number)
        named = await self._named(drafted.draft, settlement, journal, repair) if versions else drafted.draft
        files = SourceFiles(
            asset,
            named,
            again=self.context.run.id if repair is not None else None,
            resent=frozenset((*link.versions, *link.attachments)) if repair is not None else frozenset(),
            places=drafted.draft.placements & draft_from_json(link.draft).placements,
            bare=not link.versions,
        )
        sent = await ChangeWriter(self.context, known, journal).write(change, values, files)
        file = sent.current if action.versions else FileRef("", link.filename, link.size, digests=link.digests)
        link = action.removals.applied(link)
        written = frozenset(_keys((*versions, *action.attachments)))
        fresh = replace(
            self._link(asset, as_json, known, action.versions, file),
            versions=(*link.versions, *_keys(action.versions)),
            attachments=tuple(dict.fromkeys((*link.attachments, *_keys(action.attachments)))),
            attached={**link.attached, **sent.attached},
            relations=with_relations(link.relations, _pairs(action.relations)),
            made_at=self._made_at(link, bool(versions or action.attachments)),
            proofs={key: proof for key, proof in link.proofs.items() if key not in written},
            kept=self._kept(asset, drafted.draft, link, settlement, replaced=bool(versions)),
        )
        if FILE in settlement.values:
            fresh = replace(fresh, digests=link.digests, size=link.size)
        bulk = DeferredWrites(patch.placements_add, patch.placements_remove, change.relations, change.unrelated)
        losses = (*action.losses, *(repair.losses if repair else ()), *settlement.losses)
        nothing = patch.empty and action.removals.gone.empty and not (change.adds or action.losses)
        outcome = self._completed("unchanged" if nothing else "updated", item, fresh, bulk, losses, digest=digest)
        return replace(outcome, message=changes_of(change))

    def _kept(
        self, asset: Asset, draft: Draft, link: LinkRow, settlement: Settlement, *, replaced: bool
    ) -> dict[str, Json]:
        """What the target has instead of the draft: after conflicts, and because no call changes it; and the versions
        that it does not get."""
        schema = self.context.target_schema
        held = kept_values(link, draft, asset.file)
        held = {path: held[path] for path in held.keys() - fixed_among(held, schema)}
        stands = fixed_values(link, draft, schema, replaced=replaced)
        missing = not_carried(kept_versions(asset, schema.capabilities, self.context.policy), link)
        return {**held, **stands, **settlement.values, **({VERSIONS: list(missing)} if missing else {})}

    async def _repaired_values(self, patch: Patch, repair: Repair, journal: Journal) -> ValuesCall:
        """The update of a repair; once per run, because the next one may find more. What it restores is recorded
        before: an attempt after a crash finds only the rest."""
        run, number = self.context.run.id, 1
        while await journal.get(journal_names.restoring(run, number)) not in (None, repair.detail):
            number += 1
        changes = changes_of_patch(patch, repair.before, self.context.policy.ledger)
        noted = journal_names.restoring(run, number)
        return ValuesCall(journal_names.repair(run), changes, repair.detail, noted)

    def _values(self, patch: Patch, before: Json, number: int) -> ValuesCall:
        """One update. before: the draft last written; number: the number of this draft among those of the asset."""
        return ValuesCall(journal_names.update(number), changes_of_patch(patch, before, self.context.policy.ledger))

    async def _named(self, draft: Draft, settlement: Settlement, journal: Journal, repair: Repair | None) -> Draft:
        """The draft with the file name that stands at the target: new versions bring their own, after which nothing
        shows what it was. A repair keeps only one that was recorded."""
        known = await journal.get(journal_names.FILENAME) if repair is None else settlement.filename
        if settlement.filename and known is None:
            known = await note_fact(journal, journal_names.FILENAME, settlement.filename)
        return replace(draft, filename=known) if known else draft

    async def _settled(self, item: DraftedAsset, link: LinkRow, action: Update, meant: Sequence[Json]) -> Settlement:
        """What to write of an update. Reads the asset at the target if it may overwrite what somebody else wrote, or if
        the rotation compares it, else only whether it is in the trash there."""
        context, asset = self.context, item.asset
        overwrites = may_overwrite(action.patch, bool(action.versions), context.target_schema)
        due = context.compares(asset.id) and not item.restores
        if not (overwrites or due):
            if action.writes and not item.restores:
                await refuse_trashed(context, link)
            return Settlement(action.patch)
        if item.restores:  # a plan still finds it in the trash
            actual = await context.target.fetch(AssetId(link.target))
            actual = replace(actual, status=link.draft["status"], substatus="")
        else:
            actual = await living_asset(context, link)
        found = await self._compared(item, link, action, meant, actual) if overwrites else Settlement(action.patch)
        drift = await self._drift(item, meant, actual) if due else ()
        return replace(found, before=(*found.before, *(each for each in drift if each not in action.losses)))

    async def _compared(
        self, item: DraftedAsset, link: LinkRow, action: Update, meant: Sequence[Json], actual: Asset
    ) -> Settlement:
        """What to write over an asset of the target as it was read."""
        context, asset, draft = self.context, item.asset, item.drafted.draft
        seen = context.counterparts.as_known(actual, context.target_schema, draft)
        expected = expected_files(link, meant, asset.versions)
        files = Files(link, asset.file, bool(action.versions), expected)
        compared = three_way_of(context, draft, action.patch, [link.draft, *meant], seen, files)
        journal = context.store.journal(item.work, context.run.id)
        return await Settler(context).settlement(compared, asset, Attempt(journal, item.work.begun))

    def _link(
        self, asset: Asset, meant: Json, made: AssetId, versions: tuple[FileRef, ...], sent: FileRef | None = None
    ) -> LinkRow:
        """As it will be settled; see `_completed`. meant: the draft as JSON; sent: the current file as it was sent,
        which counts where the source reports no size or no digest."""
        current = asset.file if sent is None or asset.file is None else as_sent(asset.file, sent)
        return LinkRow(
            source=asset.id,
            target=made,
            draft_fingerprint=digest_of(meant),
            filename=meant["filename"],
            evidence="V1",
            digests=dict(current.digests) if current else {},
            size=current.size if current else None,
            versions=_keys(versions),
            draft=meant,
            made_at=self._now(),
        )

    def _made_at(self, link: LinkRow, uploaded: bool) -> datetime | None:
        """When a file was uploaded to an asset that exists, if the service may still delete it."""
        return self._now() if uploaded and self.context.target.limits.dedup_window else link.made_at

    def _now(self) -> datetime | None:
        """When a file was uploaded, if it is open whether it stays."""
        return self.context.clock.now() if self.context.target.limits.probation else None

    def _completed(
        self,
        action: str,
        item: DraftedAsset,
        link: LinkRow | None,
        bulk: DeferredWrites = NOTHING,
        losses: tuple[Loss, ...] = (),
        *,
        digest: str = "",
    ) -> Outcome:
        asset, drafted = item.asset, item.drafted
        if link is None:
            raise ContractBroken("nothing to settle", asset=item.work.asset)
        target, capabilities = AssetId(link.target), self.context.target.capabilities
        rows = [(p, target, True) for p in sorted(bulk.placed, key=str)] + [(p, target, False) for p in bulk.unplaced]
        rows = [row for row in rows if capabilities.membership(row[0].kind) is MembershipWrite.IN_BULK]
        lost = (*drafted.losses, *losses)
        return Outcome(
            action=action,
            losses=[{"path": loss.path, "rule": loss.rule, "detail": loss.detail} for loss in lost],
            account=account_of(self.context, asset, drafted, lost, link.kept),
            link=replace(link, source_revision=asset.revision, source_fingerprint=fingerprint(asset)),
            placements=tuple(rows),
            relations=(
                *((relation.kind, relation.target, False) for relation in sorted(bulk.unrelated, key=str)),
                *((relation.kind, relation.target, True) for relation in sorted(bulk.relations, key=str)),
            ),
            evidence=link.weakest,
            digest=digest,
        )


def _keys(files: Iterable[FileRef]) -> tuple[str, ...]:
    return tuple(version_key(file) for file in files)


def _pairs(relations: Iterable[Relation]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((relation.kind, str(relation.target)) for relation in relations))
