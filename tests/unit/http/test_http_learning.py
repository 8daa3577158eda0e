"""What no service documents is learned: calls per second and calls at once, never above what is allowed."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.http.rates.learning import LearnedConcurrency, LearnedRate
from dam_sync.http.rates.limiters import ConcurrencyLimiter
from dam_sync.http.rates.shared import JobRates, SharedRates
from dam_sync.http.rates.unrelated import UnrelatedRefusals
from dam_sync.model.limits import Pace
from tests.support.stepped_clock import SteppedClock
from tests.support.virtual.loop import VirtualLoop
from tests.support.virtual.undocumented_limit import CALLERS, PACE, Service, called

# -- calls at once -----------------------------------------------------------------------------------------------------


def answer(learned: LearnedConcurrency, servers: int, calls: int, seconds: float = 0.05) -> None:
    """So many calls to a service that works on `servers` of them at once; others wait."""
    for _ in range(calls):
        learned.responded("GET /thing", seconds * max(1.0, learned.limit / servers))


@pytest.mark.parametrize("servers", [1, 2, 3, 5, 8, 12, 18, 27, 32, 100])
def test_as_many_calls_at_once_as_the_service_works_on(servers: int) -> None:
    """Also if it works on fewer than the first calls, so that it is never seen idle."""
    learned = LearnedConcurrency(8, 32)
    answer(learned, servers, 3_000)
    assert learned.settled
    best = min(servers, 32)
    assert 0.9 * best <= learned.learned <= max(1.5 * best, 2)


def test_calls_of_different_kinds_are_compared_by_kind() -> None:
    """The calls become ten times as slow because they are others, not because there are more at once."""
    learned = LearnedConcurrency(8, 32)
    for number in range(3_000):
        kind, seconds = ("GET", 0.02) if number % 400 < 200 + number // 30 else ("POST", 0.2)
        learned.responded(kind, seconds)
    assert learned.learned == 32


def test_a_service_that_becomes_slow_gets_fewer_calls_at_once() -> None:
    learned = LearnedConcurrency(8, 32)
    answer(learned, 100, 3_000)
    assert learned.learned == 32
    answer(learned, 4, 3_000)
    assert learned.learned <= 6


def test_a_slower_service_without_a_queue_keeps_its_calls_at_once() -> None:
    learned = LearnedConcurrency(8, 32)
    answer(learned, 100, 3_000)
    answer(learned, 100, 20_000, seconds=0.5)
    assert learned.learned == 32


def test_a_refusal_lowers_the_number_and_none_is_tried_for_a_while() -> None:
    learned = LearnedConcurrency(8, 32)
    answer(learned, 100, 3_000)
    learned.refused()
    assert (learned.limit, learned.learned) == (28, 28)
    answer(learned, 100, 20 * 28)
    assert learned.limit == 28
    for _ in range(100):
        learned.refused()
    assert learned.limit == 1


def test_calls_without_a_response_never_lower_it_below_the_first_number() -> None:
    learned = LearnedConcurrency(8, 32, 20)
    for _ in range(20):
        learned.failed()
    assert learned.limit == 8
    few = LearnedConcurrency(8, 32, 3)
    few.failed()
    assert few.limit == 3


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 10_000),
    start=st.integers(1, 40),
    most=st.integers(1, 64),
    stored=st.none() | st.integers(-5, 5_000),
)
def test_the_number_stays_within_its_bounds(seed: int, start: int, most: int, stored: int | None) -> None:
    chance = random.Random(seed)
    learned = LearnedConcurrency(start, most, stored)
    for _ in range(2_000):
        what = chance.random()
        if what < 0.02:
            learned.refused()
        elif what < 0.03:
            learned.failed()
        else:
            learned.responded(chance.choice("abc"), chance.expovariate(20))
        assert 1 <= learned.limit <= most
        assert 1 <= learned.learned <= most


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_calls_under_way_never_exceed_the_bound_however_it_changes(seed: int) -> None:
    """Calls are cancelled, too, while they wait and while they are under way."""
    loop = VirtualLoop()
    try:
        loop.run_until_complete(_Changing(random.Random(seed)).run())
    finally:
        loop.close()


class _Changing:
    """Calls through a limiter whose bound changes; those that were admitted before it was lowered may end."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.limiter = chance, ConcurrencyLimiter(4)
        self.allowed = 4
        self.under_way = self.done = 0

    async def run(self) -> None:
        chance, limiter, tasks = self.chance, self.limiter, []
        for _ in range(80):
            tasks.append(asyncio.ensure_future(self._call()))
            await asyncio.sleep(chance.uniform(0, 0.02))
            if chance.random() < 0.2:
                before, number = limiter.under_way, chance.randint(1, 8)
                limiter.limit, self.allowed = number, max(before, number)
                assert limiter.under_way <= self.allowed
            if chance.random() < 0.2:
                chance.choice(tasks).cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(outcome is None or isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        assert self.done == outcomes.count(None)
        assert limiter.under_way == 0

    async def _call(self) -> None:
        async with self.limiter:
            self.under_way += 1
            assert self.under_way <= self.limiter.under_way <= self.allowed
            try:
                await asyncio.sleep(self.chance.uniform(0, 0.1))
            finally:
                self.under_way -= 1
        self.allowed = max(self.limiter.limit, self.limiter.under_way)
        self.done += 1


async def test_a_call_that_is_cancelled_as_it_is_admitted_leaves_its_permit_to_the_next() -> None:
    limiter, entered = ConcurrencyLimiter(1), []

    async def call(name: str) -> None:
        async with limiter:
            entered.append(name)

    async with limiter:
        first, second = asyncio.ensure_future(call("first")), asyncio.ensure_future(call("second"))
        await asyncio.sleep(0)
    first.cancel()  # its turn has come, but it has not run yet
    await asyncio.gather(first, second, return_exceptions=True)
    assert entered == ["second"]
    assert limiter.under_way == 0


# -- calls per second --------------------------------------------------------------------------------------------------


def use(rate: LearnedRate, seconds: float) -> None:
    """Send as fast as allowed."""
    while seconds > 0 and rate.rate is not None:
        seconds -= 1 / rate.rate
        rate.succeeded()


def test_the_rate_comes_back_to_what_was_refused_and_stays_near_it() -> None:
    rate = LearnedRate(30.0)
    assert rate.rate == pytest.approx(27.0)
    use(rate, 20)
    assert rate.rate == pytest.approx(29.6, abs=0.1)
    use(rate, 20)
    assert rate.rate == pytest.approx(30.0, abs=0.1)
    use(rate, 20)
    assert rate.rate == pytest.approx(30.4, abs=0.1)
    use(rate, 300)
    assert rate.rate is None


@pytest.mark.parametrize("accepted", [0.0, 1.0])
def test_a_second_shows_too_little_of_a_low_rate(accepted: float) -> None:
    """No or one call in the second before the refusal is what 1.3 calls per second are."""
    rate = LearnedRate(1.2)
    use(rate, 80)
    sent = rate.rate
    assert sent is not None
    assert sent > 1.3
    rate.refused(accepted)
    assert rate.limit == pytest.approx(sent)


def test_a_first_refusal_in_a_quiet_second_shows_no_low_rate() -> None:
    """Nothing was sent in it that could have been accepted: the rate fell to one call in two seconds."""
    rate = LearnedRate()
    rate.refused(0.0)
    assert rate.rate == pytest.approx(4.5)
    for _ in range(40):  # a service that accepts no such rate
        rate.succeeded()
        rate.refused(1.0)
    assert rate.rate is not None
    assert rate.rate <= 1.0


def test_a_rate_that_is_not_used_does_not_grow() -> None:
    rate = LearnedRate(30.0)
    use(rate, 1)
    assert rate.rate == pytest.approx(27.0, abs=0.3)


def test_a_service_that_is_out_of_order_does_not_change_what_was_learned() -> None:
    rate = LearnedRate(30.0)
    use(rate, 10)
    rate.refused(29.0)
    learned = rate.limit
    for _ in range(30):
        rate.refused(0.0)
    assert rate.rate == pytest.approx(0.2)
    assert rate.limit == learned
    use(rate, 45)
    assert rate.rate == pytest.approx(learned, rel=0.02)


# -- both, over a client -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_a_hidden_rate_is_used_and_hardly_exceeded(status: int) -> None:
    service = Service(rate=30, status=status)
    client = called(service, 60)
    assert service.per_second(20, 60) >= 0.9 * 30
    assert service.refused <= 0.005
    assert client.measured_pace.pace.per_second == pytest.approx(29, rel=0.05)


def test_a_service_that_is_out_of_order_for_a_while_is_used_as_before_afterwards() -> None:
    service = Service(latency=0.5, status=503, down=lambda now: 20 < now < 40)
    called(service, 95)
    assert service.per_second(85, 95) >= 0.9 * service.per_second(15, 20)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.08])
