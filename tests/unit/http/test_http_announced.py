"""A limit that a service announces in its responses is kept to if it is lower than ours; other texts change nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dam_sync.http.rates.announced import calls_per_second
from dam_sync.http.rates.learning import SLOWEST
from dam_sync.http.rates.shared import SharedRates
from dam_sync.model.limits import Pace
from dam_sync.services.d_templates.api import announced as of_d
from dam_sync.services.e_profiles.api.client import announced as of_e
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, Said, said
from tests.support.stepped_clock import SteppedClock
from tests.unit.http.test_http_rate_limiter import most_in_a_second


@pytest.mark.parametrize(
    ("calls", "seconds", "rate"),
    [("60000", "60", 1000.0), ("120", "60", 2.0), ("5", "1", 5.0), ("12", "60", SLOWEST), ("60", "86400", None)],
)
def test_so_many_calls_in_so_many_seconds_are_a_rate(calls: str, seconds: str, rate: float | None) -> None:
    assert calls_per_second(calls, seconds) == rate


@pytest.mark.parametrize(
    ("calls", "seconds"),
    [
        *[("", "60"), ("60", ""), ("", ""), ("0", "60"), ("60", "0"), ("-60", "60"), ("60", "-1")],
        *[("60.5", "60"), ("1e3", "1"), ("inf", "1"), ("nan", "1"), ("60, 60", "60"), ("60;w=60", "60")],
        *[("60", "1788000000"), ("60", "2026-11-29T00:00:00Z"), ("9" * 40, "1"), ("٦٠", "60"), (" 60", "60")],
        *[("1", "60"), ("unlimited", "60"), ("0x10", "1"), ("60", "86401")],
    ],
)
def test_odd_texts_are_no_limit(calls: str, seconds: str) -> None:
    assert calls_per_second(calls, seconds) is None
    assert of_d({"x-ratelimit-limit": calls, "x-ratelimit-reset": seconds}) is None


@pytest.mark.parametrize(
    ("text", "rate"),
    [("50/second", 50.0), ("10 / second", 10.0), ("600/minute", 10.0), ("50", None), ("", None), ("x/second", None)],
)
def test_a_limit_with_its_unit(text: str, rate: float | None) -> None:
    assert of_e({"x-ratelimit-limit": text}) == rate
    assert of_e({}) is None


def limits(*each: tuple[str, str]) -> list[Said]:
    return [said({}, x_ratelimit_limit=calls, x_ratelimit_reset=seconds) for calls, seconds in each]


async def paces(*answers: Said, pace: Pace, auth: bool = True, **more: object) -> list[float | None]:
    """The rate of a client after each of these responses."""
    left = list(answers)
    async with RawServer(lambda seen: left.pop(0)) as server:
        given = {} if auth else {"auth": None}
        async with client_of(server, pace=pace, announced=of_d, **given, **more) as client:
            found = []
            for _ in answers:
                await client.send(get())
                found.append(client.measured_pace.pace.per_second)
            return found


async def test_a_lower_limit_is_respected_and_a_higher_one_changes_nothing() -> None:
    answers = limits(("60000", "60"), ("300", "60"), ("600", "60"), ("60000", "60"), ("120", "60"), ("0", "0"))
    assert await paces(*answers, pace=Pace(20.0, 4, 4)) == [20.0, 5.0, 5.0, 5.0, 2.0, 2.0]
    assert await paces(*limits(("60000", "60"), ("x", "60")), pace=Pace(20.0, 4, 4)) == [20.0, 20.0]


async def test_a_countdown_to_the_end_of_the_window_does_not_raise_the_rate() -> None:
    answers = limits(("300", "60"), ("300", "30"), ("300", "1"))
    assert await paces(*answers, pace=Pace(20.0, 4, 4)) == [5.0, 5.0, 5.0]


async def test_without_a_limit_of_ours_the_announced_one_is_respected() -> None:
    assert await paces(*limits(("60000", "60"), ("300", "60")), pace=Pace(None, 4, 4)) == [1000.0, 5.0]


async def test_what_is_announced_without_a_credential_is_about_somebody_else() -> None:
    assert await paces(*limits(("300", "60")), pace=Pace(20.0, 4, 4), auth=False) == [20.0]


async def test_calls_keep_to_what_was_announced_with_everything_that_shares_the_credential() -> None:
    clock = SteppedClock(auto=True)
    rate = SharedRates(clock).credential("token")
    async with RawServer(lambda seen: limits(("240", "60"))[0]) as server:
        given: Mapping[str, object] = {"pace": Pace(20.0, 4, 4), "clock": clock, "rate": rate}
        async with client_of(server, announced=of_d, **given) as first, client_of(server, **given) as second:
            await first.send(get())
            assert second.measured_pace.pace.per_second == 4.0
            limiter = rate.limiter(None)
            taken = [(await limiter.take()).released for _ in range(20)]
    assert most_in_a_second(taken) <= 4
