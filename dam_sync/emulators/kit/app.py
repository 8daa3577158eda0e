"""One ASGI application per emulated service: routing, counting, faults, the storage host and the control routes."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.control import control_routes
from dam_sync.emulators.kit.environment import CallInFlight, Environment, Json, RateLimit
from dam_sync.emulators.kit.faults import ODD, Fault, Faults
from dam_sync.emulators.kit.foreign import foreigner
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.orphans import Orphans, no_orphans
from dam_sync.emulators.kit.storage import storage_host

ErrorBody = Callable[[int, str, str], Response]
"""(status, code, message) -> the response in the service's own form."""
Load = Callable[..., None]
Dump = Callable[[], Iterable[Mapping[str, Json]]]


def plain_error(status: int, code: str, message: str) -> Response:
    """The kit's own error body, where a service has none of its own."""
    return JSONResponse({"status": status, "code": code, "message": message}, status)


def application(
    routes: Sequence[Route],
    world: Environment,
    faults: Faults,
    objects: ObjectStore,
    *,
    load: Load | None = None,
    dump: Dump | None = None,
    orphans: Orphans = no_orphans,
    audience: Audience | None = None,
    error: ErrorBody = plain_error,
    rate: float | None = None,
) -> Application:
    """The service: `routes` on its API host, the object store on the storage host, control routes under `/_emulator`.

    load(catalogue, files) fills the tenant and becomes `app.state.load`; dump() gives the ground truth, one neutral
    asset each; orphans() what was begun and never finished; audience: who sees the assets; error makes the bodies of
    what the kit answers itself (404, 405, 429, 500); rate: calls a second.
    """
    limit = RateLimit(world, rate) if rate else None
    return Application(
        routes, world, faults, objects, load=load, dump=dump, orphans=orphans, error=error, limit=limit,
        audience=audience,
    )  # fmt: skip


