"""Everything that is done to one asset of the target, in one value. Pure.

The plan, the ledger, the report and the calls are made of it, so that none of them says something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement, Relation
from dam_sync.model.values import Json


class Step(StrEnum):
    """A part of a change that is made by calls of its own."""

    CREATE = "create it with its oldest version"
    RESTORE = "take it out of the trash"
    OLDER = "make an older version the current one"
    VALUES = "values"
    VERSIONS = "new versions"
    DETACH = "removed attachments"
    ATTACH = "new attachments"
    TRASH = "move it to the trash"


ORDER: Final[Mapping[Step, str]] = {
    Step.CREATE: "everything else is done to the asset that it makes",
    Step.RESTORE: "an asset in the trash takes no other change",
    Step.OLDER: "it brings values along, which are written back after it",
    Step.VALUES: "a new file may need the name",
    Step.VERSIONS: "each becomes the current one, so that the oldest is sent first",
    Step.DETACH: "an attachment to be added may have the same name",
    Step.ATTACH: "nothing depends on it",
    Step.TRASH: "an asset in the trash takes no other change",
}
"""The order of the calls, with the reason for each place. Memberships and relations follow once all assets exist."""


@dataclass(frozen=True, slots=True)
class AssetCreate:
    """An asset that one call makes. file: the oldest of its versions; None for an asset without a file."""

    draft: Draft
    file: FileRef | None = None


@dataclass(frozen=True, slots=True)
class AssetChange:
    """What is done to one asset. create: of one that does not exist yet; restore: the draft with which it comes out of
    the trash; older: a version that the target has, and that becomes the current one again; versions, attachments:
    files of the source that are added, in order; detach: attachments that are removed, by key, as they were sent;
    trash: it goes to the trash; relations, unrelated: written once all assets exist; paths: what a repair restores."""

    create: AssetCreate | None = None
    restore: Draft | None = None
    older: FileRef | None = None
    patch: Patch = field(default_factory=Patch)
    versions: tuple[FileRef, ...] = ()
    detach: Mapping[str, Json] = field(default_factory=dict)
    attachments: tuple[FileRef, ...] = ()
    trash: bool = False
    relations: frozenset[Relation] = frozenset()
    unrelated: frozenset[Relation] = frozenset()
    paths: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Those that it has, in their order."""
        has = {
            Step.CREATE: self.create is not None,
            Step.RESTORE: self.restore is not None,
            Step.OLDER: self.older is not None,
            Step.VALUES: not self.patch.empty or bool(self.paths),
            Step.VERSIONS: bool(self.versions),
            Step.DETACH: bool(self.detach),
            Step.ATTACH: bool(self.attachments),
            Step.TRASH: self.trash,
        }
        return tuple(step for step in ORDER if has[step])

    @property
    def files(self) -> tuple[FileRef, ...]:
        """The versions that are sent, oldest first, with that of a create."""
        first = self.create.file if self.create is not None else None
        return self.versions if first is None else (first, *self.versions)

    @property
    def placed(self) -> frozenset[Placement]:
        """The containers that it comes into. Those that are filled in bulk are, once all assets exist."""
        return self.patch.placements_add if self.create is None else self.create.draft.placements

    @property
    def unplaced(self) -> frozenset[Placement]:
        """The containers that it leaves. A new asset is in none that is filled in bulk, whatever an interrupted attempt
        intended."""
        return self.patch.placements_remove if self.create is None else frozenset()

    @property
    def empty(self) -> bool:
        """Whether nothing is written to the target."""
        return not (self.steps or self.relations or self.unrelated)

    @property
    def adds(self) -> bool:
        """Whether files or relations are added."""
        return bool(self.versions or self.attachments or self.relations)


@dataclass(slots=True)
class Sent:
    """What was written. asset: of the target, empty until it is created; current: the last version as it was sent, None
    if this attempt sent none; attached: by key."""

    asset: AssetId
    current: FileRef | None = None
    attached: dict[str, Json] = field(default_factory=dict)
