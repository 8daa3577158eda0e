"""Digests of what is to be done to one asset, equal in a plan and in the run that follows it. Pure.

Ids that the target assigns are left out: those of terms, containers and new assets.
"""

from __future__ import annotations

from collections.abc import Iterable

from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.decide.change import AssetChange
from dam_sync.model.asset import FileRef, Patch, Relation, digest_of
from dam_sync.model.codec import placements_to_json, rights_to_json
from dam_sync.model.values import Json, value_to_json

HIDE, REMOVE, RESTORE, NOTHING = "hide", "remove", "restore", ""


def digest_of_create(
    draft: Json, versions: Iterable[FileRef], attachments: Iterable[FileRef], relations: Iterable[Relation]
) -> str:
    """A new asset with its files and relations. draft: as JSON."""
    return digest_of(["create", _plain(draft), *_parts(versions, attachments, relations)])


def digest_of_change(change: AssetChange) -> str:
    """An update of an asset that exists."""
    return digest_of(
        [
            "update",
            _patch(change.patch),
            *_parts(change.versions, change.attachments, change.relations),
            sorted(change.detach),
            _pairs(change.unrelated),
            sorted(change.paths),
        ]
    )


def changes_of(change: AssetChange) -> str:
    """What an update changes, in words: `fields.title, tags, file versions`."""
    patch = change.patch
    names = [f"fields.{key}" for key in sorted(patch.fields)]
    sets = (
        ("filename", patch.filename is not None),
        ("status", patch.status is not None),
        ("tags", bool(patch.tags_add or patch.tags_remove)),
        ("placements", bool(patch.placements_add or patch.placements_remove)),
        ("rights", patch.rights is not None or bool(patch.cleared)),
        ("visibility", patch.closed is not None),
        ("file versions", bool(change.versions)),
        ("attachments", bool(change.attachments or change.detach)),
        ("relations", bool(change.relations or change.unrelated)),
    )
    return ", ".join([*names, *(name for name, changed in sets if changed)])


def _patch(patch: Patch) -> Json:
    return {
        "fields": {key: None if value is None else _plain(value_to_json(value)) for key, value in patch.fields.items()},
        "filename": patch.filename,
        "status": patch.status,
        "placements": [_plain(placements_to_json(each)) for each in (patch.placements_add, patch.placements_remove)],
        "tags": [sorted(patch.tags_add), sorted(patch.tags_remove)],
        "rights": rights_to_json(patch.rights) if patch.rights is not None else None,
        "cleared": sorted(patch.cleared),
        "closed": patch.closed,
    }


def _parts(versions: Iterable[FileRef], attachments: Iterable[FileRef], relations: Iterable[Relation]) -> list[Json]:
    return [[version_key(file) for file in versions], [version_key(file) for file in attachments], _pairs(relations)]


def _pairs(relations: Iterable[Relation]) -> list[Json]:
    return sorted([each.kind, str(each.target)] for each in relations)


def _plain(data: Json) -> Json:
    """JSON of values, drafts or containers without the ids of terms and containers, which have labels and paths."""
    if isinstance(data, list):
        plain = [_plain(each) for each in data]
        return sorted(plain, key=str) if any(_is_named(each) for each in data) else plain
    if not isinstance(data, dict):
        return data
    if _is_named(data):
        data = {key: value for key, value in data.items() if key not in ("id", "parent")}
    return {key: _plain(value) for key, value in data.items()}


def _is_named(data: Json) -> bool:
    """Whether it is a term or a container."""
    return isinstance(data, dict) and ("label" in data or {"kind", "path"} <= data.keys())