class Application(Starlette):
    """See `application`; `state` carries world, faults, objects, load, dump, orphans and audience."""

    def __init__(
        self,
        routes: Sequence[Route],
        world: Environment,
        faults: Faults,
        objects: ObjectStore,
        *,
        load: Load | None,
        dump: Dump | None,
        orphans: Orphans = no_orphans,
        audience: Audience | None = None,
        error: ErrorBody,
        limit: RateLimit | None,
    ) -> None:
        super().__init__()
        self.world, self.faults, self.objects = world, faults, objects
        self.error, self.limit = error, limit
        self.router = _Dispatch(error)
        self.storage = storage_host(objects)
        self.state.world, self.state.faults, self.state.objects = world, faults, objects
        self.audience = audience or Audience(world)
        self.state.load = self._loading(load or _nothing_to_load)
        self.state.audience = self.audience
        self.state.dump = dump or (lambda: ())
        self.state.orphans = lambda: list(orphans())
        self.table = RouteTable([*routes, *control_routes(world, faults, self.state.dump, orphans, self.audience)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sort the call to the storage host, the control routes or the API."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        path: str = scope["path"]
        foreign = foreigner(scope, (self.world.api_origin, self.world.storage_origin))
        if foreign:
            await self.error(403, "foreign-page", foreign)(scope, receive, send)
        elif path.startswith("/_emulator/"):
            scope["emulation.match"] = self.table.match(scope["method"], path)
            await super().__call__(scope, receive, send)
        else:
            await self._watched(scope, receive, send)

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call of a client; what it opened to outsiders is recorded before its response goes out."""
        if scope["method"] not in ("GET", "HEAD"):
            self.audience.begin()

        async def settled(message: Message) -> None:
            self.audience.settle()
            await send(message)

        settled.inner = send  # type: ignore[attr-defined]
        try:
            if _host(scope) == self.world.storage_origin.partition("://")[2]:
                self.world.storage_calls += 1
                await self._faulty(self.storage, scope, receive, settled)
            else:
                await self._call(scope, receive, settled)
        finally:
            self.audience.settle()

    def _loading(self, load: Load) -> Load:
        def loaded(catalogue: Catalogue, files: Path | None, *more: Any) -> None:
            load(catalogue, files, *more)
            self.audience.forget()

        return loaded

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = scope["emulation.match"] = self.table.match(scope["method"], scope["path"])
        visit = self.world.entered(match.name)
        try:
            await self._faulty(self._service, scope, receive, _counting(self.world, visit, send))
        finally:
            visit.leave()

    async def _service(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait = self.limit.take() if self.limit else 0.0
        if wait:
            answer = self.error(429, "too-many-requests", "Too many requests, come again later.")
            answer.headers["Retry-After"] = str(max(1, round(wait + 0.5)))
            await answer(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _faulty(self, inner: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        striking = self.faults.striking(f"{scope['method']} {scope['path']}") if self.faults.lines else ()
        if not striking:
            with suppress(ClientDisconnect):  # whoever sent the body has gone; there is nobody to answer
                await inner(scope, receive, send)
            return
        reset, broken = _reset(send), _breaking(send)
        for fault in striking:
            answer = await self._before(fault, scope)
            if answer is not None:
                await answer(scope, receive, send)
                return
            if fault.action == "reset_before":
                await reset()
                return
            if fault.action == "twice":
                receive = await _arriving_again(inner, scope, receive)
            if fault.action in ("reset_after", "truncate", "wrong_length", "garble"):
                send = _spoilt(fault, send, reset, broken)
        with suppress(ClientDisconnect):
            await inner(scope, receive, send)

    async def _before(self, fault: Fault, scope: Scope) -> Response | None:
        match fault.action:
            case "delay":
                await self.world.sleep(fault.number(1.0))
            case "advance":
                self.world.advance(fault.number(3600.0))
            case "play":
                scope.setdefault("emulation.play", []).append(fault.argument)
            case "status":
                return self.error(int(fault.number(503)), "scripted-fault", "The service is not well.")
            case "throttle":
                answer = self.error(429, "too-many-requests", "Too many requests, come again later.")
                answer.headers["Retry-After"] = f"{fault.number(1):g}"
                return answer
            case "html" | "empty" | "odd":
                return _strange(fault)
        return None


def _strange(fault: Fault) -> Response:
    """A response that is not the service's."""
    if fault.action == "html":
        page = "<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>"
        return Response(page, int(fault.number(200)), media_type="text/html")
    body = ODD[int(fault.number(0))] if fault.action == "odd" else b""
    return Response(body, 200, media_type="application/json" if body else None)


class Match:
    """What a call goes to: `name` is `METHOD /template`; without a route it is a 404, or a 405 when `allow` says so."""

    __slots__ = ("allow", "name", "params", "route")

    def __init__(self, name: str, route: Route | None, params: dict[str, Any], allow: str = "") -> None:
        self.name, self.route, self.params, self.allow = name, route, params, allow


class RouteTable:
    """Routes found by the number of their path's segments first, then by pattern; the first given wins."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._fixed: dict[int, list[Route]] = {}
        self._open = [route for route in routes if ":path}" in route.path]
        for route in routes:
            if ":path}" not in route.path:
                self._fixed.setdefault(route.path.count("/"), []).append(route)

    def match(self, method: str, path: str) -> Match:
        """The route of a call. A doubled slash at the start and one at the end are forgiven, as servers do."""
        plain = "/" + path.strip("/")
        other: list[str] = []
        template = ""
        for route in (*self._fixed.get(plain.count("/"), ()), *self._open):
            found = route.path_regex.match(plain)
            if found is None:
                continue
            if route.methods is None or method in route.methods:
                try:
                    params = {key: route.param_convertors[key].convert(text) for key, text in found.groupdict().items()}
                except ValueError:  # a number of more digits than are read
                    continue
                return Match(f"{method} {_plain(route.path)}", route, params)
            other += sorted(route.methods)
            template = route.path
        if other:
            return Match(f"{method} {_plain(template)}", None, {}, ", ".join(dict.fromkeys(other)))
        return Match(f"{method} (unknown path)", None, {})


@cache
def _plain(path: str) -> str:
    """The template without convertors: `/medias/{id}`."""
    return re.sub(r":\w+}", "}", path)


class _Dispatch(Router):
    """Calls the route the table found; Starlette's own error handling stays around it."""

    def __init__(self, error: ErrorBody) -> None:
        super().__init__()
        self._error = error

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        match: Match | None = scope.get("emulation.match")
        if match is None:
            await super().app(scope, receive, send)
        elif match.route is not None:
            scope["path_params"] = match.params
            scope["endpoint"] = match.route.endpoint
            await match.route.app(scope, receive, send)
        else:
            await self._refusal(match)(scope, receive, send)

    def _refusal(self, match: Match) -> Response:
        if not match.allow:
            return self._error(404, "not-found", "There is nothing at this path.")
        answer = self._error(405, "method-not-allowed", f"This path takes {match.allow}.")
        answer.headers["Allow"] = match.allow
        return answer


def _host(scope: Scope) -> str:
    for key, value in scope["headers"]:
        if key == b"host":
            return str(value.decode("latin-1"))
    return ""


def _counting(world: Environment, visit: CallInFlight, send: Send) -> Send:
    async def counted(message: Message) -> None:
        if message["type"] == "http.response.start":
            if message["status"] >= 400:
                world.refused[str(message["status"])] += 1
            message = {**message, "headers": [*message["headers"], (b"date", world.http_date())]}
        elif not message.get("more_body"):
            visit.leave()
        await send(message)

    counted.inner = send  # type: ignore[attr-defined]
    return counted


def _transport(send: Send) -> asyncio.Transport | None:
    """The socket's transport when served by uvicorn, whose `send` is a method of the object that holds it."""
    raw = send
    while hasattr(raw, "inner"):
        raw = raw.inner
    found: asyncio.Transport | None = getattr(getattr(raw, "__self__", None), "transport", None)
    return found


def _reset(send: Send) -> Callable[[], Awaitable[None]]:
    """Really resets the socket (RST); called in process it raises ConnectionResetError."""
    transport = _transport(send)

    async def reset() -> None:
        if transport is None:
            raise ConnectionResetError("the emulated service reset the connection")
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        await _let_go()

    return reset


def _breaking(send: Send) -> Callable[[], Awaitable[None]]:
    """Lets what was sent arrive, then closes the connection in the middle of the body."""
    transport = _transport(send)

    async def broken() -> None:
        if transport is None:
            raise ConnectionResetError("the emulated service broke the connection")
        transport.close()
        while not transport.is_closing() or transport.get_write_buffer_size():
            await _let_go()
        await _let_go()

    return broken


async def _let_go() -> None:
    """Two turns of the loop, in which the server notices that the connection is lost."""
    loop = asyncio.get_running_loop()
    for _ in range(2):
        turned = loop.create_future()
        loop.call_soon(turned.set_result, None)
        await turned


async def _arriving_again(inner: ASGIApp, scope: Scope, receive: Receive) -> Receive:
    """Let the service handle the request, whose response nobody gets; returns the request to be handled again."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + bytes(message.get("body", b"")), bool(message.get("more_body"))

    def request() -> Receive:
        left = [{"type": "http.request", "body": body, "more_body": False}]

        async def arrive() -> Message:
            return left.pop() if left else await receive()

        return arrive

    async def unheard(message: Message) -> None:
        pass

    await inner(dict(scope), request(), unheard)
    return request()


def _spoilt(
    fault: Fault, send: Send, reset: Callable[[], Awaitable[None]], broken: Callable[[], Awaitable[None]]
) -> Send:
    if fault.action == "reset_after":
        return _never_answering(send, reset)
    if fault.action == "garble":
        return _garbling(send)
    return _shortening(fault.number(0.5), send, broken, breaks=fault.action == "truncate")


def _never_answering(send: Send, reset: Callable[[], Awaitable[None]]) -> Send:
    async def swallow(message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body"):
            await reset()

    return swallow


def _garbling(send: Send) -> Send:
    async def garble(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": bytes(message.get("body", b"")).translate(_SHUFFLED)}
        await send(message)

    return garble


_SHUFFLED = bytes((number * 7 + 11) % 256 for number in range(256))


def _shortening(part: float, send: Send, broken: Callable[[], Awaitable[None]], *, breaks: bool) -> Send:
    """Sends `part` of the body: then breaks the connection, or ends well with a Content-Length that fits."""
    left = 0
    over = False

    async def shorten(message: Message) -> None:
        nonlocal left, over
        if over:
            return
        if message["type"] == "http.response.start":
            headers = message["headers"]
            whole = next((int(value) for key, value in headers if key.lower() == b"content-length"), 0)
            left = int(whole * part)
            if not breaks:
                kept = [(key, value) for key, value in headers if key.lower() != b"content-length"]
                message = {**message, "headers": [*kept, (b"content-length", str(left).encode())]}
            await send(message)
            return
        body = bytes(message.get("body", b""))[:left]
        left -= len(body)
        over = left == 0 or not message.get("more_body")
        await send({**message, "body": body, "more_body": breaks or not over})
        if over and breaks:
            await broken()

    return shorten


def _nothing_to_load(catalogue: Catalogue, files: Path | None) -> None:
    raise TypeError("this emulator loads no catalogue")
