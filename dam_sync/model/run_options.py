"""The options of one call, how to stop it, and its progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError, StopKind, StopRequested
from dam_sync.model.limits import RateStatus
from dam_sync.model.outage import Outage
from dam_sync.model.ports import Transport
from dam_sync.model.waits import Waits

MOVING, PLANNING, COMPARING, MATCHING = "moving assets", "planning", "comparing", "matching"
"""Phases in which assets are counted, as shown in a terminal."""
MEMBERSHIPS, ROTATION, RESTORED = "memberships", "rotation", "restored"
"""Why a run reads assets again that no listing returned as changed."""
DURATION = re.compile(r"^(\d+(?:\.\d+)?)([smhd])$")
PERCENTAGE = re.compile(r"^(\d+(?:\.\d+)?)\s*%$")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(slots=True)
class StopToken:
    """Asks a call to stop: nothing new is started, writes in progress are finished. `reason` is empty until then, and a
    sentence for people; decisions are made by `kind`. With `hurry`, assets that were only read ahead are released.
    on_stop: called whenever it is asked."""

    reason: str = ""
    kind: StopKind = StopKind.ASKED
    hurry: bool = False
    on_stop: Callable[[], None] | None = None

    def stop(self, reason: str, kind: StopKind = StopKind.ASKED, *, hurry: bool = False) -> None:
        """Safe to repeat; the first reason is kept."""
        if not self.reason:
            self.reason, self.kind = reason, kind
        self.hurry = self.hurry or hurry
        if self.on_stop is not None:
            self.on_stop()

    def error(self, hint: str) -> StopRequested:
        """What the call raises once it is asked to stop."""
        return StopRequested(self.reason, kind=self.kind, hint=hint)


class _Bytes(Protocol):
    bytes: int


@dataclass(slots=True)
class Progress:
    """Counters to show during a call; no decision depends on them. expected: assets of the source; total: those of this
    call, once all are listed."""

    phase: str = "starting"
    expected: int | None = None
    total: int | None = None
    listed: int = 0
    unchanged: int = 0
    created: int = 0
    updated: int = 0
    parked: int = 0
    skipped: int = 0
    removed: int = 0
    bytes: int = 0
    source_calls: Callable[[], int] = lambda: 0
    target_calls: Callable[[], int] = lambda: 0
    outage: Outage = field(default_factory=Outage)  # of the database of the state
    waits: Waits = field(default_factory=Waits)  # for a service, or for what another process does
    dashboard: str = ""  # the URL of the dashboard of a cluster
    source_rates: Callable[[], RateStatus] = RateStatus
    target_rates: Callable[[], RateStatus] = RateStatus
    opening_calls: int | None = None  # made before the first asset
    _arriving: list[_Bytes] = field(default_factory=list)

    @property
    def foreseen(self) -> int | None:
        """How many assets there are to complete, as far as that is known: never less than are completed."""
        known = self.expected if self.total is None else self.total
        return None if known is None else max(known, self.done)

    def begin(self, phase: str) -> None:
        """Start counting from zero."""
        self.phase, self.expected, self.total = phase, None, None
        self.listed = self.unchanged = self.created = self.updated = self.parked = self.skipped = 0
        self.removed = self.bytes = 0

    @contextmanager
    def arriving(self, file: _Bytes) -> Iterator[None]:
        """Count the bytes of this file that have arrived; until it is complete, or given up."""
        self._arriving.append(file)
        try:
            yield
        finally:
            self._arriving.remove(file)

    def arrived(self, file: _Bytes, size: int) -> None:
        """The file is complete, and has so many bytes."""
        file.bytes = 0
        self.bytes += size

    @property
    def bytes_so_far(self) -> int:
        """Bytes of complete files, and those that have arrived of others."""
        return self.bytes + sum(file.bytes for file in self._arriving)

    @property
    def done(self) -> int:
        """Assets completed in this run."""
        return self.unchanged + self.created + self.updated + self.parked + self.skipped + self.removed


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one call. only: just these source ids; hinted: they are those
    that webhooks named, some of which may be gone; limit: assets to take at most; max_calls: to each service; repair:
    also restore what was changed at the target; output, html, csv: files to write; plan: the file of the plan that a
    run follows; sample: the share of the library that a plan covers, as `2%`; wave: of a job with waves, empty for the
    next one; workers: processes of this computer that write; cluster: the scheduler whose workers do; processes: those
    that share the limits of the services, which a run with workers sets itself.

    clock, transport and connectors replace those of the system: time, the network (an `httpx.AsyncBaseTransport`, which
    the caller closes) and the installed services.
    """

    full: bool = False
    repair: bool = False
    only: frozenset[str] = frozenset()
    hinted: bool = False
    accept_changes: bool = False
    continue_parked: bool = False
    limit: int | None = None
    max_calls: int | None = None
    max_duration: str | None = None
    output: Path | None = None
    html: Path | None = None
    csv: Path | None = None
    plan: Path | None = None
    sample: str = ""
    wave: str = ""
    workers: int | None = None
    cluster: str = ""
    processes: int = 1
    stop_token: StopToken = field(default_factory=StopToken)
    progress: Progress = field(default_factory=Progress)
    clock: Clock = SYSTEM_CLOCK
    transport: Transport | None = None
    connectors: Mapping[str, Connector] | None = None
    rates: Any = None  # `JobRates` of `dam_sync.http`, which this layer cannot name: rate limits shared with other jobs
    storage: Any = None  # a `Storage` of `dam_sync.store`, which this layer cannot name: how states are opened

    def __post_init__(self) -> None:
        """Raises ConfigError for an invalid duration or sample before anything is opened."""
        if self.max_duration is not None:
            seconds_of(self.max_duration)
        if self.sample:
            fraction_of(self.sample)

    @property
    def share(self) -> float:
        """The share of the library that a plan covers, 1 for all of it."""
        return fraction_of(self.sample) if self.sample else 1.0

    def stop(self, reason: str = "stopped by the caller") -> None:
        """Start nothing new and finish writes in progress; the call then raises StopRequested with this reason. Safe
        to repeat."""
        self.stop_token.stop(reason, hurry=True)


def seconds_of(text: str, option: str = "--max-duration") -> float:
    """`90s`, `30m`, `8h` in seconds. Raises ConfigError."""
    match = DURATION.match(text.strip())
    if match is None or not float(match[1]):
        raise ConfigError(f"{option} expects a duration, not {text!r}", hint="write 90s, 30m, 8h or 2d")
    return float(match[1]) * SECONDS[match[2]]


def fraction_of(sample: str) -> float:
    """`2%` as 0.02. Raises ConfigError."""
    match = PERCENTAGE.match(sample.strip())
    part = float(match[1]) / 100 if match else 0.0
    if not 0 < part <= 1:
        hint = "write 2% for two of a hundred assets, at most 100%"
        raise ConfigError(f"--sample expects a percentage with its sign, not {sample!r}", hint=hint)
    return part
