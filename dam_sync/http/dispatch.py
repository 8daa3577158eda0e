"""Sends one request: concurrency limit, rate limit, counters, bandwidth."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import structlog

from dam_sync.http.bounds import BLOCK, READ_SECONDS
from dam_sync.http.client_config import ClientConfig
from dam_sync.http.dates import http_date
from dam_sync.http.exchange import RawResponse, open_response
from dam_sync.http.failures import FAILURES, failure
from dam_sync.http.messages import Request
from dam_sync.http.multipart import Block, BodyFactory, MultipartForm, in_blocks
from dam_sync.http.outgoing import OutgoingRequest, direct, sendable
from dam_sync.http.patience import Patience
from dam_sync.http.rates.limiters import BandwidthLimiter, ConcurrencyLimiter, Permit
from dam_sync.http.rates.shared import CredentialRate
from dam_sync.http.rates.shared_concurrency import SharedConcurrency
from dam_sync.http.request_body import RequestBody
from dam_sync.http.transport import NetworkTransport
from dam_sync.http.urls import ResolvedUrl
from dam_sync.model.errors import InvalidValue, StopKind, StopRequested, Transient
from dam_sync.model.limits import MonthlyAllowance, Pace
from dam_sync.model.write_record import count_call

_READING = frozenset({"GET", "HEAD"})
_THROTTLED = 429
_TOO_FAST = frozenset({_THROTTLED, 503})
_CARRIED = frozenset({"accept", "accept-encoding", "range", "if-range", "user-agent"})  # to another origin
_DEFAULTS = {"user-agent": "dam-sync", "accept": "*/*", "accept-encoding": "gzip, deflate"}

_REQUEST_IDS = ("x-request-id", "x-correlation-id", "request-id", "x-trace-id")  # headers of responses

_log = structlog.get_logger()

Body: TypeAlias = bytes | BodyFactory | None


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request without URL and credential; reused for every attempt. whole: the body is read before the concurrency
    permit is returned."""

    operation: str
    method: str
    patience: Patience
    headers: Mapping[str, str] = field(repr=False)
    body: Body = field(default=None, repr=False)
    size: int | None = None
    whole: bool = True
    read_seconds: float = READ_SECONDS
    asset: str = ""

    def elsewhere(self) -> PreparedRequest:
        """For a redirect to another origin: without anything that identifies us."""
        return replace(self, headers={name: text for name, text in self.headers.items() if name in _CARRIED})


def prepared_request(
    request: Request,
    patience: Patience,
    token: Callable[[], str],
    more: Mapping[str, str] | None = None,
    *,
    whole: bool = True,
) -> PreparedRequest:
    """`token` becomes the boundary of a form; `more` headers replace those of the request. Raises InvalidValue for a
    value that cannot be sent as JSON or in a header."""
    headers = {name.lower(): text for name, text in request.headers.items()}
    if more:
        headers.update(more)
    body, size = _body_of(request, headers, token)
    if callable(body):
        if size is None:
            raise ValueError(f"{request.operation}: a streamed body needs its size")
        headers["content-length"] = str(size)
    for name, text in headers.items():
        if not text.isprintable():
            raise InvalidValue(f"the header {name} cannot hold {text[:40]!r}")
    headers = {name: text for name, text in headers.items() if text}
    seconds = READ_SECONDS if request.timeout is None else request.timeout
    return PreparedRequest(
        request.operation, request.method, patience, headers, body, size, whole, seconds, asset=request.asset
    )


def _request_id(response: RawResponse) -> str | None:
    return next(filter(None, (response.headers.get(name) for name in _REQUEST_IDS)), None)


