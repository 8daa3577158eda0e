"""Sends requests: credentials, retries, redirects, errors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Final

import httpx
import structlog
from tenacity import AsyncRetrying

from dam_sync.http.auth.base import RENEWALS, Authenticator, HeaderAuth, TokenRequester, put_credential
from dam_sync.http.bounds import LARGEST_REPLY
from dam_sync.http.client_config import ClientConfig
from dam_sync.http.dispatch import PreparedRequest, RequestDispatcher, prepared_request
from dam_sync.http.error_rules import Refusal, error_for
from dam_sync.http.exchange import RawResponse
from dam_sync.http.failures import LeadsInside, NotSent, Untrusted
from dam_sync.http.messages import Request, Response
from dam_sync.http.multipart import FormPart
from dam_sync.http.outgoing import OutgoingRequest
from dam_sync.http.patience import Patience
from dam_sync.http.reach import ASK, inside
from dam_sync.http.request_body import RequestBody
from dam_sync.http.retry import READINGS, Garbled, UnreadableResponse, is_unreadable, refuse_page, retrying
from dam_sync.http.stream import HttpStream
from dam_sync.http.urls import BaseUrls, ResolvedUrl, has_signed_headers, is_absolute, refusal_of
from dam_sync.model.errors import ContractBroken, DamSyncError, Rejected, Transient, Unsupported
from dam_sync.model.journal import results_durable
from dam_sync.model.limits import MeasuredPace, MonthlyAllowance
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.waits import ASKED, sleep_for

__all__ = ["Client", "ClientConfig", "FormPart", "HttpStream", "Request", "Response"]

_REDIRECTS: Final = 5
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_FOLLOWED: Final = frozenset({"GET", "HEAD"})

_CHALLENGES: Final = 3  # requests that an authentication method may take for one
_LONG: Final = 30.0  # seconds of a pause that are reported at once

_log = structlog.get_logger()


class Client:
    """Sends requests to one service with one credential.

    A request to one of the base URLs is an API call: authenticated, counted, rate limited, at most `pace.at_once` at a
    time. Any other is storage: no credentials, no cookies, not counted, URL never shown, at most `pace.storage_at_once`
    at a time; an open download counts only while a block of it is awaited.

    Requests that certainly had no effect (not sent, rate limited) are retried; others only if they are repeatable.
    After a 401 the authentication method may renew the credential. Raises the errors of `model.errors` with service,
    operation and asset filled in; ConfigError, also at construction, for plain http to another host.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._base_urls = BaseUrls(config.bases)
        self._dispatcher = RequestDispatcher(config)
        self._announced = -_LONG  # until when a pause was reported
        if isinstance(config.auth, TokenRequester):
            config.auth.attach(self._without_credential)

    def __repr__(self) -> str:
        return f"Client({self._config.service})"

    @property
    def calls(self) -> Mapping[str, int]:
        """API calls sent, retries included, by operation."""
        return dict(self._dispatcher.calls)

    @property
    def measured_pace(self) -> MeasuredPace:
        """The pace to be expected, and the mean time from the permit of an API call to the end of its response."""
        dispatcher = self._dispatcher
        mean = dispatcher.response_seconds / dispatcher.responses if dispatcher.responses else None
        return MeasuredPace(dispatcher.expected_pace, mean)

    @property
    def storage_calls(self) -> int:
        """Requests sent to storage."""
        return self._dispatcher.storage_calls

    def keep_to(self, allowance: MonthlyAllowance) -> None:
        """Send no API call from now on that exceeds what is left of the allowance."""
        self._dispatcher.allowance = allowance

    async def link_for_others(self, request: Request) -> str:
        """The URL of a request that somebody else will send, if it needs neither a credential nor a header of ours;
        otherwise empty. It is refused where `stream` would refuse it, by the addresses that its name has now: what
        others will find later is not known here. Raises Rejected, ContractBroken, Transient."""
        try:
            resolved = await self._resolved(request)
            if resolved.api or request.headers or has_signed_headers(resolved.url):
                return ""
            await self._refuse_inside(resolved, request)
        except DamSyncError as problem:
            raise self._within(problem, request) from None
        return resolved.url

    async def send(self, request: Request) -> Response:
        """Send a request and read the whole response. Redirects are followed for GET and HEAD."""
        try:
            await self._admit(request)
            resolved = await self._resolved(request)
            response = await self._repeated(request, resolved, self._prepare(request), self._config.auth)
        except DamSyncError as problem:
            raise self._within(problem, request) from None
        reply = self._reply(request, response, of_write=not request.read_only)
        if reply.is_html and reply.body.strip() and 200 <= reply.status < 300:
            reply.json()  # a web page says nothing about the request, least of all that a write succeeded
        return reply

    async def stream(self, request: Request, offset: int = 0, validator: Validator = NO_VALIDATOR) -> HttpStream:
        """The bytes from `offset`, or from 0 if the server ignores ranges: see `start`. validator: of the version whose
        rest is wanted; a server that has another one by now is asked for all of it, and the caller compares what it
        says. Redirects are followed. Must be closed. Raises ContractBroken for a range that was not requested, or if it
        is a link of one asset Rejected; OtherVersion if the file is now shorter than `offset`."""
        ranged = _ranged(offset, validator)
        try:
            await self._admit(request)
            more = {"accept-encoding": "identity", **ranged}
            prepared = self._prepare(request, more, whole=False)
            response = await self._repeated(request, await self._resolved(request), prepared, self._config.auth)
            try:
                return HttpStream(response, offset, self._dispatcher, lambda problem: self._within(problem, request))
            except BaseException:
                await response.aclose()
                raise
        except ContractBroken as problem:
            if request.bare and request.asset:  # a link of one asset, which never stops a run
                raise self._within(Rejected(problem.message, hint=problem.hint), request) from None
            raise self._within(problem, request) from None
        except DamSyncError as problem:
            raise self._within(problem, request) from None

    def decision_time(self) -> datetime:
        """The time by which it is decided whether somebody may see an asset already."""
        time = self._config.time
        return self._config.clock.now() if time is None else time.earliest()

    async def close(self) -> None:
        """Close every connection; safe to repeat."""
        await self._dispatcher.close()

    async def _resolved(self, request: Request) -> ResolvedUrl:
        """The URL of a request; one from a response is judged by what is known of the network of the service."""
        if is_absolute(request.path):
            await self._base_urls.locate(self._dispatcher.transport.farthest)
        return self._base_urls.of(request)

    async def _refuse_inside(self, resolved: ResolvedUrl, request: Request) -> None:
        try:
            reach = await self._dispatcher.transport.nearest(resolved.url, resolved.origin)
        except OSError:
            raise NotSent(f"the host name {resolved.host} is not known", hint="check the name server (DNS)") from None
        if not resolved.networks.has(reach):
            raise refusal_of(request)(inside(resolved.host), hint=ASK)

    async def _without_credential(self, request: Request) -> Response:
        """A token request on behalf of the authenticator."""
        resolved = self._base_urls.named(request)
        if not resolved.api:
            resolved = replace(resolved, where=f"the token server {resolved.host}")
        try:
            response = await self._repeated(request, resolved, self._prepare(request), None)
        except DamSyncError as problem:
            raise self._within(problem, request) from None
        return self._reply(request, response)

    async def _repeated(
        self, request: Request, resolved: ResolvedUrl, prepared: PreparedRequest, auth: Authenticator | None
    ) -> RawResponse:
        try:
            return await self._once(request, resolved, prepared, auth)
        except Transient as problem:
            failed: Transient | None = problem
        read = int(isinstance(failed, Garbled))

        async def again() -> RawResponse:
            """Begins with the attempt that failed, because the state of a repetition costs more than most calls."""
            nonlocal failed, read
            if failed is not None:
                first, failed = failed, None
                raise first
            try:
                return await self._once(request, resolved, prepared, auth)
            except Garbled as garbled:
                read += 1
                garbled.is_last = read >= READINGS
                raise

        try:
            response: RawResponse = await self._retrying(request)(again)
        except UnreadableResponse as garbled:
            return garbled.response
        return response

    async def _once(
        self, request: Request, resolved: ResolvedUrl, prepared: PreparedRequest, auth: Authenticator | None
    ) -> RawResponse:
        """One attempt, including redirects; returns a success or an accepted status."""
        for _ in range(_REDIRECTS + 1):
            try:
                response = await self._authorised(request, resolved, prepared, auth)
            except (Untrusted, LeadsInside) as problem:
                if resolved.api or not request.asset:
                    raise
                raise Rejected(problem.message, hint=problem.hint) from None  # a host that one asset's link leads to
            if self._config.announced is not None and resolved.api and auth is not None:
                self._dispatcher.keep_to_rate(self._config.announced(response.headers))
            location = response.headers.get("location", "")
            if not (response.status in _MOVED and location and request.method in _FOLLOWED):
                return self._judged(request, resolved, prepared, response)
            await self._base_urls.locate(self._dispatcher.transport.farthest)
            target = self._base_urls.moved(resolved, location, request)
            if target.origin != resolved.origin or target.api != resolved.api:
                prepared = prepared.elsewhere()
            resolved = target
        raise refusal_of(request)(f"more than {_REDIRECTS} redirects")

    async def _authorised(
        self, request: Request, resolved: ResolvedUrl, prepared: PreparedRequest, auth: Authenticator | None
    ) -> RawResponse:
        """One exchange; API calls carry the credential, and the authentication method sees the response."""
        outgoing = self._dispatcher.outgoing(prepared, resolved)
        if not resolved.api or auth is None:
            return await self._dispatcher.exchange(outgoing, prepared, resolved)
        if not isinstance(auth, HeaderAuth):
            return await self._signed(request, resolved, prepared, outgoing, auth)
        for _ in range(RENEWALS):
            seen = await auth.headers()
            put_credential(seen, outgoing.headers)
            response = await self._dispatcher.exchange(outgoing, prepared, resolved)
            if response.status != 401 or 401 in request.accept or not await auth.renew(seen):
                return response
            await response.aclose()
        put_credential(await auth.headers(), outgoing.headers)
        return await self._dispatcher.exchange(outgoing, prepared, resolved)

    async def _signed(
        self,
        request: Request,
        resolved: ResolvedUrl,
        prepared: PreparedRequest,
        outgoing: OutgoingRequest,
        auth: httpx.Auth,
    ) -> RawResponse:
        """The same by a method that sees the request, signs it, and sees the response."""
        if auth.requires_request_body:
            await _read_into_memory(outgoing)
        shown = outgoing.as_httpx
        async with aclosing(auth.async_auth_flow(shown)) as flow:
            signed = await anext(flow)
            for _ in range(_CHALLENGES):
                if signed is not shown:
                    raise ContractBroken("an authentication method may only change the request that it was given")
                outgoing.headers = dict(shown.headers.items())
                response = await self._dispatcher.exchange(outgoing, prepared, resolved)
                if response.status in request.accept and response.status == 401:
                    return response
                try:
                    signed = await flow.asend(response.as_httpx(shown))
                except StopAsyncIteration:
                    return response
                await response.aclose()
        raise ContractBroken(f"the authentication method sent {_CHALLENGES} requests and wants another")

    def _judged(
        self, request: Request, resolved: ResolvedUrl, prepared: PreparedRequest, response: RawResponse
    ) -> RawResponse:
        status = response.status
        if 200 <= status < 300 or status in request.accept:
            if prepared.whole and resolved.api:
                if request.retryable and is_unreadable(request, response):
                    raise UnreadableResponse(response)
                refuse_page(request, response)
            return response
        if status == 416 and "range" in prepared.headers and "content-range" in response.headers:
            return response
        pause = self._config.retry_after(response.headers, self._config.clock.now()) if status >= 400 else None
        refusal = Refusal(
            status=status,
            headers=response.headers,
            body=response.body,
            service=self._config.service,
            operation=request.operation,
            asset=request.asset,
            where=resolved.where,
            credential=self._config.credential if resolved.api else "",
            retry_after=pause,
        )
        raise error_for(self._config.rules, refusal)

    def _prepare(
        self, request: Request, more: Mapping[str, str] | None = None, *, whole: bool = True
    ) -> PreparedRequest:
        config = self._config
        seconds = max(config.patience, self._known_to_take(request))
        patience = Patience(seconds, request.operation, config.side or config.service, config.clock)
        return prepared_request(request, patience, config.clock.token, more, whole=whole)

    def _known_to_take(self, request: Request) -> float:
        """Seconds that a service that responded before may take for this call."""
        if not self._dispatcher.responses or request.timeout is None:
            return 0.0
        return self._config.connect_seconds + request.timeout

    async def _admit(self, request: Request) -> None:
        """Raises ContractBroken for a write of a client that only reads. Others wait for the journal first: their
        request may depend on what it recorded last."""
        if not self._config.read_only:
            await results_durable()
        elif not request.read_only:
            raise ContractBroken(
                f"{self._config.service} is opened read-only, and {request.method} would write",
                hint="this is a bug in dam-sync, nothing was sent; please report it",
            )

    def _reply(self, request: Request, response: RawResponse, *, of_write: bool = False) -> Response:
        return Response(
            response.status,
            response.headers,
            response.body,
            self._config.service,
            request.operation,
            request.asset,
            response.parsed,
            of_write,
        )

    def _within(self, problem: DamSyncError, request: Request) -> DamSyncError:
        return problem.within(service=self._config.service, operation=request.operation, asset=request.asset)

    def _retrying(self, request: Request) -> AsyncRetrying:
        config, asked = self._config, False

        def before(problem: Transient, seconds: float) -> None:
            nonlocal asked
            asked = problem.retry_after is not None
            self._log_retry(problem, seconds)

        async def sleep(seconds: float) -> None:
            what = f"{ASKED}, before {request.operation}" if asked else f"another attempt of {request.operation}"
            await sleep_for(config.clock, seconds, what, config.side or config.service)

        return retrying(request.retryable, config.attempts, config.clock, sleep, before)

    def _log_retry(self, problem: Transient, seconds: float) -> None:
        _log.info("call.repeated", service=self._config.service, problem=str(problem), wait=round(seconds, 3))
        until = self._config.clock.monotonic() + seconds
        if seconds >= _LONG and until > self._announced + _LONG:  # concurrent calls wait for the same
            self._announced = until
            _log.error(
                "call.waits",
                service=self._config.service,
                seconds=round(seconds),
                message="the service asked for a pause; the run continues by itself afterwards, Ctrl-C ends it now",
            )


def _ranged(offset: int, validator: Validator) -> Mapping[str, str]:
    """The headers that ask for the rest of a file, if it is still the same."""
    if offset <= 0:
        return {}
    condition = {"if-range": validator.if_range} if validator.if_range else {}
    return {"range": f"bytes={offset}-", **condition}


async def _read_into_memory(outgoing: OutgoingRequest) -> None:
    """For a method that signs bodies. Raises Unsupported for one that is larger than anything we keep in memory."""
    body = outgoing.body
    if not isinstance(body, RequestBody):
        return
    if body.size > LARGEST_REPLY:
        raise Unsupported(
            f"a body of {body.size} bytes cannot be signed",
            hint="this authentication method must sign large bodies without reading them",
        )
    outgoing.body = await body.joined()
