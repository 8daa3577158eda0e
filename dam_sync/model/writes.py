"""Writes to a target, and the opening of files of a source, that can be estimated before they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement, Relation
from dam_sync.model.values import Term


@dataclass(frozen=True, slots=True)
class Membership:
    """A container and some of its members, for services that keep membership on the container. unsure: a listing shows
    them, but maybe only because they are in a container below it; as members of that one they are not unsure. unread:
    why nothing is known of the members of this container; those of the others are listed."""

    placement: Placement
    assets: tuple[AssetId, ...]
    unsure: bool = False
    unread: str = ""


@dataclass(frozen=True, slots=True)
class CarriedMemberships:
    """Containers of an asset that got a new version."""

    containers: tuple[Placement, ...]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that is to be attached to an asset."""

    name: str


@dataclass(frozen=True, slots=True)
class TrashMove:
    """An asset that is to be moved to the trash, or out of it. draft: what was last written, for one that comes out."""

    asset: AssetId
    restored: Draft | None = None


@dataclass(frozen=True, slots=True)
class VersionReturn:
    """An older file version that is to become the current one."""

    version: FileRef


@dataclass(frozen=True, slots=True)
class PartRemoval:
    """A part that is to be removed from an asset."""

    part: FileRef | Relation


@dataclass(frozen=True, slots=True)
class Renaming:
    """A term or container of the target that is to get another name."""

    part: Term | Placement


@dataclass(frozen=True, slots=True)
class Opening:
    """A file of a source that is to be read; link: by whoever gets a link to it."""

    file: FileRef
    link: bool = False


_Returning: TypeAlias = TrashMove | VersionReturn | PartRemoval
_Placing: TypeAlias = Placement | Membership | CarriedMemberships
Change: TypeAlias = Draft | Patch | FileRef | Term | _Placing | Attachment | Relation | Renaming | Opening | _Returning
"""A write to be estimated: a Draft is `create` with `size` bytes, a FileRef `replace`, a Patch `update`, a Term
`ensure_term` of a missing term, a Placement `ensure_container` of one missing level, a Membership `place`,
CarriedMemberships `carry_memberships`, an Attachment `attach` of `size` bytes, a Relation `relate`, a TrashMove
`remove` or `restore`, a VersionReturn `restore_version`, a PartRemoval `detach` of a FileRef or `unrelate` of a
Relation, a Renaming `rename_term` or `rename_container`. An Opening is no write, but `open`, or with `link`
`download_link`."""
