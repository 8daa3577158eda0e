"""Applies a decision to one asset: creates, updates, adds versions and attachments, each write once."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dam_sync.engine.changes import changes_of_draft, changes_of_patch
from dam_sync.engine.decide import (
    Create,
    Park,
    Skip,
    Update,
    decide,
    fresh_attachments,
    fresh_relations,
    version_key,
)
from dam_sync.engine.intents import merge_patches, record_intent, recorded_intents
from dam_sync.engine.probation import refuse_removed
from dam_sync.engine.repair import Repair, Repairer, refuse_conflicts
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.stages import DraftedAsset
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Patch, Placement, Relation, digest_of
from dam_sync.model.capabilities import Feature, MembershipWrite
from dam_sync.model.codec import draft_to_json, fingerprint
from dam_sync.model.errors import Conflict, ContractBroken, NotFound
from dam_sync.model.ports import Call, Content, Journal
from dam_sync.model.service import TRASH
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, current_record, recording
from dam_sync.store.rows import LinkRow, Outcome, Work

DIGESTS = ("sha256", "md5", "sha1")  # the first of these that is known goes into the ledger


@dataclass(frozen=True, slots=True)
class NamespacedJournal(Journal):
    """A journal whose entries have a prefix, so that the same upload can be recorded for several versions."""

    journal: Journal
    prefix: str

    async def run(
        self,
        name: str,
        call: Call,
        *,
        reconcile: Call | None = None,
        ttl: timedelta | None = None,
        idempotent: bool = False,
    ) -> Json:
        """See `Journal.run`."""
        return await self.journal.run(self.prefix + name, call, reconcile=reconcile, ttl=ttl, idempotent=idempotent)

    async def discard(self, *names: str) -> None:
        """See `Journal.discard`."""
        await self.journal.discard(*(self.prefix + name for name in names))

    async def get(self, name: str) -> Json:
        """See `Journal.get`."""
        return await self.journal.get(self.prefix + name)


@dataclass(frozen=True, slots=True)
class DeferredWrites:
    """Writes deferred until all assets exist."""

    placed: frozenset[Placement] = frozenset()
    unplaced: frozenset[Placement] = frozenset()
    relations: frozenset[Relation] = frozenset()


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
        link, repair = item.link, await self._to_repair(item, meant)
        patch = merge_patches([link.draft, *meant], drafted.draft) if link is not None and meant else None
        if repair is not None:
            link, patch = repair.link, repair.patch
        action = decide(asset, drafted.draft, link, context.target_schema, context.policy, patch)
        match action:
            case Park():
                return Outcome(action="parked", cause=action.cause, message=action.message, hint=action.hint)
            case Skip():
                return self._completed("unchanged", item, item.link, losses=repair.losses if repair else ())
            case Create():
                return await self._create(item, action, meant)
            case Update():
                return await self._update(item, action, meant, repair)

    async def _to_repair(self, item: DraftedAsset, meant: Sequence[Json]) -> Repair | None:
        """What a repairing run has to restore of a linked asset. Raises Conflict."""
        asset, drafted, link = item.asset, item.drafted, item.link
        if link is None or not self.context.repair:
            return None
        try:
            return await Repairer(self.context).of(asset, drafted.draft, link, meant)
        except Conflict:
            if drafted.draft.closed:
                await self.hide(item.work, link)
            raise

    async def hide(self, work: Work, link: LinkRow) -> LinkRow:
        """Hide the target asset from ordinary users and return its new link. Safe to repeat."""
        if link.draft.get("closed"):
            return link
        journal = self.context.store.journal(work, self.context.run.id)
        update = self.context.target.update
        patch = Patch(closed=True)
        with self._recording(link.target, changes_of_patch(patch, link.draft, self.context.policy.ledger)):
            await journal.run(journal_names.HIDE, lambda: _void(update(AssetId(link.target), patch)), idempotent=True)
        return replace(link, draft={**link.draft, "closed": True})

    async def _create(self, item: DraftedAsset, action: Create, meant: Sequence[Json]) -> Outcome:
        asset, drafted = item.asset, item.drafted
        target, draft = self.context.target, drafted.draft
        journal = self.context.store.journal(item.work, self.context.run.id)
        number = await record_intent(journal, draft, meant)

        async def create() -> Json:
            first = action.versions[0] if action.versions else None
            scoped = NamespacedJournal(journal, journal_names.inside(journal_names.CREATE))
            if first is None:
                return await target.create(draft, None, scoped)
            async with self._contents(first, draft, asset.file) as content:
                made = await target.create(draft, content, scoped)
                _sent(content)
                return made

        with self._recording("", changes_of_draft(draft, self.context.policy.ledger)):
            made = AssetId(await journal.run(journal_names.CREATE, create, idempotent=True))
        changed = merge_patches(meant, draft)
        attachments = fresh_attachments(asset, None, target.capabilities)
        try:
            if not changed.empty:  # the source changed between a crash and this run
                await self._apply(made, changed, meant[-1] if meant else {}, number, journal)
            await self._add_versions(made, action.versions[1:], asset.file, draft, journal)
            await self._attach(made, attachments, journal)
        except NotFound:
            await refuse_removed(self.context, asset.id, made, (_keys(action.versions) or ("",))[-1])
            raise
        relations = fresh_relations(asset, None, self.context.target_schema)
        link = self._link(asset, draft, made, action.versions)
        link = replace(link, attachments=_keys(attachments), relations=_pairs(relations))
        return self._completed("created", item, link, DeferredWrites(draft.placements, relations=relations))

    async def _update(
        self, item: DraftedAsset, action: Update, meant: Sequence[Json], repair: Repair | None
    ) -> Outcome:
        asset, drafted, link = item.asset, item.drafted, item.link
        if link is None:
            raise ContractBroken("an update without a link", asset=asset.id)
        journal = self.context.store.journal(item.work, self.context.run.id)
        known = AssetId(link.target)
        number = await record_intent(journal, drafted.draft, meant)
        if repair is not None and repair.paths:
            await self._repair(known, action.patch, repair, journal)
        elif not action.patch.empty:
            try:
                if repair is None:  # otherwise it was already compared
                    await self._refuse_conflict(known, link, action.patch, meant)
            except Conflict:
                if action.patch.closed:
                    await self.hide(item.work, link)
                raise
            await self._apply(known, action.patch, link.draft, number, journal)
        again = self.context.run.id if repair is not None else None
        await self._add_versions(known, action.versions, asset.file, drafted.draft, journal, again)
        await self._attach(known, action.attachments, journal, again)
        written = frozenset(_keys((*action.versions, *action.attachments)))
        fresh = replace(
            self._link(asset, drafted.draft, known, action.versions),
            versions=(*link.versions, *_keys(action.versions)),
            attachments=tuple(dict.fromkeys((*link.attachments, *_keys(action.attachments)))),
            relations=tuple(dict.fromkeys((*link.relations, *_pairs(action.relations)))),
            made_at=self._now() if action.versions or action.attachments else link.made_at,
            proofs={key: proof for key, proof in link.proofs.items() if key not in written},
        )
        bulk = DeferredWrites(action.patch.placements_add, action.patch.placements_remove, action.relations)
        return self._completed("updated", item, fresh, bulk, (*action.losses, *(repair.losses if repair else ())))

    async def _repair(self, known: AssetId, patch: Patch, repair: Repair, journal: Journal) -> None:
        """The update of a repair, recorded with what it restored; once per run, because the next one may find more."""

        async def call() -> Json:
            if not patch.empty:
                await self.context.target.update(known, patch)
            return repair.detail

        changes = changes_of_patch(patch, repair.before, self.context.policy.ledger)
        with self._recording(known, changes):
            await journal.run(journal_names.repair(self.context.run.id), call, idempotent=True)

    async def _apply(self, known: AssetId, patch: Patch, before: Json, number: int, journal: Journal) -> None:
        """One update. before: the draft last written; number: the number of this draft among those of the asset."""
        update = self.context.target.update
        with self._recording(known, changes_of_patch(patch, before, self.context.policy.ledger)):
            await journal.run(journal_names.update(number), lambda: _void(update(known, patch)), idempotent=True)

    def _recording(self, target: str, changes: Mapping[str, Json]) -> AbstractContextManager[WriteRecord]:
        return recording(WriteRecord(target, changes))

    async def _add_versions(
        self,
        made: AssetId,
        versions: tuple[FileRef, ...],
        current: FileRef | None,
        draft: Draft,
        journal: Journal,
        again: int | None = None,
    ) -> None:
        for file in versions:
            name = journal_names.version(version_key(file), again)

            async def add(file: FileRef = file, name: str = name) -> Json:
                async with self._contents(file, draft, current) as content:
                    scoped = NamespacedJournal(journal, journal_names.inside(name))
                    await self.context.target.replace(made, content, scoped)
                    _sent(content)
                return True

            with self._recording(made, {"version": [None, file.name]}):
                await journal.run(name, add, idempotent=True)

    async def _attach(
        self, made: AssetId, files: Iterable[FileRef], journal: Journal, again: int | None = None
    ) -> None:
        for file in files:
            name = journal_names.attachment(version_key(file), again)

            async def attach(file: FileRef = file, name: str = name) -> Json:
                async with self.context.contents(file, file.name) as content:
                    scoped = NamespacedJournal(journal, journal_names.inside(name))
                    await self.context.target.attach(made, content, scoped)
                    _sent(content)
                return True

            with self._recording(made, {"attachment": [None, file.name]}):
                await journal.run(name, attach, idempotent=True)

    async def _refuse_conflict(self, known: AssetId, link: LinkRow, patch: Patch, meant: Sequence[Json]) -> None:
        """Raises Conflict if somebody else changed at the target what this update is about to change."""
        overwrites = patch.fields or patch.filename is not None or patch.status is not None
        if self.context.policy.conflicts != "park" or not overwrites:
            return
        now = await self.context.target.fetch(known)
        if now.status == TRASH:
            raise NotFound(f"{known} is in the target's trash", asset=link.source)
        refuse_conflicts(self.context, now, link, patch, [link.draft, *meant])

    def _contents(self, file: FileRef, draft: Draft, current: FileRef | None) -> AbstractAsyncContextManager[Content]:
        """The current file gets the draft's name; an older one keeps its own if names do not identify assets."""
        mapped = file is current or not self.context.target.capabilities.writes(Feature.SAME_NAMES)
        return self.context.contents(file, draft.filename if mapped else file.name or draft.filename)

    def _link(self, asset: Asset, draft: Draft, made: AssetId, versions: tuple[FileRef, ...]) -> LinkRow:
        """As it will be settled; see `_completed`."""
        current, meant = asset.file, draft_to_json(draft)
        return LinkRow(
            source=asset.id,
            target=made,
            draft_fingerprint=digest_of(meant),
            filename=draft.filename,
            evidence="V1",
            digests=dict(current.digests) if current else {},
            size=current.size if current else None,
            versions=_keys(versions),
            draft=meant,
            made_at=self._now(),
        )

    def _now(self) -> datetime | None:
        """When a file was uploaded, if the service may still remove it."""
        return self.context.clock.now() if self.context.target.limits.dedup_window else None

    def _completed(
        self,
        action: str,
        item: DraftedAsset,
        link: LinkRow | None,
        bulk: DeferredWrites = NOTHING,
        losses: tuple[Loss, ...] = (),
    ) -> Outcome:
        asset, drafted = item.asset, item.drafted
        if link is None:
            raise ContractBroken("nothing to settle", asset=item.work.asset)
        target, capabilities = AssetId(link.target), self.context.target.capabilities
        rows = [(p, target, True) for p in sorted(bulk.placed, key=str)] + [(p, target, False) for p in bulk.unplaced]
        rows = [row for row in rows if capabilities.membership(row[0].kind) is MembershipWrite.IN_BULK]
        return Outcome(
            action=action,
            losses=[
                {"path": loss.path, "rule": loss.rule, "detail": loss.detail} for loss in (*drafted.losses, *losses)
            ],
            link=replace(link, source_revision=asset.revision, source_fingerprint=fingerprint(asset)),
            placements=tuple(rows),
            relations=tuple((relation.kind, relation.target) for relation in sorted(bulk.relations, key=str)),
            evidence=link.evidence,
        )


def _keys(files: Iterable[FileRef]) -> tuple[str, ...]:
    return tuple(version_key(file) for file in files)


def _pairs(relations: Iterable[Relation]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((relation.kind, str(relation.target)) for relation in relations))


def _sent(content: Content) -> None:
    """Record for the ledger which bytes were sent."""
    record = current_record()
    if record is not None:
        record.size = content.size
        algorithm = next((name for name in DIGESTS if name in content.digests), "")
        record.digest = f"{algorithm}:{content.digests[algorithm]}" if algorithm else ""


async def _void(call: Awaitable[None]) -> Json:
    await call
    return True
