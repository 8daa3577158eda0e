"""One call in, one response out: keys, bodies, refusals, the rate limit. Plain ASGI."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.c_brandlibrary.options import Options
from dam_sync.emulators.c_brandlibrary.records import Refusal, User
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.bodies import header_of, pieces_of, query_of
from dam_sync.emulators.kit.environment import Environment, Json

BODY_MOST = 16 << 20
_JSON = (b"content-type", b"application/json; charset=utf-8")
_TITLES = {
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict",
    422: "Unprocessable Entity", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


class Reply(NamedTuple):
    """Status, JSON and further headers."""

    status: int = 200
    json: Json = None
    headers: Sequence[tuple[bytes, bytes]] = ()


class Call:
    """One request; `user` is who asks, None without a good key; `params` come from the path."""

    __slots__ = ("_receive", "params", "query", "scope", "user")

    def __init__(self, scope: Scope, receive: Receive, user: User | None) -> None:
        self.scope = scope
        self._receive = receive
        self.user = user
        self.params: Mapping[str, str] = scope["path_params"]
        self.query: Mapping[str, str] = query_of(scope)  # of repeated names the last one wins (wire C 2)

    @property
    def id(self) -> str:
        """The id in the path."""
        return self.params["id"]

    @property
    def plays(self) -> Sequence[str]:
        """Words that scripted faults hand to the service."""
        words: Sequence[str] = self.scope.get("emulation.play", ())
        return words

    def caller(self) -> User:
        """Who asks. Raises Refusal 403 without a good key."""
        if self.user is None:
            raise Refusal(403, "You need a valid API key")
        return self.user

    def number(self, name: str, default: int) -> int:
        """A whole number from 1 on. Raises Refusal 400."""
        text = self.query.get(name)
        if text is None:
            return default
        if not text.isdecimal() or int(text) < 1:
            raise Refusal(400, f"`{name}` must be a whole number from 1 on")
        return int(text)

    def names(self, name: str) -> list[str]:
        """A comma list without spaces; empty when the parameter is absent or empty."""
        return [part for part in self.query.get(name, "").split(",") if part]

    async def json(self) -> Mapping[str, Json]:
        """A JSON object. Raises Refusal 400."""
        data = bytearray()
        async for piece in pieces_of(self._receive):
            data += piece
            if len(data) > BODY_MOST:
                raise Refusal(413, "The body is too large")
        try:
            sent = json.loads(bytes(data) or b"{}")
        except ValueError:
            sent = None
        if not isinstance(sent, dict):
            raise Refusal(400, "The body must be a JSON object")
        return sent

    async def attributes(self) -> Mapping[str, Json]:
        """`data.attributes` of a single write, an object. Raises Refusal 400 or 422."""
        return attributes_of(await self.json())


def attributes_of(sent: Mapping[str, Json]) -> Mapping[str, Json]:
    """`data.attributes` as an object. Raises Refusal 422."""
    data = sent.get("data")
    attributes = data.get("attributes") if isinstance(data, dict) else None
    if not isinstance(attributes, dict):
        raise Refusal(422, "`data.attributes` must be an object")
    return attributes


def rows_of(sent: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """`data.attributes` as an array of objects. Raises Refusal 422."""
    data = sent.get("data")
    rows = data.get("attributes") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise Refusal(422, "`data.attributes` must be an array of objects")
    return rows


Handler = Callable[[Call], Awaitable[Reply]]


class Endpoint:
    """A handler as an ASGI application. keyless: what a call without a good key gets, `open` = it is judged by what it
    asks for, `empty` = a list of nothing, or a status (wire C 1). old: of the webhooks service, with its own errors."""

    def __init__(self, tenant: Tenant, handler: Handler, keyless: str = "open", *, old: bool = False) -> None:
        self._tenant, self._handler, self._keyless, self._old = tenant, handler, keyless, old

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the call; a Refusal becomes its error body."""
        self._tenant.settle()
        user = self._tenant.accounts.user(header_of(scope, b"authorization"))
        tokens = self._tenant.tokens
        try:
            call = Call(scope, receive, user)
            if tokens.changed and "include" in call.query:
                call.query = {**call.query, "include": tokens.names(call.query["include"])}
            reply = await self._answer(call)
        except Refusal as refusal:
            body = error_body(self._tenant.options, refusal.status, refusal.message)
            reply = Reply(refusal.status, {"message": refusal.message, "status": "error"} if self._old else body)
        except ClientDisconnect:
            return
        await answer(reply._replace(json=tokens.outward(reply.json)) if tokens.changed else reply, send)

    async def _answer(self, call: Call) -> Reply:
        if self._old and not header_of(call.scope, b"content-type").startswith("application/json"):
            raise Refusal(400, "invalid header")
        if call.user is None and self._keyless == "empty":
            return Reply(json={"data": [], "meta": nothing(self._tenant)})
        if call.user is None and self._keyless != "open":
            raise Refusal(int(self._keyless), "You need a valid API key")
        reply = await self._handler(call)
        if "fail_after" in call.plays:  # the work is done, the response says otherwise (wire C 12, line 34)
            raise Refusal(503, "Service unavailable")
        return reply


