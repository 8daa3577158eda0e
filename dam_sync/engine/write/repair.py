"""`run --repair`: restores what somebody changed at the target to what the draft says, if the policy allows it.

Each linked asset is read at the target. Additions of others stay (unless `extras: fail`); a field that changed on both
sides is a conflict; what would make an asset visible that somebody hid or restricted by hand is left unless the
job accepts it. Assets that are gone are not created again: see `guards.missing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.engine.compare.facts import Members, is_other_date, scope_of
from dam_sync.engine.compare.file_keys import ATTACHMENTS, RELATIONS, VERSIONS, version_key
from dam_sync.engine.compare.files import FilePair, pair_files
from dam_sync.engine.compare.parts import VALUES
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.patches import merge_patches, overlay
from dam_sync.engine.decide.prepared import Remainder
from dam_sync.engine.decide.repair_patch import RepairPatch, repaired_paths
from dam_sync.engine.decide.three_way import Files, kept_values
from dam_sync.engine.decide.update import fixed_among, fresh_versions, possible
from dam_sync.engine.guards.exposure import seen_though_closed
from dam_sync.engine.read.asset_facts import AssetFacts
from dam_sync.engine.read.compared import with_unsure
from dam_sync.engine.read.expected import expected_files
from dam_sync.engine.read.facts import facts_of
from dam_sync.engine.read.members import TARGET, UNREAD, UNSURE
from dam_sync.engine.read.relations import lacking_relations
from dam_sync.engine.read.seen import living_asset
from dam_sync.engine.read.shown import Shown, shown, shows_more
from dam_sync.engine.write.conflict_settler import Attempt, Settler, three_way_of
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Patch, Rights
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import draft_from_json, rights_to_json
from dam_sync.model.conflict import DATES, FIELDS, FILE
from dam_sync.model.errors import ContractBroken
from dam_sync.model.exposure import EXPOSURE, ExposureResult, ExposureRule, ExposureRuling, Purpose
from dam_sync.model.link import LinkRow, profile_of
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.policy import Policy
from dam_sync.model.values import Json, value_to_json
from dam_sync.store.store import SqlStore


def repaired_of(operation: str, detail: Json) -> Sequence[str]:
    """The parts that a ledger row says were repaired; none for other writes. Several rows of an asset may name the same
    part."""
    return detail["repaired"] if journal_names.is_repair(operation) else ()


@dataclass(slots=True)
class _Lost:
    """What a link lists but the target no longer has, by key, and what cannot be restored."""

    versions: list[str] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Repairer:
    """Compares assets with what the target actually has; writes nothing."""

    source: Source
    target: Target
    crosswalk: Crosswalk
    store: SqlStore
    policy: Policy

    @classmethod
    def of(cls, context: RunContext) -> Repairer:
        """That of a run."""
        task, state = context.task, context.state
        return cls(context.source, context.target, context.mapping.crosswalk, state.store, task.policy)

    async def remainder(self, facts: AssetFacts, read: Asset | None = None) -> Remainder:
        """What is left to restore of a linked asset. read: the asset of the target, if it was read already, else that
        costs one read. Raises NotFound."""
        asset, draft, link = facts.asset, facts.draft, facts.link
        if link is None:
            raise ContractBroken("a repair without a link", asset=asset.id)
        there = await self._actual(read or await living_asset(self.target, link), link, draft)
        before = [link.draft, *facts.intents]
        opened = bool(seen_though_closed(self.target, draft, there))
        base = merge_patches(before, draft)
        fresh = bool(fresh_versions(facts.versions, link))
        files = Files(link, asset.file, fresh, expected_files(link, facts.intents, asset.versions))
        compared = three_way_of(self.target, draft, base, before, there, files)
        actual = compared.actual
        settlement = await Settler(self.source, self.target, self.store, self.policy).settlement(
            compared, asset, Attempt(facts.journal, facts.work.begun)
        )
        if settlement.open:
            return Remainder(settlement, link)
        kept = self._still_there(kept_values(link, draft, asset.file), actual)
        stands = {**kept, **settlement.values}
        settlement = replace(settlement, filename=self._name_of(stands, link))
        draft = overlay(draft, stands)
        if asset.file is None:  # some services report a name although there is no file
            draft = replace(draft, filename=base.filename or "")
        wanted = self._patch(asset, draft, before, actual)
        patch, fixed = possible(wanted, self.target.schema, profile_of(link, draft))
        if opened and patch.closed is None:  # it was made visible at the target
            patch = replace(patch, closed=True)
        patch, losses = self._without_reopening(shown(self.target, draft, actual, before), patch, settlement.patch)
        hidden = compared.expected.is_hidden_by_us(there, self.target.schema)
        if patch.rights is None and hidden and not draft.closed:  # what an attempt took away for a time is given back
            patch = replace(patch, rights=actual.rights)
        lost = self._lost_files(facts, actual, link)
        relations = await lacking_relations(self.target, self.store, asset, actual, link)
        lacking = {(relation.kind, str(relation.target)) for relation in relations} & set(link.relations)
        seen = replace(
            link,
            versions=tuple(key for key in link.versions if key not in lost.versions),
            attachments=tuple(key for key in link.attachments if key not in lost.attachments),
            relations=tuple(pair for pair in link.relations if pair not in lacking),
        )
        parts = ((FILE, lost.versions), (ATTACHMENTS, lost.attachments), (RELATIONS, lacking))
        paths = repaired_paths(patch, base, settlement.patch, actual.rights)
        paths += [part for part, some in parts if some]
        # without anything to restore, the update is that of a normal run, and so is its row in the ledger
        values = _before(actual, patch) if paths else link.draft
        settlement = replace(settlement, patch=patch)
        return Remainder(settlement, seen, values, tuple(paths), (*fixed, *losses, *lost.losses))

    def _name_of(self, stands: Mapping[str, Json], link: LinkRow) -> str:
        """The file name that stands at the target, which a version sent again keeps; empty for that of the draft,
        which takes the place of one that no call changed."""
        fixed = "filename" in fixed_among(link.kept, self.target.schema)
        return "" if fixed else str(stands.get("filename") or "")

    def _still_there(self, kept: Mapping[str, Json], actual: Asset) -> dict[str, Json]:
        """Values that the target keeps. One with terms that only the target had, and that the asset has no more, is as
        it is now: others may have renamed or removed these."""
        schema, found = self.target.schema, dict(kept)
        for path, value in kept.items():
            key = path.removeprefix(FIELDS) if path.startswith(FIELDS) else ""
            vocabulary = schema.fields[key].vocabulary if key in schema.fields else ""
            if vocabulary:
                now = value_to_json(actual.fields[key]) if key in actual.fields else None
                lost = _term_ids(value) - _term_ids(now)
                if not all(self.target.counterparts.has_term(vocabulary, one) for one in lost):
                    found[path] = now
        return found

    async def _actual(self, actual: Asset, link: LinkRow, draft: Draft) -> Asset:
        """An asset of the target as it was read, with the containers that list it, and the names that drafts have."""
        if Operation.MEMBERS in self.target.service.capabilities:
            key, unsure = AssetId(f"{TARGET}{link.target}"), AssetId(f"{UNSURE}{link.target}")
            members = await self.store.members_of([key, unsure, UNREAD])
            wanted = draft.placements | draft_from_json(link.draft).placements
            actual = replace(actual, placements=actual.placements | members.get(key, frozenset()))
            doubtful = members.get(unsure, frozenset()) | members.get(UNREAD, frozenset())
            actual = with_unsure(actual, wanted, doubtful, self.target.schema)
        # what an interrupted run queued is written at the end of this one, unless it is queued otherwise
        added, removed = await self.store.queued_placements(link.target)
        actual = replace(actual, placements=(actual.placements | added) - removed)
        return self.target.counterparts.as_known(actual, self.target.schema)

    def _patch(self, asset: Asset, draft: Draft, states: Sequence[Json], actual: Asset) -> Patch:
        named = draft if asset.file is not None else replace(draft, filename="")
        return RepairPatch(
            draft=named,
            states=states,
            actual=actual,
            facts=facts_of(self.target, members=Members.ALL),
            scope=scope_of(self.crosswalk),
            keep=self.policy.extras != "fail",
        ).patch()

    def _without_reopening(self, now: Shown, patch: Patch, update: Patch) -> tuple[Patch, list[Loss]]:
        """A repair does not reopen what was hidden or restricted by hand, unless the job accepts it. Status and rights
        are then those that the update of a normal run leaves, with the dates that show the asset for less time."""
        if patch.closed is not None or (patch.status is None and patch.rights is None and not patch.cleared):
            return patch, []
        left, then = now.after(update), now.after(patch)
        if not shows_more(self.target, left, then):
            return patch, []
        rule = ExposureRule.REOPENED
        if self.policy.exposure.accepts(rule, Purpose.REPAIR):
            return patch, [Loss(EXPOSURE, str(ExposureRuling(rule, ExposureResult.ACCEPTED)))]
        rights = self._with_closing_dates(left, then)
        cleared = frozenset(name for name in patch.cleared | update.cleared if getattr(rights, DATES[name]) is None)
        kept = replace(patch, status=update.status, rights=rights, cleared=cleared)
        if rights == now.draft.rights:
            kept = replace(kept, rights=None, cleared=frozenset())
        return kept, [Loss(EXPOSURE, str(ExposureRuling(rule, ExposureResult.LEFT_CLOSED)))]

    def _with_closing_dates(self, left: Draft, then: Draft) -> Rights:
        """The rights that are left, with each date of `then` by which nobody sees the asset longer or sooner."""
        target = self.target.service
        if target.audience(left).hidden:
            return left.rights
        for name in DATES.values():
            date = getattr(then.rights, name)
            trial = replace(left, rights=replace(left.rights, **{name: date}))
            moved = is_other_date(date, getattr(left.rights, name), target.limits.precision)
            if date is not None and moved and not shows_more(self.target, left, trial):
                left = trial
        return left.rights

    def _lost_files(self, facts: AssetFacts, actual: Asset, link: LinkRow) -> _Lost:
        """Files of ours that somebody replaced or removed. An older version cannot be restored before newer ones."""
        able = self.target.service.capabilities
        files, lost = pair_files(facts.asset, actual, facts.versions, link), _Lost()
        wrong = [(pair.part, pair.key) for pair in files.pairs if _differs(pair, link)]
        wrong += [(part, version_key(file)) for part, file in files.missing if not _is_current(part, file, actual)]
        for part, key in wrong:
            if part == ATTACHMENTS and Operation.ATTACH in able:
                lost.attachments.append(key)
            elif part == FILE and Operation.REPLACE in able and key in link.versions:
                lost.versions.append(key)
            elif part != FILE or key in link.versions:
                lost.losses.append(Loss(part, LossRule.NOT_REPAIRED, WHY[part]))
        return lost


WHY: Mapping[str, str] = {
    FILE: "the target does not accept new file versions",
    VERSIONS: "an older version cannot be restored before newer ones",
    ATTACHMENTS: "the target does not accept attachments",
}


def _before(actual: Asset, patch: Patch) -> Json:
    """The parts of the asset that a patch changes, in the form of a draft."""
    fields = {key: value_to_json(actual.fields[key]) for key in patch.fields if key in actual.fields}
    values = {part.name: getattr(actual, part.name) for part in VALUES}
    return {"fields": fields, **values, "rights": rights_to_json(actual.rights)}


def _term_ids(value: Json) -> set[str]:
    rows = value if isinstance(value, list) else [value]
    return {str(row["id"]) for row in rows if isinstance(row, dict) and row.get("id")}


def _is_current(part: str, ours: FileRef, actual: Asset) -> bool:
    """Whether an older version of the source is the current file of the target: newer ones are still to come."""
    return part == VERSIONS and actual.file is not None and ours.agrees(actual.file)


def _differs(pair: FilePair, link: LinkRow) -> bool:
    """Whether the target has another file, by what both services report and what was sent, or by what a verification
    found."""
    return not pair.agrees or link.proofs.get(pair.key) == "V0"
