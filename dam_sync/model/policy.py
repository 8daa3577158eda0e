"""The policy of a job."""

from __future__ import annotations

from dataclasses import dataclass, field

from dam_sync.model.conflict import ConflictRules
from dam_sync.model.deletion_policy import DeletionPolicy
from dam_sync.model.exposure import NOTHING_WAIVED, Waivers

REPAIR = "repair"  # a policy of drift


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy of the job. versions: `all` or `current`; conflicts: which value stands if both services changed it;
    extras (what others added at the target): `tell`, `ignore` or `fail`; rotation: in how many runs everything is
    compared, None without one; drift (what was changed at the target, as the rotation finds): `tell`, `ignore` or
    `repair`; ledger: `values`, or `keys` without values; exposure: what may be more visible at the target; deletions:
    None removes nothing."""

    versions: str = "all"
    conflicts: ConflictRules = field(default_factory=ConflictRules)
    extras: str = "tell"
    rotation: int | None = None
    drift: str = "tell"
    ledger: str = "values"
    exposure: Waivers = NOTHING_WAIVED
    deletions: DeletionPolicy | None = None
