"""When a request is retried, and after how long."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeAlias

import tenacity

from dam_sync.http.dates import http_date
from dam_sync.http.exchange import RawResponse
from dam_sync.http.failures import NotSent
from dam_sync.http.messages import HTML_HINT, Request, looks_like_html
from dam_sync.http.parsing import InvalidJson, parsed
from dam_sync.http.patience import PatienceOver
from dam_sync.model.clock import Clock
from dam_sync.model.errors import DamSyncError, Throttled, Transient
from dam_sync.model.limits import PATIENCE

RetryAfter: TypeAlias = Callable[[Mapping[str, str], datetime], float | None]

_FIRST = 1.0
_LONGEST = 60.0
READINGS = 3  # of a response that cannot be read, however many attempts failed for another reason
MOST_ASKED = 31 * 86_400.0  # what a longer pause, which cannot be meant, is taken for


class Garbled(Transient):
    """A success that says nothing about the request. is_last: it is not retried."""

    is_last = False
    is_page = True


class UnreadableResponse(Garbled):
    """A read whose body does not match its content type; retried a few times, then returned to the caller."""

    def __init__(self, response: RawResponse) -> None:
        super().__init__("the response cannot be read")
        self.response = response


def is_unreadable(request: Request, response: RawResponse) -> bool:
    """Whether a read got an HTML page, nothing or invalid JSON: a proxy's notice, or an error on the way."""
    if response.status != 200 or not (request.method == "GET" or request.reads):
        return False
    if not response.body.strip() or looks_like_html(response.headers, response.body):
        return True
    if "json" not in response.headers.get("content-type", ""):
        return False
    try:
        response.parsed = [parsed(response.body)]
    except InvalidJson:
        return True
    return False


def refuse_page(request: Request, response: RawResponse) -> None:
    """Raises Transient if a write got an HTML page in place of a response: it says nothing about the request, least of
    all that it succeeded. A page that comes for one asset only, such as that of a firewall, must not end the run."""
    if request.read_only or not 200 <= response.status < 300 or not response.body.strip():
        return
    if looks_like_html(response.headers, response.body):
        text = f"returned {response.status} with an HTML page where JSON was expected"
        raise Garbled(text, hint=HTML_HINT)


def standard(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the next request, from `Retry-After` as seconds or as an HTTP date (RFC 9110, 10.2.3); at most
    MOST_ASKED."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        return min(MOST_ASKED, max(0.0, seconds)) if math.isfinite(seconds) else None
    until = http_date(text)
    return min(MOST_ASKED, max(0.0, (until - now).total_seconds())) if until else None


def retrying(
    again: bool,
    attempts: int,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]],
    on_retry: Callable[[Transient, float], None],
) -> tenacity.AsyncRetrying:
    """Retries a request up to `attempts` times; `on_retry` is called with each failure and the following wait, which
    `sleep` makes. Requests that certainly had no effect (not sent, rate limited) are always retried, others only if
    `again`; neither a time that is used up, nor responses that could not be read READINGS times."""

    def wanted(state: tenacity.RetryCallState) -> bool:
        problem = state.outcome.exception() if state.outcome else None
        if not isinstance(problem, Transient) or (problem.retry_after or 0) > PATIENCE:
            return False
        if isinstance(problem, PatienceOver) or (isinstance(problem, Garbled) and problem.is_last):
            return False
        return again or isinstance(problem, NotSent | Throttled)

    def wait(state: tenacity.RetryCallState) -> float:
        problem = state.outcome.exception() if state.outcome else None
        asked = problem.retry_after if isinstance(problem, Transient) else None
        return pause(state.attempt_number, asked, clock.chance())

    def before(state: tenacity.RetryCallState) -> None:
        problem = state.outcome.exception() if state.outcome else None
        if isinstance(problem, Transient):
            on_retry(problem, state.upcoming_sleep)

    return tenacity.AsyncRetrying(
        sleep=sleep,
        stop=tenacity.stop_after_attempt(attempts),
        wait=wait,
        retry=wanted,
        before_sleep=before,
        reraise=True,
    )


def patient(error: DamSyncError, otherwise: float) -> float:
    """Seconds before an attempt that is not a mere repetition: what the service asked for, if it did. Raises the error
    if that is longer than anybody waits."""
    asked = error.retry_after if isinstance(error, Transient) else None
    if asked is not None and asked > PATIENCE:
        raise error
    return asked or otherwise


def pause(attempt: int, asked: float | None, chance: float) -> float:
    """Seconds before the next attempt: 1 s to 60 s, doubling, with jitter between half and all of it; never less than
    the service asked for, then with up to a second on top, so that clients do not return in step."""
    if asked is not None:
        return asked + chance * min(1.0, max(0.05, asked / 10))
    full = min(_LONGEST, _FIRST * 2.0 ** min(attempt, 10))
    return max(_FIRST, full * (0.5 + 0.5 * chance))
