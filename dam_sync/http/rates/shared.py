"""Rate limits and call counts of credentials, which several jobs of one process may share."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, time, timedelta

from dam_sync.http.rates.learning import LearnedConcurrency
from dam_sync.http.rates.leased import LeasedRateLimiter
from dam_sync.http.rates.leased_calls import LeasedCalls
from dam_sync.http.rates.limiters import AdaptiveRateLimiter
from dam_sync.model.clock import Clock
from dam_sync.model.errors import DamSyncError, StopKind, StopRequested
from dam_sync.model.limits import MonthlyAllowance
from dam_sync.model.permits import CallBudget, CredentialPermits, PermitStore
from dam_sync.model.values import Json

SLICE = 900  # seconds in which calls are counted together
ACCOUNTS = 8  # whose learned limits a state keeps
KEPT = timedelta(days=2)  # stored: what the counter of a service may not contain yet


class CredentialRate:
    """One credential of one service: its rate limiter, and how many calls were sent with it and when. permits: leased
    from a schedule that other processes share; None: no other process is known."""

    def __init__(self, clock: Clock, permits: CredentialPermits | None = None) -> None:
        self._clock = clock
        self.permits = permits
        self._limiter: AdaptiveRateLimiter | LeasedRateLimiter | None = None
        self._concurrency: LearnedConcurrency | None = None
        self._learned: Mapping[str, Json] = {}
        self._calls: Counter[int] = Counter()  # by slice of time
        self._noted: Counter[int] = Counter()  # sent by other processes since this one began
        self._leased: LeasedCalls | None = None  # counted with those of all other processes

    def limiter(self, per_second: float | None) -> AdaptiveRateLimiter | LeasedRateLimiter:
        """The limiter of the credential, which keeps to the lowest rate that was asked for."""
        if self._limiter is None:
            self._limiter = (
                AdaptiveRateLimiter(per_second, self._clock)
                if self.permits is None
                else LeasedRateLimiter(per_second, self._clock, self.permits)
            )
            if (limit := self._learned.get("per_second")) is not None:
                self._limiter.restore(limit, self._learned.get("used") or 0.0)
        self._limiter.lower_to(per_second)
        return self._limiter

    def concurrency(self, start: int, most: int) -> LearnedConcurrency:
        """How many calls at once serve best: begins with what was learned last, by this process or an earlier one."""
        learned = self.learned
        settled = bool(learned.get("settled"))
        self._concurrency = LearnedConcurrency(start, most, learned.get("at_once"), settled=settled)
        return self._concurrency

    @property
    def learned(self) -> dict[str, Json]:
        """What is worth storing of the limits that were learned: `per_second`, None without a limit, and for how many
        seconds it was `used` since the last refusal; `at_once`, and whether it is `settled`."""
        learned = dict(self._learned)
        if self._limiter is not None:
            learned |= {"per_second": self._limiter.learned, "used": self._limiter.used}
        if self._concurrency is not None:
            learned |= {"at_once": self._concurrency.learned, "settled": self._concurrency.settled}
        return learned

    def restore_learned(self, learned: Mapping[str, Json]) -> None:
        """Take over what another process learned, before the first call; safe to repeat."""
        if self._limiter is None:
            self._learned = learned

    async def reserve(self, budget: int | None, allowance: MonthlyAllowance | None = None) -> int:
        """Reserve a call that is about to be sent, of what all processes may send: the slice of time in which it
        counts. Raises StopRequested if the budget of the day (UTC) or the allowance of the month is used up, and
        StoreUnreachable if other processes share them and cannot be asked."""
        now = self._clock.now()
        if self.permits is not None:
            if self._leased is None:
                self._leased = LeasedCalls(self.permits, dict(self._calls))
            full = await self._leased.take(_slice(now), _budgets(now, budget, allowance))
            if full is not None:
                raise _daily(full.most) if full.name == StopKind.DAILY_BUDGET else _monthly(allowance, now)
        elif budget is not None and self.today >= budget:
            raise _daily(budget)
        elif allowance is not None and self.left(allowance) <= 0:
            raise _monthly(allowance, now)
        self._calls[_slice(now)] += 1
        return _slice(now)

    @property
    def slice(self) -> int:
        """The present slice of time."""
        return _slice(self._clock.now())

    def put_back(self, reserved: int) -> None:
        """A call that was reserved is not sent."""
        self._calls[reserved] -= 1
        if self._leased is not None:
            self._leased.put_back(reserved)

    async def give_back(self) -> None:
        """What this process has leased and not used belongs to all again. Safe to repeat. Raises StoreUnreachable."""
        if self._leased is not None:
            await self._leased.give_back()

    def note(self, number: int) -> None:
        """Other processes of this run sent so many calls just now, which are stored with the others."""
        self._noted[_slice(self._clock.now())] += number

    def left(self, allowance: MonthlyAllowance) -> int:
        """What is left of it this month: by the counter of the service, less what was sent here after it. Calls of the
        same 15 minutes as the end of the counter may be counted twice."""
        used, since = allowance.used_in(month_of(self._clock.now()))
        return allowance.calls - used - self._counted(StopKind.MONTHLY_ALLOWANCE, since)

    def sent_since(self, moment: datetime) -> int:
        """Calls sent since then."""
        first = _slice(moment)
        return sum(number for at, number in self._calls.items() if at >= first)

    @property
    def today(self) -> int:
        """Calls of the day (UTC)."""
        return self._counted(StopKind.DAILY_BUDGET, _midnight(self._clock.now()))

    def _counted(self, budget: str, since: datetime) -> int:
        """The calls by a budget, of all processes as far as they are known."""
        counted = self._leased.counted(budget, _slice(since)) if self._leased is not None else None
        return self.sent_since(since) if counted is None else counted

    @property
    def sent(self) -> dict[str, Json]:
        """The calls of the last two days by the time they were sent, to be stored."""
        first, all_calls = _slice(self._clock.now() - KEPT), self._calls + self._noted
        return {str(at): number for at, number in all_calls.items() if at >= first}

    def restore(self, sent: Mapping[str, Json]) -> None:
        """Take over what another process counted; safe to repeat."""
        self._calls |= Counter({int(at): int(number) for at, number in sent.items()})


def _budgets(now: datetime, budget: int | None, allowance: MonthlyAllowance | None) -> tuple[CallBudget, ...]:
    daily = CallBudget(StopKind.DAILY_BUDGET, _slice(_midnight(now)), budget)
    if allowance is None:
        return (daily,)
    used, since = allowance.used_in(month_of(now))
    return daily, CallBudget(StopKind.MONTHLY_ALLOWANCE, _slice(since), allowance.calls - used)


def _daily(budget: int | None) -> StopRequested:
    message = f"the budget of {budget} calls per day is used up"
    return StopRequested(message, kind=StopKind.DAILY_BUDGET, hint="it is renewed at 00:00 UTC")


def _monthly(allowance: MonthlyAllowance | None, now: datetime) -> StopRequested:
    calls = 0 if allowance is None else allowance.calls
    return StopRequested(
        f"the monthly allowance of {calls:,} calls is used up: nothing more is sent",
        kind=StopKind.MONTHLY_ALLOWANCE,
        hint=f"it is renewed on {month_after(now):%Y-%m-%d}; the same command then resumes the run",
    )


def _midnight(moment: datetime) -> datetime:
    """When its day began."""
    return datetime.combine(moment.date(), time(), moment.tzinfo)


def month_of(moment: datetime) -> datetime:
    """When its month began."""
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def month_after(moment: datetime) -> datetime:
    """When the next month begins."""
    return month_of(month_of(moment) + timedelta(days=32))


def _slice(moment: datetime) -> int:
    return int(moment.timestamp()) // SLICE


class SharedRates:
    """The credentials of a process, by service, URL and secret. Secrets are kept as digests, in memory only."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._credentials: dict[str, CredentialRate] = {}

    def credential(self, identity: str) -> CredentialRate:
        """That of an identity, which may contain secrets."""
        key = hashlib.sha256(identity.encode()).hexdigest()
        return self._credentials.setdefault(key, CredentialRate(self.clock))


