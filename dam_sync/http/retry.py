"""When a call is sent again, and how long it waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias

import tenacity

from dam_sync.http.dates import http_date
from dam_sync.http.failures import NotSent
from dam_sync.http.messages import Request, looks_like_html
from dam_sync.http.parsing import NoJson, parsed
from dam_sync.http.transport import RawResponse
from dam_sync.model.clock import Clock
from dam_sync.model.errors import Throttled, Transient

RetryAfter: TypeAlias = Callable[[Mapping[str, str], datetime], float | None]

_FIRST = 1.0
_LONGEST = 60.0
_READINGS = 3
PATIENCE = 900.0  # a service that asks for a longer pause ends the call; whoever runs us may come back


class Unreadable(Transient):
    """A success whose body is none of the kind it claims; asked again a few times, then handed to the caller."""

    def __init__(self, answer: RawResponse) -> None:
        super().__init__("the answer cannot be read")
        self.answer = answer


def is_unreadable(request: Request, answer: RawResponse) -> bool:
    """Whether a call that reads got a page for people, or JSON that is none: a proxy's notice, a fault on the way."""
    if answer.status != 200 or not (request.method == "GET" or request.reads):
        return False
    if looks_like_html(answer.headers, answer.body):
        return True
    if "json" not in answer.headers.get("content-type", ""):
        return False
    try:
        parsed(answer.body)
    except NoJson:
        return True
    return False


def standard(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the next call may pass, from `Retry-After` as seconds or as an HTTP date (RFC 9110, 10.2.3)."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    until = http_date(text)
    return max(0.0, (until - now).total_seconds()) if until else None


def retrying(
    again: bool, attempts: int, clock: Clock, told: Callable[[Transient, float], None]
) -> tenacity.AsyncRetrying:
    """Tries a call up to `attempts` times; `told` hears of each failure and the wait that follows.

    What certainly did nothing (never reached, "too fast") is always sent again; anything else only where `again`.
    """

    def wanted(state: tenacity.RetryCallState) -> bool:
        problem = state.outcome.exception() if state.outcome else None
        if not isinstance(problem, Transient) or (problem.retry_after or 0) > PATIENCE:
            return False
        if isinstance(problem, Unreadable):
            return state.attempt_number < _READINGS
        return again or isinstance(problem, NotSent | Throttled)

    def wait(state: tenacity.RetryCallState) -> float:
        problem = state.outcome.exception() if state.outcome else None
        asked = problem.retry_after if isinstance(problem, Transient) else None
        return pause(state.attempt_number, asked, clock.chance())

    def before(state: tenacity.RetryCallState) -> None:
        problem = state.outcome.exception() if state.outcome else None
        if isinstance(problem, Transient):
            told(problem, state.upcoming_sleep)

    return tenacity.AsyncRetrying(
        sleep=clock.sleep,
        stop=tenacity.stop_after_attempt(attempts),
        wait=wait,
        retry=wanted,
        before_sleep=before,
        reraise=True,
    )


def pause(attempt: int, asked: float | None, chance: float) -> float:
    """Seconds before the next attempt: 1 s to 60 s, doubling, with jitter between half and all of it; never less than
    the service asked for, then with up to a second on top, so that not everybody comes back at once."""
    if asked is not None:
        return asked + chance * min(1.0, max(0.05, asked / 10))
    full = min(_LONGEST, _FIRST * 2.0 ** min(attempt, 10))
    return max(_FIRST, full * (0.5 + 0.5 * chance))
