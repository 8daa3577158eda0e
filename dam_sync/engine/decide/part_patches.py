"""How each kind of part gets into a patch, and what a patch says of it: to the ledger, in a digest, backwards. Pure.

Nothing here names a part but the units that have rules of their own: rights, and whether an asset is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changes
from typing import Any, Final, TypeAlias

from dam_sync.engine.compare.parts import PARTS, RIGHT_PARTS, AssetPart, PartKind
from dam_sync.model.asset import Asset, Draft, Patch, Placement, Rights
from dam_sync.model.codec import placements_from_json, placements_to_json, rights_from_json, rights_to_json
from dam_sync.model.conflict import DATES, FIELDS, PLACEMENTS, RIGHTS
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json, Value, parse_instant, value_from_json, value_to_json

Attributes: TypeAlias = dict[str, Any]
"""Of a patch, or of a draft."""
Changes: TypeAlias = dict[str, Json]
"""For the ledger: the value before and after, by key."""
OF_RIGHTS: Final = ("rights", *(part.name for part in RIGHT_PARTS))


@dataclass(frozen=True, slots=True)
class PartPatch:
    """One part, of which a patch has nothing."""

    part: AssetPart

    @property
    def name(self) -> str:
        """Of the part."""
        return self.part.name

    @property
    def word(self) -> str:
        """The part in a sentence."""
        return self.part.word or self.part.name

    @property
    def attributes(self) -> tuple[str, ...]:
        """Those of a patch that hold it."""
        return (self.part.name,)

    def taken(self, patch: Patch) -> Attributes:
        """What a patch has of it."""
        return {name: getattr(patch, name) for name in self.attributes}

    def between(self, before: Json, draft: Draft, *, whole: bool) -> Attributes:
        """Attributes of the patch from a draft as JSON to a draft. whole: also what is the same."""
        return {}

    def merged(self, patches: Sequence[Patch], draft: Draft) -> Attributes:
        """Attributes of a patch to the draft that contains all these."""
        return {}

    def without(self, patch: Patch, paths: Collection[str]) -> Attributes:
        """Attributes of the patch without what it would write at these paths."""
        return {}

    def is_in(self, patch: Patch) -> bool:
        """Whether the patch changes it."""
        return False

    def is_more(self, patch: Patch, base: Patch) -> bool:
        """Whether the patch changes something of it that another one leaves."""
        return self.is_in(patch) and not self.is_in(base)

    def overwrites(self, patch: Patch, schema: Schema) -> bool:
        """Whether the patch replaces a whole value. Adding to sets and removing from them overwrites nothing."""
        return self.is_in(patch)

    def held(self, asset: Asset, path: str) -> Json:
        """What an asset has at a path of it, in the form of a draft as JSON; None for nothing of a field."""
        return getattr(asset, self.name)

    def created(self, data: Json) -> Changes:
        """What a new asset gets of it. data: its draft as JSON."""
        return {self.name: [None, data[self.name]]} if data.get(self.name) else {}

    def changed(self, patch: Patch, before: Mapping[str, Json]) -> Changes:
        """What the patch changes of it. before: the draft last written, as JSON."""
        return {}

    def digested(self, patch: Patch) -> dict[str, Json]:
        """For a digest: without ids that the target assigns."""
        return {}

    def overlaid(self, draft: Draft, values: Mapping[str, Json]) -> Attributes:
        """Attributes of the draft with values that stand instead, by path; None for no value."""
        return {}

    def apply(self, draft: Json, key: str, here: Json, there: Json) -> None:
        """Put what a row of the ledger says into a draft as JSON: the value here, in place of that there."""
        if self.part.later:
            _put(draft, key, here or None)
        else:
            draft[key] = here or ""


class FieldsPatch(PartPatch):
    """Values by key; None clears one."""

    def between(self, before: Json, draft: Draft, *, whole: bool) -> Attributes:
        had, after = before["fields"], {key: value_to_json(value) for key, value in draft.fields.items()}
        changed = {key: value_from_json(value) for key, value in after.items() if had.get(key) != value}
        return {"fields": {**changed, **{key: None for key in had if key not in after}}}

    def merged(self, patches: Sequence[Patch], draft: Draft) -> Attributes:
        return {"fields": {key: value for patch in patches for key, value in patch.fields.items()}}

    def without(self, patch: Patch, paths: Collection[str]) -> Attributes:
        return {"fields": {key: value for key, value in patch.fields.items() if f"{FIELDS}{key}" not in paths}}

    def is_in(self, patch: Patch) -> bool:
        return bool(patch.fields)

    def held(self, asset: Asset, path: str) -> Json:
        return _json(asset.fields.get(path.removeprefix(FIELDS)))

    def created(self, data: Json) -> Changes:
        return {f"{FIELDS}{key}": [None, value] for key, value in data["fields"].items()}

    def changed(self, patch: Patch, before: Mapping[str, Json]) -> Changes:
        wrote = before.get("fields", {})
        return {f"{FIELDS}{key}": [wrote.get(key), _json(value)] for key, value in patch.fields.items()}

    def digested(self, patch: Patch) -> dict[str, Json]:
        return {"fields": {key: plain_json(_json(value)) for key, value in patch.fields.items()}}

    def overlaid(self, draft: Draft, values: Mapping[str, Json]) -> Attributes:
        fields = dict(draft.fields)
        for path, value in values.items():
            if path.startswith(FIELDS):
                key = path.removeprefix(FIELDS)
                fields.pop(key, None)
                fields |= {} if value is None else {key: value_from_json(value)}
        return {"fields": fields}

    def apply(self, draft: Json, key: str, here: Json, there: Json) -> None:
        _put(draft["fields"], key.removeprefix(FIELDS), here)


class ValuePatch(PartPatch):
    """One text; a patch with an empty one clears it."""

    def between(self, before: Json, draft: Draft, *, whole: bool) -> Attributes:
        had, wanted = before.get(self.name) or "", getattr(draft, self.name)
        silent = self.part.silent and not wanted
        return {} if silent or (had == wanted and not whole) else {self.name: wanted}

    def merged(self, patches: Sequence[Patch], draft: Draft) -> Attributes:
        return {self.name: next((each for patch in patches if (each := self._of(patch)) is not None), None)}

    def without(self, patch: Patch, paths: Collection[str]) -> Attributes:
        return {self.name: None} if self.name in paths else {}

    def is_in(self, patch: Patch) -> bool:
        return self._of(patch) is not None

    def changed(self, patch: Patch, before: Mapping[str, Json]) -> Changes:
        return {self.name: [before.get(self.name), self._of(patch)]} if self.is_in(patch) else {}

    def digested(self, patch: Patch) -> dict[str, Json]:
        return {self.name: self._of(patch)} if self.is_in(patch) or not self.part.later else {}

    def overlaid(self, draft: Draft, values: Mapping[str, Json]) -> Attributes:
        if self.part.silent:
            return {self.name: values.get(self.name) or getattr(draft, self.name)}
        return {self.name: values[self.name] or ""} if self.name in values else {}

    def _of(self, patch: Patch) -> str | None:
        value: str | None = getattr(patch, self.name)
        return value


class ClosedPatch(ValuePatch):
    """Whether ordinary users see the asset."""

    def between(self, before: Json, draft: Draft, *, whole: bool) -> Attributes:
        return {} if bool(before.get(self.name)) == draft.closed else {self.name: draft.closed}

    def overwrites(self, patch: Patch, schema: Schema) -> bool:
        return False

    def changed(self, patch: Patch, before: Mapping[str, Json]) -> Changes:
        return {self.name: [before.get(self.name, False), patch.closed]} if self.is_in(patch) else {}

    def overlaid(self, draft: Draft, values: Mapping[str, Json]) -> Attributes:
        return {}

    def apply(self, draft: Json, key: str, here: Json, there: Json) -> None:
        _put(draft, key, here or None)


class NamesPatch(PartPatch):
    """A set, of which members are added and removed."""

    @property
    def attributes(self) -> tuple[str, ...]:
        return (f"{self.name}_add", f"{self.name}_remove")

    def between(self, before: Json, draft: Draft, *, whole: bool) -> Attributes:
        had, wanted = self.read(before[self.name]), getattr(draft, self.name)
        return self._edits(wanted - had, had - wanted)

    def merged(self, patches: Sequence[Patch], draft: Draft) -> Attributes:
        sides = [self._of(patch) for patch in patches]
        gone = _union([removed for _, removed in sides]) - getattr(draft, self.name)
        return self._edits(_union([added for added, _ in sides]), gone)

    def is_in(self, patch: Patch) -> bool:
        return any(self._of(patch))

    def is_more(self, patch: Patch, base: Patch) -> bool:
        return any(mine - theirs for mine, theirs in zip(self._of(patch), self._of(base), strict=True))

    def held(self, asset: Asset, path: str) -> Json:
        return self.shown(getattr(asset, self.name))

    def overwrites(self, patch: Patch, schema: Schema) -> bool:
        return False

    def changed(self, patch: Patch, before: Mapping[str, Json]) -> Changes:
        added, removed = self._of(patch)
        return {self.name: [self.shown(removed), self.shown(added)]} if self.is_in(patch) else {}

    def digested(self, patch: Patch) -> dict[str, Json]:
        said = self.is_in(patch) or not self.part.later
        return {self.name: [plain_json(self.shown(each)) for each in self._of(patch)]} if said else {}

    def overlaid(self, draft: Draft, values: Mapping[str, Json]) -> Attributes:
        return {self.name: self.read(values[self.name] or ())} if self.name in values else {}

    def apply(self, draft: Json, key: str, here: Json, there: Json) -> None:
        held, gone, back = (self.read(each or ()) for each in (draft.get(key), there, here))
        draft[key] = self.shown((held - gone) | back)

    def read(self, data: Json) -> frozenset[Any]:
        """The members of a set as JSON."""
        return frozenset(data)

    def shown(self, members: frozenset[Any]) -> Json:
        """A set as JSON."""
        return sorted(members)

    def _of(self, patch: Patch) -> tuple[frozenset[Any], frozenset[Any]]:
        added, removed = (getattr(patch, name) for name in self.attributes)
        return added, removed

    def _edits(self, added: frozenset[Any], removed: frozenset[Any]) -> Attributes:
        return dict(zip(self.attributes, (added, removed), strict=True))


class ContainersPatch(NamesPatch):
    """A set with a path for each kind."""

    def without(self, patch: Patch, paths: Collection[str]) -> Attributes:
        left = (frozenset(one for one in each if f"{PLACEMENTS}{one.kind}" not in paths) for each in self._of(patch))
        return self._edits(*left)

    def overwrites(self, patch: Patch, schema: Schema) -> bool:
        """An asset has one container of some kinds."""
        return any(schema.container_most.get(place.kind) == 1 for place in patch.placements_add)

    def overlaid(self, draft: Draft, values: Mapping[str, Json]) -> Attributes:
        kinds = {path.removeprefix(PLACEMENTS): value for path, value in values.items() if path.startswith(PLACEMENTS)}
        left = frozenset(place for place in draft.placements if place.kind not in kinds)
        return {self.name: left.union(*(self.read(value or ()) for value in kinds.values()))}

    def read(self, data: Json) -> frozenset[Placement]:
        return placements_from_json(data)

    def shown(self, members: frozenset[Placement]) -> Json:
        return placements_to_json(members)


class RightsPatch(PartPatch):
    """Written as a whole; dates that are gone are cleared by name."""

    @property
    def attributes(self) -> tuple[str, ...]:
        return ("rights", "cleared")

    def between(self, before: Json, draft: Draft, *, whole: bool) -> Attributes:
        had = rights_from_json(before["rights"])
        gone = (name for name, key in DATES.items() if getattr(had, key) and not getattr(draft.rights, key))
        return {"rights": draft.rights if whole or had != draft.rights else None, "cleared": frozenset(gone)}

    def merged(self, patches: Sequence[Patch], draft: Draft) -> Attributes:
        given = next((patch.rights for patch in patches if patch.rights is not None), None)
        return {"rights": given, "cleared": _union([patch.cleared for patch in patches])}

    def without(self, patch: Patch, paths: Collection[str]) -> Attributes:
        return {"rights": None, "cleared": frozenset()} if any(path in paths for path in OF_RIGHTS) else {}

    def is_in(self, patch: Patch) -> bool:
        return patch.rights is not None or bool(patch.cleared)

    def created(self, data: Json) -> Changes:
        return {key: [None, value] for key, value in data["rights"].items() if value}

    def changed(self, patch: Patch, before: Mapping[str, Json]) -> Changes:
        after = rights_to_json(patch.rights) if patch.rights else None
        return {"rights": [before.get("rights"), after]} if self.is_in(patch) else {}

    def digested(self, patch: Patch) -> dict[str, Json]:
        given = rights_to_json(patch.rights) if patch.rights is not None else None
        return {"rights": given, "cleared": sorted(patch.cleared)}

    def overlaid(self, draft: Draft, values: Mapping[str, Json]) -> Attributes:
        given = {DATES.get(path, path): _right(path, value) for path, value in values.items() if path in RIGHTS}
        return {"rights": with_changes(draft.rights, **given)}

    def apply(self, draft: Json, key: str, here: Json, there: Json) -> None:
        draft[key] = here or rights_to_json(Rights())


KINDS: Final[Mapping[PartKind, Callable[[AssetPart], PartPatch]]] = {
    PartKind.FIELDS: FieldsPatch,
    PartKind.VALUE: ValuePatch,
    PartKind.NAMES: NamesPatch,
    PartKind.CONTAINERS: ContainersPatch,
    PartKind.RIGHTS: RightsPatch,
    PartKind.CLOSED: ClosedPatch,
    PartKind.CREATION: PartPatch,
}


def patch_of(part: AssetPart) -> PartPatch:
    """How this part of a draft gets into a patch."""
    return KINDS[part.kind](part)


PATCHED: Final = tuple(map(patch_of, PARTS))
"""Every part of a draft, in the order of the ledger."""


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


def _union(sets: Sequence[frozenset[Any]]) -> frozenset[Any]:
    return frozenset[Any]().union(*sets)


def _json(value: Value | None) -> Json:
    return None if value is None else value_to_json(value)


def _right(path: str, value: Json) -> Any:
    if path in DATES:
        return parse_instant(value) if value else None
    return frozenset(value or ())


def _put(values: dict[str, Json], key: str, value: Json) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
