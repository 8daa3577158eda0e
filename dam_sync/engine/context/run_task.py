"""What one run is to do: what its caller asked for, what the policy of the job says, and which part of the library is
its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from dam_sync.engine.context.planned import PlannedWork
from dam_sync.engine.context.waves import WaveRun
from dam_sync.model.policy import REPAIR, Policy
from dam_sync.model.rotation import Rotation
from dam_sync.model.run_options import RunOptions

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.store.rows import Work


@dataclass(slots=True)
class RunTask:
    """repair: as asked by `options`, or by those of the run that is resumed; rotation: the part of the library that
    this run compares; wave: of a job with waves; planned: the plan that it follows; dry: the target only simulates
    writes; due_by: deletions whose grace period ended by then were counted against the limit."""

    policy: Policy
    options: RunOptions = field(default_factory=RunOptions)
    repair: bool = False
    rotation: Rotation | None = None
    wave: WaveRun | None = None
    planned: PlannedWork | None = None
    dry: bool = False
    due_by: datetime | None = None

    @property
    def reads_target(self) -> bool:
        """Whether this run compares assets with what the target has."""
        return self.repair or (self.rotation is not None and self.policy.drift != "ignore")

    @property
    def repairs(self) -> bool:
        """Whether this run restores what was changed at the target."""
        return self.repair or (self.rotation is not None and self.policy.drift == REPAIR)

    def compares(self, asset: str) -> bool:
        """Whether this run reads the asset at the target because its part of the library is due."""
        return self.reads_target and self.rotation is not None and self.rotation.is_due(asset)

    def note_key(self, key: str) -> str:
        """The key of a note of which each wave has its own."""
        return key if self.wave is None else self.wave.note_key(key)

    async def agree(self, work: Work, digest: str) -> str:
        """The digest of what is about to be done. Raises SafetyStop if the run follows a plan that says otherwise. What
        an earlier attempt began was compared then."""
        if self.planned is not None and not work.begun:
            await self.planned.require(work.asset, digest)
        return digest
