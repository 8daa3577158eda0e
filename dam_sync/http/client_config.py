"""What a client is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.http.auth.base import Authenticator
from dam_sync.http.error_rules import ErrorRule
from dam_sync.http.retry import RetryAfter, standard
from dam_sync.http.transport import TransportName
from dam_sync.model.clock import Clock
from dam_sync.model.limits import Pace
from dam_sync.model.service import Context

ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """All a client needs to know of one service and one credential.

    bases: addresses of the API by name, "" is the first. pace: see `Pace`; bandwidth: bytes a second over all bodies;
    max_calls: API calls this client may send in its life; may_write: see `Context`; retry_after: reads a pause in
    seconds from an answer's headers (lower case) and the instant; attempts: how often a call is sent at most; headers:
    of every API call.
    """

    service: str
    bases: Mapping[str, str]
    auth: Authenticator | None
    rules: Sequence[ErrorRule]
    pace: Pace
    clock: Clock
    read_only: bool = False
    bandwidth: float | None = None
    max_calls: int | None = None
    may_write: Callable[[], None] | None = None
    retry_after: RetryAfter = standard
    transport: TransportName = "aiohttp"
    attempts: int = ATTEMPTS
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, context: Context, service: str, auth: Authenticator | None, rules: Sequence[ErrorRule], pace: Pace
    ) -> ClientConfig:
        """One API at the address of the context, held to all that the context allows."""
        return cls(
            service=service,
            bases={"": context.base_url.rstrip("/")},
            auth=auth,
            rules=rules,
            pace=pace,
            clock=context.clock,
            read_only=context.read_only,
            bandwidth=context.bandwidth,
            max_calls=context.max_calls,
            may_write=context.may_write,
            attempts=context.attempts or ATTEMPTS,
        )
