"""The neutral asset, what is to be written of it, and the marker by which it is found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NewType

from dam_sync.model.audience import Restriction
from dam_sync.model.joined_names import joined
from dam_sync.model.values import Value

AssetId = NewType("AssetId", str)
Revision = NewType("Revision", str)


@dataclass(frozen=True, slots=True)
class FileRef:
    """One stored file: the original of a version, or an attachment.

    size in bytes; digests by algorithm name (`md5`, `sha256`) in lower-case hexadecimal, as the service published them;
    `link` is where the service said the bytes are, possibly signed: it is never stored, logged or shown. `withheld` is
    why `open` will be refused, where the service says so with the asset: a plan then parks what a run would park.
    `repeats`: ids of versions right before it with the same file, which are taken for one version of the file with it
    because the service may have made them for changed values alone, oldest first.
    """

    id: str
    name: str
    size: int | None = None
    media_type: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime | None = None
    link: str = field(default="", repr=False, compare=False)
    withheld: str = field(default="", compare=False)
    repeats: tuple[str, ...] = field(default=(), compare=False)

    def agrees(self, other: FileRef) -> bool:
        """Whether the size and the digests that both know are equal."""
        common = set(self.digests) & set(other.digests)
        return self.has_size_of(other) and all(self.digests[name] == other.digests[name] for name in common)

    def has_bytes_of(self, other: FileRef) -> bool | None:
        """Whether a digest that both know, and their sizes, say that they have the same bytes; None if they have no
        digest in common."""
        return self.agrees(other) if self.digests.keys() & other.digests.keys() else None

    def has_size_of(self, other: FileRef) -> bool:
        """Whether the sizes are equal, or one is unknown."""
        return None in (self.size, other.size) or self.size == other.size


@dataclass(frozen=True, slots=True)
class FileLink:
    """Where a target can fetch a file itself, without a credential of ours. url: a secret, never stored, logged or
    shown. file: identifies its bytes at the source, for the journal."""

    url: str = field(repr=False)
    file: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Membership in a container. kind: folder, category, collection, section or label; path from the root down.

    `id` is the container's own id at the service it was read from, or is to be written to.
    """

    kind: str
    path: tuple[str, ...]
    id: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The path as people and mappings write it: `/Press/2024`, a slash inside a name as `\\/`."""
        return path_text(self.path)


def path_text(path: Sequence[str]) -> str:
    """The names of a path from the root down, as people and mappings write them: `/Press/2024`; empty for no name."""
    return f"/{joined(path, '/')}" if path else ""


def with_new_top(path: Sequence[str], old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """The path after what was at `old` became `new`: changed if it is that or below."""
    inside = tuple(path[: len(old)]) == tuple(old)
    return (*new, *path[len(old) :]) if inside else tuple(path)


@dataclass(frozen=True, slots=True)
class Rights:
    """Who may see the asset and when. groups: names of those who may, inherited ones included; empty: everybody who can
    use the tenant. restrictions: what else narrows it; written only where `Capabilities.parts` names them."""

    release_at: datetime | None = None
    expires_at: datetime | None = None
    groups: frozenset[str] = frozenset()
    restrictions: frozenset[Restriction] = frozenset()


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed link to another asset of the same library."""

    kind: str
    target: AssetId


@dataclass(frozen=True, slots=True)
class Loss:
    """Something the target cannot hold or a rule dropped, by name. path: `fields.title.fr`, `versions`, `tags`, …"""

    path: str
    rule: str
    detail: str = ""

    @property
    def text(self) -> str:
        """All of it in one line."""
        return f"{self.path}: {self.rule}{f': {self.detail}' if self.detail else ''}"


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset as read. `versions` are ordered oldest first and end with the current file; the last is `file`.

    status: published, archived, draft, import, trash, … in lower case, `substatus` where the tenant has its own.
    form_type: the service's own class of record (PICTURE, Photo, …). type: the name of its form or metadata type.
    created_at: when the work was made or first stored, changed_at: last change, imported_at: arrival at this service.
    inherited_groups: those of its rights that its container grants, and not the asset itself; not stored.
    source_links: public URLs of the asset at this service, for redirects. losses: what the asset has and the
    service does not return (bytes of older versions, …), by name. token: what marks an asset that a create began, where
    that is in none of its fields; not stored.
    """

    id: AssetId
    revision: Revision
    filename: str = ""
    status: str = ""
    substatus: str = ""
    form_type: str = ""
    type: str = ""
    fields: Mapping[str, Value] = field(default_factory=dict)
    versions: tuple[FileRef, ...] = ()
    attachments: tuple[FileRef, ...] = ()
    placements: frozenset[Placement] = frozenset()
    tags: frozenset[str] = frozenset()
    machine_tags: frozenset[str] = frozenset()
    rights: Rights = Rights()
    relations: frozenset[Relation] = frozenset()
    created_at: datetime | None = None
    changed_at: datetime | None = None
    imported_at: datetime | None = None
    source_links: Mapping[str, str] = field(default_factory=dict)
    inherited_groups: frozenset[str] = frozenset()
    losses: tuple[Loss, ...] = ()
    token: str = ""

    @property
    def file(self) -> FileRef | None:
        """The current file; None for an asset that is metadata only."""
        return self.versions[-1] if self.versions else None


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a listing; `asset` is None if the listing returns only ids. `deleted`: found in the trash."""

    id: AssetId
    revision: Revision
    changed_at: datetime | None = None
    asset: Asset | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Marker:
    """Identifies an asset that we created: `value` (letters, digits, `-`, `_`), stored in the target's field
    `field`."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class Draft:
    """An asset to be created. Placements carry the target's container ids; terms in `fields` the target's term ids.

    profile: the target's upload profile or form. `fields` includes the marker. An empty status leaves the default.
    closed: no ordinary user may see the asset, neither during its creation nor afterwards; see `Feature.CLOSED`.
    """

    marker: Marker | None
    filename: str
    profile: str = ""
    status: str = ""
    fields: Mapping[str, Value] = field(default_factory=dict)
    placements: frozenset[Placement] = frozenset()
    tags: frozenset[str] = frozenset()
    rights: Rights = Rights()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes to one asset; None or absent means untouched. `fields` with None as value clears the field. closed: True
    hides the asset from ordinary users before anything else is written; False gives it status and rights as a draft
    that is not closed would, after everything else."""

    fields: Mapping[str, Value | None] = field(default_factory=dict)
    filename: str | None = None
    status: str | None = None
    placements_add: frozenset[Placement] = frozenset()
    placements_remove: frozenset[Placement] = frozenset()
    tags_add: frozenset[str] = frozenset()
    tags_remove: frozenset[str] = frozenset()
    rights: Rights | None = None
    cleared: frozenset[str] = frozenset()  # of release, expiry: set by us before, and gone now
    closed: bool | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return self == _UNTOUCHED


_UNTOUCHED = Patch()
_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":")
)  # `dumps` creates one for each call


def digest_of(data: object) -> str:
    """A short stable digest of JSON data."""
    text = _ENCODER.encode(data)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
