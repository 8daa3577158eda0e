"""Configuration of a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import httpx

from dam_sync.http.auth.base import Authenticator
from dam_sync.http.bounds import CONNECT_SECONDS
from dam_sync.http.error_rules import ErrorRule
from dam_sync.http.rates.announced import AnnouncedRate
from dam_sync.http.rates.shared import CredentialRate
from dam_sync.http.retry import RetryAfter, standard
from dam_sync.model.clock import Clock
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError
from dam_sync.model.limits import QUESTION_SECONDS, Pace
from dam_sync.model.service_time import RunTime

ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Everything a client needs to know about one service and one credential.

    bases: base URLs of the API by name, "" is the default. pace: see `Pace`. credential, may_write:
    see `Context`. bandwidth: bytes per second over all bodies. max_calls: API calls this client may send in total.
    retry_after: reads a pause in seconds from response headers (lower case) and the current time. attempts: maximum
    attempts of one request; patience: seconds for all of them together. headers: sent with every API call.
    transport: used instead of the network; the caller closes it. rate: shared with other clients of this credential;
    calls_per_day: of all of them together. processes: that use the credential for one run. time, side: see `Context`.
    announced: reads the limit that a response to a call with the credential announces; None: there is no such header.
    """

    service: str
    bases: Mapping[str, str]
    auth: Authenticator | None
    rules: Sequence[ErrorRule]
    pace: Pace
    clock: Clock
    credential: str = ""
    read_only: bool = False
    bandwidth: float | None = None
    max_calls: int | None = None
    may_write: Callable[[], None] | None = None
    retry_after: RetryAfter = standard
    transport: httpx.AsyncBaseTransport | None = None
    connect_seconds: float = CONNECT_SECONDS
    attempts: int = ATTEMPTS
    patience: float = QUESTION_SECONDS
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    rate: CredentialRate | None = None
    calls_per_day: int | None = None
    processes: int = 1
    time: RunTime | None = None
    side: str = ""
    announced: AnnouncedRate | None = None

    @classmethod
    def of(
        cls, context: Context, service: str, auth: Authenticator | None, rules: Sequence[ErrorRule], pace: Pace
    ) -> ClientConfig:
        """One API at the URL of the context, with the limits of the context."""
        return cls(
            service=service,
            bases={"": context.base_url.rstrip("/")},
            auth=auth,
            rules=rules,
            pace=pace,
            clock=context.clock,
            credential=context.credential,
            transport=_transport_of(context),
            read_only=context.read_only,
            bandwidth=context.bandwidth,
            max_calls=context.max_calls,
            may_write=context.may_write,
            attempts=context.attempts or ATTEMPTS,
            patience=context.patience or QUESTION_SECONDS,
            rate=context.rate,
            calls_per_day=context.calls_per_day,
            processes=context.processes,
            time=context.time,
            side=context.side,
        )

    @property
    def own_part(self) -> ClientConfig:
        """The limits of this process alone: an equal part for each of the processes, so that together they keep to
        those of the service and of the operator. What the processes lease is not divided: a rate, a fixed number of
        concurrent calls, calls per day and month."""
        number = self.processes
        if number == 1:
            return self
        leased, pace = self.rate is not None and self.rate.permits is not None, self.pace
        if not leased:
            pace = replace(pace, per_second=pace.per_second and pace.per_second / number)
        if not leased or pace.most_at_once is not None:
            most = pace.most_at_once and max(1, pace.most_at_once // number)
            pace = replace(pace, at_once=max(1, pace.at_once // number), most_at_once=most)
        return replace(
            self,
            pace=pace,
            bandwidth=self.bandwidth and self.bandwidth / number,
            max_calls=self.max_calls and self.max_calls // number,
        )


def _transport_of(context: Context) -> httpx.AsyncBaseTransport | None:
    """Raises ConfigError for anything that httpx cannot send with."""
    given = context.transport
    if given is None or isinstance(given, httpx.AsyncBaseTransport):
        return given
    raise ConfigError(f"a transport is an httpx.AsyncBaseTransport, not a {type(given).__name__}")