class JobRates:
    """The two credentials of one job."""

    def __init__(self, shared: SharedRates) -> None:
        self._shared = shared
        self._stored: dict[str, Json] = {}
        self._used: dict[str, CredentialRate] = {}
        self._learned: dict[str, Json] = {}
        self._accounts: dict[str, CredentialRate] = {}
        self._permits: PermitStore | None = None
        self._leased: dict[str, CredentialRate] = {}

    def share(self, permits: PermitStore | None) -> None:
        """Lease the permits of all credentials from now on, because other processes use them too. None: no longer."""
        self._permits, self._leased = permits, {}

    async def end_sharing(self) -> None:
        """Give back what is left of leased calls, and lease nothing any more. Safe to repeat."""
        for rate in self._leased.values():
            with suppress(DamSyncError):  # what cannot be given back counts as sent
                await rate.give_back()
        self.share(None)

    def credential(self, role: str, identity: str, account: str = "", shared_name: str = "") -> CredentialRate:
        """That of the source or of the target. account: its name in the state, without secrets; shared_name: what
        processes that share its limit call it, stored as a keyed digest."""
        rate = self._used[role] = self._accounts[account] = self._of(identity, shared_name or account)
        rate.restore(self._stored.get(role, {}))
        rate.restore_learned(self._learned.get(account, {}))
        return rate

    def _of(self, identity: str, shared_name: str) -> CredentialRate:
        if self._permits is None:
            return self._shared.credential(identity)
        if shared_name not in self._leased:
            permits = self._permits.credential(shared_name)
            self._leased[shared_name] = CredentialRate(self._shared.clock, permits)
        return self._leased[shared_name]

    def today(self, role: str) -> int:
        """Calls of the day of a side that is connected."""
        return self._used[role].today

    def note(self, role: str, number: int) -> None:
        """Other processes of this run sent so many calls to a side that is connected."""
        self._used[role].note(number)

    def left(self, role: str, allowance: MonthlyAllowance) -> int:
        """What is left of the allowance of a side that is connected."""
        return self._used[role].left(allowance)

    def restore(self, stored: Mapping[str, Json]) -> None:
        """Take over what earlier processes stored: the calls by role."""
        self._stored = dict(stored)
        for role, rate in self._used.items():
            rate.restore(self._stored.get(role, {}))

    def restore_learned(self, stored: Mapping[str, Json]) -> None:
        """Take over the limits that earlier processes learned; before the sides are connected."""
        self._learned = dict(stored)

    def learned(self) -> dict[str, Json]:
        """The learned limits by account, those used last at the end, to be stored."""
        used = {account: rate.learned for account, rate in self._accounts.items()}
        kept = {account: limits for account, limits in self._learned.items() if account not in used}
        return dict([*kept.items(), *used.items()][-ACCOUNTS:])

    def sent(self) -> dict[str, Json]:
        """The calls by role, to be stored."""
        return {**self._stored, **{role: rate.sent for role, rate in self._used.items()}}
