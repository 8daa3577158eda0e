"""Fields, metadata types and upload profiles of one tenant, read from its JSON. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.errors import ContractBroken
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Json, parse_instant
from dam_sync.services.e_profiles.facts import NAMING, VALUE_LETTERS

LISTS = frozenset({"selection_list", "selection_list_multi", "checkboxes"})
SEVERAL = frozenset({"selection_list_multi", "checkboxes"})
KINDS: Mapping[str, FieldKind] = {
    "date": FieldKind.DATE,
    "numeric": FieldKind.NUMBER,
    "text_long": FieldKind.LONG_TEXT,
    "text_multi_line": FieldKind.LONG_TEXT,
}
YES = ("yes", "true", "1", "on", "y")
NO = ("no", "false", "0", "off", "n")

DERIVED: Mapping[str, FieldKind] = {
    "image_width": FieldKind.NUMBER,
    "image_height": FieldKind.NUMBER,
    "video_seconds": FieldKind.NUMBER,
    "file_format": FieldKind.TEXT,
    "embed_id": FieldKind.TEXT,
    "cutline_caption": FieldKind.TEXT,
}
"""What the service works out by itself; a tenant's own field of the same key comes first."""


@dataclass(frozen=True, slots=True)
class ProfilesField:
    """One metadata field. `type` is the service's own word for it, `values` its list where that was read."""

    key: str
    type: str = "text"
    label: str = ""
    types: frozenset[str] = frozenset()
    required: bool = False
    editable: bool = True
    controlled: bool = False
    values: tuple[str, ...] = ()

    @property
    def ticked(self) -> str:
        """The value that means yes, where the field is a flag; else empty (assumption 12)."""
        if self.type != "checkboxes":
            return ""
        if len(self.values) == 1:
            return self.values[0]
        folded = {value.strip().casefold(): value for value in self.values}
        yes = next((folded[word] for word in YES if word in folded), "")
        return yes if len(folded) == 2 and any(word in folded for word in NO) else ""

    @property
    def unticked(self) -> str:
        """The value that means no, where a flag has one."""
        return next((value for value in self.values if self.ticked and value != self.ticked), "")

    @property
    def kind(self) -> FieldKind:
        """The neutral kind."""
        if self.ticked:
            return FieldKind.FLAG
        if self.controlled or self.type in LISTS:
            return FieldKind.TERM
        return KINDS.get(self.type, FieldKind.TEXT)

    @property
    def multiple(self) -> bool:
        """Whether it takes several values."""
        return self.type in SEVERAL and not self.ticked


@dataclass(frozen=True, slots=True)
class UploadProfile:
    """An upload profile: what an asset uploaded through it gets by itself. says_groups: whether the service shows its
    groups."""

    name: str
    type: str
    groups: frozenset[str] = frozenset()
    immediate: bool = False
    release_at: datetime | None = None
    says_groups: bool = True

    def hides(self, now: datetime) -> bool:
        """Whether it releases nothing that is uploaded through it, until somebody does."""
        return self.release_at > now if self.release_at is not None else not self.immediate

    def is_unseen(self, now: datetime) -> bool:
        """Whether nobody sees what is uploaded through it: an asset needs a release date and a group to be seen."""
        return self.hides(now) or self.is_groupless

    def closes(self, now: datetime) -> bool:
        """The same for what our user sees. An asset with neither a release date nor a group is there for nobody (spec
        002, States, E), so that its rights could not be written."""
        return self.is_groupless != self.hides(now)

    @property
    def is_groupless(self) -> bool:
        """Whether it gives no group."""
        return self.says_groups and not self.groups


@dataclass(frozen=True, slots=True)
class TenantSchema:
    """What one tenant means by its keys: all that is needed to read and write its assets."""

    fields: Mapping[str, ProfilesField] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()
    profiles: Mapping[str, UploadProfile] = field(default_factory=dict)
    everybody: frozenset[str] = frozenset()  # groups that stand for all users

    def of_type(self, name: str) -> list[UploadProfile]:
        """The profiles of a metadata type, by name."""
        found = (profile for profile in self.profiles.values() if profile.type == name)
        return sorted(found, key=lambda profile: profile.name)


@interprets_response
def viewable_of(rows: Iterable[Json]) -> dict[str, ProfilesField]:
    """The fields of `GET /v2/metadata/fields/viewable`, by display key."""
    return {str(row["display_key"]): _viewable(row) for row in rows if row.get("display_key")}


def _viewable(row: Json) -> ProfilesField:
    return ProfilesField(
        key=str(row["display_key"]),
        type=str(row.get("field_type") or "text"),
        label=member_text(row, "display_name"),
        types=frozenset(str(name) for name in row.get("metadata_types") or ()),
        controlled=str(row.get("field_type")) in LISTS,
    )


@interprets_response
def with_types(fields: Mapping[str, ProfilesField], types: Sequence[Json]) -> dict[str, ProfilesField]:
    """The same fields with what only the metadata types show: required, editable, lists, and fields lost in paging."""
    known, open_ = dict(fields), _editable(types)
    for kind in types:
        for row in kind.get("fields") or ():
            key = member_text(row, "displayKey")
            if key:
                before = known.get(key) or ProfilesField(key, _guessed(row), member_text(row, "displayName"))
                known[key] = replace(_merged(before, row, member_text(kind, "name")), editable=key in open_)
    return known


