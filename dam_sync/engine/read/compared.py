"""An asset of the target as it is compared: with what it has and cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dam_sync.engine.compare.atoms import tag_key
from dam_sync.engine.compare.expected import UNKNOWN_FILES, Expected
from dam_sync.engine.compare.facts import groups_of_everybody, may_be_everybodys
from dam_sync.engine.context.libraries import Target
from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.audience import RestrictionKind
from dam_sync.model.codec import draft_from_json
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json


def with_everybody(target: Target, actual: Asset, *drafts: Draft, hidden: bool = False) -> Asset:
    """With the groups of the first of these drafts that stand for everybody: an asset of such a group is read as one
    that names no group. One that is seen by nobody has none of them, unless `hidden`."""
    open_to = groups_of_everybody(drafts, target.service.audience)
    if not open_to or not may_be_everybodys(actual, hidden=hidden):
        return actual
    return replace(actual, rights=replace(actual.rights, groups=open_to[0]))


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
    expected = Expected([*map(draft_from_json, before)], UNKNOWN_FILES)
    if expected.is_between_groups(actual, schema):
        actual = replace(actual, rights=replace(actual.rights, groups=expected.states[0].rights.groups))
    if not expected.is_withheld(actual, schema):
        return actual
    left = frozenset(one for one in actual.rights.restrictions if one.kind is not RestrictionKind.UNRELEASED)
    release = expected.states[0].rights.release_at
    return replace(actual, rights=replace(actual.rights, release_at=release, restrictions=left))
