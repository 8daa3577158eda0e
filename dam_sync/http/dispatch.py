"""One exchange in its lane: turn, pace, count, credential, bytes on the meter."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import structlog

from dam_sync.http.bounds import READ_SECONDS
from dam_sync.http.client_config import ClientConfig
from dam_sync.http.limiters import AdaptiveRateLimiter, BandwidthLimiter, Permit
from dam_sync.http.messages import Request
from dam_sync.http.multipart import BLOCK, MultipartForm, in_blocks
from dam_sync.http.retry import PATIENCE
from dam_sync.http.transport import RawRequest, RawResponse, Transport
from dam_sync.http.urls import Address
from dam_sync.model.errors import InvalidValue, StopRequested, Throttled
from dam_sync.model.write_record import count_call

_READING = frozenset({"GET", "HEAD"})
_TOO_FAST = frozenset({429, 503})
_CARRIED = frozenset({"accept", "accept-encoding", "range", "if-range", "user-agent"})  # to another origin
_DEFAULTS = {"user-agent": "dam-sync", "accept": "*/*", "accept-encoding": "gzip, deflate"}

_log = structlog.get_logger()

Body: TypeAlias = bytes | Callable[[], AsyncIterator[bytes]] | None


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request as it looks on the line but for its address and credential; good for every attempt.

    whole: the body is read before the turn is given back.
    """

    operation: str
    method: str
    headers: Mapping[str, str] = field(repr=False)
    body: Body = field(default=None, repr=False)
    size: int | None = None
    whole: bool = True
    read_seconds: float = READ_SECONDS

    def elsewhere(self) -> PreparedRequest:
        """For a redirect to another origin: nothing that says who we are."""
        return replace(self, headers={name: text for name, text in self.headers.items() if name in _CARRIED})


def prepared_request(request: Request, token: Callable[[], str]) -> PreparedRequest:
    """`token` makes the boundary of a form. Raises InvalidValue for what neither JSON nor a header can hold."""
    headers = {name.lower(): text for name, text in request.headers.items()}
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
    return PreparedRequest(request.operation, request.method, headers, body, size, read_seconds=seconds)


class RequestDispatcher:
    """The lanes of one client: see `Client`."""

    def __init__(self, wiring: ClientConfig) -> None:
        self._clock = wiring.clock
        self._wire = Transport(wiring.transport)
        self._max_calls = wiring.max_calls
        self._may_write = wiring.may_write
        self._read_only = wiring.read_only
        self._retry_after = wiring.retry_after
        self._headers = {**_DEFAULTS, **{name.lower(): text for name, text in wiring.headers.items()}}
        self._api = asyncio.Semaphore(max(1, wiring.pace.at_once))
        self.storage = asyncio.Semaphore(max(1, wiring.pace.storage_at_once))
        self.bucket = AdaptiveRateLimiter(wiring.pace.per_second, wiring.clock)
        self.flow = BandwidthLimiter(wiring.bandwidth, wiring.clock)
        self.calls: Counter[str] = Counter()
        self.sent = 0
        self.answered = 0
        self.answering = 0.0  # seconds, of those answered
        self.storage_calls = 0

    async def exchange(self, shape: PreparedRequest, address: Address, credential: Mapping[str, str]) -> RawResponse:
        """Send and read the head of the answer; its body too where the shape says so or the answer is no success.

        Only the API lane sees `credential` and the service's own headers. Raises StopRequested before a call too many,
        Throttled before a call in a pause longer than anybody waits, what `may_write` raises before a call that is no
        GET or HEAD, and what `Transport.open` raises.
        """
        outgoing = self._outgoing(shape, address, credential)
        async with self._api if address.api else self.storage:
            turn = await self._admit(shape.operation) if address.api else None
            if isinstance(shape.body, bytes):
                await self.flow.pass_on(len(shape.body))
            if self._may_write is not None and shape.method not in _READING:
                self._may_write()
            answer = await self._opened(outgoing, turn)
            if shape.whole or not 200 <= answer.status < 300:
                await self.flow.pass_on(len(await answer.read()))
        if turn is not None:
            self.answered += 1
            self.answering += self._clock.monotonic() - turn.released
            self._learn(answer, turn)
        if structlog.is_configured():
            _log.debug("call.sent", operation=shape.operation, status=answer.status, host=address.host)
        return answer

    async def close(self) -> None:
        """Close every connection."""
        await self._wire.close()

    async def _opened(self, outgoing: RawRequest, turn: Permit | None) -> RawResponse:
        if turn is None:
            self.storage_calls += 1
            return await self._wire.open(outgoing)
        answer = await self._wire.open(outgoing)
        turn.answered = self._clock.monotonic()
        return answer

    async def _admit(self, operation: str) -> Permit:
        if (left := self.bucket.pause_left()) > PATIENCE:
            raise Throttled(f"the service asked for a pause, {left:.0f} s of it are left", retry_after=left)
        turn = await self.bucket.take()
        if self._max_calls is not None and self.sent >= self._max_calls:
            raise StopRequested(
                f"the limit of {self._max_calls} calls is reached",
                hint="run the same command again; it continues where it stopped",
            )
        self.sent += 1
        self.calls[operation] += 1
        if not self._read_only:  # what is read from a source for a write is no call of the target
            count_call(operation)
        return turn

    def _learn(self, answer: RawResponse, turn: Permit) -> None:
        if answer.status in _TOO_FAST:
            self.bucket.slow_down(turn, self._retry_after(answer.headers, self._clock.now()))
        elif answer.status < 500:
            self.bucket.succeeded()

    def _outgoing(self, shape: PreparedRequest, address: Address, credential: Mapping[str, str]) -> RawRequest:
        body = shape.body
        if callable(body) and self.flow.limited:
            body = self._metered(body)
        headers = {**_DEFAULTS, **shape.headers}
        if address.api:
            headers = {**self._headers, **shape.headers, **{name.lower(): text for name, text in credential.items()}}
        return RawRequest(shape.method, address.url, address.host, headers, body, shape.size, shape.read_seconds)

    def _metered(self, source: Callable[[], AsyncIterator[bytes]]) -> Callable[[], AsyncIterator[bytes]]:
        async def blocks() -> AsyncGenerator[bytes, None]:
            async for block in source():
                await self.flow.pass_on(len(block))
                yield block

        return blocks


def _body_of(request: Request, headers: dict[str, str], token: Callable[[], str]) -> tuple[Body, int | None]:
    """The body, its size where it is streamed, and in `headers` what it is."""
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
