"""What time it is where a wrong clock would show or remove something: by the clocks of both services, as the `Date` of
their responses shows them, and by that of this computer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dam_sync.model.clock import Clock
from dam_sync.model.errors import WrongClock
from dam_sync.model.wording import against_ours, apart_text

MOST_OFF = timedelta(minutes=5)
"""By how much clocks may differ. Synchronized ones differ by less than a second, a response may be a minute on its way,
and the services refuse signed tokens that are five minutes off (wire A 1.3)."""
_WHOLE = timedelta(seconds=1)  # `Date` has no fractions


class ServiceTime:
    """The clock of one service. Between two responses it is followed by the monotonic clock of this computer, which
    nobody sets."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._shown: datetime | None = None
        self._began = self._ended = 0.0
        self._ours = clock.now()

    def saw(self, shown: datetime, began: float) -> None:
        """A response showed this time; its request was sent at this time of the monotonic clock."""
        self._shown, self._began = shown, began
        self._ended, self._ours = self._clock.monotonic(), self._clock.now()

    @property
    def earliest(self) -> datetime | None:
        """The earliest time that it can show now; None if no response showed one. Earlier than that if this computer
        slept, during which its monotonic clock stands still."""
        return None if self._shown is None else self._shown + timedelta(seconds=self._clock.monotonic() - self._ended)

    @property
    def ahead(self) -> timedelta | None:
        """How far it is ahead of ours, at least; None if that is not known: no response came yet, or none since our
        clock was set or this computer slept."""
        if self._shown is None:
            return None
        now, passed = self._clock.now(), timedelta(seconds=self._clock.monotonic() - self._ended)
        if abs(now - self._ours - passed) > MOST_OFF:
            return None
        least = self._shown + passed - now
        most = self._shown + _WHOLE + timedelta(seconds=self._clock.monotonic() - self._began) - now
        return max(least, min(most, timedelta(0)))


@dataclass(slots=True)
class RunTime:
    """The time of one run. services: the clocks of both sides, as far as they have one. accepted: how far each was
    ahead of ours when the run was allowed to write; None: it is not allowed yet, and compares no clock before each
    call, for example that for a token."""

    clock: Clock
    services: Mapping[str, ServiceTime] = field(default_factory=dict)
    accepted: Mapping[str, timedelta] | None = None

    @classmethod
    def of(cls, clock: Clock) -> RunTime:
        """With a clock for each side, which its responses will show."""
        return cls(clock, {role: ServiceTime(clock) for role in ("source", "target")})

    def earliest(self) -> datetime:
        """The time for every decision by which an asset is shown, a period of grace or a wait ends, or something is
        removed: ours, or the earliest of those that differ from it."""
        return min(self._shown())

    def latest(self) -> datetime:
        """The time from which such a period is counted, or at which one ends in which something is allowed."""
        return max(self._shown())

    def _shown(self) -> list[datetime]:
        """Our time, and that of each side whose clock differs from it by more than is allowed; without ours where both
        sides agree that it is wrong."""
        now = self.clock.now()
        theirs = [one for each in self.services.values() if (one := each.earliest) is not None]
        differing = [one for one in theirs if abs(one - now) > MOST_OFF]
        agree = len(differing) > 1 and len(differing) == len(theirs) and max(theirs) - min(theirs) <= MOST_OFF
        return differing if agree else [now, *differing]

    @property
    def fault(self) -> ClockFault | None:
        """What is wrong with the clocks, beyond what the operator accepted; None if nothing is known to be."""
        ahead = {role: by for role, each in self.services.items() if (by := each.ahead) is not None}
        accepted = self.accepted or {}
        new = [role for role, by in ahead.items() if abs(by - accepted.get(role, timedelta(0))) > MOST_OFF]
        return ClockFault(ahead) if new else None

    def accept(self) -> None:
        """The run may write: clocks that are wrong now were accepted by the operator. Safe to repeat."""
        self.accepted = {role: by for role, each in self.services.items() if (by := each.ahead) is not None}

    def refuse_wrong(self) -> None:
        """Called before each write. Raises WrongClock if a clock is wrong that the operator did not accept."""
        if self.accepted is not None and (fault := self.fault) is not None:
            raise WrongClock(f"{fault.message}; nothing more is written", hint=fault.hint)


@dataclass(frozen=True, slots=True)
class ClockFault:
    """Clocks that differ. ahead: by how much that of each side that has one is ahead of ours."""

    ahead: Mapping[str, timedelta]

    @property
    def off(self) -> list[str]:
        """The sides whose clocks differ from ours."""
        return [role for role, by in self.ahead.items() if abs(by) > MOST_OFF]

    @property
    def is_ours(self) -> bool:
        """Whether both services agree that ours is the wrong one."""
        apart = max(self.ahead.values()) - min(self.ahead.values())
        return len(self.ahead) > 1 and len(self.off) == len(self.ahead) and apart <= MOST_OFF

    @property
    def message(self) -> str:
        """Which clock is wrong, as far as the others say."""
        if self.is_ours:
            by = min(self.ahead.values(), key=abs)
            return f"the clock of this computer is {apart_text(-by)} those of both services"
        each = "; ".join(f"the clock of the {role} {against_ours(self.ahead[role])}" for role in self.off or self.ahead)
        if len(self.ahead) > 1 and len(self.off) == 1:
            other = next(role for role in self.ahead if role not in self.off)
            return f"{each}, which that of the {other} agrees with"
        return f"{each}; no other clock says which of them is wrong"

    @property
    def hint(self) -> str:
        """What to do."""
        ours = "set the clock of this computer"
        theirs = f"ask the operator of the {' and of the '.join(self.off or self.ahead)} to set that clock"
        first = (
            ours if self.is_ours else theirs if len(self.ahead) > 1 and len(self.off) == 1 else f"{ours}, or {theirs}"
        )
        return (
            f"{first}, then run the same command again; with --accept-changes the earliest of the clocks decides what "
            "is shown or removed"
        )
