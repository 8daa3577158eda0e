"""What a draft or patch would write at service C; refused before the first call if impossible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dam_sync.model.asset import Draft, Patch, Placement
from dam_sync.model.errors import InvalidValue, Unsupported
from dam_sync.model.values import Value
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec.fields import DESCRIPTION, NAME, PAYLOAD, Key, Keys
from dam_sync.services.c_brandlibrary.codec.values import encode
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryTenant

STATUSES = ("published", "pending")
_PLAIN = frozenset({NAME, DESCRIPTION})


@dataclass(frozen=True, slots=True)
class ValuePlanner:
    """Checks against the keys of the library."""

    tenant: BrandLibraryTenant

    async def texts(self, draft: Draft) -> dict[str, tuple[str, ...]]:
        """The custom values of a draft by field, without empty ones. Raises InvalidValue for what cannot be written."""
        keys = await self.tenant.keys.get()
        refuse_profile(draft.profile)
        refuse_status(draft.status)
        refuse_groups(draft.rights.groups)
        fields: dict[str, Value] = dict(draft.fields)
        if draft.marker is not None:
            fields[draft.marker.field] = draft.marker.value
        found = values_of(fields, keys, marker=draft.marker.field if draft.marker else "")
        return {key: texts for key, texts in found.items() if texts}

    async def changes(self, patch: Patch) -> dict[str, tuple[str, ...]]:
        """The custom values of a patch, empty ones to be cleared. Raises as `texts` does."""
        refuse_status(patch.status or "")
        refuse_moves(patch)
        if patch.rights is not None:
            refuse_groups(patch.rights.groups)
        return values_of(patch.fields, await self.tenant.keys.get())

    def homes(self, draft: Draft) -> tuple[str, str]:
        """Ids of the section and the collection, empty if none is named. Raises InvalidValue, Unsupported."""
        return one_of(draft.placements, "section"), one_of(draft.placements, "collection")


def values_of(fields: Mapping[str, Value | None], keys: Keys, marker: str = "") -> dict[str, tuple[str, ...]]:
    """Custom values by field. Raises InvalidValue for unknown fields and for values outside a restricted list."""
    found = {}
    for field, value in fields.items():
        if field in _PLAIN:
            continue
        key = keys.named(field)
        if key is None and field not in (facts.MARK_KEY, marker):
            raise InvalidValue(f"the library has no field {field!r}", hint="map to a field that `check` lists")
        if field == PAYLOAD:
            raise InvalidValue(f"the field {field!r} cannot be written")
        found[field] = encode(value)
        if key is not None:
            _refuse_unlisted(key, found[field])
    return found


def one_of(placements: Iterable[Placement], kind: str) -> str:
    """The id of the one placement of that kind."""
    found = [placement for placement in placements if placement.kind == kind]
    others = [placement for placement in placements if placement.kind not in ("section", "collection")]
    if others:
        raise Unsupported(f"an asset cannot be put into a {others[0].kind}", hint="place into section or collection")
    if len(found) > 1:
        raise Unsupported(f"an asset takes one {kind}, but got {len(found)}", hint="map one placement")
    if found and not found[0].id:
        raise InvalidValue(f"the {kind} {found[0].text} has no id in this library")
    return found[0].id if found else ""


def refuse_profile(profile: str) -> None:
    """Raises InvalidValue for any type but files; others cannot be made (wire C 6.3)."""
    if profile not in ("", facts.FILE_TYPE):
        raise InvalidValue(f"assets of type {profile!r} cannot be created", hint=f"map `profile` to {facts.FILE_TYPE}")


def refuse_status(status: str) -> None:
    """Raises InvalidValue for an unknown status."""
    if status and status not in STATUSES:
        raise InvalidValue(f"the service has no status {status!r}", hint=f"map the status to {' or '.join(STATUSES)}")


def refuse_groups(groups: Iterable[str]) -> None:
    """Raises Unsupported: permissions belong to the library, not to the asset."""
    if groups:
        raise Unsupported(
            "assets of this service have no access groups", hint="leave `security.groups` out of the mapping"
        )


def refuse_moves(patch: Patch) -> None:
    """Raises Unsupported: an asset stays in the section and collection in which it was created (wire C 6.4)."""
    moved = patch.placements_add | patch.placements_remove
    if moved:
        kind = min(placement.kind for placement in moved)
        raise Unsupported(f"an asset stays in its {kind}", hint="move it by hand, or create it again")


def _refuse_unlisted(key: Key, texts: Iterable[str]) -> None:
    wrong = [text for text in texts if text not in key.allowed]
    if key.restricted and wrong:
        raise InvalidValue(
            f"the field {key.name} takes only values of its list, and {wrong[0]!r} is not one of them",
            hint="map it through a vocabulary with `unmatched: create` and `options: {extend_lists: on}`, or pin it",
        )
