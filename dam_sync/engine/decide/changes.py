"""What a draft, a patch or a membership changes, key by key, for the ledger. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from dam_sync.model.asset import Patch
from dam_sync.model.codec import placements_to_json, rights_to_json
from dam_sync.model.values import Json, value_to_json

Detail = Literal["values", "keys"]
WHOLE = ("filename", "profile", "status", "closed")


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
