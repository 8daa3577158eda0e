"""What a job allows reaches the client, whatever the service."""

from __future__ import annotations

from dam_sync.http.auth.base import Bearer
from dam_sync.http.client_config import ClientConfig
from dam_sync.model.connector import Context
from dam_sync.model.limits import Pace
from tests.support.stepped_clock import SteppedClock

PACE = Pace(10.0, 8, 4)


def test_all_that_a_context_allows_reaches_the_client() -> None:
    clock, auth = SteppedClock(), Bearer("token-9f8e7d6c5b4a")
    context = Context(
        "https://dam.example/", {}, clock=clock, bandwidth=5e6, read_only=True, max_calls=7, calls_per_second=2.0
    )
    wiring = ClientConfig.of(context, "x_service", auth, (), context.paced(PACE))
    assert (wiring.service, wiring.bases, wiring.auth, wiring.clock) == (
        "x_service",
        {"": "https://dam.example"},
        auth,
        clock,
    )
    assert (wiring.read_only, wiring.bandwidth, wiring.max_calls) == (True, 5e6, 7)
    assert wiring.pace == Pace(2.0, 8, 4)


def test_a_pace_is_changed_only_where_the_operator_asks() -> None:
    assert Context("https://dam.example", {}).paced(PACE) == PACE
    assert Context("https://dam.example", {}, concurrency=3).paced(PACE) == Pace(10.0, 3, 4)