def _editable(types: Sequence[Json]) -> frozenset[str]:
    """Fields that at least one type lets be written; what a type locks that has them alone is refused there."""
    rows = (row for kind in types for row in kind.get("fields") or ())
    return frozenset(str(row.get("displayKey")) for row in rows if row.get("editable") is not False)


def _merged(before: ProfilesField, row: Json, type_name: str) -> ProfilesField:
    items = (row.get("itemList") or {}).get("items") or ()
    values = tuple(str(item.get("displayName")) for item in items if item.get("displayName") is not None)
    return replace(
        before,
        types=before.types | {type_name},
        required=before.required or bool(row.get("required")),
        controlled=before.controlled or row.get("itemList") is not None,
        values=values or before.values,
    )


def _guessed(row: Json) -> str:
    """A type for a field that only a metadata type tells of (wire E 5.2 names two discriminators)."""
    word = member_text(row, "discriminator").casefold()
    if row.get("itemList") is not None:
        return "selection_list_multi"
    if "date" in word:
        return "date"
    return "numeric" if "num" in word else "text"


@interprets_response
def asset_types(types: Iterable[Json]) -> tuple[str, ...]:
    """Names of the metadata types that assets use; other uses are order forms (wire E 5.2)."""
    return tuple(member_text(row, "name") for row in types if row.get("name") and _is_of_assets(row))


@interprets_response
def of_assets(types: Sequence[Json]) -> list[Json]:
    """The same as rows. Raises ContractBroken if types are listed and none is for assets: that reading is wrong."""
    found = [row for row in types if _is_of_assets(row)]
    if types and not found:
        uses = sorted({str(row.get("use")) for row in types})
        raise ContractBroken(f"no metadata type is used by assets, only by {', '.join(uses)}")
    return found


def _is_of_assets(row: Json) -> bool:
    return str(row.get("use") or "asset").casefold() == "asset"


@interprets_response
def profile_of(row: Json) -> UploadProfile:
    """One upload profile (wire E 5.6)."""
    release = row.get("release_date")
    return UploadProfile(
        name=str(row["name"]),
        type=member_text(row, "metadata_type"),
        groups=frozenset(str(name) for name in row.get("asset_groups") or ()),
        says_groups=isinstance(row.get("asset_groups"), list),
        immediate=row.get("immediate_release") is not False,  # one that does not say so may release
        release_at=parse_instant(str(release)) if release else None,
    )


@interprets_response
def texts_of(rows: Json) -> frozenset[str]:
    """The strings of a list; anything else is left out."""
    return frozenset(row for row in rows if isinstance(row, str)) if isinstance(rows, list) else frozenset()


def schema_of(tenant: TenantSchema, now: datetime) -> Schema:
    """The neutral schema."""
    listed = [info for info in tenant.fields.values() if info.kind is FieldKind.TERM]
    return Schema(
        fields=_derived() | {key: _field(info) for key, info in tenant.fields.items()},
        vocabularies={info.key: Vocabulary(info.key, info.label) for info in listed},
        types=_types(tenant, now),
        closing_types=tuple(_entry(each, now) for each in tenant.profiles.values() if each.is_unseen(now)),
        statuses=frozenset({"published", "archived", "trash"}),
        groups=tenant.groups,
        labels=frozenset(),
        container_kinds=frozenset({"category", "collection"}),
        container_depth={"collection": 1},  # wire E 5.5
        always_released=True,  # wire E 6.5; assumption 25
        naming=NAMING,
    )


def _types(tenant: TenantSchema, now: datetime) -> tuple[AssetType, ...]:
    """One entry for each profile, and one for a type that no profile makes. A profile whose uploads nobody sees serves
    others of its type, and stands for itself where it is alone."""
    open_to = {profile.type for profile in tenant.profiles.values() if not profile.is_unseen(now)}
    shown = [each for each in tenant.profiles.values() if not each.is_unseen(now) or each.type not in open_to]
    made = [_entry(profile, now) for profile in shown]
    names = {entry.name for entry in made}
    return (*made, *(AssetType(name) for name in tenant.types if name not in names))


def _entry(profile: UploadProfile, now: datetime) -> AssetType:
    groups = profile.groups if profile.says_groups else None
    return AssetType(profile.type, profile.name, groups=groups, releases=not profile.hides(now))


def _field(info: ProfilesField) -> Field:
    return Field(
        key=info.key,
        kind=info.kind,
        label=info.label,
        multiple=info.multiple,
        required=info.required,
        editable=info.editable,
        max_length=VALUE_LETTERS.get(info.type) if info.kind is FieldKind.TEXT else None,
        vocabulary=info.key if info.kind is FieldKind.TERM else "",
        types=info.types,
    )


def _derived() -> dict[str, Field]:
    return {
        key: Field(key, kind, key.replace("_", " "), editable=False, indexed=False, system=True, derived=True)
        for key, kind in DERIVED.items()
    }
