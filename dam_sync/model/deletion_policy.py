"""The policy `deletes: trash` of a job: how long an asset must be gone, and how many one run may remove."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class DeletionPolicy:
    """grace: how long an asset must be gone before it is removed; at most `share` of the linked assets, or `number` of
    them, are removed in one run."""

    grace: timedelta
    share: float | None = None
    number: int | None = None

    def allows(self, removed: int, linked: int) -> bool:
        """Whether one run may remove so many of so many linked assets."""
        if self.number is not None:
            return removed <= self.number
        return self.share is None or removed <= linked * self.share

    @property
    def limit(self) -> str:
        """As it is written in a job."""
        return str(self.number) if self.share is None else f"{self.share * 100:g}%"

    def until(self, since: datetime) -> datetime:
        """The end of the grace period of an asset that was first missed then."""
        return since + self.grace


def policy_of(deletes: str, most: int | str, grace: timedelta) -> DeletionPolicy | None:
    """The policy of a job, as written there; None removes nothing."""
    if deletes == "none":
        return None
    if isinstance(most, int):
        return DeletionPolicy(grace, number=most)
    return DeletionPolicy(grace, share=float(most.rstrip("% ")) / 100)
