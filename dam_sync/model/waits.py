"""What a call waits for now: every wait is registered here while it lasts, to be shown by whoever shows progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from dam_sync.model.clock import Clock
from dam_sync.model.values import Json, instant_text

ASKED = "the end of a pause that the service asked for"
RATE = "a permit of its rate limit"
OTHERS = "calls that other processes give back"
BANDWIDTH = "the bandwidth that the job allows"
INDEX = "its search index"
FILE = "the next bytes of a file"
PROCESSED = "a file to be processed"
FETCHED = "a file that it fetches itself"
LATE = "the effect of a call without a response"
AGAIN = "another attempt of a call that failed"
SHOWN_AFTER = 5.0  # seconds; what is over earlier is not worth a line


_numbers = count(1)


@dataclass(slots=True, eq=False)
class Wait:
    """One wait. what: goes on after `waiting for`; side: `source`, `target`, or empty if it is about neither; since,
    until: on a monotonic clock, `until` at the latest, None if nothing bounds it; by: the other process that waits,
    empty for this one; number: of the waits of this process, so that two reports of one wait are known."""

    what: str
    side: str
    since: float
    until: float | None
    by: str = ""
    number: int = field(default_factory=_numbers.__next__)

    def text(self, now: float) -> str:
        """`target: waiting for POST assets since 40 s, at most 5 min`."""
        most = "" if self.until is None else f", at most {_seconds_text(self.until - self.since)}"
        return f"{_of(self.side)}waiting for {self.what} since {_seconds_text(now - self.since)}{most}{_by(self.by)}"

    def as_json(self, now: float) -> dict[str, Json]:
        """For callers of the API: seconds so far, and at most."""
        most = None if self.until is None else round(self.until - self.since, 1)
        return {
            "side": self.side,
            "for": self.what,
            "seconds": round(now - self.since, 1),
            "at_most": most,
            "by": self.by,
            "text": self.text(now),
        }

    def as_note(self, clock: Clock) -> dict[str, Json]:
        """For other processes, which have another monotonic clock."""
        now, ours = clock.now(), clock.monotonic()
        until = None if self.until is None else _instant(now, self.until - ours)
        since = _instant(now, self.since - ours)
        return {"side": self.side, "for": self.what, "since": since, "until": until, "by": self.by}


@dataclass(slots=True)
class Waits:
    """The waits of one call that are not over. Threads may look at them."""

    _open: dict[int, Wait] = field(default_factory=dict)

    def begin(self, what: str, side: str, since: float, until: float | None, by: str = "") -> Wait:
        """Register a wait until `end`."""
        wait = Wait(what, side, since, until, by)
        self._open[id(wait)] = wait
        return wait

    def end(self, wait: Wait) -> None:
        """It is over; safe to repeat."""
        self._open.pop(id(wait), None)

    def longest(self, now: float, least: float = SHOWN_AFTER) -> Wait | None:
        """The wait that began first, if that is so long ago; of several that began together the last one registered,
        which is the most exact."""
        found: Wait | None = None
        for wait in self._open.copy().values():
            if now - wait.since >= least and (found is None or wait.since <= found.since):
                found = wait
        return found


_CURRENT: ContextVar[Waits] = ContextVar("waits")
_UNSEEN = Waits()  # where nobody shows them


def current_waits() -> Waits:
    """Those of the call that is made here."""
    return _CURRENT.get(_UNSEEN)


@contextmanager
def showing(waits: Waits) -> Iterator[None]:
    """What is waited for within is registered there."""
    token = _CURRENT.set(waits)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def waiting(clock: Clock, seconds: float | None, what: str, side: str = "", by: str = "") -> Iterator[Wait]:
    """Something is waited for within, for so many seconds at most. what: a noun, after `waiting for`; by: as in
    `Wait`."""
    waits, since = current_waits(), clock.monotonic()
    wait = waits.begin(what, side, since, None if seconds is None else since + seconds, by)
    try:
        yield wait
    finally:
        waits.end(wait)


async def sleep_for(clock: Clock, seconds: float, what: str, side: str = "") -> None:
    """Sleep, because of something: the only way to wait where it may take longer than a moment."""
    with waiting(clock, seconds, what, side):
        await clock.sleep(max(0.0, seconds))


def note_text(note: Json) -> str:
    """A wait of another process, as `Wait.as_note` gives it; an earlier version did not name the process."""
    until = f", until {note['until']} at the latest" if note["until"] else ""
    return f"{_of(note['side'])}waiting for {note['for']} since {note['since']}{until}{_by(note.get('by', ''))}"


def _by(process: str) -> str:
    return f" ({process})" if process else ""


def _of(side: str) -> str:
    return f"{side}: " if side else ""


def _instant(now: datetime, seconds: float) -> str:
    return instant_text((now + timedelta(seconds=seconds)).replace(microsecond=0))


def _seconds_text(seconds: float) -> str:
    """`40 s`, `5 min`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 120:
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 10 else "")
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
