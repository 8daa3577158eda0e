"""One call in, one response out: authentication, bodies, refusals, rate headers. Plain ASGI."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dam_sync.emulators.d_templates.accounts import Accounts
from dam_sync.emulators.d_templates.options import Options
from dam_sync.emulators.d_templates.records import Refusal, User, broken, refused
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.bodies import header_of, pieces_of, query_of
from dam_sync.emulators.kit.environment import Json

BODY_MOST = 10 << 20  # of the gateway
TICK_SECONDS = 0.1
MEAN = 0.27
MEAN_SECONDS: Mapping[str, float] = {  # wire D 8
    "POST /v1/asset": 1.1,
    "POST /v1/search": 0.7,
    "POST /v1/search/keyword": 0.7,
    "POST /v1/asset/scan": 0.7,
    "GET /v1/metadata/template/{id}": 1.4,
    "POST /v1/asset/{id}/link": 3.9,
    "POST /v1/collection": 2.6,
    "GET /v1/collection/{id}": 0.05,
}
_JSON = (b"content-type", b"application/json")
_MISSING = object()


class Reply(NamedTuple):
    """Status, JSON (None: an empty body) and further headers; a `text` goes out as it is."""

    status: int = 200
    json: Json = None
    headers: Sequence[tuple[bytes, bytes]] = ()
    text: str = ""


class Call:
    """One request; `user` is who asks, `params` come from the path."""

    __slots__ = ("_body", "_query", "params", "scope", "user")

    def __init__(self, scope: Scope, body: bytes, user: User) -> None:
        self.scope, self._body, self.user = scope, body, user
        self.params: Mapping[str, str] = scope["path_params"]
        self._query: dict[str, str] | None = None

    @property
    def id(self) -> str:
        """The `{id}` of the path."""
        return self.params["id"]

    @property
    def query(self) -> Mapping[str, str]:
        """The query string, decoded."""
        if self._query is None:
            self._query = query_of(self.scope)
        return self._query

    def header(self, name: str) -> str:
        """A request header."""
        return header_of(self.scope, name.encode())

    def form(self) -> Mapping[str, str]:
        """A form-encoded body."""
        return dict(parse_qsl(self._body.decode("latin-1"), keep_blank_values=True))

    def json(self) -> Mapping[str, Json]:
        """A JSON object, an empty body as an empty one. Raises Refusal 502 for what the backend cannot parse."""
        found = self.any(default={})
        if not isinstance(found, dict):
            raise broken()
        return found

    def array(self) -> Sequence[Json]:
        """A JSON array. Raises Refusal 502."""
        found = self.any(default=_MISSING)
        if not isinstance(found, list):
            raise broken()
        return found

    def any(self, default: Json) -> Json:
        """Whatever JSON it is."""
        if not self._body:
            return default
        try:
            return json.loads(self._body)
        except ValueError:
            raise broken() from None


Handler = Callable[[Call], Reply]


class Endpoint:
    """A handler as an ASGI application. way: `user` needs key and token, `key` the key alone, `open` nothing."""

    def __init__(self, tenant: Tenant, accounts: Accounts, handler: Handler, way: str = "user") -> None:
        self._tenant, self._accounts = tenant, accounts
        self._handler, self._way = handler, way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the call; a Refusal becomes its error body."""
        self._tenant.settle()
        if self._tenant.options.latency:
            name = f"{scope['method']} {scope['emulation.match'].route.path}"
            await self._tenant.world.sleep(MEAN_SECONDS.get(name, MEAN) * self._tenant.options.latency)
        try:
            user = self._user(scope)
            body = await read(receive)
            if len(body) > BODY_MOST:
                raise refused(413, "Request Too Long")
            reply = self._handler(Call(scope, body, user))
        except Refusal as refusal:
            text = refusal.body if isinstance(refusal.body, str) and refusal.body.startswith("<") else ""
            reply = Reply(refusal.status, None if text else refusal.body, text=text)
        except ClientDisconnect:
            return
        self._tenant.settle()
        await answer(reply, send, self._tenant.options.page_most)

    def _user(self, scope: Scope) -> User:
        key = header_of(scope, b"x-api-key")
        if self._way == "user":
            access = header_of(scope, b"accesstoken")
            return self._accounts.caller(key, header_of(scope, b"authorization"), access)
        if self._way == "key":
            self._accounts.check_key(key)
        return next(iter(self._accounts.users.values()))


async def read(receive: Receive) -> bytes:
    """The body, whole unless it is too large. Raises ClientDisconnect."""
    data = bytearray()
    async for piece in pieces_of(receive):
        data += piece
        if len(data) > BODY_MOST:
            break
    return bytes(data)


async def answer(reply: Reply, send: Send, most: int) -> None:
    """Send a reply; one larger than the gateway lets through becomes a 502 (wire D 7)."""
    body, headers, status = reply.text.encode(), list(reply.headers), reply.status
    if reply.json is not None:
        body = json.dumps(reply.json, ensure_ascii=False, separators=(",", ":")).encode()
        if len(body) > most:
            body, status = json.dumps(broken().body).encode(), 502
        headers.append(_JSON)
    elif reply.text:
        headers.append((b"content-type", b"text/html"))
    if status != 204:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Ticker:
    """Lets things happen between calls, too, while a webhook endpoint listens for them."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._waits = False

    def wake(self) -> None:
        """Look again soon, if there is a reason to; safe to repeat."""
        if self._tenant.busy and not self._waits:
            self._waits = True
            asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        self._waits = False
        self._tenant.settle()
        self.wake()


class Gate:
    """In front of all routes: the rate headers on every response, and 429 when a limit is set and passed."""

    def __init__(self, app: ASGIApp, tenant: Tenant, options: Options) -> None:
        self._app, self._world, self._options = app, tenant.world, options
        self._taken: deque[float] = deque()
        self._announced = (b"x-ratelimit-limit", str(options.announced).encode()), (b"x-ratelimit-reset", b"60")
        self._ticker = Ticker(tenant)
        tenant.wake = self._ticker.wake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the call pass, or answer 429."""
        if scope["type"] != "http" or scope["path"].startswith("/_emulator/"):
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self._announced]}
            await send(message)

        if self._full():
            headers = ((b"retry-after", b"1"),) if self._options.retry_after else ()
            await answer(Reply(429, {"message": "Too Many Requests"}, headers), marked, BODY_MOST)
        else:
            await self._app(scope, receive, marked)
        self._ticker.wake()

    def _full(self) -> bool:
        if self._options.rate is None:
            return False
        now = self._world.now().timestamp()
        while self._taken and self._taken[0] <= now - 1.0:
            self._taken.popleft()
        if len(self._taken) >= self._options.rate:
            return True
        self._taken.append(now)
        return False


def kit_error(status: int, code: str, message: str) -> Response:
    """The bodies of what the kit answers itself; an absent route is the gateway's 403 (wire D 10)."""
    if code in ("not-found", "method-not-allowed"):
        status, message = 403, "Missing Authentication Token"
    elif status >= 500:
        message = "Service Unavailable" if status == 503 else "Internal server error"
    elif status == 429:
        message = "Too Many Requests"
    elif status == 401:
        message = "Unauthorized"
    return Response(json.dumps({"message": message}), status, media_type="application/json")