def test_refusals_that_do_not_depend_on_the_rate_do_not_lower_it(status: int, noise: float) -> None:
    """One call in so many is refused, however few are sent; each refusal costs a pause of a second."""
    service = Service(status=status, noise=noise)
    client = called(service, 150)
    between = 1 / noise
    assert service.per_second(100, 150) >= 0.5 * between / (1 + between * service.latency / CALLERS)
    assert client.measured_pace.pace.at_once > PACE.at_once


def test_such_refusals_from_the_beginning_do_not_keep_the_rate_low() -> None:
    """They came before much was accepted, and the rate stayed at one call per second for as long as they went on."""
    service = Service(noise=0.02, _noises=random.Random(3))
    called(service, 400, callers=8)
    assert service.per_second(300, 400) >= 10


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_a_hidden_rate_is_recognized_among_such_refusals(noise: float) -> None:
    service = Service(rate=30, noise=noise)
    called(service, 150)
    between = 1 / noise
    assert service.per_second(100, 150) >= 0.5 * between / (1 + between / 30)
    assert service.refused <= noise + 0.1


DOCUMENTED = Pace(30.0, 8, 4)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.08])
def test_refusals_that_do_not_depend_on_the_rate_do_not_lower_a_documented_one(status: int, noise: float) -> None:
    """Each halved it, however few were sent: it fell to two calls per second."""
    service = Service(status=status, noise=noise)
    called(service, 150, DOCUMENTED)
    between = 1 / noise
    assert service.per_second(100, 150) >= 0.5 * between / (1 + between / 30)
    assert max(service.per_second(second, second + 1) for second in range(150)) <= 30


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("rate", [10, 20])
def test_a_rate_below_the_documented_one_is_recognized_among_such_refusals(rate: int, noise: float) -> None:
    service = Service(rate=rate, noise=noise)
    called(service, 300, DOCUMENTED)
    between = 1 / max(noise, 0.001)
    assert service.per_second(200, 300) >= 0.4 * between / (1 + between / rate)
    assert service.refused <= noise + 0.1


