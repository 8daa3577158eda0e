"""Processes that share one limit by a state on PostgreSQL: how much of it they use together."""

from __future__ import annotations

import pytest

from dam_sync.http.rates.limiters import RESERVE
from tests.support.counting_server import counting
from tests.support.lessees import lessees, result
from tests.support.measuring.printed_table import show
from tests.support.state.postgres import started

RATE, SECONDS = 50, 20.0
LEAST = {1: 0.95, 4: 0.95, 8: 0.9}  # by processes


@pytest.mark.bench
@pytest.mark.parametrize("number", LEAST)
def test_processes_use_one_limit_together(number: int) -> None:
    order = {"rate": RATE, "at_once": 64, "tasks": 8, "seconds": SECONDS, "credential": f"bench {number}"}
    with counting(RATE) as service, lessees(number, host=started().host, url=service.url, **order) as processes:
        results = [result(each) for each in processes]
        seen = service.end()
    rows = [
        ("processes", number),
        ("calls", len(seen.counted)),
        ("calls of the process with the fewest", min(each["done"] for each in results)),
        ("part of the limit that was used", seen.share(RATE)),
        ("at most, by the distance of the permits", 1 - RESERVE),
        ("refused", len(seen.refused)),
        ("longest stall of the service itself, seconds", max((seconds for _, seconds in seen.stalls), default=0.0)),
    ]
    show(f"Shared limit: the service allows {RATE} calls a second", ("", "measured"), rows)
    assert seen.unexcused(results) == []
    assert seen.share(RATE) >= LEAST[number]
