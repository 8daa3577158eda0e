"""What a write, or the opening of a file, has of the parts whose costs are in `facts.COSTS`, at service D."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Relation, Rights
from dam_sync.model.costs import Amounts, CostPart, PlanMemory
from dam_sync.model.values import Term
from dam_sync.model.writes import (
    CarriedMemberships,
    Change,
    Membership,
    Opening,
    Renaming,
    TrashMove,
)
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import PUBLISHED
from dam_sync.services.d_templates.source.open import TemplatesOpen
from dam_sync.services.d_templates.target.update import TemplatesUpdate, cleared_by, status_term
from dam_sync.services.d_templates.taxonomy.collections import TemplatesCollections
from dam_sync.services.d_templates.uploads.uploader import TemplatesUploads

PLANNED = "planned-"  # ids of what a dry run would have made; the run itself knows their ids when it needs them


class TemplatesEstimate(TemplatesOpen, TemplatesCollections, TemplatesUpdate, TemplatesUploads):
    """Exact after `schema()`, for assets whose ids are known or will be; the search index is never used."""

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        match change:
            case Draft() | FileRef():
                tags = self._tag_amounts(change.tags, planned) if isinstance(change, Draft) else Counter[str]()
                completes = counted[CostPart.CHUNKED] or (counted[CostPart.BYTES] > 0 and self.uploader.completes)
                return counted + tags + Counter({facts.COMPLETED: int(bool(completes))})
            case Patch():
                return self._tag_amounts(change.tags_add, planned) + self._patch_amounts(change, planned)
            case Opening():
                return self._opening_amounts(change, planned)
            case TrashMove():
                known = self.version_groups.ids.get(change.asset)
                return counted + Counter({facts.DELETED: len(known.files) if known is not None else 1})
            case Renaming():
                return counted + Counter({self._filling: int(not isinstance(change.part, Term))})
            case _:
                return counted + self._joining_amounts(change, planned)

    def _joining_amounts(self, change: Change, planned: PlanMemory) -> Amounts:
        match change:
            case Membership():
                return self._placing_amounts(change, planned)
            case CarriedMemberships():
                return self._carrying_amounts(len(change.containers), planned)
            case Relation():
                return self._relation_amounts(change, planned)
            case _:
                return Counter()

    def _opening_amounts(self, opening: Opening, planned: PlanMemory) -> Amounts:
        """The first file of those whose links come together pays for all of them; a link is never asked for alone."""
        shared = self.shared_link(opening.file)
        if shared is None:
            return Counter({facts.CHUNK_EXPOSED: 1} if opening.link else {CostPart.OPENED: 1})
        return Counter({facts.CHUNK_EXPOSED: int(planned.first(("links", shared)))})

    def _tag_amounts(self, tags: frozenset[str], planned: PlanMemory) -> Amounts:
        """New tags are added together."""
        named, forms = self.api.options.named, self.tenant.forms.now
        if not named.tags or forms is None or not tags:
            return Counter()
        values = forms.lexicon.get(forms.by_key[named.tags].vocabulary)
        fresh = planned.new(("tag", tag) for tag in tags if not (values and values.named(tag)))
        return Counter({facts.NEW_TAGS: int(bool(fresh))})

    def _patch_amounts(self, patch: Patch, planned: PlanMemory) -> Amounts:
        named = self.api.options.named
        rights = patch.rights or Rights()
        tags = bool(named.tags and (patch.tags_add or patch.tags_remove))
        cleared = cleared_by(patch, named)
        fields = patch.fields or cleared or tags or (named.status and patch.status)
        dated = (named.release and rights.release_at) or (named.expiry and rights.expires_at)
        closes = patch.closed is not None
        if not (fields or dated or rights.groups or closes):
            return Counter()
        empties = bool(cleared) or any(value in (None, "", ()) for value in patch.fields.values())
        empties = empties or self._empties_status(patch.status or "")
        proofs = self._proof_reads(planned, metadata=bool(fields or dated), security=bool(rights.groups) or closes)
        return Counter({facts.CHANGED: 1, facts.UPDATE_SEEN: int(tags) + int(empties) + proofs})

    def _proof_reads(self, planned: PlanMemory, *, metadata: bool, security: bool) -> int:
        """Reads around the first update of each kind, or before every update if all attributes have to be sent."""
        proof = self.proof
        first = metadata and proof.partial is None and planned.first("metadata")
        secured = security and not proof.replaces and planned.first("security")
        return 2 if first else int(secured) + int(metadata and proof.partial is False)

    def _empties_status(self, status: str) -> bool:
        """Whether the status dropdown has no value for this status, so that it is emptied and read back."""
        named, forms = self.api.options.named, self.tenant.forms.now
        if forms is None or not named.status or status != PUBLISHED:
            return False
        return status_term(status, forms, named) is None

    @property
    def _filling(self) -> str:
        return facts.FILLED_WHOLE if self._fills_whole else facts.FILLED

    def _placing_amounts(self, membership: Membership, planned: PlanMemory) -> Amounts:
        """The collection is read before and after the first addition, and those of the first addition to members: none
        of a collection that the run makes are there at first."""
        place = membership.placement
        if place.kind != "collection":
            return Counter()
        lookups = sum(self._unknown(asset) for asset in membership.assets)
        batches = -(-len(membership.assets) // self.limits.member_batch)
        seen = batches if self._fills_whole else 0
        for _ in range(0 if self._fills_whole else batches):
            empty = planned.first(("filled", place.id)) and place.id.startswith(PLANNED)
            seen += 2 if planned.new(self._unproven([] if empty else ["add"])) else 0
        return Counter({facts.UNKNOWN_ASSET: lookups, self._filling: batches, facts.COLLECTION_SEEN: seen})

    def _unproven(self, proofs: Iterable[str]) -> set[tuple[str, str]]:
        """What the next change of members proves, with the form itself."""
        forms = {*proofs} - self._keeps_others | (set() if self._fills_by_changes else {"fill"})
        return {("members", form) for form in forms}

    def _carrying_amounts(self, containers: int, planned: PlanMemory) -> Amounts:
        """Each is read, then gets a file and loses another."""
        if not containers:
            return Counter()
        unseen = {("members", form) for form in {"add", "remove"} - self._keeps_others}
        seen = 2 * (containers if self._fills_whole else len(planned.new(unseen)))
        planned.first(("members", "fill"))
        return Counter({self._filling: 2 * containers, facts.COLLECTION_SEEN: seen})

    def _relation_amounts(self, relation: Relation, planned: PlanMemory) -> Amounts:
        """The owner was just created or changed, so it is known, except when nothing was read in this session yet."""
        first = planned.first("relate") and not self.version_groups.ids
        return Counter({facts.UNKNOWN_ASSET: int(first) + self._unknown(relation.target)})

    def _unknown(self, asset: AssetId) -> int:
        return int(not asset.startswith(PLANNED) and self.version_groups.ids.get(asset) is None)
