"""What changes an asset: from one state to another, as JSON, for the ledger and in words. Pure.

Each is a walk over the parts of an asset, which says the same of every part of a kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from dam_sync.engine.compare.parts import PARTS_APART, PartKind, part_of
from dam_sync.engine.decide.change import AssetChange
from dam_sync.engine.decide.part_patches import PATCHED, Attributes, PartPatch, patch_of
from dam_sync.model.asset import Draft, Patch
from dam_sync.model.conflict import FIELDS
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json


def patch_between(before: Json, draft: Draft) -> Patch:
    """What to change so that the asset we last wrote as `before` (a draft in JSON) becomes `draft`. What decides who
    sees the asset is written completely if it was hidden, because it never was, and not at all while it stays hidden:
    it would open it."""
    was_closed = bool(before.get("closed"))
    made: Attributes = {}
    for each in PATCHED:
        if not (each.part.shows and was_closed and draft.closed):
            made |= each.between(before, draft, whole=each.part.shows and was_closed)
    return Patch(**made)


def merge_patches(states: Sequence[Json], draft: Draft) -> Patch:
    """The patch to the draft from any of these states (drafts as JSON), or from between two of them."""
    patches = [patch_between(state, draft) for state in states]
    made: Attributes = {}
    for each in PATCHED:
        made |= each.merged(patches, draft)
    return Patch(**made)


def without(patch: Patch, paths: Collection[str]) -> Patch:
    """The patch without what it would write at these paths. Rights are written as a whole; of names and of containers
    each member stands by itself."""
    left: Attributes = {}
    for each in PATCHED:
        left |= each.without(patch, paths)
    return replace(patch, **left)


def changes_of_draft(data: Json, detail: str) -> dict[str, Json]:
    """Changes of a new asset: everything that is written, with nothing before it. data: its draft as JSON."""
    changes: dict[str, Json] = {}
    for each in PATCHED:
        changes |= each.created(data)
    return _in_detail(changes, detail)


def changes_of_patch(patch: Patch, before: Mapping[str, Json], detail: str) -> dict[str, Json]:
    """Changes of an update. before: the draft last written, as JSON; what somebody else wrote since is not known."""
    changes: dict[str, Json] = {}
    for each in PATCHED:
        changes |= each.changed(patch, before)
    return _in_detail(changes, detail)


def changes_of_members(add: Sequence[str], remove: Sequence[str]) -> dict[str, Json]:
    """Changes of a container: ids at the target; ids are not personal data, so they are always kept."""
    return {"members": [list(remove), list(add)]}


def _in_detail(changes: dict[str, Json], detail: str) -> dict[str, Json]:
    return changes if detail == "values" else dict.fromkeys(changes)


def applied(draft: Json, changes: Mapping[str, Json], *, back: bool = False) -> Json:
    """A draft as JSON after the changes of a ledger row, or before them; safe to repeat. Unknown values are left
    out."""
    after = {**draft, "fields": dict(draft["fields"])}
    for key, change in changes.items():
        part = part_of(key)
        if change is not None and part is not None:
            here, there = change if back else reversed(change)
            patch_of(part).apply(after, key, here, there)
    return after


def in_order(*last: PartKind) -> Iterator[PartPatch]:
    """Parts that are listed by their names: fields, which are listed by key, are not among them. last: the kinds that
    come after the others."""
    named = (each for each in PATCHED if each.part.kind is not PartKind.FIELDS)
    yield from sorted(named, key=lambda each: last.index(each.part.kind) if each.part.kind in last else -1)


def changes_of(change: AssetChange) -> str:
    """What an update changes, in words: `fields.title, tags, file versions`."""
    patch = change.patch
    names = [f"{FIELDS}{key}" for key in sorted(patch.fields)]
    names += [each.word for each in in_order(PartKind.CLOSED) if each.is_in(patch)]
    apart = bool(change.versions), bool(change.attachments or change.detach), bool(change.relations or change.unrelated)
    names += [part.word or part.name for part, changed in zip(PARTS_APART, apart, strict=True) if changed]
    return ", ".join(names)


def patch_to_json(patch: Patch) -> Json:
    """For a digest: without ids that the target assigns."""
    made: dict[str, Json] = {}
    for each in PATCHED:
        made |= each.digested(patch)
    return made


def may_overwrite(patch: Patch, fresh: bool, schema: Schema) -> bool:
    """Whether an update replaces a whole value, or the current file."""
    return fresh or any(each.overwrites(patch, schema) for each in PATCHED)


def overlay(draft: Draft, values: Mapping[str, Json]) -> Draft:
    """The draft with values that stand instead of the source's, by path; None for no value."""
    if not values:
        return draft
    made: Attributes = {}
    for each in PATCHED:
        made |= each.overlaid(draft, values)
    return replace(draft, **made)
