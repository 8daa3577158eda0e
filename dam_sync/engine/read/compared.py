"""An asset of the target as it is compared: with what it has and cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dam_sync.engine.compare.atoms import tag_key
from dam_sync.engine.compare.facts import is_seen_by_nobody
from dam_sync.engine.context.run_context import RunContext
from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.audience import RestrictionKind
from dam_sync.model.codec import rights_from_json
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json


def with_everybody(context: RunContext, actual: Asset, *drafts: Draft, hidden: bool = False) -> Asset:
    """With the groups of the first of these drafts that stand for everybody: an asset of such a group is read as one
    that names no group. One that is seen by nobody has none of them, unless `hidden`."""
    if actual.rights.groups or (is_seen_by_nobody(actual) and not hidden):
        return actual
    audience = context.target.audience
    open_to = (draft.rights.groups for draft in drafts if draft.rights.groups and audience(draft).groups is None)
    return replace(actual, rights=replace(actual.rights, groups=next(open_to, frozenset())))


def with_unsure(actual: Asset, wanted: frozenset[Placement], unsure: frozenset[Placement], schema: Schema) -> Asset:
    """In those of the containers in which it may be, too, that are wanted: whether it is cannot be seen."""
    known = unsure if schema.naming is None else frozenset(map(schema.naming.place, unsure))
    return replace(actual, placements=actual.placements | {place for place in known if place in wanted})


def with_names(actual: Asset, schema: Schema, tags: Iterable[str]) -> Asset:
    """With containers renamed as the target requires, and with tags in the spelling of `tags`, because a target may
    keep one tag for two Unicode forms of it, or for two cases."""
    forms: dict[str, set[str]] = {}
    for tag in tags:
        forms.setdefault(tag_key(tag, schema), set()).add(tag)
    actual = replace(
        actual, tags=frozenset(form for tag in actual.tags for form in forms.get(tag_key(tag, schema), {tag}))
    )
    if schema.naming is None:
        return actual
    return replace(actual, placements=frozenset(map(schema.naming.place, actual.placements)))


def as_not_hidden(before: Sequence[Json], actual: Asset, schema: Schema) -> Asset:
    """The asset with its release date as last written, and seen by its groups, if an earlier attempt may have taken
    them away: some services hide an asset so while several parts of its rights are changed, and a killed process leaves
    it hidden."""
    rights = [rights_from_json(state["rights"]) for state in before]
    groups = actual.rights.groups
    if groups and groups <= schema.group_staging and any(one.groups != rights[0].groups for one in rights):
        actual = replace(actual, rights=replace(actual.rights, groups=rights[0].groups))
    if not schema.always_released or actual.rights.release_at is not None or all(one == rights[0] for one in rights):
        return actual
    left = frozenset(one for one in actual.rights.restrictions if one.kind is not RestrictionKind.UNRELEASED)
    return replace(actual, rights=replace(actual.rights, release_at=rights[0].release_at, restrictions=left))
