"""The HTTP server of `watch`: `/health`, `/live`, `/metrics` and deliveries of webhooks, on loopback only."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from dam_sync.api.webhooks import Receipt
from dam_sync.model.errors import ConfigError, DamSyncError
from dam_sync.model.url_forms import is_loopback
from dam_sync.watch.connections import USUAL, ConnectionBounds, Connections, Handler
from dam_sync.watch.hooks import WatchedWebhooks
from dam_sync.watch.metrics import CONTENT_TYPE, JobMetrics, health_of
from dam_sync.watch.watched_job import WatchedJob
from dam_sync.watch.watcher import Watcher

if TYPE_CHECKING:
    from dam_sync.watch.page import LivePage

CLOSING_SECONDS = 2.0
LARGEST_REQUEST = 64 * 1024  # bytes; deliveries of webhooks have a few hundred, or some thousand
ANSWER_SECONDS = 20.0  # until a delivery is read and stored; services wait for 30
WEBHOOKS = "/webhooks/"
STATUSES = {Receipt.FORGED: 401, Receipt.FULL: 429}
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen: an address of loopback, and a port (0: any free one)."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> ListenAddress:
        """`127.0.0.1:8088`. Raises ConfigError for anything else, and for an address that others can reach."""
        host, _, port = text.rpartition(":")
        if not port.isdigit() or int(port) > 65535 or not host:
            raise ConfigError(f"--listen expects an address and a port, not {text!r}", hint="write 127.0.0.1:8088")
        name = host.strip("[]")
        if not is_loopback(name):
            raise ConfigError(
                f"--listen {text} can be reached from other hosts",
                hint="listen on 127.0.0.1, and put a proxy with authentication in front of it",
            )
        return cls(name, int(port))


def addresses_of(jobs: Sequence[WatchedJob], listen: str) -> list[ListenAddress]:
    """Where to listen: the given address, or those that the webhooks of the jobs name. Raises ConfigError for webhooks
    without one."""
    asked = [job.job.config.webhooks for job in jobs if job.job.config.webhooks is not None]
    texts = [listen] if listen else [each.listen for each in asked]
    if "" in texts:
        raise ConfigError(
            "webhooks need an address of this host where they arrive",
            hint="write `webhooks: {listen: 127.0.0.1:8088}` in the job file, or add --listen 127.0.0.1:8088",
        )
    return [ListenAddress.of(text) for text in dict.fromkeys(texts)]


def loopback_application() -> web.Application:
    """An application without pages, which answers only requests to its own address."""
    return web.Application(middlewares=[_only_loopback], client_max_size=LARGEST_REQUEST)


def application(watcher: Watcher, page: LivePage | None = None) -> web.Application:
    """The pages about the jobs of this watcher."""
    metrics = JobMetrics(watcher.jobs, watcher.notifier)

    async def health(_: web.Request) -> web.Response:
        found = health_of(watcher.jobs)
        return web.json_response(found, status=200 if found["ok"] else 503)

    async def live(_: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def numbers(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def hook(request: web.Request) -> web.Response:
        return await _received(request, watcher.jobs)

    made = loopback_application()
    made.add_routes([web.get("/health", health), web.get("/live", live), web.get("/metrics", numbers)])
    made.add_routes([web.get(f"{WEBHOOKS}{{job}}/{{rest:.*}}", hook), web.post(f"{WEBHOOKS}{{job}}/{{rest:.*}}", hook)])
    if page is not None:
        page.add_to(made)
    return made


async def _received(request: web.Request, jobs: Sequence[WatchedJob]) -> web.Response:
    """The response to a delivery, once it is stored; to a GET, whether the URL is right."""
    job = next((job for job in jobs if job.name == request.match_info["job"] and job.job.config.webhooks), None)
    if job is None:
        raise web.HTTPNotFound(text="there is no such job here\n")
    if not job.webhooks.is_ours(request.path):
        job.webhooks.forged()
        raise web.HTTPUnauthorized(text="this is not the URL of a subscription\n")
    if request.method != "POST":
        return web.json_response({"ok": True})
    receipt = await _receipt(request, job.webhooks)
    return web.json_response({"result": receipt.value}, status=STATUSES.get(receipt, 200))


async def _receipt(request: web.Request, webhooks: WatchedWebhooks) -> Receipt:
    """Read and store a delivery."""
    if (request.content_length or 0) > LARGEST_REQUEST:
        raise web.HTTPRequestEntityTooLarge(LARGEST_REQUEST, request.content_length or 0)
    if request.transport is None:  # the caller is gone already
        raise web.HTTPBadRequest
    headers = {name.lower(): text for name, text in request.headers.items()}
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await webhooks.receive(headers, request.read)
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except ConnectionError:  # the caller is gone: there is nobody to respond to
        raise web.HTTPBadRequest from None
    except DamSyncError:  # the state cannot be written now: the service sends it again
        raise web.HTTPServiceUnavailable from None


@web.middleware
async def _only_loopback(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests that a web page of somebody else sends through a browser: their host is not this one. Deliveries
    come through a proxy, under its name."""
    if not request.path.startswith(WEBHOOKS) and not is_loopback(_host_of(request)):
        raise web.HTTPForbidden(text="this server answers only requests to its own address\n")
    return await handler(request)


def _host_of(request: web.Request) -> str:
    """The name under which the server is asked; empty for one that cannot be read."""
    try:
        return (request.url.host or "").strip("[]")
    except ValueError:
        return ""


class _Forward(logging.Handler):
    """Passes on what the server logs: a request that is not HTTP is a detail, anything else a bug."""

    def emit(self, record: logging.LogRecord) -> None:
        problem = record.exc_info[1] if record.exc_info else None
        if isinstance(problem, HttpProcessingError):
            _log.debug("request.invalid", problem=type(problem).__name__)
        elif record.levelno >= logging.WARNING:
            _log.error("request.failed", problem=record.getMessage(), exc_info=problem)


def _logger() -> logging.Logger:
    made = logging.Logger(__name__)
    made.addHandler(_Forward())
    return made


@asynccontextmanager
async def serving(app: web.Application, address: ListenAddress, bounds: ConnectionBounds = USUAL) -> AsyncIterator[str]:
    """Serve the application; its URL. Raises ConfigError if the address is taken."""
    connections = Connections(bounds.most)
    app.middlewares.append(connections.middleware())
    runner = web.AppRunner(
        app,
        access_log=None,
        auto_decompress=False,  # nobody sends compressed deliveries, and a small one can become any size
        handle_signals=False,
        keepalive_timeout=bounds.idle,
        logger=_logger(),
        shutdown_timeout=CLOSING_SECONDS,
    )
    await runner.setup()
    try:
        listening = await _listening(runner, address, connections)
        try:
            port = listening.sockets[0].getsockname()[1]
            yield f"http://{f'[{address.host}]' if ':' in address.host else address.host}:{port}"
        finally:
            listening.close()
    finally:
        await runner.cleanup()


async def _listening(runner: web.AppRunner, address: ListenAddress, connections: Connections) -> asyncio.Server:
    server = runner.server
    assert server is not None
    try:
        return await asyncio.get_running_loop().create_server(
            lambda: connections.accept(server), address.host, address.port, backlog=128
        )
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "another process uses it, perhaps another `watch` of this job" if taken else error.strerror
        hint = "stop that process, or choose another port with --listen or `webhooks.listen` in the job file"
        raise ConfigError(f"cannot listen on {address.host}:{address.port}: {why}", hint=hint) from None
