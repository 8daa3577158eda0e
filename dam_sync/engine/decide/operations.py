"""Digests of what is to be done to one asset, equal in a plan and in the run that follows it. Pure.

Ids that the target assigns are left out: those of terms, containers and new assets.
"""

from __future__ import annotations

from collections.abc import Iterable

from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.decide.change import AssetChange
from dam_sync.engine.decide.part_patches import plain_json
from dam_sync.engine.decide.patches import patch_to_json
from dam_sync.model.asset import FileRef, Relation, digest_of
from dam_sync.model.codec import draft_to_json
from dam_sync.model.values import Json

HIDE, REMOVE, RESTORE, NOTHING = "hide", "remove", "restore", ""


def digest_of_change(change: AssetChange) -> str:
    """A new asset with its files and relations, or an update of one that exists."""
    parts = _parts(change.files, change.attachments, change.relations)
    if change.create is not None:
        return digest_of(["create", plain_json(draft_to_json(change.create.draft)), *parts])
    return digest_of(
        [
            "update",
            patch_to_json(change.patch),
            *parts,
            sorted(change.detach),
            _pairs(change.unrelated),
            sorted(change.paths),
        ]
    )


def _parts(versions: Iterable[FileRef], attachments: Iterable[FileRef], relations: Iterable[Relation]) -> list[Json]:
    return [[version_key(file) for file in versions], [version_key(file) for file in attachments], _pairs(relations)]


def _pairs(relations: Iterable[Relation]) -> list[Json]:
    return sorted([each.kind, str(each.target)] for each in relations)
