"""Who sees an asset of the target, by the groups of a draft that stand for everybody."""

from __future__ import annotations

from dataclasses import replace

from dam_sync.engine.compare.differences import Defaults, Difference
from dam_sync.engine.compare.facts import is_seen_by_nobody
from dam_sync.engine.context.run_context import RunContext
from dam_sync.model.asset import Asset, Draft


def hidden_instead(context: RunContext, actual: Asset, draft: Draft) -> list[Difference]:
    """What is said of an asset that is to be seen by everybody and is seen by nobody, in place of its groups."""
    if not is_seen_by_nobody(actual) or actual.rights.groups or not _is_for_everybody(context, draft):
        return []
    if draft.rights.release_at is not None:  # then the date is missing
        return []
    return [Difference("release", "released", "no release date: nobody sees it", pattern="hidden")]


def with_everybody(context: RunContext, actual: Asset, *drafts: Draft, hidden: bool = False) -> Asset:
    """With the groups of the first of these drafts that stand for everybody: an asset of such a group is read as one
    that names no group. One that is seen by nobody has none of them, unless `hidden`."""
    if actual.rights.groups or (is_seen_by_nobody(actual) and not hidden):
        return actual
    open_to = (draft.rights.groups for draft in drafts if draft.rights.groups and _is_for_everybody(context, draft))
    return replace(actual, rights=replace(actual.rights, groups=next(open_to, frozenset())))


def _is_for_everybody(context: RunContext, draft: Draft) -> bool:
    """Whether the rights of a draft, once written, let everybody in who can use the tenant."""
    return context.target.audience(draft).groups is None


def defaults_of(context: RunContext, draft: Draft) -> Defaults:
    """What the target gives an asset of this draft by default."""
    groups = context.target.audience(draft).groups or frozenset()
    schema = context.target_schema
    return Defaults(groups, schema.container_default, context.time.earliest() if schema.always_released else None)
