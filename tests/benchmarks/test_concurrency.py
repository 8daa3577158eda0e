"""A service that documents no limit is used as well as with the best settings, and hardly anything is refused."""

from __future__ import annotations

import pytest

from dam_sync.http.rates.shared import JobRates, SharedRates
from dam_sync.model.limits import Pace
from tests.support.measuring.printed_table import show
from tests.support.stepped_clock import SteppedClock
from tests.support.virtual.undocumented_limit import CALLERS, PACE, Service, called

LEAST = 0.90
REACHED = 30.0  # seconds after which that much is used
FIXED = (1, 2, 4, 8, 12, 16, 24, 32)
HIDDEN, REFUSED = 30, 0.005
LATENCY = 0.05


@pytest.mark.bench
@pytest.mark.parametrize("servers", [None, 24, 9, 3])
def test_as_fast_as_the_best_fixed_number_of_calls_at_once(servers: int | None) -> None:
    """Without a limit, and with a service that works on so many calls at once."""
    end = REACHED + 10
    fixed = {number: _served(servers, PACE.with_concurrency(number), 5.0)[0] for number in FIXED}
    learned, most, number = _served(servers, PACE, end, start=REACHED)
    best = max(fixed.values())
    rows = [(f"{number} at once, calls a second", rate) for number, rate in fixed.items()]
    rows += [("learned, calls a second", learned), ("part of the best", learned / best), ("most at once", most)]
    show(f"Concurrency: {servers or 'any number of'} calls worked on at once, 50 ms each", ("", "measured"), rows)
    assert learned >= LEAST * best
    assert most <= CALLERS
    assert number <= 1.5 * (servers or CALLERS)


def _served(servers: int | None, pace: Pace, end: float, start: float = 1.0) -> tuple[float, int, int]:
    """Calls per second from then on, most at once, and what was learned."""
    service = Service(LATENCY, servers)
    client = called(service, end, pace)
    return service.per_second(start, end), service.peak, client.measured_pace.pace.at_once


@pytest.mark.bench
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("retry_after", ["", "1"])
@pytest.mark.parametrize("spread", [0.2, 0.8])
def test_a_hidden_rate_is_used_and_hardly_exceeded(status: int, retry_after: str, spread: float) -> None:
    end = 300.0
    service = Service(LATENCY, rate=HIDDEN, status=status, retry_after=retry_after, spread=spread)
    called(service, end)
    used, first = service.per_second(REACHED, end) / HIDDEN, service.per_second(0, REACHED) / HIDDEN
    title = f"Rate: {HIDDEN} calls a second, hidden; {status}, Retry-After {retry_after or 'missing'}, spread {spread}"
    rows = [("part that is used", used), ("in the first 30 seconds", first), ("refused, %", 100 * service.refused)]
    show(title, ("", "measured"), rows)
    assert used >= LEAST
    assert service.refused <= REFUSED


@pytest.mark.bench
def test_the_next_run_begins_with_what_was_learned() -> None:
    clock, seconds = SteppedClock(), 2.0
    job = JobRates(SharedRates(clock))
    first = Service(LATENCY)
    called(first, 20.0, rate=job.credential("target", "token", "account"))
    restarted = JobRates(SharedRates(clock))
    restarted.restore_learned(job.learned())
    later, without = Service(LATENCY), Service(LATENCY)
    called(later, seconds, rate=restarted.credential("target", "token", "account"))
    called(without, seconds)
    rates = [service.per_second(0, seconds) for service in (later, without)]
    show(
        "Calls a second of the first two seconds",
        ("", "measured"),
        [("with what was learned", rates[0]), ("without", rates[1])],
    )
    assert rates[0] >= LEAST * CALLERS / LATENCY > rates[1]
