"""What a comparison has to know of the target of a run."""

from __future__ import annotations

from dam_sync.engine.compare.comparison import Comparison, compare
from dam_sync.engine.compare.expected import Expected
from dam_sync.engine.compare.facts import TargetFacts, scope_of
from dam_sync.engine.run_context import RunContext
from dam_sync.model.asset import Asset, Draft


def facts_of(context: RunContext, *, members: bool = False) -> TargetFacts:
    """members: whether the asset has the containers that were read by their members, too."""
    return TargetFacts(
        schema=context.target_schema,
        capabilities=context.target.capabilities,
        precision=context.target.limits.precision,
        audience=context.target.audience,
        now=context.time.earliest(),
        members=members,
    )


def compared(
    context: RunContext, expected: Expected, actual: Asset, *, wanted: Draft | None = None, members: bool = False
) -> Comparison:
    """The comparison of an asset of the target as it was read: with the names that drafts have for its terms and
    containers. members: see `facts_of`."""
    seen = context.counterparts.as_known(actual, context.target_schema)
    return compare(expected, seen, facts_of(context, members=members), scope_of(context.crosswalk), wanted)
