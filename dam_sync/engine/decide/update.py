"""What has to happen to one asset: pure decisions, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dam_sync.engine.compare.file_keys import VERSIONS, fresh_relations, kept_versions, version_key
from dam_sync.engine.decide.change import AssetChange, AssetCreate
from dam_sync.engine.decide.patches import patch_between
from dam_sync.engine.decide.removals import Removals, removals
from dam_sync.model.asset import Asset, Draft, FileRef, Loss, Patch, Placement
from dam_sync.model.capabilities import Capabilities, Feature, MembershipWrite, Operation
from dam_sync.model.codec import placements_from_json, placements_to_json
from dam_sync.model.conflict import FILE, PLACEMENTS
from dam_sync.model.link import LEFT, PROFILE, LinkRow, profile_of
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.policy import Policy
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json

UNKNOWN, NO_REMOVALS = Capabilities(), Removals()
"""Rules of losses: no call changes this of an asset that exists; a version was added before the current one."""


@dataclass(frozen=True, slots=True)
class Write:
    """There is something to write, or to record. losses: what no call does; removals: what left the source, which the
    link says from then on."""

    change: AssetChange
    losses: tuple[Loss, ...] = ()
    removals: Removals = NO_REMOVALS


@dataclass(frozen=True, slots=True)
class Skip:
    """There is nothing to write. losses: for the report."""

    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True)
class Park:
    """Set the asset aside. hides: its asset at the target must not be seen meanwhile."""

    outcome: Outcome
    hides: bool = False


Decision: TypeAlias = Write | Skip | Park


def decide(
    asset: Asset,
    draft: Draft,
    link: LinkRow | None,
    target: Schema,
    policy: Policy,
    patch: Patch | None = None,
    source: Capabilities = UNKNOWN,
) -> Decision:
    """The only place that decides what happens to an asset. patch: the change of a linked asset whose state is not
    that of the link. source: what the source reads; nothing else counts as removed there."""
    capabilities = target.capabilities
    kept = kept_versions(asset, capabilities, policy)
    attachments, relations = fresh_attachments(asset, link, capabilities), fresh_relations(asset, link, target)
    if link is None:
        if Operation.CREATE not in capabilities:
            return _unsupported("the target cannot take new assets", "choose another target")
        if not kept and not capabilities.writes(Feature.FILELESS):
            hint = "give it a file at the source; it stays parked until then"
            return _unsupported("the target cannot take an asset without a file", hint)
        new = AssetCreate(draft, next(iter(kept), None))
        return Write(AssetChange(new, versions=kept[1:], attachments=attachments, relations=relations))
    fresh = fresh_versions(kept, link)
    changed = patch_between(link.draft, draft) if patch is None else patch
    stands = fixed_values(link, draft, target, replaced=asset.file in fresh)
    patch, losses = possible(changed, target, profile_of(link, draft), stands)
    losses += (*profile_losses(link, draft, stands), *_version_losses(not_carried(kept, link), link))
    removed = removals(asset, link, source, capabilities)
    if changed.empty and removed.gone.empty and not (fresh or attachments or relations or losses):
        return Skip()
    if fresh and Operation.REPLACE not in capabilities:
        return _unsupported(
            "the file changed at the source and the target takes no new file version",
            "set the target's version option, or replace the file by hand and retry",
        )
    if not patch.empty and Operation.UPDATE not in capabilities:
        return _unsupported("the target cannot change assets")
    change = AssetChange(
        patch=patch,
        versions=fresh,
        detach=removed.attachments,
        attachments=attachments,
        relations=relations,
        unrelated=removed.relations,
    )
    return Write(change, (*losses, *removed.losses), removed)


def _unsupported(message: str, hint: str = "") -> Park:
    return Park(Outcome("parked", ParkReason.UNSUPPORTED, message, hint))


def fresh_attachments(asset: Asset, link: LinkRow | None, capabilities: Capabilities) -> tuple[FileRef, ...]:
    """Attachments that the target can store and does not have."""
    if Operation.ATTACH not in capabilities:
        return ()
    known = frozenset(link.attachments) if link else frozenset()
    return tuple(file for file in asset.attachments if version_key(file) not in known)


def is_fixed(path: str, target: Schema) -> bool:
    """Whether no call changes this of an asset that exists at the target."""
    capabilities = target.capabilities
    if path.startswith(PLACEMENTS):
        return capabilities.membership(path.removeprefix(PLACEMENTS)) is MembershipWrite.AT_CREATION
    return path == PROFILE or (path == "filename" and not capabilities.writes(Feature.FILENAME))


def fixed_among(kept: Mapping[str, Json], target: Schema) -> frozenset[str]:
    """Of what a target keeps (see `LinkRow.kept`), the paths that no call changes. The name of a file that the target
    keeps after a conflict is not of them."""
    return frozenset(path for path in kept if is_fixed(path, target) and not (path == "filename" and FILE in kept))


def fixed_values(link: LinkRow, draft: Draft, target: Schema, *, replaced: bool) -> dict[str, Json]:
    """What an asset that exists keeps instead of values of this draft because no call changes it, by path. replaced: a
    new version becomes the current file, which brings its name."""
    name = link.kept.get("filename") or link.draft["filename"]
    before = placements_from_json(link.draft["placements"])
    found: dict[str, Json] = {}
    if is_fixed("filename", target) and not replaced and draft.filename not in ("", name):
        found["filename"] = name
    for path in sorted({f"{PLACEMENTS}{place.kind}" for place in before | draft.placements}):
        if is_fixed(path, target):
            held = placements_from_json(link.kept[path] or ()) if path in link.kept else _of_kind(path, before)
            found |= {path: placements_to_json(held)} if held != _of_kind(path, draft.placements) else {}
    if draft.profile not in ("", profile_of(link, draft)):
        found[PROFILE] = profile_of(link, draft)
    return found


def profile_losses(link: LinkRow, draft: Draft, stands: Mapping[str, Json]) -> tuple[Loss, ...]:
    """One that was not reported before."""
    if PROFILE not in stands or draft.profile == link.draft.get(PROFILE):
        return ()
    return (Loss(PROFILE, LossRule.FIXED, f"it stays {stands[PROFILE]}"),)


def _of_kind(path: str, places: frozenset[Placement]) -> frozenset[Placement]:
    return frozenset(place for place in places if f"{PLACEMENTS}{place.kind}" == path)


def possible(
    patch: Patch, target: Schema, profile: str, stands: Mapping[str, Json] | None = None
) -> tuple[Patch, tuple[Loss, ...]]:
    """The patch without what no call changes of an asset that exists at the target, and that as losses; also without
    clearing a field that it no longer has. profile: of the asset. stands: what it keeps (see `fixed_values`); nothing
    else is a loss. None if that is unknown."""
    moved = patch.placements_add | patch.placements_remove
    stuck = frozenset(place for place in moved if is_fixed(f"{PLACEMENTS}{place.kind}", target))
    unmade = frozenset(place for place in moved if not place.id)  # recorded by an adoption, and never made there
    paths = sorted({f"{PLACEMENTS}{place.kind}" for place in stuck})
    losses = [Loss(path, LossRule.FIXED, "an asset stays where it was created") for path in paths]
    if patch.filename is not None and is_fixed("filename", target):
        losses.append(Loss("filename", LossRule.FIXED, "the target cannot rename assets"))
        patch = replace(patch, filename=None)
    patch = replace(
        patch,
        fields={key: value for key, value in patch.fields.items() if value is not None or _has(target, key, profile)},
        placements_add=patch.placements_add - stuck - unmade,
        placements_remove=patch.placements_remove - stuck - unmade,
    )
    return patch, tuple(loss for loss in losses if stands is None or loss.path in stands)


def _has(target: Schema, key: str, profile: str) -> bool:
    """Whether an asset of this profile can have the field."""
    known = target.fields.get(key)
    types = frozenset(kind.name for kind in target.types if kind.profile == profile)
    return known is not None and (not known.types or not types or bool(known.types & types))


def fresh_versions(kept: tuple[FileRef, ...], link: LinkRow) -> tuple[FileRef, ...]:
    """The versions after the last one we wrote; only the current one if that one is gone from the source. All where
    none was written, but for those that were reported as not carried."""
    keys = [version_key(file) for file in kept]
    known = tuple(link.versions)
    if not known:
        left = link.kept.get(VERSIONS) or ()
        return tuple(file for file, key in zip(kept, keys, strict=True) if key not in left)
    if known[-1] in keys:
        return kept[keys.index(known[-1]) + 1 :]
    return kept[-1:]


def not_carried(kept: tuple[FileRef, ...], link: LinkRow) -> tuple[str, ...]:
    """Keys of versions that are neither at the target nor about to be written: they appeared at the source before one
    that was written, and a target takes new versions only after its current one."""
    known = {key.removeprefix(LEFT) for key in link.versions}.union(map(version_key, fresh_versions(kept, link)))
    return tuple(key for key in map(version_key, kept) if key not in known)


def _version_losses(keys: Sequence[str], link: LinkRow) -> tuple[Loss, ...]:
    """Those that were not reported before."""
    number = len(frozenset(keys).difference(link.kept.get(VERSIONS) or ()))
    text = f"{number}: the target takes new versions only after its current one"
    return (Loss(VERSIONS, LossRule.BEHIND, text),) if number else ()
