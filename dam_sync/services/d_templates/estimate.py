"""What writing costs at service D, in API calls by endpoint; no call is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement, Relation, Rights
from dam_sync.model.service import Calls, Change, Membership
from dam_sync.model.values import Term
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi
from dam_sync.services.d_templates.codec.forms import PUBLISHED
from dam_sync.services.d_templates.source.versions import VersionGroups
from dam_sync.services.d_templates.target.update import TemplatesUpdate, cleared_by, status_term
from dam_sync.services.d_templates.taxonomy.collections import TemplatesCollections
from dam_sync.services.d_templates.tenant import TemplatesTenant
from dam_sync.services.d_templates.uploads.uploader import TemplatesUploader

PLANNED = "planned-"  # ids of what a dry run would have made; the run itself knows their ids when it needs them


@dataclass(slots=True)
class TemplatesEstimate:
    """Exact once `schema()` was read, for assets whose ids are known or will be; the index is never asked."""

    line: TemplatesApi
    knowledge: TemplatesTenant
    families: VersionGroups
    collections: TemplatesCollections
    uploader: TemplatesUploader
    changer: TemplatesUpdate
    _told: set[str] = field(default_factory=set)  # what happens once a session
    _tags: set[str] = field(default_factory=set)

    def forecast(self, change: Change, size: int = 0) -> Calls:
        """See `Service.forecast`."""
        match change:
            case Draft():
                return +(self._tagged(change.tags) + self._upload(size))
            case FileRef():
                return +(self._upload(change.size or size) + Counter({facts.VERSIONS: 1}))
            case Patch():
                return +self._patch(change)
            case Term():
                return self.terms((change,))
            case Placement():
                return {facts.ADD_COLLECTION: 1}
            case Membership():
                return +self._placed(change)
            case Relation():
                return +self._related(change)

    def terms(self, terms: Sequence[Term]) -> Calls:
        """See `Service.forecast_terms`: one round for each level of a cascade, for each level is a list of its own."""
        rounds = len({max(1, len(term.path)) for term in terms})
        return {facts.ADD_TERMS: rounds, facts.APPLY: rounds, facts.VOCABULARY: rounds}

    def _upload(self, size: int) -> Counter[str]:
        """The record; of a session its end and the look at what the service made of the file."""
        completes = size > facts.SINGLE_BYTES or (size > 0 and self.uploader.completes)
        return Counter({facts.CREATE: 1, facts.COMPLETE: int(completes), facts.ASSET: int(completes)})

    def _tagged(self, tags: frozenset[str]) -> Counter[str]:
        """Tags nobody had yet, added together."""
        named, forms = self.line.options.named, self.knowledge.forms.now
        if not named.tags or forms is None or not tags:
            return Counter()
        values = forms.lexicon.get(forms.by_key[named.tags].vocabulary)
        fresh = {tag for tag in tags if tag not in self._tags and not (values and values.named(tag))}
        self._tags |= fresh
        return Counter({facts.ADD_TERMS: 1, facts.APPLY: 1, facts.VOCABULARY: 1}) if fresh else Counter()

    def _patch(self, patch: Patch) -> Counter[str]:
        named = self.line.options.named
        rights = patch.rights or Rights()
        tags = bool(named.tags and (patch.tags_add or patch.tags_remove))
        cleared = cleared_by(patch, named)
        fields = patch.fields or cleared or tags or (named.status and patch.status)
        dated = (named.release and rights.release_at) or (named.expiry and rights.expires_at)
        calls = self._tagged(patch.tags_add)
        closes = patch.closed is not None
        if not (fields or dated or rights.groups or closes):
            return calls
        empties = bool(cleared) or any(value in (None, "", ()) for value in patch.fields.values())
        empties = empties or self._empties_status(patch.status or "")
        seen = int(tags) + int(empties) + self._proofs(bool(fields or dated), bool(rights.groups) or closes)
        return calls + Counter({facts.UPDATE: 1, facts.ASSET: seen})

    def _proofs(self, metadata: bool, security: bool) -> int:
        """Looks at the record around the first update of each kind, or before each where all of it is sent."""
        proof = self.changer.proof
        first = metadata and proof.partial is None and "metadata" not in self._told
        secured = security and not proof.replaces and "security" not in self._told
        self._told |= {name for name, new in (("metadata", first), ("security", secured)) if new}
        return 2 if first else int(secured) + int(metadata and proof.partial is False)

    def _empties_status(self, status: str) -> bool:
        """Whether the status dropdown has no value for it and is emptied, which is read back."""
        named, forms = self.line.options.named, self.knowledge.forms.now
        if forms is None or not named.status or status != PUBLISHED:
            return False
        return status_term(status, forms, named) is None

    def _placed(self, membership: Membership) -> Counter[str]:
        if membership.placement.kind != "collection":
            return Counter()
        lookups = sum(self._unknown(asset) for asset in membership.assets)
        batches = -(-len(membership.assets) // facts.MEMBER_BATCH)
        operation = facts.FILL_WHOLE if self.collections.older else facts.FILL
        seen = 0 if self.collections.proven or "fill" in self._told else 2
        if self.collections.older:
            seen = batches
        self._told.add("fill")
        return Counter({facts.VERSIONS: lookups, operation: batches, facts.COLLECTION: seen})

    def _related(self, relation: Relation) -> Counter[str]:
        """The owner was created or changed a moment ago, so it is known, but in a session that has read nothing yet."""
        first = int(not self.families.ids and "relate" not in self._told)
        self._told.add("relate")
        return Counter({facts.VERSIONS: first + self._unknown(relation.target), facts.RELATE: 1})

    def _unknown(self, asset: AssetId) -> int:
        return int(not asset.startswith(PLANNED) and self.families.ids.get(asset) is None)
