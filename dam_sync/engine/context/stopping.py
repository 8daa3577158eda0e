"""How a run stops before its end: it is asked to, its time is over, or it has no call left."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.model.clock import Clock
from dam_sync.model.errors import StopKind, StopRequested
from dam_sync.model.run_options import StopToken


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a run stops by itself, on the monotonic scale of its clock, and what it says then."""

    at: float
    reason: str = "stopped at the time limit"
    kind: StopKind = StopKind.DURATION


@dataclass(slots=True)
class Stopping:
    """token: by which it is asked; used_up: why no call is sent any more, a budget of calls."""

    token: StopToken
    clock: Clock
    deadline: Deadline | None = None
    used_up: StopRequested | None = None

    @property
    def ends(self) -> bool:
        """Whether to start nothing new."""
        return bool(self.token.reason) or self.used_up is not None

    @property
    def hurries(self) -> bool:
        """Whether to release also what was only read ahead."""
        return self.token.hurry or self.used_up is not None

    @property
    def passed_deadline(self) -> Deadline | None:
        """The deadline once it has passed."""
        return self.deadline if self.deadline is not None and self.clock.monotonic() >= self.deadline.at else None

    def refuse_stopped(self) -> None:
        """Raises StopRequested once the run is asked to stop, or has no call left."""
        if self.used_up is not None:
            raise self.used_up
        if self.token.reason:
            raise self.token.error("run the same command again to continue")

    def refuse_hurried(self) -> None:
        """Raises StopRequested once what was begun is to be released, too."""
        if self.hurries:
            self.refuse_stopped()
