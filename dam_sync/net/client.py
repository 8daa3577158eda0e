"""One client a credential: a call in, a reply out; pace, retries, time-outs, redaction, read-only lock inside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx
import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from dam_sync.model.clock import Clock
from dam_sync.model.errors import ContractBroken, DamSyncError, StopRequested, Throttled, Transient
from dam_sync.model.limits import Pace
from dam_sync.model.values import Json
from dam_sync.net.address import checked_url, origin_of
from dam_sync.net.auth import Authenticator
from dam_sync.net.multipart import Form, FormPart
from dam_sync.net.pace import Pacer
from dam_sync.net.redact import host_of
from dam_sync.net.rules import ErrorRule, error_for
from dam_sync.net.stream import HttpStream, Throttle
from dam_sync.net.transport import Which, failure, never_sent, timeouts, transports

log = structlog.get_logger(__name__)
READS = frozenset({"GET", "HEAD", "OPTIONS"})
REDIRECTS = 5
LONGEST_WAIT = 60.0

__all__ = ["Client", "FormPart", "Reply", "Request", "Wiring"]


def standard_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds from `Retry-After`, as a number or as an HTTP date; None when it is absent or unreadable."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `operation` is its endpoint template, the key of counters and error texts.

    path: below the base, or an absolute address. body: bytes, or a factory of blocks with `size` bytes, called again on
    a retry. repeatable None: GET and HEAD may be repeated after an unknown outcome, others may not. reads: a POST that
    only reads. accept: statuses that are given back instead of raised.
    """

    operation: str
    method: str
    path: str
    params: Sequence[tuple[str, str]] = ()
    json: Json = None
    body: bytes | Callable[[], AsyncIterator[bytes]] | None = None
    size: int | None = None
    form: Sequence[FormPart] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool | None = None
    reads: bool = False
    accept: frozenset[int] = frozenset()
    asset: str = ""
    timeout: float | None = None
    base: str = ""

    @property
    def may_repeat(self) -> bool:
        """Whether an unknown outcome allows sending it again."""
        return self.method in READS if self.repeatable is None else self.repeatable


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, read to its end. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    operation: str = ""

    def json(self) -> Json:
        """The body as JSON, of whatever type it says it is. Raises ContractBroken."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            what = "nothing" if not self.body else "a page" if self.body.lstrip().startswith(b"<") else "no JSON"
            raise ContractBroken(f"expected JSON, got {what}", operation=self.operation) from error


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a client is made of. bases: addresses of the service by name, the first under the empty name."""

    service: str
    bases: Mapping[str, str]
    auth: Authenticator | None
    rules: Sequence[ErrorRule]
    pace: Pace
    clock: Clock
    read_only: bool = False
    bandwidth: float | None = None
    max_calls: int | None = None
    retry_after: Callable[[Mapping[str, str], datetime], float | None] = standard_retry_after
    transport: Which = "aiohttp"
    attempts: int = 6
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Sent(Exception):
    error: DamSyncError
    repeat: bool