class RequestDispatcher:
    """Concurrency, rate and bandwidth limits of one client: see `Client`."""

    def __init__(self, config: ClientConfig) -> None:
        self._all_calls, self._processes = config.max_calls, config.processes
        config = config.own_part
        self._clock = self.clock = config.clock
        self.side = config.side or config.service
        self.transport = direct(config.transport or NetworkTransport())
        self._is_own = config.transport is None
        self._connect_seconds = config.connect_seconds
        self._max_calls = config.max_calls
        self._may_write = config.may_write
        self._time = config.time.services.get(config.side) if config.time is not None else None
        self._read_only = config.read_only
        self._retry_after = config.retry_after
        self._headers = {**_DEFAULTS, **{name.lower(): text for name, text in config.headers.items()}}
        pace = config.pace
        self._api = ConcurrencyLimiter(max(1, pace.at_once))
        self._pace = pace
        self.storage = asyncio.Semaphore(max(1, config.pace.storage_at_once))
        self._rate = config.rate or CredentialRate(config.clock)
        self._limiter = self._rate.limiter(pace.per_second)
        self._learned = None if pace.most_at_once is None else self._rate.concurrency(pace.at_once, pace.most)
        if self._learned is not None:
            self._api.limit = self._learned.limit
        self._gate: ConcurrencyLimiter | SharedConcurrency = self._api
        if self._learned is None and self._rate.permits is not None:
            self._gate = SharedConcurrency(self._api, self._rate.permits, config.clock, self.side)
        self._announced = math.inf  # the lowest rate that responses announced
        self._calls_per_day = config.calls_per_day
        self.allowance: MonthlyAllowance | None = None
        self.bandwidth = BandwidthLimiter(config.bandwidth, config.clock, self.side)
        self.calls: Counter[str] = Counter()
        self.sent = 0
        self.responses = 0
        self.response_seconds = 0.0  # of those API calls, from the permit to the end of the response
        self.storage_calls = 0

    async def exchange(
        self, outgoing: OutgoingRequest, prepared: PreparedRequest, resolved: ResolvedUrl
    ) -> RawResponse:
        """Send a request made by `outgoing` and read the head of the response; also the body if `prepared.whole` or if
        it is not a success.

        Raises StopRequested beyond `max_calls` and what is left of the day and the month, Throttled if the requested
        pause is too long, what `may_write` raises unless the method is GET or HEAD, and what `open_response` raises.
        """
        async with self._gate if resolved.api else self.storage:
            permit = await self._admit(prepared.operation) if resolved.api else None
            if isinstance(prepared.body, bytes):
                await self.bandwidth.pass_on(len(prepared.body))
            if self._may_write is not None and prepared.method not in _READING:
                self._may_write()
            number, began = self.sent if resolved.api else self.storage_calls + 1, self._clock.monotonic()
            try:
                answered = self._answered(outgoing, permit, whole=prepared.whole)
                longest = _longest(outgoing, whole=prepared.whole)
                response = await prepared.patience.bounds(answered, resolved.host, longest)
                if response.body:
                    await self.bandwidth.pass_on(len(response.body))
            except Transient as problem:
                self._lower_concurrency(permit)
                self._log_call(prepared, resolved, (number, began), problem)
                raise
            if permit is not None:
                self._measure(response, permit, prepared)
                if self._limiter.has_news:
                    await self._publish(response)
        self._log_call(prepared, resolved, (number, began), response)
        return response

    def keep_to_rate(self, per_second: float | None) -> None:
        """Keep to this rate from now on, with everything that shares it; a higher one, or None, changes nothing."""
        if per_second is None or per_second >= self._announced:
            return
        self._announced, before = per_second, self._limiter.rate
        self._limiter.lower_to(per_second)
        if self._limiter.rate != before:
            _log.info("rate.announced", per_second=per_second, before=before)

    def _log_call(
        self,
        prepared: PreparedRequest,
        resolved: ResolvedUrl,
        begun: tuple[int, float],
        result: RawResponse | Transient,
    ) -> None:
        """One attempt of a call: for which asset, how long it took from the permit on, and the id that the service gave
        it, by which its own logs know it. begun: its number among those of this process to the service, and when."""
        if not structlog.is_configured():
            return
        event, known = "call.failed", dict[str, object]()
        if isinstance(result, Transient):
            known = {"asset": prepared.asset, "problem": result.message}
        else:
            event = "call.sent"
            known = {"status": result.status, "asset": prepared.asset, "request_id": _request_id(result)}
        more = {name: value for name, value in known.items() if value}
        number, began = begun
        seconds = round(self._clock.monotonic() - began, 3)
        _log.debug(event, operation=prepared.operation, host=resolved.host, call=number, seconds=seconds, **more)

    async def close(self) -> None:
        """Close every connection, except those of a transport that was passed in."""
        if self._is_own:
            await self.transport.aclose()

    async def _publish(self, response: RawResponse) -> None:
        """Publish what was learned to the processes that share the rate. If that fails, the response is closed."""
        try:
            await self._limiter.publish()
        except BaseException:
            await response.aclose()
            raise

    async def _answered(self, outgoing: OutgoingRequest, permit: Permit | None, *, whole: bool) -> RawResponse:
        response = await self._opened(outgoing, permit)
        if whole or not response.is_success:
            await response.read()
        return response

    async def _opened(self, outgoing: OutgoingRequest, permit: Permit | None) -> RawResponse:
        if permit is None:
            self.storage_calls += 1
        response = await open_response(self.transport, outgoing)
        if permit is not None:
            permit.responded = self._clock.monotonic()
        return response

    async def _admit(self, operation: str) -> Permit:
        self._limiter.refuse_long_pause()
        rate, limits = self._rate, (self._calls_per_day, self.allowance)
        reserved = await rate.reserve(*limits)
        try:
            permit = await self._permit()
        except BaseException:
            rate.put_back(reserved)
            raise
        self.sent += 1  # before others may pass the check of `max_calls`
        if reserved != rate.slice:  # perhaps of the day before: it is counted when it is sent
            rate.put_back(reserved)
            try:
                await rate.reserve(*limits)
            except BaseException:
                self.sent -= 1
                raise
        self.calls[operation] += 1
        if not self._read_only:  # reads from a source during a write are not calls of the target
            count_call(operation)
        return permit

    async def _permit(self) -> Permit:
        """One of the rate limit. Raises StopRequested beyond `max_calls`."""
        permit = await self._limiter.take(self.side)
        if self._max_calls is not None and self.sent >= self._max_calls:
            part = f", of which each of {self._processes} processes may send {self._max_calls}"
            raise StopRequested(
                f"the limit of {self._all_calls} calls is reached{part if self._processes > 1 else ''}",
                hint="run the same command again; it resumes where it stopped",
                kind=StopKind.MAX_CALLS,
            )
        if self._learned is not None and not permit.waited and self._api.under_way >= self._api.limit:
            permit.epoch = self._learned.epoch
        return permit

    @property
    def expected_pace(self) -> Pace:
        """The pace to be expected of what follows."""
        learned, pace = self._learned, replace(self._pace, per_second=self._limiter.expected)
        if learned is None:
            return pace
        return replace(pace, at_once=learned.learned, most_at_once=None if learned.settled else self._pace.most)

    def _note_time(self, response: RawResponse, began: float) -> None:
        """Learn what the clock of the service shows; not from a response that was kept on the way."""
        shown = http_date(response.headers.get("date", ""))
        if self._time is not None and shown is not None and "age" not in response.headers:
            self._time.saw(shown, began)

    def _measure(self, response: RawResponse, permit: Permit, prepared: PreparedRequest) -> None:
        """Learn from the response to an API call."""
        if self._time is not None:
            self._note_time(response, permit.released)
        seconds = self._clock.monotonic() - permit.released
        self.responses += 1
        self.response_seconds += seconds
        self._learn(response, permit)
        if prepared.whole and not callable(prepared.body):
            self._compare(prepared.operation, response.status, permit, seconds)

    def _learn(self, response: RawResponse, permit: Permit) -> None:
        if response.status in _TOO_FAST:
            retry_after = self._retry_after(response.headers, self._clock.now())
            permit.failing = response.status != _THROTTLED and retry_after is None
            self._limiter.slow_down(permit, retry_after)
        elif response.status < 500:
            self._limiter.succeeded(permit)

    def _compare(self, operation: str, status: int, permit: Permit, seconds: float) -> None:
        """Learn how many calls at once serve best."""
        learned = self._learned
        if learned is None or permit.epoch != learned.epoch:
            return
        if status in _TOO_FAST:
            if not self._limiter.refuses_anyway:
                learned.refused()
        else:
            learned.responded(operation, seconds)
        self._api.limit = learned.limit

    def _lower_concurrency(self, permit: Permit | None) -> None:
        """A call got no response, or it broke off."""
        if self._learned is not None and permit is not None and permit.epoch == self._learned.epoch:
            self._learned.failed()
            self._api.limit = self._learned.limit

    def outgoing(self, prepared: PreparedRequest, resolved: ResolvedUrl) -> OutgoingRequest:
        """The request as it is sent, except for the credential; its body may be sent again. Only API calls get the
        service's own headers. Raises ContractBroken for one that cannot be sent."""
        headers = {**(self._headers if resolved.api else _DEFAULTS), **prepared.headers}
        given = prepared.body
        body: bytes | RequestBody | None = None if callable(given) else given
        if callable(given):
            body = RequestBody(self._metered(given) if self.bandwidth.limited else given, prepared.size or 0)
            body.on_block = prepared.patience.moved
        try:
            url = sendable(resolved.url, headers)
        except FAILURES as problem:
            raise failure(problem, resolved.host) from None
        connect, read = self._connect_seconds, prepared.read_seconds
        if isinstance(body, RequestBody):
            read = prepared.patience.share(read)
        return OutgoingRequest(prepared.method, url, resolved.origin, headers, body, connect, read, resolved.networks)

    def _metered(self, source: BodyFactory) -> BodyFactory:
        async def blocks() -> AsyncGenerator[Block, None]:
            async for block in source():
                await self.bandwidth.pass_on(len(block))
                yield block

        return blocks


def _longest(outgoing: OutgoingRequest, *, whole: bool) -> float:
    """Seconds after which an attempt ends by itself: zero for a body with a source, which may take long to be sent, and
    bounds how long it stands still."""
    if isinstance(outgoing.body, RequestBody):
        return 0.0
    return outgoing.connect_seconds + outgoing.read_seconds * (2 if whole else 1)


def _body_of(request: Request, headers: dict[str, str], token: Callable[[], str]) -> tuple[Body, int | None]:
    """The body, its size if streamed; sets `Content-Type` in `headers`."""
    if request.form:
        form = MultipartForm(request.form, token())
        headers["content-type"] = form.content_type
        return form.blocks, form.size
    body = request.body
    if request.json is not None:
        body = _encoded(request)
        headers.setdefault("content-type", "application/json")
    if body is not None:
        headers.setdefault("content-type", "application/octet-stream")
    if isinstance(body, bytes) and len(body) > BLOCK:
        return partial(in_blocks, body), len(body)
    return body, request.size


def _encoded(request: Request) -> bytes:
    try:
        return json.dumps(request.json, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, UnicodeError) as problem:
        raise InvalidValue(f"a value cannot be written as JSON: {problem}", operation=request.operation) from None
