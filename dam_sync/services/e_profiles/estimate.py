"""What a write has of the parts whose costs are in `facts.COSTS`, at service E."""

from __future__ import annotations

from collections import Counter

from dam_sync.model.asset import Draft, Patch
from dam_sync.model.costs import Amounts, PlanMemory
from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import Term
from dam_sync.model.writes import Change, Opening, Renaming, TrashMove
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.codec.security import UploadPlan, forms_of_security, has_content, security_of_patch
from dam_sync.services.e_profiles.source.files import ProfilesFiles
from dam_sync.services.e_profiles.target import ProfilesTarget


class ProfilesEstimate(ProfilesFiles, ProfilesTarget):
    """Exact once `schema()` was read, if no response is lost."""

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        if isinstance(change, Opening):
            self.refuse_withheld(change.file)
        plan = self.plan(change) if isinstance(change, Draft) else None
        if isinstance(change, Draft) and plan is None:
            raise InvalidValue("no upload profile gives this asset what it needs")
        new = planned.new(self.proven.unproven(forms_of(change, plan)))
        proofs = Counter(facts.TERM_PROOF if form == facts.PUT_TERM else facts.PROOF for form in new)
        return counted + _security(change, plan) + proofs


def _security(change: Change, plan: UploadPlan | None) -> Amounts:
    if isinstance(change, Draft):
        return Counter({facts.SECURITY: int(plan is not None and bool(plan.body))})
    if not isinstance(change, Patch):
        return Counter()
    changed = bool(security_of_patch(change, facts.EPOCH))
    merged = changed and change.closed is None and has_content(change)
    return Counter({facts.SECURITY: int(changed), facts.MERGED_SECURITY: int(merged)})


def forms_of(change: Change, plan: UploadPlan | None) -> frozenset[str]:
    """The forms that no document shows and that writing this uses: each is read back once a run."""
    match change:
        case Draft():
            return _tags(change.tags, facts.ADD_TAGS) | forms_of_security(plan.body if plan else {})
        case Patch():
            tags = _tags(change.tags_add, facts.ADD_TAGS) | _tags(change.tags_remove, facts.REMOVE_TAGS)
            return tags | forms_of_security(security_of_patch(change, facts.EPOCH))
        case TrashMove():
            return frozenset({facts.TRASH})
        case Renaming(part=Term()):
            return frozenset({facts.PUT_TERM})
        case _:
            return frozenset()


def _tags(some: frozenset[str], form: str) -> frozenset[str]:
    return frozenset({form} if some else ())
