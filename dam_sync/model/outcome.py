"""How an asset ended in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dam_sync.model.account import AccountKey
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.correction import FailedValue
from dam_sync.model.link import LinkRow
from dam_sync.model.parking import Cause
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A value of a parked asset that changed at both services. written, source, target: last written and now, in the
    form of a draft as JSON; state: a digest of both sides; why: why no policy decided it; decision: of a person, empty,
    `source` or `target`; filename: of the asset."""

    asset: str
    path: str
    written: Json
    source: Json
    target: Json
    state: str
    why: str = ""
    decision: str = ""
    filename: str = ""


MADE = ("created", "updated")
"""Actions by which an asset stays counted if the run comes back to it and there is nothing to do; as the first of them
also if it is updated then."""


REMOVED = "removed"
"""The action of an asset that is gone from the source and was moved to the trash of the target."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a work item ended: created, updated, unchanged, removed, skipped or parked with its reason.

    placements: (container, target asset, add or remove) to be written in bulk later; relations: (kind, other source
    id, add or remove). named: by what people recognize the asset: its name, of a parked one also title and URL.
    passing: parked for a failure that may be temporary. conflicts: those for which it is parked. account: what became
    of its values, and what the field rules gave; digest: of the operation, without ids assigned by the target. wave:
    the wave that it was found to belong to, empty for none; None if it was not sorted.
    """

    action: str
    cause: Cause | None = None
    message: str = ""
    hint: str = ""
    operation: str = ""
    losses: Json = None
    evidence: str = ""
    link: LinkRow | None = None
    passing: bool = False
    placements: tuple[tuple[Placement, AssetId, bool], ...] = ()
    relations: tuple[tuple[str, AssetId, bool], ...] = ()
    conflicts: tuple[ConflictRow, ...] = ()
    failed: tuple[FailedValue, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    account: Mapping[AccountKey, int] = field(default_factory=dict)
    digest: str = ""
    wave: str | None = None