def test_refusals_that_end_are_forgotten() -> None:
    """Afterwards a hidden rate is hardly exceeded again."""
    refusals = UnrelatedRefusals()
    for _ in range(5):
        refusals.counted(refused=1, accepted=30)
        refusals.early(10.0, is_lowest=True)
    assert refusals.is_usual
    for _ in range(1_000):
        refusals.counted(accepted=100)
    assert not refusals.usual


@pytest.mark.parametrize("servers", [None, 2])
def test_a_fixed_number_of_calls_at_once_is_respected(servers: int | None) -> None:
    service = Service(servers=servers)
    client = called(service, 5, PACE.with_concurrency(5))
    assert service.peak == 5
    assert client.measured_pace.pace == Pace(None, 5, 4)


def test_no_more_calls_at_once_than_allowed_are_tried() -> None:
    service = Service()
    client = called(service, 5, Pace(None, 4, 4, most_at_once=13), callers=40)
    assert service.peak == 13
    assert client.measured_pace.pace.at_once == 13


def test_a_documented_rate_does_not_raise_the_calls_at_once() -> None:
    """Calls that wait for the rate prove nothing."""
    service = Service()
    client = called(service, 10, Pace(40.0, 8, 4, most_at_once=32))
    assert client.measured_pace.pace.at_once == 8


def test_what_was_learned_is_stored_by_account_and_used_by_the_next_process() -> None:
    clock = SteppedClock()
    job = JobRates(SharedRates(clock))
    rate = job.credential("target", "secret", "account")
    limiter, learned = rate.limiter(None), rate.concurrency(8, 32)
    answer(learned, 100, 3_000)
    limiter.restore(30.0)
    stored = job.learned()
    assert stored == {"account": {"per_second": 30.0, "used": 0.0, "at_once": 32, "settled": True}}

    restarted = JobRates(SharedRates(clock))
    restarted.restore_learned(stored)
    other = restarted.credential("source", "other secret", "other account")
    assert (other.limiter(None).rate, other.concurrency(8, 32).limit) == (None, 8)
    same = restarted.credential("target", "renewed secret", "account")
    assert same.limiter(None).rate == pytest.approx(27.0)
    assert (same.concurrency(8, 16).limit, same.concurrency(8, 32).settled) == (16, True)
    assert list(restarted.learned()) == ["other account", "account"]


def test_a_refusal_in_a_quiet_second_is_forgotten_by_many_short_processes() -> None:
    """Each of them sends fewer calls than one alone would need to try more."""
    clock, learned = SteppedClock(), {"account": {"per_second": 0.4, "at_once": 8, "settled": True}}
    rates = []
    for _ in range(12):
        job = JobRates(SharedRates(clock))
        job.restore_learned(learned)
        limiter = job.credential("target", "secret", "account").limiter(None)
        rates.append(limiter.rate)
        for _ in range(10):
            limiter.succeeded()
        learned = json.loads(json.dumps(job.learned()))
    assert rates[0] == pytest.approx(0.36)
    assert rates[-1] is None
    assert learned["account"]["per_second"] is None


def test_a_limit_of_the_job_is_respected_whatever_was_learned() -> None:
    job = JobRates(SharedRates(SteppedClock()))
    job.restore_learned({"account": {"per_second": 30.0, "at_once": 32, "settled": True}})
    rate = job.credential("target", "secret", "account")
    assert rate.limiter(5.0).rate == 5.0
    assert rate.learned["per_second"] is None


def test_the_state_keeps_the_limits_of_few_accounts() -> None:
    job = JobRates(SharedRates(SteppedClock()))
    job.restore_learned({f"account {number}": {"at_once": number} for number in range(20)})
    job.credential("source", "secret", "own").concurrency(8, 32)
    assert list(job.learned())[-2:] == ["account 19", "own"]
    assert len(job.learned()) == 8
