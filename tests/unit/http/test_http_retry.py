"""How long a call waits before it is sent again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
import structlog.testing
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.http.retry import MOST_ASKED, patient, pause, standard
from dam_sync.model.errors import ContractBroken, Throttled
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, Said, said

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 2.5 ", 2.5),
        ("-3", 0.0),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime((NOW + timedelta(seconds=90)).astimezone(timezone(timedelta(hours=5)))), 90.0),
        ("Sun, 01 Mar 2026 12:01:30", 90.0),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0),
        ("soon", None),
        ("", None),
        ("Sun, 99 Xxx 2026", None),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999", None),
        ("nan", None),
        ("inf", None),
        ("1e300", MOST_ASKED),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MOST_ASKED),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    assert standard({"retry-after": text}, NOW) == seconds


def test_no_header_says_nothing() -> None:
    assert standard({}, NOW) is None


@given(attempt=st.integers(1, 100), chance=st.floats(0, 1, exclude_max=True))
def test_pauses_lie_between_a_second_and_a_minute(attempt: int, chance: float) -> None:
    assert 1.0 <= pause(attempt, None, chance) <= 60.0


@given(attempt=st.integers(1, 100), asked=st.floats(0, 900), chance=st.floats(0, 1, exclude_max=True))
def test_what_the_service_asks_for_is_never_undercut(attempt: int, asked: float, chance: float) -> None:
    assert asked <= pause(attempt, asked, chance) <= asked + 1.0


@pytest.mark.parametrize(("seconds", "reports"), [(899, range(1, 4)), (3, range(1))])
async def test_a_long_pause_is_reported_at_once_and_once_for_all_calls(seconds: int, reports: range) -> None:
    left = [Said(429, b"", {"Retry-After": str(seconds)})] * 4
    async with RawServer(lambda _: left.pop() if left else said({})) as server, client_of(server) as client:
        with structlog.testing.capture_logs() as logs:
            await asyncio.gather(client.send(get()), client.send(get()))
    told = [log for log in logs if log["event"] == "call.waits"]
    assert len(told) in reports
    assert all(log["log_level"] == "error" and log["seconds"] in (899, 900) for log in told)


def test_between_attempts_what_the_service_asked_for_is_waited_unless_it_is_too_long() -> None:
    assert patient(Throttled("x", retry_after=7.0), 2.0) == 7.0
    assert patient(Throttled("x"), 2.0) == patient(ContractBroken("x"), 2.0) == 2.0
    with pytest.raises(Throttled):
        patient(Throttled("x", retry_after=901.0), 2.0)
