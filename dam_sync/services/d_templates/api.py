"""Client of the service's API: connection, credential, requests, and what a 403 means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from dam_sync.aio.polling import poll_until
from dam_sync.http.auth.base import Authenticator, RotatingToken
from dam_sync.http.auth.session import SessionLogin
from dam_sync.http.client import Client, ClientConfig, Request, Response
from dam_sync.http.error_rules import explanation
from dam_sync.http.interpreting import interprets_response
from dam_sync.http.rates.announced import calls_per_second
from dam_sync.http.redaction import excerpt, hide
from dam_sync.model.clock import Clock
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, Conflict, DamSyncError, Denied, InvalidValue, NotFound, Rejected
from dam_sync.model.limits import Limits
from dam_sync.model.ports import CredentialStore
from dam_sync.model.shared_target import SharedTarget
from dam_sync.model.values import Json
from dam_sync.model.waits import INDEX
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.wire import is_id
from dam_sync.services.d_templates.options import TemplatesOptions, TemplatesSession

V = TypeVar("V")

_RIGHTS = (
    "grant the integration user access in the security templates of the asset or collection, then `errors JOB --retry`"
)
# wire D 7: a 403 means five things; its text tells which
_REFUSALS: tuple[tuple[str, type[DamSyncError]], ...] = (
    ("invalid response from create asset", NotFound),
    ("not found", NotFound),
    ("does not exist", NotFound),
    ("already exists", Conflict),
    ("failed to undelete", Conflict),
    ("invalid", InvalidValue),
    ("failed to parse", InvalidValue),
    ("unexpected end of json", InvalidValue),
)


@dataclass(frozen=True, slots=True)
class TemplatesApi:
    """Sends requests over one connection."""

    client: Client
    clock: Clock
    options: TemplatesOptions
    limits: Limits
    host: str
    credentials: CredentialStore | None
    shared: SharedTarget

    @classmethod
    def open(cls, context: Context) -> TemplatesApi:
        """Raises ConfigError for a URL, option or credential that cannot be used."""
        options: TemplatesOptions = context.options
        rate = context.calls_per_second
        limits = context.limited(facts.LIMITS)
        pace = limits.pace.with_concurrency(context.concurrency)
        pace = replace(pace, per_second=rate, storage_at_once=max(1, pace.at_once // 2))
        kept = replace(pace, per_second=rate or facts.RATE)
        wiring = ClientConfig.of(context, facts.NAME, authenticator_of(context), facts.RULES, kept)
        json = "application/json"  # of every call: wire D 1.2 marks it as required on several that have no body
        headers = {"X-API-Key": context.auth.api_key, "Accept": json, "Content-Type": json}
        wiring = replace(wiring, headers=headers, announced=announced)
        limits = replace(limits, pace=pace, lag=timedelta(seconds=options.index_lag))
        host = urlsplit(context.base_url).netloc
        return cls(Client(wiring), context.clock, options, limits, host, context.credentials, context.shared)

    def request(self, operation: str, identity: str = "", *, asset: str = "", **more: Any) -> Request:
        """A request by its endpoint template. Raises NotFound for a malformed id."""
        method, _, template = operation.partition(" ")
        if "{id}" in template and not is_id(identity):
            raise NotFound(
                f"{identity[:60]!r} is not an id of this service", operation=operation, asset=asset or identity
            )
        path = template.replace("{id}", quote(identity, safe=""))
        return Request(operation, method, path, asset=asset, **more)

    async def send(self, request: Request) -> Response:
        """Send a request; the text of a 403 decides. Raises Denied, NotFound, Rejected, InvalidValue, Conflict."""
        if 403 in request.accept:
            return await self.client.send(request)
        reply = await self.client.send(replace(request, accept=request.accept | {403}))
        if reply.status == 403:
            raise refusal(reply)
        return reply

    async def ask(self, operation: str, identity: str = "", *, asset: str = "", **more: Any) -> Json:
        """Send a request that reads; the response as JSON."""
        request = self.request(operation, identity, asset=asset, **{"reads": True, "repeatable": True, **more})
        return (await self.send(request)).json()

    async def write(
        self, operation: str, identity: str, body: Json, *, asset: str = "", again: bool = True
    ) -> Response:
        """Send a request that writes. again: it may be sent twice."""
        return await self.send(self.request(operation, identity, asset=asset, json=body, repeatable=again))

    async def until(
        self,
        ask: Callable[[], Awaitable[V | None]],
        seconds: float,
        pauses: tuple[float, ...],
        what: str = INDEX,
        *,
        first: bool = True,
    ) -> V | None:
        """`poll_until` by the clock of this connection. first: ask at once, not after the first pause."""
        if first:
            return await poll_until(self.clock, ask, seconds, pauses, what)
        return await poll_until(self.clock, ask, seconds, pauses[1:], what, delay=pauses[0])


def announced(headers: Mapping[str, str]) -> float | None:
    """The calls per second that a response announces (assumption 28)."""
    return calls_per_second(headers.get(facts.RATE_CALLS, ""), headers.get(facts.RATE_SECONDS, ""))


@interprets_response
def refusal(reply: Response) -> DamSyncError:
    """The error a 403 stands for (wire D 7): bad API key, missing object, bad body, or no permission."""
    message, _ = explanation(reply.headers, reply.body)
    said = message.casefold()
    context = {"service": reply.service, "operation": reply.operation, "asset": reply.asset}
    text = excerpt(f"returned 403 Forbidden: {message}", 300) if message else "responded 403 Forbidden"
    if said == "forbidden":
        hint = "the API key is missing, unknown or belongs to another environment: check api_key in the job file"
        return Denied(f"the API key was refused ({text})", hint=hint, **context)
    for words, error in _REFUSALS:
        if words in said:
            return error(text, **context)
    if reply.asset or reply.operation in facts.OF_ONE_COLLECTION or (reply.operation == facts.CREATE and message):
        return Rejected(text, hint=_RIGHTS, **context)
    return Denied(text, hint="grant the role of the integration user the privilege for this call", **context)


def authenticator_of(context: Context) -> Authenticator:
    """The authenticator of the job's flow (wire D 1.3, 1.6). Raises ConfigError."""
    auth, base = context.auth, context.base_url.rstrip("/")
    hide(auth.api_key)
    if isinstance(auth, TemplatesSession):
        return SessionLogin(f"{base}/v1/auth/token", auth.username, auth.password, context.clock)
    if context.credentials is None:
        raise ConfigError("a rotating refresh token needs a credential store")
    return RotatingToken(
        auth.token_url or f"{base}/v2/oauth/token",
        auth.client_id,
        auth.client_secret,
        auth.refresh_token,
        context.credentials,
        f"{facts.NAME}-{urlsplit(base).hostname}-{auth.client_id}",
        context.clock,
        encoding="form",
    )
