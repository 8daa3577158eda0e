"""What writing costs at service E, in API calls by endpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from dam_sync.model.asset import Draft, FileRef, Patch, Placement
from dam_sync.model.limits import Limits
from dam_sync.model.service import Calls
from dam_sync.model.values import Term
from dam_sync.model.writes import Change, Membership, Renaming, TrashMove
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.codec.security import UploadPlan, forms_of_security, has_content, security_of_patch
from dam_sync.services.e_profiles.target import ProfilesTarget


class ProfilesEstimate(ProfilesTarget):
    """Estimates writes; exact once `schema()` was read."""

    def estimate_saved(self, change: Change) -> Calls:
        return {facts.ASSET: 1} if isinstance(change, FileRef) else {}

    def estimate_fetched(self, draft: Draft, size: int) -> Calls:
        """See `Service.estimate_fetched`: one call without chunks, and a look at a file that comes at once."""
        calls = Counter(self.estimate(draft))
        return calls + Counter({facts.ASSET: 1}) if calls else calls

    def estimate(self, change: Change, size: int | None = None) -> Calls:
        """Calls of one write."""
        match change:
            case Draft():
                plan = self.plan(change)
                calls = Counter(draft_calls(change, size or 0, self.limits, plan))
                if calls:
                    calls[facts.ASSET] += 1  # whether it became a version of another asset
                return calls + self._proofs(change, plan)
            case FileRef():
                return version_calls(size or change.size or 0, self.limits)
            case Patch():
                return Counter(patch_calls(change)) + self._proofs(change, None)
            case Membership():
                return place_calls(change, self.limits)
            case TrashMove():
                return proof_calls(self.proven.new([facts.TRASH])) + Counter({facts.TRASH: 1})
            case Renaming():
                return renaming_calls(change) + self._renaming_proofs(change)
            case _:
                return taxonomy_calls(change)

    def _renaming_proofs(self, change: Renaming) -> Counter[str]:
        """Looking for an asset that has the value, and reading it afterwards; once a run."""
        new = isinstance(change.part, Term) and self.proven.new([facts.PUT_TERM])
        return Counter({facts.SEARCH: 1, facts.ASSET: 1} if new else {})

    def _proofs(self, change: Draft | Patch, plan: UploadPlan | None) -> Counter[str]:
        return proof_calls(self.proven.new(forms_of(change, plan)))


def upload_calls(limits: Limits, size: int) -> Counter[str]:
    """One form, or a chunk session and its form."""
    calls = Counter({facts.UPLOAD: 1})
    if bounds := limits.parts_for(size):
        chunks = len(bounds.split(size))
        calls.update({facts.CHUNK_START: 1, facts.CHUNK_PUT: chunks, facts.CHUNK_COMPLETE: 1})
    return calls


def draft_calls(draft: Draft, size: int, limits: Limits, plan: UploadPlan | None) -> Mapping[str, int]:
    """`create`, when no response is lost; without a plan it is refused."""
    if plan is None:
        return {}
    calls = upload_calls(limits, size)
    calls[facts.PUT_SECURITY] = int(bool(plan.body))
    calls[facts.ADD_TAGS] = int(bool(draft.tags))
    return +calls


def version_calls(size: int, limits: Limits) -> Mapping[str, int]:
    """`replace` of an asset whose last upload is complete: looked at before, and until the version is there."""
    return upload_calls(limits, size) + Counter({facts.ASSET: 2})


def patch_calls(patch: Patch) -> Mapping[str, int]:
    """`update`."""
    changed = bool(security_of_patch(patch, facts.EPOCH))
    return +Counter(
        {
            facts.GET_SECURITY: int(changed and patch.closed is None and has_content(patch)),
            facts.PUT_METADATA: int(bool(patch.fields)),
            facts.PUT_SECURITY: int(changed),
            facts.ADD_TAGS: int(bool(patch.tags_add)),
            facts.REMOVE_TAGS: int(bool(patch.tags_remove)),
            facts.PUT_FILENAME: int(patch.filename is not None),
        }
    )


def forms_of(change: Draft | Patch, plan: UploadPlan | None) -> frozenset[str]:
    """The forms that no document shows and that writing this uses: each is read back once a run."""
    if isinstance(change, Draft):
        tags = {facts.ADD_TAGS} if change.tags else set()
        return frozenset(tags) | forms_of_security(plan.body if plan else {})
    added, removed = (change.tags_add, facts.ADD_TAGS), (change.tags_remove, facts.REMOVE_TAGS)
    tags = {operation for some, operation in (added, removed) if some}
    return frozenset(tags) | forms_of_security(security_of_patch(change, facts.EPOCH))


def proof_calls(forms: Iterable[str]) -> Counter[str]:
    """Reading the first use of these back."""
    return Counter(facts.ASSET for _ in forms)


def place_calls(membership: Membership, limits: Limits) -> Mapping[str, int]:
    """`place`, in batches."""
    operation = {"category": facts.FILL_CATEGORY, "collection": facts.FILL_COLLECTION}.get(membership.placement.kind)
    return {operation: -(-len(membership.assets) // limits.member_batch)} if operation else {}


def renaming_calls(change: Renaming) -> Counter[str]:
    """`rename_term`, with the list read afterwards, and `rename_container`."""
    if isinstance(change.part, Term):
        return Counter({facts.PUT_TERM: 1, facts.GET_VOCABULARY: 1})
    return Counter({facts.PUT_CATEGORY: 1})


def taxonomy_calls(change: Change) -> Mapping[str, int]:
    """`ensure_term`, and `ensure_container` of one missing level; the tree is read before, with `containers()`."""
    if isinstance(change, Placement):
        return {facts.ADD_CATEGORY if change.kind == "category" else facts.ADD_COLLECTION: 1}
    return {facts.ADD_TERM: 1} if isinstance(change, Term) else {}
