"""Permits that processes lease from a schedule which they share: requests, leases, and the port that keeps it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from dam_sync.model.values import Json

AHEAD: Final = 0.5  # seconds from now within which permits are leased: a process that dies wastes no later ones


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """What a process asks of the schedule of a credential.

    permits: how many, none if it only counts or reports. spacing: seconds between two permits at the rate that it may
    use now. window, window_seconds: the permit so many numbers later is due no earlier than these seconds after a call
    was counted; no window: 0. passed: calls that it sent without permits, because no rate is known. late: number of the
    permit that was used latest compared with its time, and when that call was counted at the latest, by the clock of
    the schedule. delay: seconds from now before which no permit is of use, because the response takes as long.
    """

    permits: int = 0
    spacing: float = 0.0
    window: int = 0
    window_seconds: float = 0.0
    passed: int = 0
    late: tuple[int, float] | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Lease:
    """The schedule after a request. Times are seconds by the clock of the schedule.

    now: when the response was made; due: times of the permits that were leased; first: number of the first of them;
    free: when the next permit is due; issued: permits and calls so far, of all processes; paused_until: nothing is sent
    before; version: of `learned`, the rate that the processes share.
    """

    now: float
    free: float
    issued: int
    paused_until: float
    version: int
    learned: Mapping[str, Json] = field(default_factory=dict)
    due: tuple[float, ...] = ()

    @property
    def first(self) -> int:
        """The number of the first permit of this lease."""
        return self.issued - len(self.due)


@dataclass(frozen=True, slots=True)
class CallBudget:
    """Calls that all processes together may send. name: of the budget, for messages; since: the slice of time from
    which calls count; most: None if there is no such limit, and the calls are only counted."""

    name: str
    since: int
    most: int | None


@dataclass(frozen=True, slots=True)
class CallRequest:
    """What a process asks of the calls of a credential. Slices are numbers of equal spans of time.

    slice: the present one; calls: how many it wants to send in it, none if it only reports; sent: what it has sent in
    slices that it had calls of, in place of what it reported or leased before; budgets: what all calls must keep to;
    earlier: in the first request of a process, the calls by slice that its job has stored. What is more than all
    processes of the job have counted here is added: they were sent while the state of the job was elsewhere.
    """

    slice: int
    calls: int
    sent: Mapping[int, int]
    budgets: tuple[CallBudget, ...]
    earlier: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallLease:
    """calls: that the process may send; counted: the calls of all processes by budget, in the order of the request,
    with those that are leased."""

    calls: int
    counted: tuple[int, ...]


CALLS_KEPT: Final = 40 * 24 * 4  # slices of 15 minutes for which calls are counted: the month of an allowance
_PARTS = 16  # of what is left of a budget, one is leased at most, so that no process keeps much from the others


def calls_of(request: CallRequest, counted: Sequence[int]) -> int:
    """How many of the calls that a process asks for it gets, when so many count by each of the budgets."""
    limits = zip(request.budgets, counted, strict=True)
    left = min((budget.most - number for budget, number in limits if budget.most is not None), default=None)
    if left is None:
        return request.calls
    return max(0, min(request.calls, left, max(1, left // _PARTS)))


class CredentialPermits(Protocol):
    """The schedule of one credential, shared by all processes that use it. Every method raises StoreUnreachable if the
    schedule cannot be reached; an outage of some seconds is bridged. A permit that is not used expires."""

    async def lease(self, request: LeaseRequest) -> Lease:
        """Lease permits that nobody else gets; fewer than asked for, possibly none, if more were later than `AHEAD`.
        Repeated after a lost response, it wastes permits and exceeds nothing."""
        ...

    async def look(self) -> Lease:
        """The schedule as it is, without a permit."""
        ...

    async def pause(self, seconds: float) -> Lease:
        """Send nothing for so long, whichever process; a longer pause stays. Safe to repeat."""
        ...

    async def learn(self, version: int, learned: Mapping[str, Json], spacing: float) -> Lease | None:
        """Replace what was learned; None if another process did so since this version, and nothing was changed."""
        ...

    async def lease_calls(self, request: CallRequest) -> CallLease:
        """Lease calls that count as sent until the process reports otherwise; fewer than asked for, possibly none, if
        a budget has fewer left. Safe to repeat: what a process reports takes the place of what it reported before."""
        ...

    async def share(self, participant: str, most: int, under_way: int) -> int:
        """How many calls at once a participant may have under way, of `most` of all participants: a client of a
        process. under_way: those that it has now; while they are more, it begins none, and they count as its own. Call
        it every second while calls are made. 0: the others must give something back first. The share ends with the
        process."""
        ...

    @property
    def is_prompt(self) -> bool:
        """Whether `on_change` is called at once; otherwise it is not called while something keeps it from hearing."""
        ...

    def on_change(self, changed: Callable[[], None]) -> None:
        """Call this when another process paused the credential, or when shares are to be asked for again."""
        ...

    def on_beat(self, job: Callable[[], Awaitable[None]]) -> None:
        """Call this every few seconds until the store is closed, also while no calls are made."""
        ...


class PermitStore(Protocol):
    """Schedules of credentials."""

    def credential(self, identity: str) -> CredentialPermits:
        """That of a credential. The identity is stored as a keyed digest only."""
        ...

    async def close(self) -> None:
        """Give back what this process holds; safe to repeat."""
        ...
