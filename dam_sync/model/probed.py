"""What a connection found out about its instance and its credential."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from dam_sync.model.limits import MonthlyAllowance


@dataclass(frozen=True, slots=True)
class Account:
    """What `probe()` proved. tenant: a stable name of the instance; unnamed: what a plan knew it by, before a run gave
    it that name. total: assets this credential sees, if counted.

    notes: missing permissions and capabilities, as sentences for the operator; as_source, as_target: those that concern
    the service only where a job reads it, or writes to it. allowance: if the job names one.
    """

    tenant: str
    user: str = ""
    release: str = ""
    total: int | None = None
    clock_skew: timedelta = timedelta(0)
    notes: tuple[str, ...] = ()
    as_source: tuple[str, ...] = ()
    as_target: tuple[str, ...] = ()
    allowance: MonthlyAllowance | None = None
    unnamed: str = ""

    def notes_as(self, role: str) -> tuple[str, ...]:
        """The notes that concern a source or a target."""
        return (*self.notes, *(self.as_source if role == "source" else self.as_target))
