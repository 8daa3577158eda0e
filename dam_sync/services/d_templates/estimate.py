"""Estimates the API calls of a write, by endpoint, without making any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement, Relation, Rights
from dam_sync.model.connector import Context
from dam_sync.model.service import Calls
from dam_sync.model.values import Term
from dam_sync.model.writes import CarriedMemberships, Change, Membership, PartRemoval, Renaming, TrashMove
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import PUBLISHED
from dam_sync.services.d_templates.target.update import TemplatesUpdate, cleared_by, status_term
from dam_sync.services.d_templates.taxonomy.collections import TemplatesCollections
from dam_sync.services.d_templates.uploads.uploader import TemplatesUploads

PLANNED = "planned-"  # ids of what a dry run would have made; the run itself knows their ids when it needs them


class TemplatesEstimate(TemplatesCollections, TemplatesUpdate, TemplatesUploads):
    """Exact after `schema()`, for assets whose ids are known or will be; the search index is never used."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._counted: set[str] = set()  # what happens once a session
        self._planned_tags: set[str] = set()
        self._had_members: set[str] = set()  # collections

    def estimate_saved(self, change: Change) -> Calls:
        return {facts.VERSIONS: 1} if isinstance(change, FileRef) else {}

    def estimate(self, change: Change, size: int | None = None) -> Calls:
        match change:
            case TrashMove():
                return self._trash_calls(change)
            case Renaming():
                return self._renaming_calls(change)
            case CarriedMemberships():
                return +self._carrying_calls(len(change.containers))
            case _:
                return self._calls_of(change, size)

    def _renaming_calls(self, change: Renaming) -> Calls:
        """A value is renamed like one is added; a collection is read before and after."""
        if isinstance(change.part, Term):
            return self.estimate_terms((change.part,))
        return {facts.COLLECTION: 2, facts.FILL_WHOLE if self._fills_whole else facts.FILL: 1}

    def _trash_calls(self, move: TrashMove) -> Calls:
        """One for each version, and two looks."""
        known = self.version_groups.ids.get(move.asset)
        return {facts.VERSIONS: 2, facts.DELETE: len(known.files) if known is not None else 1}

    def _calls_of(self, change: Change, size: int | None) -> Calls:
        match change:
            case Draft():
                return +(self._tag_calls(change.tags) + self._upload_calls(size or 0))
            case FileRef():
                return +(self._upload_calls(change.size or size or 0) + Counter({facts.VERSIONS: 1}))
            case Patch():
                return +self._patch_calls(change)
            case Term():
                return self.estimate_terms((change,))
            case Placement():
                return {facts.ADD_COLLECTION: 1}
            case Membership():
                return +self._placing_calls(change)
            case Relation() | PartRemoval():
                return +self._relation_calls(change)
            case _:
                return {}

    def estimate_terms(self, terms: Sequence[Term]) -> Calls:
        """One round per level of a cascade, because every level is a vocabulary of its own."""
        rounds = len({max(1, len(term.path)) for term in terms})
        return {facts.ADD_TERMS: rounds, facts.APPLY: rounds, facts.VOCABULARY: rounds}

    def _upload_calls(self, size: int) -> Counter[str]:
        """The record; for an upload session also its completion and one read of the processed record."""
        completes = self.limits.parts_for(size) is not None or (size > 0 and self.uploader.completes)
        return Counter({facts.CREATE: 1, facts.COMPLETE: int(completes), facts.ASSET: int(completes)})

    def _tag_calls(self, tags: frozenset[str]) -> Counter[str]:
        """New tags are added together."""
        named, forms = self.api.options.named, self.tenant.forms.now
        if not named.tags or forms is None or not tags:
            return Counter()
        values = forms.lexicon.get(forms.by_key[named.tags].vocabulary)
        fresh = {tag for tag in tags if tag not in self._planned_tags and not (values and values.named(tag))}
        self._planned_tags |= fresh
        return Counter({facts.ADD_TERMS: 1, facts.APPLY: 1, facts.VOCABULARY: 1}) if fresh else Counter()

    def _patch_calls(self, patch: Patch) -> Counter[str]:
        named = self.api.options.named
        rights = patch.rights or Rights()
        tags = bool(named.tags and (patch.tags_add or patch.tags_remove))
        cleared = cleared_by(patch, named)
        fields = patch.fields or cleared or tags or (named.status and patch.status)
        dated = (named.release and rights.release_at) or (named.expiry and rights.expires_at)
        calls = self._tag_calls(patch.tags_add)
        closes = patch.closed is not None
        if not (fields or dated or rights.groups or closes):
            return calls
        empties = bool(cleared) or any(value in (None, "", ()) for value in patch.fields.values())
        empties = empties or self._empties_status(patch.status or "")
        seen = int(tags) + int(empties) + self._proof_calls(bool(fields or dated), bool(rights.groups) or closes)
        return calls + Counter({facts.UPDATE: 1, facts.ASSET: seen})

    def _proof_calls(self, metadata: bool, security: bool) -> int:
        """Reads around the first update of each kind, or before every update if all attributes have to be sent."""
        proof = self.proof
        first = metadata and proof.partial is None and "metadata" not in self._counted
        secured = security and not proof.replaces and "security" not in self._counted
        self._counted |= {name for name, new in (("metadata", first), ("security", secured)) if new}
        return 2 if first else int(secured) + int(metadata and proof.partial is False)

    def _empties_status(self, status: str) -> bool:
        """Whether the status dropdown has no value for this status, so that it is emptied and read back."""
        named, forms = self.api.options.named, self.tenant.forms.now
        if forms is None or not named.status or status != PUBLISHED:
            return False
        return status_term(status, forms, named) is None

    def _placing_calls(self, membership: Membership) -> Counter[str]:
        if membership.placement.kind != "collection":
            return Counter()
        lookups = sum(self._unknown(asset) for asset in membership.assets)
        batches = -(-len(membership.assets) // self.limits.member_batch)
        operation = facts.FILL_WHOLE if self._fills_whole else facts.FILL
        seen = batches if self._fills_whole else sum(self._proof_reads(membership.placement) for _ in range(batches))
        return Counter({facts.VERSIONS: lookups, operation: batches, facts.COLLECTION: seen})

    def _proof_reads(self, collection: Placement) -> int:
        """The collection is read before and after the first addition, and those of the first addition to members: none
        of a collection that the run makes are there at first."""
        filled = collection.id in self._had_members or not collection.id.startswith(PLANNED)
        self._had_members.add(collection.id)
        proofs = ["fill"] * (not self._fills_by_changes) + ["add"] * (filled and "add" not in self._keeps_others)
        unseen = [proof for proof in proofs if proof not in self._counted]
        self._counted.update(unseen)
        return 2 if unseen else 0

    def _carrying_calls(self, containers: int) -> Counter[str]:
        """Each is read, then gets a file and loses another."""
        operation = facts.FILL_WHOLE if self._fills_whole else facts.FILL
        unseen = {"add", "remove"} - self._keeps_others - self._counted
        seen = 2 * (containers if self._fills_whole else len(unseen))
        self._counted |= {"fill", *unseen} if containers else set()
        return Counter({operation: 2 * containers, facts.COLLECTION: containers + (seen if containers else 0)})

    def _relation_calls(self, relation: Relation | PartRemoval) -> Counter[str]:
        """The owner was just created or changed, so it is known, except when nothing was read in this session yet. For
        a removal both families are read, and the links of the current version, which usually has it."""
        if isinstance(relation, PartRemoval):
            return Counter({facts.VERSIONS: 2, facts.LINKS: 1, facts.UNRELATE: 1})
        first = int(not self.version_groups.ids and "relate" not in self._counted)
        self._counted.add("relate")
        return Counter({facts.VERSIONS: first + self._unknown(relation.target), facts.RELATE: 1})

    def _unknown(self, asset: AssetId) -> int:
        return int(not asset.startswith(PLANNED) and self.version_groups.ids.get(asset) is None)
