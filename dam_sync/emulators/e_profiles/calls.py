"""One call in, one response out: authentication, bodies, refusals, rate headers. Plain ASGI."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dam_sync.emulators.e_profiles.accounts import Accounts
from dam_sync.emulators.e_profiles.records import Refusal, User
from dam_sync.emulators.kit.bodies import header_of, pieces_of, query_of
from dam_sync.emulators.kit.environment import Environment, Json

BODY_MOST = 16 << 20
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_JSON = (b"content-type", b"application/json;charset=utf-8")


class Reply(NamedTuple):
    """Status, JSON (None: an empty body) and further headers."""

    status: int = 200
    json: Json = None
    headers: Sequence[tuple[bytes, bytes]] = ()


class Call:
    """One request; `user` and `token` are who asks, `params` come from the path."""

    __slots__ = ("_query", "_receive", "params", "scope", "token", "user")

    def __init__(self, scope: Scope, receive: Receive, user: User, token: str) -> None:
        self.scope = scope
        self._receive = receive
        self.user, self.token = user, token
        self.params: Mapping[str, str] = scope["path_params"]
        self._query: dict[str, str] | None = None

    @property
    def plays(self) -> Sequence[str]:
        """Words that scripted faults hand to the service."""
        words: Sequence[str] = self.scope.get("emulation.play", ())
        return words

    @property
    def query(self) -> Mapping[str, str]:
        """The query string, decoded."""
        if self._query is None:
            self._query = query_of(self.scope)
        return self._query

    def flag(self, name: str) -> bool:
        """Whether a parameter is `true`; anything else is false."""
        return self.query.get(name, "").lower() == "true"

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number within bounds. Raises Refusal 400."""
        text = self.query.get(name, "")
        if not text:
            return default
        if not text.lstrip("-").isdigit() or not least <= int(text) <= most:
            raise Refusal(400, "invalid_request", f"`{name}` must be from {least} to {most}")
        return int(text)

    def names(self, name: str) -> list[str] | None:
        """A comma list, None when the parameter is absent."""
        text = self.query.get(name)
        return None if text is None else [part.strip() for part in text.split(",") if part.strip()]

    def header(self, name: str) -> str:
        """A request header."""
        return header_of(self.scope, name.encode())

    def segment(self, number: int) -> str:
        """The rest of the decoded path from that segment on, slashes included."""
        path: str = self.scope["path"]
        return path.split("/", number)[-1] if path.count("/") >= number else ""

    def body(self) -> AsyncIterator[bytes]:
        """The bytes as they come. Raises ClientDisconnect."""
        return pieces_of(self._receive)

    async def json(self) -> Mapping[str, Json]:
        """A JSON object. Raises Refusal 400, or 413."""
        data = bytearray()
        async for piece in self.body():
            data += piece
            if len(data) > BODY_MOST:
                raise Refusal(413, "too_large", "The body is too large")
        try:
            sent = json.loads(bytes(data) or b"{}")
        except ValueError:
            sent = None
        if not isinstance(sent, dict):
            raise Refusal(400, "invalid_request", "The body must be a JSON object")
        return sent


Handler = Callable[[Call], Awaitable[Reply]]


class Endpoint:
    """A handler as an ASGI application; `public` ones need no token."""

    def __init__(self, accounts: Accounts, handler: Handler, *, public: bool = False) -> None:
        self._accounts = accounts
        self._handler = handler
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the call; a Refusal becomes its error body."""
        try:
            if self._public:
                user, token = self._accounts.owner, ""
            else:
                user, token = self._accounts.user(header_of(scope, b"authorization"))
            reply = await self._handler(Call(scope, receive, user, token))
        except Refusal as refusal:
            reply = Reply(refusal.status, error_body(refusal.code, refusal.message))
        except ClientDisconnect:
            return
        await answer(reply, send)


async def answer(reply: Reply, send: Send) -> None:
    """Send a reply."""
    body = b""
    headers = list(reply.headers)
    if reply.json is not None:
        body = json.dumps(reply.json, ensure_ascii=False, separators=(",", ":")).encode()
        headers.append(_JSON)
    if reply.status != 204:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def error_body(code: str, message: str) -> Json:
    """The service's error body (wire E 7)."""
    return {"error": code, "error_description": message}


class Window:
    """At most `rate` calls in any second of the world's time, over v1 and v2 together."""

    def __init__(self, world: Environment, rate: float | None) -> None:
        self.rate = rate
        self._world = world
        self._taken: deque[float] = deque()

    def take(self) -> tuple[int, float]:
        """Calls left after this one (-1: it is refused), and the epoch second when the next can succeed."""
        if self.rate is None:
            return 1_000_000, 0.0
        now = self._world.now().timestamp()
        while self._taken and not now - 1.0 < self._taken[0] <= now:  # what is ahead: the clock was set back
            self._taken.popleft()
        if len(self._taken) < self.rate:
            self._taken.append(now)
            return int(self.rate) - len(self._taken), 0.0
        return -1, self._taken[0] + 1.0


class Gate:
    """In front of all routes: the rate limit, its headers on v2, and CORS on everything."""

    def __init__(self, app: ASGIApp, window: Window, settle: Callable[[], None]) -> None:
        self._app = app
        self._window, self._settle = window, settle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the call pass, or answer 429."""
        path: str = scope.get("path", "")
        if scope["type"] != "http" or path.startswith("/_emulator/"):
            await self._app(scope, receive, send)
            return
        self._settle()
        left, reset = (1, 0.0) if path == "/allowaccess" else self._window.take()
        headers = [_ANY_ORIGIN, *(self._headers(left, reset) if path.startswith("/v2") else ())]

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *headers]}
            await send(message)

        if left < 0:
            message = "API rate limit exceeded"
            await answer(Reply(429, error_body("too_many_requests", message)), marked)
        else:
            await self._app(scope, receive, marked)

    def _headers(self, left: int, reset: float) -> list[tuple[bytes, bytes]]:
        if self._window.rate is None:
            return []
        headers = [
            (b"x-ratelimit-limit", f"{self._window.rate:g}/second".encode()),
            (b"x-ratelimit-remaining", str(max(0, left)).encode()),
        ]
        if left < 0:
            headers.append((b"x-ratelimit-reset", reset_text(reset).encode()))
        return headers


def reset_text(epoch: float) -> str:
    """ISO timestamp with milliseconds, rounded up: a call at it can succeed."""
    moment = datetime.fromtimestamp(-(-epoch * 1000 // 1) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TooMany(Response):
    """A 429 of the kit, which says by `Retry-After` after how many seconds; the service says it as a timestamp, and has
    no such header (wire E 7)."""

    world: Environment

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer in the service's own form."""
        seconds = float(self.headers.get("retry-after", 1.0))
        self.headers["x-ratelimit-reset"] = reset_text(self.world.now().timestamp() + seconds)
        del self.headers["retry-after"]
        await super().__call__(scope, receive, send)


def kit_error(world: Environment) -> Callable[[int, str, str], Response]:
    """Makes the bodies of what the kit answers itself, scripted faults among them."""

    def error(status: int, code: str, message: str) -> Response:
        body = json.dumps(error_body(code.replace("-", "_"), message))
        headers = {"access-control-allow-origin": "*"}
        if status != 429:
            return Response(body, status, headers, "application/json")
        answer = TooMany(body, status, headers, "application/json")
        answer.world = world
        return answer

    return error
