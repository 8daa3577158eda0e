"""Limits and lifetimes of a service: numbers, never code. None: not documented; detected, never guessed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

MIB = 1024 * 1024
PATIENCE = 900.0  # a service that asks for a longer pause ends the call; the command can be run again
QUESTION_SECONDS = 180.0
"""For which a service is waited for to answer one question, over all attempts of it; a call that is known to take
longer has its own time."""
MOST_LEARNED = 32  # calls at once that are tried where no number is documented; a run then has so many assets in hand


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a credential may call: calls per second over all its processes, calls at once, storage calls at once.

    most_at_once: how many calls at once are tried at most if their number is learned, beginning with `at_once`; None:
    it is fixed. careful: the rate that is kept to where none is documented and the job sets none; None: it is learned.
    """

    per_second: float | None = None
    at_once: int = 8
    storage_at_once: int = 4
    most_at_once: int | None = None
    careful: float | None = None

    @property
    def most(self) -> int:
        """Calls at once, at most."""
        return max(1, self.at_once, self.most_at_once or 0)

    def with_concurrency(self, concurrency: int | None) -> Pace:
        """With the number of calls at once that the operator sets, which is then fixed."""
        return replace(self, at_once=concurrency, most_at_once=None) if concurrency else self


@dataclass(frozen=True, slots=True)
class MeasuredPace:
    """How fast a connection actually calls, for estimates: the pace to be expected, even if no limit is documented, and
    the mean seconds of an API call so far. Its `most_at_once` is None if the number of calls at once is known."""

    pace: Pace
    call_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RateStatus:
    """A credential during a run, to be shown: calls per second that it may send now, and at most; calls of the day so
    far, if they are counted."""

    allowed: float | None = None
    limit: float | None = None
    today: int | None = None


@dataclass(frozen=True, slots=True)
class MonthlyAllowance:
    """API calls that an account may send per calendar month (UTC), by its plan. used: how many of them the service
    counted from `since` until `counted`; those after it are not among them yet."""

    calls: int
    used: int
    since: datetime
    counted: datetime

    def used_in(self, month: datetime) -> tuple[int, datetime]:
        """The calls counted in the month that begins then, and the time from which calls are to be added to them."""
        return (self.used, self.counted) if self.since >= month else (0, month)


@dataclass(frozen=True, slots=True)
class CountedCalls:
    """API calls that the service counted for the account from `since` until `until`, whoever sent them. option: of the
    job, which keeps to an allowance; calls: that number, if the job names it."""

    used: int
    since: datetime
    until: datetime
    option: str
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes [start, stop) of a file; numbers count from 1."""

    number: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Bytes in this part."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class PartBounds:
    """The parts that a service accepts: sizes in bytes (`least` not for the last), how many, how many at once."""

    preferred: int
    least: int
    most: int | None = None
    count: int | None = None
    at_once: int = 1

    def split(self, size: int) -> tuple[Part, ...]:
        """Cut `size` bytes into parts within the bounds. Raises ValueError if that is impossible."""
        step = self.preferred
        if self.count is not None and size > step * self.count:
            step = -(-size // self.count)
        if self.most is not None and step > self.most:
            raise ValueError(f"{size} bytes do not fit into {self.count} parts of at most {self.most} bytes")
        starts = range(0, max(size, 1), step)
        return tuple(Part(n, start, min(start + step, size)) for n, start in enumerate(starts, 1))


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """For how long we build on what the service keeps: what it documents, less a reserve where there is one."""

    upload: timedelta | None = None  # an upload session or temporary file
    link: timedelta | None = None  # a signed download link
    scroll: timedelta | None = None  # a server-side cursor


@dataclass(frozen=True, slots=True)
class SmallFile:
    """What moving a small file takes besides API calls, for estimates. downloads, uploads: calls to storage, redirects
    included; waited_for: whether a create waits until the file is usable."""

    downloads: int = 1
    uploads: int = 0
    waited_for: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """One service's numbers.

    page: rows per listing page; reach: hits that a query can return; split: rows above which a library is read in
    several shards; single_bytes: largest upload in one request; largest_bytes: largest file; lifetimes: of what the
    service keeps for a time; precision: of its timestamps; lag: how long its index may run behind; member_batch:
    assets per membership call; filename: characters in a file name; dedup_window: how long the service may still
    silently delete a new asset or file as a duplicate, index lag included; queue_window: after how long an upload
    that is not complete waits for a decision of a person, zero if none ever does; processing_time: expected wait
    until a small upload is usable, used in estimates; combined: calls that are made once for what is ready at the same
    time, by endpoint, with what one takes: how many there are depends on the load, and an estimate counts full ones.
    """

    page: int = 100
    pace: Pace = Pace()
    reach: int | None = None
    split: int | None = None
    single_bytes: int | None = None
    parts: PartBounds | None = None
    largest_bytes: int | None = None
    lifetimes: Lifetimes = Lifetimes()
    precision: timedelta = timedelta(seconds=1)
    lag: timedelta = timedelta(seconds=30)
    member_batch: int = 1
    filename: int = 255
    dedup_window: timedelta = timedelta(0)
    queue_window: timedelta = timedelta(0)
    processing_time: timedelta = timedelta(0)
    small_file: SmallFile = SmallFile()
    combined: Mapping[str, str] = field(default_factory=dict)
    undated: tuple[str, ...] = ()  # what changes without updating an asset's date, so that listings by date miss it
    enumerates_all: bool = (
        False  # delta listings contain every asset, mostly as ids, so that a missing id means deletion
    )
    lists_whole: bool = False  # a listing of everything returns whole assets, by one call for each page
    members_after_crawl: bool = False  # `members()` is cheaper once this connection has listed everything
    rewrites: str = (
        ""  # a sentence: which fields the service fills from the metadata inside files after they were written
    )

    @property
    def probation(self) -> timedelta:
        """How long it is open whether a new asset stays; zero if that is never open."""
        return max(self.dedup_window, self.queue_window)

    @property
    def hits(self) -> int:
        """Hits a query can reach; if there is no end, more than any library has."""
        return sys.maxsize if self.reach is None else self.reach

    def parts_for(self, size: int) -> PartBounds | None:
        """How a file of `size` bytes is cut; None: it is sent in one request."""
        return None if size <= (self.single_bytes or 0) else self.parts


@dataclass(frozen=True, slots=True)
class OrphanRetention:
    """What a killed run may leave at a service because no call finds or ends it, and for how long; None:
    permanently."""

    what: str
    lasts: timedelta | None
    where: str  # section of the wire contract
