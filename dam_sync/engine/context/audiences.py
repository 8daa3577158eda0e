"""Who sees an asset of the target, by the groups of a draft that stand for everybody."""

from __future__ import annotations

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.facts import TargetFacts, is_seen_by_nobody
from dam_sync.model.asset import Asset, Draft


def hidden_instead(facts: TargetFacts, draft: Draft, seen: Asset) -> list[Difference]:
    """What is said of an asset that is to be seen by everybody and is seen by nobody, in place of its groups."""
    if draft.rights.release_at is not None:  # then the date is missing
        return []
    if not is_seen_by_nobody(seen) or seen.rights.groups or facts.audience(draft).groups is not None:
        return []
    return [Difference("release", "released", "no release date: nobody sees it", pattern="hidden")]
