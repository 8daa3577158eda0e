"""What follows for one asset: from what was last written, and, where the change may overwrite what somebody else wrote
or the run compares the asset, from what the target has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.change import AssetChange
from dam_sync.engine.decide.conflicts import Settlement
from dam_sync.engine.decide.patches import may_overwrite, merge_patches
from dam_sync.engine.decide.prepared import Basis, PreparedWrite, Remainder, prepared
from dam_sync.engine.decide.three_way import Files
from dam_sync.engine.decide.update import Decision, Park, Skip, Write, decide
from dam_sync.engine.read.asset_facts import AssetFacts
from dam_sync.engine.read.expected import expected_files
from dam_sync.engine.read.seen import living_asset, refuse_trashed
from dam_sync.engine.write.conflict_settler import Attempt, Settler, three_way_of
from dam_sync.engine.write.repair import Repairer
from dam_sync.engine.write.resumed_creates import ResumedCreate
from dam_sync.model.asset import Asset, AssetId, Loss, Patch
from dam_sync.model.codec import draft_to_json
from dam_sync.model.link import LinkRow
from dam_sync.model.loss_rules import LossRule

AssetDecision: TypeAlias = PreparedWrite | Skip | Park


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides about assets of one context; writes nothing to the target."""

    context: RunContext

    async def of(self, facts: AssetFacts) -> AssetDecision:
        """What happens to this asset. How conflicts are settled is recorded in its journal. Raises the errors of the
        target, and NotFound for an asset that is gone or in the trash there; safe to repeat."""
        repair = await Repairer.of(self.context).remainder(facts) if facts.repairs else None
        if repair is not None and repair.settlement.open:
            return _parked(facts, repair)
        decided = self._decided(facts, repair)
        if isinstance(decided, Skip) and repair is not None and _is_news(facts, repair):
            decided = Write(AssetChange())
        match decided:
            case Park():
                return decided
            case Skip():
                return Skip(await self._drift(facts) if repair is None else repair.losses)
            case Write():
                found = repair or await self._found(facts, decided)
                return _parked(facts, found) if found.settlement.open else prepared(decided, found, self._basis(facts))

    def _decided(self, facts: AssetFacts, repair: Remainder | None) -> Decision:
        """By what was last written, or, for a repair, by what of it the target has."""
        context, link, patch = self.context, facts.link, None
        if repair is not None:
            link, patch = repair.link, repair.settlement.patch
        elif link is not None and facts.intents:
            patch = merge_patches([link.draft, *facts.intents], facts.draft)
        reads = context.source.service.capabilities
        return decide(facts.asset, facts.draft, link, context.target.schema, context.task.policy, patch, reads)

    def _basis(self, facts: AssetFacts) -> Basis:
        return Basis(facts.asset, facts.draft, facts.link, self.context.target.schema, facts.versions)

    async def _found(self, facts: AssetFacts, decided: Write) -> Remainder:
        """What is left of a new asset, or of an update."""
        if facts.link is not None:
            return await self._beside_target(facts, decided, facts.link)
        if facts.intents:
            return await (await ResumedCreate.of(self.context, facts)).remainder()
        return Remainder(Settlement(Patch()), before={})

    async def _beside_target(self, facts: AssetFacts, decided: Write, link: LinkRow) -> Remainder:
        """What is left of an update. Reads the asset at the target if it may overwrite what somebody else wrote, or if
        the rotation compares it, else only whether it is in the trash there."""
        change, context = decided.change, self.context
        overwrites = may_overwrite(change.patch, bool(change.versions), context.target.schema)
        due = facts.due and not facts.restores
        untouched = Remainder(Settlement(change.patch), link, link.draft)
        if not (overwrites or due):
            if not (change.empty or facts.restores):
                await refuse_trashed(context.target, link)
            return untouched
        if facts.restores:  # a plan still finds it in the trash
            actual = await context.target.service.fetch(AssetId(link.target))
            actual = replace(actual, status=link.draft["status"], substatus="")
        else:
            actual = await living_asset(context.target, link)
        settlement = await self._settled(facts, decided, link, actual) if overwrites else untouched.settlement
        drift = await self._drift(facts, actual) if due else ()
        before = (*settlement.before, *(each for each in drift if each not in decided.losses))
        return replace(untouched, settlement=replace(settlement, before=before))

    async def _settled(self, facts: AssetFacts, decided: Write, link: LinkRow, actual: Asset) -> Settlement:
        """What to write over an asset of the target as it was read."""
        context, draft, change = self.context, facts.draft, decided.change
        seen = context.target.counterparts.as_known(actual, context.target.schema, draft)
        files = Files(
            link, facts.asset.file, bool(change.versions), expected_files(link, facts.intents, facts.asset.versions)
        )
        compared = three_way_of(context.target, draft, change.patch, [link.draft, *facts.intents], seen, files)
        return await Settler(context.source, context.target, context.state.store, context.task.policy).settlement(
            compared, facts.asset, Attempt(facts.journal, facts.work.begun)
        )

    async def _drift(self, facts: AssetFacts, read: Asset | None = None) -> tuple[Loss, ...]:
        """What others changed at the target, if the rotation compares the asset. read: the asset there, if it was read
        already."""
        if facts.link is None or not facts.due:
            return ()
        found = await Repairer.of(self.context).remainder(facts, read)
        return (*(Loss(path, LossRule.CHANGED_AT_TARGET) for path in found.paths), *found.losses)


def _parked(facts: AssetFacts, found: Remainder) -> Park:
    """Set aside for its conflicts; hidden if it must not be seen."""
    link = facts.link or LinkRow(facts.asset.id, "", filename=facts.draft.filename)
    return Park(found.settlement.parked(link), hides=facts.draft.closed and facts.link is not None)


def _is_news(facts: AssetFacts, repair: Remainder) -> bool:
    """Whether there is something to record though there is nothing to write: conflicts that were settled, or a draft
    that the target has already, because an attempt wrote it that was not completed."""
    written = facts.link is not None and facts.link.draft == draft_to_json(facts.draft)
    return bool(repair.settlement.settled) or not written
