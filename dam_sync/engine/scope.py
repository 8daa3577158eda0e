"""What a mapping writes, and what the target gives by itself: where a comparison may find too much."""

from __future__ import annotations

from dam_sync.engine.compare import Defaults, Scope
from dam_sync.engine.run_context import RunContext
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Draft


def scope_of(crosswalk: Crosswalk) -> Scope:
    """What a mapping writes."""
    plan = crosswalk.plan
    return Scope(
        fields=frozenset(plan.fields),
        containers=frozenset(kind for _, kind in plan.placements),
        tags=plan.tags is not None,
        groups=plan.groups is not None,
        dates=frozenset(name for name, rule in (("release", plan.release), ("expiry", plan.expiry)) if rule),
    )


def defaults_of(context: RunContext, draft: Draft) -> Defaults:
    """What the target gives an asset of this draft by itself."""
    groups = context.target.audience(draft).groups or frozenset()
    return Defaults(groups, context.target_schema.container_default)
