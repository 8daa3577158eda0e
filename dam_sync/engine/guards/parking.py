"""Guards against a systematic failure: stops the run if the first assets are all parked for the same cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dam_sync.engine.context.accepted import Accepted
from dam_sync.model.errors import SafetyStop
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ExposureCause, ParkCause, ParkReason, SkipReason
from dam_sync.store.rows import Work

FIRST = 25  # the first assets that a run has to write
HINT = "correct the cause, then run the same command again; `--continue-parked` parks the assets and continues"


@dataclass(slots=True)
class ParkingMonitor:
    """Watches the first assets of one process. tripped: the cause that stopped the run; what was parked for it is put
    back. Assets that the exposure guard set aside, that an earlier run parked for the same cause or for a temporary
    failure, or that are gone do not count."""

    accepted: Accepted
    parked: int = 0
    cause: ParkCause | None = None
    over: bool = False  # an asset succeeded, or was parked for another cause
    tripped: ParkCause | None = None

    def watch(self, work: Work, outcome: Outcome, in_hand: Iterable[Work]) -> None:
        """One asset was completed, others are in progress. Raises SafetyStop if all of the first ones were parked for
        the same cause, and none that was listed before them can still get through."""
        if self.over or work.passing or outcome.action in ("unchanged", "skipped"):
            return
        cause = outcome.cause
        if cause is None or isinstance(cause, SkipReason):
            self.over = True
            return
        if isinstance(cause, ExposureCause) or cause in (ParkReason.GONE, work.parked_for):
            return
        self.cause = self.cause or cause
        self.over = cause != self.cause
        self.parked += 1
        if self.over or self.parked < FIRST or any(each.seq < work.seq for each in in_hand):
            return
        message = f"the first {self.parked} assets to write were all parked for the same cause: {cause}"
        if self.accepted.options.continue_parked:
            self.over = True
            self.accepted.note([f"{message} (--continue-parked)"])
            return
        self.tripped = cause
        hint = f"{outcome.hint}; {HINT}" if outcome.hint else HINT
        stop = SafetyStop(f"{message}; {outcome.message}", asset=work.asset, hint=hint)
        stop.public = message
        raise stop
