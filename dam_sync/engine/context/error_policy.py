"""What an error leads to: stop the run, retry or restart the asset, or park it. The only place that decides this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dam_sync.model.errors import DamSyncError, Disposition, StillFetching, Throttled, Transient
from dam_sync.model.limits import PATIENCE
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import KeepsFailing
from dam_sync.store.rows import Work

MAX_ATTEMPTS = 4
FRUITLESS = 12  # transient failures in a row, over all assets, before the run stops


@dataclass(frozen=True, slots=True)
class StopRun:
    """The error concerns more than one asset: raise it."""


@dataclass(frozen=True, slots=True)
class RetryAsset:
    """Put the work item back, due after `after_s` seconds."""

    after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RestartAsset:
    """Put the work item back, due at once: an upload session is gone, and the next attempt opens another."""


@dataclass(frozen=True, slots=True)
class ReleaseAsset:
    """Put the work item back for the next run, as if it had not been tried: this one ends."""


@dataclass(frozen=True, slots=True)
class ParkAsset:
    """Set the asset aside with this outcome; the run continues. counts: another asset got a response, so the service
    works; an asset that keeps failing does not show that."""

    outcome: Outcome
    counts: bool = True


Reaction: TypeAlias = StopRun | RetryAsset | RestartAsset | ReleaseAsset | ParkAsset


def react(error: DamSyncError, work: Work | None = None, *, failures: int = 0, writing: bool = False) -> Reaction:
    """What to do about an error. work: the item that raised it, None if attempts are not counted; failures: transient
    ones in a row over all assets, this one included; writing: an upload may have been open."""
    if isinstance(error, StillFetching):
        return ReleaseAsset()
    match error.disposition:
        case Disposition.STOP:
            return StopRun()
        case Disposition.RETRY:
            return _retry(error, work, failures)
        case Disposition.RESTART if work is None or (writing and work.attempt < MAX_ATTEMPTS):
            return RestartAsset()
        case _:
            return ParkAsset(parked_for(error))


def _retry(error: DamSyncError, work: Work | None, failures: int) -> Reaction:
    after = min(PATIENCE, error.retry_after or 0.0) if isinstance(error, Transient) else 0.0
    if failures >= FRUITLESS or (isinstance(error, Throttled) and (error.retry_after or 0.0) > PATIENCE):
        return StopRun()
    if work is None:
        return RetryAsset()
    if work.attempt >= MAX_ATTEMPTS:
        return ParkAsset(_keeps_failing(error), counts=False)
    return RetryAsset(after or float(2**work.attempt))


def parked_for(error: DamSyncError) -> Outcome:
    """What becomes of an asset that is set aside for an error."""
    return Outcome(
        action="parked",
        cause=error.cause,
        message=error.message,
        hint=error.hint,
        operation=error.operation,
        passing=error.passing,
    )


def _keeps_failing(error: DamSyncError) -> Outcome:
    return Outcome(
        action="parked",
        cause=KeepsFailing(error.cause),
        message=error.message,
        operation=error.operation,
        passing=True,
    )
