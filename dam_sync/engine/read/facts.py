"""What a comparison has to know of the target of a run."""

from __future__ import annotations

from dam_sync.engine.compare.comparison import Comparison, compare
from dam_sync.engine.compare.differences import Difference, differences_of
from dam_sync.engine.compare.expected import NOTHING_EXPECTED, Expected
from dam_sync.engine.compare.facts import Members, TargetFacts, scope_of
from dam_sync.engine.context.libraries import Target
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, Draft


def facts_of(target: Target, *, members: Members = Members.UNREAD) -> TargetFacts:
    """Of the target of a run. members: what is known of the containers that list their members."""
    return TargetFacts(
        schema=target.schema,
        capabilities=target.service.capabilities,
        precision=target.service.limits.precision,
        audience=target.service.audience,
        now=target.time.earliest(),
        members=members,
    )


def compared(
    target: Target,
    crosswalk: Crosswalk,
    expected: Expected,
    actual: Asset,
    *,
    wanted: Draft | None = None,
    members: Members = Members.UNREAD,
) -> Comparison:
    """The comparison of an asset of the target as it was read: with the names that drafts have for its terms and
    containers."""
    seen = target.counterparts.as_known(actual, target.schema)
    return compare(expected, seen, facts_of(target, members=members), scope_of(crosswalk), wanted)


def differing(
    target: Target, crosswalk: Crosswalk, draft: Draft, seen: Asset, *, members: Members = Members.ALL
) -> list[Difference]:
    """Where an asset of the target is not as a draft says, then what it has in addition. seen: with the names that the
    draft has for terms and containers."""
    found = compare(NOTHING_EXPECTED, seen, facts_of(target, members=members), scope_of(crosswalk), draft)
    return differences_of(found, draft, seen, target.schema)
