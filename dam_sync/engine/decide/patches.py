"""What changes an asset, part by part: from one state to another, as JSON, for the ledger and in words. Pure.

The only place of the engine that lists the parts of a patch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from dam_sync.engine.decide.change import AssetChange
from dam_sync.model.asset import Draft, Patch
from dam_sync.model.codec import (
    draft_to_json,
    placements_from_json,
    placements_to_json,
    rights_from_json,
    rights_to_json,
)
from dam_sync.model.conflict import FIELDS, PLACEMENTS
from dam_sync.model.schema import Schema
from dam_sync.model.values import (
    Json,
    Value,
    parse_instant,
    value_from_json,
    value_to_json,
)

WHOLE = ("filename", "profile", "status", "closed")


def patch_between(before: Json, draft: Draft) -> Patch:
    """What to change so that the asset we last wrote as `before` (a draft in JSON) becomes `draft`."""
    after = draft_to_json(draft)
    old_places, new_places = placements_from_json(before["placements"]), draft.placements
    old_tags, new_tags = frozenset(before["tags"]), draft.tags
    old_rights = rights_from_json(before["rights"])
    pairs = (("release", "release_at"), ("expiry", "expires_at"))
    was_closed = bool(before.get("closed"))
    opened = was_closed and not draft.closed  # status and rights have to be written completely, because they never were
    stays = was_closed and draft.closed  # they would open it
    return Patch(
        fields=_changed_fields(before["fields"], after["fields"]),
        filename=draft.filename if draft.filename not in ("", before["filename"]) else None,
        status=draft.status if not stays and (opened or before["status"] != draft.status) and draft.status else None,
        placements_add=new_places - old_places,
        placements_remove=old_places - new_places,
        tags_add=new_tags - old_tags,
        tags_remove=old_tags - new_tags,
        rights=None if stays or (old_rights == draft.rights and not opened) else draft.rights,
        cleared=frozenset()
        if stays
        else frozenset(n for n, key in pairs if getattr(old_rights, key) and not getattr(draft.rights, key)),
        closed=None if was_closed == draft.closed else draft.closed,
    )


def _changed_fields(before: Mapping[str, Json], after: Mapping[str, Json]) -> dict[str, Value | None]:
    changed: dict[str, Value | None] = {
        key: value_from_json(value) for key, value in after.items() if before.get(key) != value
    }
    gone: dict[str, Value | None] = {key: None for key in before if key not in after}
    return {**changed, **gone}


def merge_patches(states: Sequence[Json], draft: Draft) -> Patch:
    """The patch to the draft from any of these states (drafts as JSON), or from between two of them."""
    patches = [patch_between(state, draft) for state in states]
    return Patch(
        fields={key: value for patch in patches for key, value in patch.fields.items()},
        filename=next((patch.filename for patch in patches if patch.filename is not None), None),
        status=next((patch.status for patch in patches if patch.status is not None), None),
        placements_add=frozenset().union(*(patch.placements_add for patch in patches)),
        placements_remove=frozenset(p for patch in patches for p in patch.placements_remove) - draft.placements,
        tags_add=frozenset().union(*(patch.tags_add for patch in patches)),
        tags_remove=frozenset(tag for patch in patches for tag in patch.tags_remove) - draft.tags,
        rights=next((patch.rights for patch in patches if patch.rights is not None), None),
        cleared=frozenset().union(*(patch.cleared for patch in patches)),
        closed=next((patch.closed for patch in patches if patch.closed is not None), None),
    )


def changes_of_draft(data: Json, detail: str) -> dict[str, Json]:
    """Changes of a new asset: everything that is written, with nothing before it. data: its draft as JSON."""
    changes = {f"fields.{key}": [None, value] for key, value in data["fields"].items()}
    changes |= {key: [None, data[key]] for key in WHOLE if data.get(key)}
    changes |= {key: [None, data[key]] for key in ("tags", "placements") if data[key]}
    changes |= {key: [None, value] for key, value in data["rights"].items() if value}
    return _in_detail(changes, detail)


def changes_of_patch(patch: Patch, before: Mapping[str, Json], detail: str) -> dict[str, Json]:
    """Changes of an update. before: the draft last written, as JSON; what somebody else wrote since is not known."""
    wrote = before.get("fields", {})
    changes: dict[str, Json] = {
        f"fields.{key}": [wrote.get(key), None if value is None else value_to_json(value)]
        for key, value in patch.fields.items()
    }
    if patch.filename is not None:
        changes["filename"] = [before.get("filename"), patch.filename]
    if patch.status is not None:
        changes["status"] = [before.get("status"), patch.status]
    if patch.closed is not None:
        changes["closed"] = [before.get("closed", False), patch.closed]
    if patch.tags_add or patch.tags_remove:
        changes["tags"] = [sorted(patch.tags_remove), sorted(patch.tags_add)]
    if patch.placements_add or patch.placements_remove:
        changes["placements"] = [
            placements_to_json(patch.placements_remove),
            placements_to_json(patch.placements_add),
        ]
    if patch.rights is not None or patch.cleared:
        changes["rights"] = [before.get("rights"), rights_to_json(patch.rights) if patch.rights else None]
    return _in_detail(changes, detail)


def changes_of_members(add: Sequence[str], remove: Sequence[str]) -> dict[str, Json]:
    """Changes of a container: ids at the target; ids are not personal data, so they are always kept."""
    return {"members": [list(remove), list(add)]}


def _in_detail(changes: dict[str, Json], detail: str) -> dict[str, Json]:
    return changes if detail == "values" else dict.fromkeys(changes)


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


def patch_to_json(patch: Patch) -> Json:
    """For a digest: without ids that the target assigns."""
    return {
        "fields": {
            key: None if value is None else plain_json(value_to_json(value)) for key, value in patch.fields.items()
        },
        "filename": patch.filename,
        "status": patch.status,
        "placements": [
            plain_json(placements_to_json(each)) for each in (patch.placements_add, patch.placements_remove)
        ],
        "tags": [sorted(patch.tags_add), sorted(patch.tags_remove)],
        "rights": rights_to_json(patch.rights) if patch.rights is not None else None,
        "cleared": sorted(patch.cleared),
        "closed": patch.closed,
    }


def plain_json(data: Json) -> Json:
    """JSON of values, drafts or containers without the ids of terms and containers, which have labels and paths."""
    if isinstance(data, list):
        plain = [plain_json(each) for each in data]
        return sorted(plain, key=str) if any(_is_named(each) for each in data) else plain
    if not isinstance(data, dict):
        return data
    if _is_named(data):
        data = {key: value for key, value in data.items() if key not in ("id", "parent")}
    return {key: plain_json(value) for key, value in data.items()}


def _is_named(data: Json) -> bool:
    """Whether it is a term or a container."""
    return isinstance(data, dict) and ("label" in data or {"kind", "path"} <= data.keys())


def may_overwrite(patch: Patch, fresh: bool, schema: Schema) -> bool:
    """Whether an update replaces a whole value, or the current file. Adding to sets and removing from them overwrites
    nothing."""
    single = {kind for kind, most in schema.container_most.items() if most == 1}
    named = patch.filename is not None or patch.status is not None
    rights = patch.rights is not None or bool(patch.cleared)
    return bool(patch.fields) or named or rights or fresh or any(place.kind in single for place in patch.placements_add)


def overlay(draft: Draft, values: Mapping[str, Json]) -> Draft:
    """The draft with values that stand instead of the source's, by path; None for no value."""
    if not values:
        return draft
    fields = dict(draft.fields)
    kinds = {path.removeprefix(PLACEMENTS): value for path, value in values.items() if path.startswith(PLACEMENTS)}
    for path, value in values.items():
        key = path.removeprefix(FIELDS)
        if path == key:
            continue
        fields.pop(key, None)
        if value is not None:
            fields[key] = value_from_json(value)
    places = {place for place in draft.placements if place.kind not in kinds}
    rights = draft.rights
    rights = replace(
        rights,
        release_at=_instant(values["release"]) if "release" in values else rights.release_at,
        expires_at=_instant(values["expiry"]) if "expiry" in values else rights.expires_at,
        groups=frozenset(values["groups"] or ()) if "groups" in values else rights.groups,
    )
    return replace(
        draft,
        fields=fields,
        filename=values.get("filename") or draft.filename,
        status=values.get("status") or draft.status,
        placements=frozenset(places).union(*(placements_from_json(value or ()) for value in kinds.values())),
        tags=frozenset(values["tags"] or ()) if "tags" in values else draft.tags,
        rights=rights,
    )


def _instant(text: str | None) -> datetime | None:
    return parse_instant(text) if text else None