class Client:
    """Calls to one service with one credential; safe to use from many tasks."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._bases = {name: checked_url(url, "service address") for name, url in wiring.bases.items()}
        self._origins = {origin_of(url) for url in self._bases.values()}
        self._pacer = Pacer(wiring.pace, wiring.clock)
        self._throttle = Throttle(wiring.bandwidth, wiring.clock)
        connections = wiring.pace.at_once + wiring.pace.storage_at_once + 4
        self._clients = [
            httpx.AsyncClient(transport=transport, follow_redirects=False, headers={"User-Agent": "dam-sync"})
            for transport in transports(wiring.transport, connections)
        ]
        self._turn = count()
        self._calls: Counter[str] = Counter()
        self._storage_calls = 0

    @property
    def calls(self) -> Mapping[str, int]:
        """API calls sent so far by operation, repeated ones included."""
        return dict(self._calls)

    @property
    def storage_calls(self) -> int:
        """Requests to other hosts: signed links, content delivery."""
        return self._storage_calls

    async def send(self, request: Request) -> Reply:
        """The reply. Raises the error a refused call becomes, Transient or Throttled when tries are used up."""
        self._refuse_writes(request)
        try:
            async for attempt in self._tries():
                with attempt:
                    return await self._send(request)
        except _Sent as sent:
            raise self._told(sent.error, request) from sent.error.__cause__
        raise ContractBroken("a call ended without an answer", operation=request.operation)

    async def stream(self, request: Request, offset: int = 0) -> HttpStream:
        """The bytes behind an address from `offset` on; redirects are followed, without credentials to other hosts."""
        headers = {**request.headers, "Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        request = replace(request, headers=headers)
        try:
            async for attempt in self._tries():
                with attempt:
                    return await self._open(request, offset)
        except _Sent as sent:
            raise self._told(sent.error, request) from sent.error.__cause__
        raise ContractBroken("a download ended without an answer", operation=request.operation)

    async def close(self) -> None:
        """Give back connections; safe to repeat."""
        for client in self._clients:
            await client.aclose()

    # -- one attempt ----------------------------------------------------------------------------------------------

    async def _send(self, request: Request) -> Reply:
        url = self._url(request)
        api = origin_of(url) in self._origins
        credential = await self._credential() if api else {}
        lane = self._pacer.api() if api else self._pacer.storage()
        async with lane:
            reply = await self._exchange(request, url, api, credential)
        if reply.status == 401 and api and await self._renewed(credential):
            async with self._pacer.api():
                reply = await self._exchange(request, url, api, await self._credential())
        return self._judged(request, reply, api)

    async def _exchange(self, request: Request, url: str, api: bool, credential: Mapping[str, str]) -> Reply:
        response = await self._go(request, url, api, credential)
        try:
            body = await response.aread()
        except httpx.HTTPError as error:
            raise _Sent(self._failure(error, url, api), request.may_repeat) from error
        finally:
            await response.aclose()
        await self._throttle.spend(len(body))
        return Reply(response.status_code, _lower(response.headers), body, request.operation)

    async def _go(self, request: Request, url: str, api: bool, credential: Mapping[str, str]) -> httpx.Response:
        self._count(request, api)
        client = self._clients[next(self._turn) % len(self._clients)]
        built = self._built(client, request, url, api, credential)
        try:
            return await client.send(built, stream=True)
        except httpx.HTTPError as error:
            raise _Sent(self._failure(error, url, api), request.may_repeat or never_sent(error)) from error

    async def _open(self, request: Request, offset: int) -> HttpStream:
        url = self._url(request)
        for _ in range(REDIRECTS + 1):
            api = origin_of(url) in self._origins
            credential = await self._credential() if api else {}
            lane = self._pacer.api() if api else self._pacer.storage()
            await lane.__aenter__()
            keep = False
            try:
                response = await self._go(replace(request, method="GET"), url, api, credential)
                if response.is_redirect:
                    url = self._next_url(url, response)
                    await response.aclose()
                    continue
                if response.status_code not in (200, 206):
                    await self._refused_stream(request, response, api)
                keep = True
                return HttpStream(response, offset, host_of(url), lane, self._throttle)
            finally:
                if not keep:
                    await lane.__aexit__(None, None, None)
        raise ContractBroken("more redirects than anybody needs", operation=request.operation)

    async def _refused_stream(self, request: Request, response: httpx.Response, api: bool) -> None:
        body = await response.aread()
        await response.aclose()
        reply = Reply(response.status_code, _lower(response.headers), body, request.operation)
        self._judged(replace(request, accept=frozenset()), reply, api)
        raise ContractBroken(f"the service answered {reply.status} to a download", operation=request.operation)

    # -- what comes out of it -------------------------------------------------------------------------------------

    def _judged(self, request: Request, reply: Reply, api: bool) -> Reply:
        if reply.status < 300 or reply.status in request.accept:
            self._pacer.answered()
            return reply
        if reply.status < 400:
            raise ContractBroken(f"the service answered {reply.status}, a redirect", operation=request.operation)
        error = error_for(self._wiring.rules, request.operation, reply.status, reply.body)
        if not isinstance(error, Transient):
            raise _Sent(error, repeat=False)
        error.retry_after = self._wiring.retry_after(reply.headers, self._wiring.clock.now())
        if isinstance(error, Throttled) and api:
            self._pacer.throttled(error.retry_after)
            log.warning("calls.throttled", service=self._wiring.service, operation=request.operation)
        raise _Sent(error, request.may_repeat or reply.status == 429)

    def _failure(self, error: httpx.HTTPError, url: str, api: bool) -> DamSyncError:
        where = host_of(url) if api else f"a signed link on {host_of(url)}"
        return failure(error, where)

    def _told(self, error: DamSyncError, request: Request) -> DamSyncError:
        return error.within(service=self._wiring.service, operation=request.operation, asset=request.asset)

    def _tries(self) -> AsyncRetrying:
        return AsyncRetrying(
            stop=stop_after_attempt(self._wiring.attempts),
            retry=retry_if_exception(_worth_repeating),
            wait=self._wait,
            sleep=self._wiring.clock.sleep,
            reraise=True,
        )

    def _wait(self, state: RetryCallState) -> float:
        """What the service asked for, or doubling from a second, with jitter."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.error.retry_after if isinstance(error, _Sent) and isinstance(error.error, Transient) else None
        jitter = self._wiring.clock.chance()
        if asked is not None:
            return asked + jitter * 0.2
        return min(LONGEST_WAIT, float(2 ** (state.attempt_number - 1))) * (0.5 + jitter / 2)

    # -- building -------------------------------------------------------------------------------------------------

    def _built(
        self, client: httpx.AsyncClient, request: Request, url: str, api: bool, credential: Mapping[str, str]
    ) -> httpx.Request:
        headers = {**(self._wiring.headers if api else {}), **request.headers, **credential}
        content: Any = None
        if request.form:
            form = Form(request.form, self._wiring.clock.token())
            headers |= {"Content-Type": form.content_type, "Content-Length": str(form.length)}
            content = self._throttle.paced(form.blocks)
        elif request.json is not None:
            content = json.dumps(request.json, ensure_ascii=False).encode()
            headers = {"Content-Type": "application/json", **headers}
        elif isinstance(request.body, bytes):
            content = request.body
        elif request.body is not None:
            headers["Content-Length"] = str(request.size or 0)
            content = self._throttle.paced(request.body)
        elif request.method in ("POST", "PUT"):
            content = b""
        return client.build_request(
            request.method, url, headers=headers, content=content, timeout=timeouts(request.timeout)
        )

    def _url(self, request: Request) -> str:
        url = request.path
        if "://" not in url:
            url = self._bases[request.base] + url
        checked_url(url, "address the service gave")
        if request.params:
            url += ("&" if "?" in url else "?") + urlencode(list(request.params))
        return url

    def _next_url(self, url: str, response: httpx.Response) -> str:
        target: str = urljoin(url, response.headers.get("location", ""))
        checked_url(target, "address the service redirects to")
        return target

    def _refuse_writes(self, request: Request) -> None:
        if self._wiring.read_only and request.method not in READS and not request.reads:
            raise ContractBroken(
                "this side is opened read-only; the call was not sent",
                service=self._wiring.service,
                operation=request.operation,
            )

    def _count(self, request: Request, api: bool) -> None:
        if not api:
            self._storage_calls += 1
            return
        most = self._wiring.max_calls
        if most is not None and sum(self._calls.values()) >= most:
            raise StopRequested(
                f"stopped before the call that would exceed {most} calls to {self._wiring.service}, as asked",
                hint="run again to go on",
            )
        self._calls[request.operation] += 1
        log.debug("call", service=self._wiring.service, operation=request.operation, asset=request.asset)

    async def _credential(self) -> Mapping[str, str]:
        return await self._wiring.auth.headers() if self._wiring.auth is not None else {}

    async def _renewed(self, seen: Mapping[str, str]) -> bool:
        return self._wiring.auth is not None and await self._wiring.auth.renew(seen)


def _worth_repeating(error: BaseException) -> bool:
    return isinstance(error, _Sent) and error.repeat and isinstance(error.error, Transient)


def _lower(headers: httpx.Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
