"""One asset, from what is known of it to its outcome.

    read    what the state has of it: its link, and what interrupted attempts left       `read.asset_facts`
    decide  one decision: set it aside, leave it, or a change of it and of its link      `write.decisions`
    write   the intent, durably; then the calls of the change, each once                 `write.change_writer`
    record  the outcome, with the new link and what is written once all assets exist     `TargetWriter.act`

Every write of a run takes this way: creates, also those that were begun, updates, and repairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stages import DraftedAsset
from dam_sync.engine.decide.change import AssetChange
from dam_sync.engine.decide.operations import HIDE, digest_of_change
from dam_sync.engine.decide.patches import changes_of, changes_of_patch
from dam_sync.engine.decide.prepared import PreparedWrite, link_after
from dam_sync.engine.decide.update import Park, Skip
from dam_sync.engine.read.asset_facts import AssetFacts, facts_of_asset
from dam_sync.engine.read.intents import record_intent, recorded_intents
from dam_sync.engine.write.accounts import account_of
from dam_sync.engine.write.change_writer import ChangeWriter, ValuesCall
from dam_sync.engine.write.decisions import Decider
from dam_sync.engine.write.files import SourceFiles
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Draft, Loss, Patch
from dam_sync.model.capabilities import MembershipWrite
from dam_sync.model.codec import draft_from_json, draft_to_json, fingerprint
from dam_sync.model.errors import ContractBroken
from dam_sync.model.journal import note_fact
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.store.rows import Work

log = structlog.get_logger(__name__)
NOTHING = AssetChange()


@dataclass(frozen=True, slots=True)
class TargetWriter:
    """Writes to the target of one context."""

    context: RunContext

    async def act(self, item: DraftedAsset) -> Outcome:
        """Write the asset and return its outcome. Raises the errors of the target; safe to repeat."""
        facts = await facts_of_asset(self.context.target, self.context.state, self.context.task, item)
        if facts.returned:  # first, because they are sent again like any other attachment
            await self._writer(facts).write(AssetChange(detach=facts.returned))
        decision = await Decider(self.context).of(facts)
        match decision:
            case Park():
                return await self._parked(facts, decision)
            case Skip():
                return self._completed(facts, "unchanged", facts.link, decision.losses)
            case PreparedWrite():
                return await self._written(facts, decision)

    async def _written(self, facts: AssetFacts, decision: PreparedWrite) -> Outcome:
        intent, change, draft = decision.intent, decision.change, draft_to_json(facts.draft)
        digest = await self.context.task.agree(facts.work, digest_of_change(intent))
        number = await record_intent(facts.journal, draft, facts.intents, intent.files, intent.attachments)
        values, files = await self._values(facts, decision, number), await self._files(facts, decision)
        sent = await self._writer(facts).write(change, values, files)
        link = link_after(decision, facts.asset, draft, sent, self._made_at(facts, change))
        outcome = self._completed(facts, decision.action, link, decision.losses, change)
        return replace(outcome, digest=digest, message="" if change.create is not None else changes_of(change))

    async def _parked(self, facts: AssetFacts, decision: Park) -> Outcome:
        outcome, link = decision.outcome, facts.link
        if outcome.conflicts:
            log.warning("asset.parked", asset=facts.asset.id, cause=str(outcome.cause), message=outcome.message)
        return outcome if link is None or not decision.hides else await self.hidden(outcome, facts.work, link)

    async def hidden(self, outcome: Outcome, work: Work, link: LinkRow) -> Outcome:
        """Hide the target asset from ordinary users; the outcome with its new link. Safe to repeat."""
        if link.draft.get("closed"):
            return replace(outcome, link=link)
        await self.context.task.agree(work, HIDE)
        journal = self.context.state.store.journal(work, self.context.state.run.id)
        patch = Patch(closed=True)
        await record_intent(journal, {**link.draft, "closed": True}, await recorded_intents(journal))
        values = ValuesCall(journal_names.HIDE, changes_of_patch(patch, link.draft, self.context.task.policy.ledger))
        await ChangeWriter(self.context, AssetId(link.target), journal).write(AssetChange(patch=patch), values)
        return replace(outcome, link=replace(link, draft={**link.draft, "closed": True}), digest=HIDE)

    # -- what the calls need ------------------------------------------------------------------------------------------

    def _writer(self, facts: AssetFacts) -> ChangeWriter:
        return ChangeWriter(self.context, AssetId(facts.link.target if facts.link else ""), facts.journal)

    async def _values(self, facts: AssetFacts, decision: PreparedWrite, number: int) -> ValuesCall:
        """The update. number: of this draft among those of the asset. That of a repair is one of its run, because the
        next one may find more; what it restores is recorded before: an attempt after a crash finds only the rest."""
        changes = changes_of_patch(decision.change.patch, decision.before, self.context.task.policy.ledger)
        if not decision.change.paths:
            return ValuesCall(journal_names.update(number), changes)
        run, detail, number = self.context.state.run.id, {"repaired": list(decision.change.paths)}, 1
        while await facts.journal.get(journal_names.restoring(run, number)) not in (None, detail):
            number += 1
        return ValuesCall(journal_names.repair(run), changes, detail, journal_names.restoring(run, number))

    async def _files(self, facts: AssetFacts, decision: PreparedWrite) -> SourceFiles:
        """What is known of the files that are sent. A repair sends those again that the link has."""
        link, change = facts.link, decision.change
        if change.create is not None or link is None:
            return SourceFiles(facts.asset, change.create.draft if change.create is not None else facts.draft)
        return SourceFiles(
            facts.asset,
            await self._named(facts, decision) if change.versions else facts.draft,
            again=self.context.state.run.id if facts.repairs else None,
            resent=frozenset((*link.versions, *link.attachments)) if facts.repairs else frozenset(),
            places=facts.draft.placements & draft_from_json(link.draft).placements,
            bare=not link.versions,
        )

    async def _named(self, facts: AssetFacts, decision: PreparedWrite) -> Draft:
        """The draft with the file name that stands at the target: new versions bring their own, after which nothing
        shows what it was. A repair keeps only one that was recorded."""
        known = decision.filename if facts.repairs else await facts.journal.get(journal_names.FILENAME)
        if decision.filename and known is None:
            known = await note_fact(facts.journal, journal_names.FILENAME, decision.filename)
        return replace(facts.draft, filename=known) if known else facts.draft

    # -- the outcome --------------------------------------------------------------------------------------------------

    def _made_at(self, facts: AssetFacts, change: AssetChange) -> datetime | None:
        """Since when it is open whether the asset stays, or what was uploaded to it."""
        limits, now = self.context.target.service.limits, self.context.clock.now()
        if facts.link is None:
            return now if limits.probation else None
        uploaded = change.versions or change.attachments
        return now if uploaded and limits.dedup_window else facts.link.made_at

    def _completed(
        self,
        facts: AssetFacts,
        action: str,
        link: LinkRow | None,
        losses: tuple[Loss, ...],
        change: AssetChange = NOTHING,
    ) -> Outcome:
        """With what is written once all assets exist: memberships in bulk, and relations."""
        asset, drafted = facts.asset, facts.drafted
        if link is None:
            raise ContractBroken("nothing to settle", asset=asset.id)
        target, capabilities = AssetId(link.target), self.context.target.service.capabilities
        rows = [(place, target, True) for place in sorted(change.placed, key=str)]
        rows += [(place, target, False) for place in change.unplaced]
        lost = (*drafted.losses, *losses)
        return Outcome(
            action=action,
            losses=[{"path": loss.path, "rule": loss.rule, "detail": loss.detail} for loss in lost],
            account=account_of(self.context.target, self.context.task.policy, asset, drafted, lost, link.kept),
            link=replace(link, source_revision=asset.revision, source_fingerprint=fingerprint(asset)),
            placements=tuple(row for row in rows if capabilities.membership(row[0].kind) is MembershipWrite.IN_BULK),
            relations=(
                *((relation.kind, relation.target, False) for relation in sorted(change.unrelated, key=str)),
                *((relation.kind, relation.target, True) for relation in sorted(change.relations, key=str)),
            ),
            evidence=link.weakest,
        )