def nothing(tenant: Tenant) -> Json:
    """The `meta` of an empty list."""
    if "count_only" in tenant.plays:
        return {"total_count": 0}
    return {"current_page": 1, "next_page": None, "prev_page": None, "total_pages": 0, "total_count": 0}


async def answer(reply: Reply, send: Send) -> None:
    """Send a reply as JSON."""
    body = json.dumps(reply.json, ensure_ascii=False, separators=(",", ":")).encode()
    headers = [*reply.headers, _JSON, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def error_body(options: Options, status: int, message: str) -> Json:
    """The service's error body in the form that the options ask for (wire C 7)."""
    form = "string" if "plain_errors" in options.plays else options.errors
    if form == "string":
        return message
    if form == "error":
        return {"error": message}
    title = _TITLES.get(status, "Error")
    return {"errors": [{"status": str(status), "title": title, "detail": message}]}


def kit_error(options: Options) -> Callable[[int, str, str], Response]:
    """Makes the bodies of what the kit answers itself, scripted faults among them."""

    def error(status: int, code: str, message: str) -> Response:
        body = json.dumps(error_body(options, status, message))
        return Response(body, status, media_type="application/json")

    return error


class Buckets:
    """A token bucket for each key: `rate` calls a second, `burst` at once, on the world's time."""

    def __init__(self, world: Environment, rate: float | None, burst: int) -> None:
        self._world, self._rate, self._burst = world, rate, burst
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> float:
        """0.0 if the call may pass, else after how many seconds to come again."""
        if self._rate is None:
            return 0.0
        now = self._world.now().timestamp()
        level, at = self._levels.get(key, (float(self._burst), now))
        level = min(float(self._burst), level + max(0.0, now - at) * self._rate)
        passes = level > 0.999_999
        self._levels[key] = (level - 1.0 if passes else level, now)
        return 0.0 if passes else (1.0 - level) / self._rate


class Gate:
    """In front of all routes: 429 for a key that is too fast, silently on when to come again."""

    def __init__(self, app: ASGIApp, tenant: Tenant) -> None:
        self._app, self._tenant = app, tenant
        self._buckets = Buckets(tenant.world, tenant.options.rate, tenant.options.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the call pass, or answer 429."""
        if scope["type"] != "http" or scope["path"].startswith("/_emulator/"):
            await self._app(scope, receive, send)
            return
        wait = self._buckets.take(header_of(scope, b"authorization"))
        if not wait:
            await self._app(scope, receive, send)
            return
        says_when = "retry_after" in self._tenant.plays
        headers = [(b"retry-after", str(int(wait) + 1).encode())] if says_when else []
        body = error_body(self._tenant.options, 429, "Too many requests")
        await answer(Reply(429, body, headers), send)
