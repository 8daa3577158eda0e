"""The live page: one HTML file, its style and its script, and the stream of events that they show. Read-only."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import ClientConnectionResetError, web

from dam_sync import __version__
from dam_sync.api.history import cleaned, history_of
from dam_sync.api.logs import reported
from dam_sync.config.job import JobConfig
from dam_sync.model.errors import DamSyncError, Transient
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.watch.connections import Handler
from dam_sync.watch.live import LiveState, ShownJob, ShownWatchedJob, SingleRun
from dam_sync.watch.page_key import PageKey
from dam_sync.watch.server import ListenAddress, loopback_application, serving
from dam_sync.watch.watcher import Watcher

STATIC = Path(__file__).parent / "static"
FILES = {"/page.css": "page.css", "/page.js": "page.js"}
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
OWN_PORT = ListenAddress("127.0.0.1", 0)
MOST_READERS = 32  # event streams at once
TICK_SECONDS = 0.5
BEAT_SECONDS = 10.0  # after which the state is sent again though nothing has changed
HISTORY_SECONDS = 5.0
WRITE_SECONDS = 30.0  # a browser that reads nothing for so long is disconnected
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class LivePage:
    """A page about jobs. Nothing is read from their states while nobody looks at it. key: without it, nobody is shown
    anything; a new one by default."""

    def __init__(self, jobs: Sequence[ShownJob], surroundings: RunOptions, key: PageKey | None = None) -> None:
        self.key = key or PageKey(surroundings.clock.token())
        self._live = LiveState(jobs, surroundings.clock)
        self._surroundings = surroundings
        self._clock = surroundings.clock
        self._readers = 0
        self._messages: dict[str, str] = {}  # by event, the newest one
        self._changed = asyncio.Condition()
        self._ended = False
        self._sent: tuple[Json, float] = (None, -math.inf)
        self._read_at = -math.inf

    def add_to(self, app: web.Application) -> None:
        """Serve the page at `/`, with the headers that protect it on every response. Its style and its script are the
        same everywhere and need no key."""
        app.on_response_prepare.append(_add_headers)
        app.add_routes([web.get("/", self.key.guarding(_sender(STATIC / "page.html")))])
        app.add_routes([web.get(path, _sender(STATIC / name)) for path, name in FILES.items()])
        app.add_routes([web.get("/events", self.key.guarding(self._events), allow_head=False)])
        app.on_shutdown.append(lambda _: self.end())

    async def keep(self) -> None:
        """Look at the jobs and send what changed, until cancelled."""
        while True:
            self._live.sample()
            if self._readers:
                if self._clock.monotonic() - self._read_at >= HISTORY_SECONDS:
                    await self._read_history()
                await self._send_state()
            await self._clock.sleep(TICK_SECONDS)

    async def end(self) -> None:
        """Send the last state to everybody and close the streams; safe to repeat."""
        if self._readers and not self._ended:
            self._live.sample()
            await self._read_history()
            await self._send_state()
        self._ended = True
        async with self._changed:
            self._changed.notify_all()

    async def _send_state(self) -> None:
        jobs, now = self._live.as_json(), self._clock.monotonic()
        if jobs == self._sent[0] and now - self._sent[1] < BEAT_SECONDS:
            return
        self._sent = (jobs, now)
        time = self._clock.now().isoformat(timespec="seconds")
        await self._send("state", {"version": __version__, "now": time, "jobs": jobs})

    async def _read_history(self) -> None:
        self._read_at = self._clock.monotonic()
        found = []
        for job in self._live.jobs:
            try:
                found.append(await history_of(job.config, self._surroundings))
            except DamSyncError as error:  # the state is busy, or its disk is full: later
                found.append({"problem": error.message})
            except Exception as error:  # noqa: BLE001 -- a bug in what is shown must not end the run that it shows
                found.append({"problem": reported(error).message})
        await self._send("history", {"jobs": found})

    async def _send(self, event: str, data: Json) -> None:
        self._messages[event] = f"event: {event}\ndata: {json.dumps(cleaned(data))}\n\n"
        async with self._changed:
            self._changed.notify_all()

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """The stream of events: always the newest state, however slowly it is read."""
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise web.HTTPForbidden(text="the events are for the page of this server\n")
        if self._readers >= MOST_READERS:
            raise web.HTTPServiceUnavailable(text="too many pages are open\n")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        self._readers += 1
        if self._readers == 1:
            self._messages.pop("history", None)  # nobody has looked for a while
            self._read_at = -math.inf
        with suppress(ClientConnectionResetError, TimeoutError):
            try:
                await self._stream(response)
            finally:
                self._readers -= 1
        return response

    async def _stream(self, response: web.StreamResponse) -> None:
        self._live.sample()
        self._sent = (None, -math.inf)
        await self._send_state()
        seen: dict[str, str] = {}
        while True:
            ended, news = self._ended, {name: text for name, text in self._messages.items() if seen.get(name) != text}
            async with asyncio.timeout(WRITE_SECONDS):
                for name in sorted(news):  # the state last: a page that sees the end of the run closes the stream
                    await response.write(news[name].encode())
            seen.update(news)
            if ended:
                return
            async with self._changed:
                await self._changed.wait_for(lambda: self._ended or self._messages != seen)


def _sender(path: Path) -> Handler:
    body, kind = path.read_bytes(), TYPES[path.suffix]

    async def send(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type=kind, charset="utf-8")

    return send


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def page_application(page: LivePage) -> web.Application:
    """Only the page."""
    made = loopback_application()
    page.add_to(made)
    return made


@asynccontextmanager
async def kept(page: LivePage) -> AsyncIterator[None]:
    """Keep the page up to date; at the end it shows the last state."""
    keeper = asyncio.ensure_future(page.keep())
    try:
        yield
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper
        await page.end()


def page_of_watch(watcher: Watcher, surroundings: RunOptions) -> LivePage:
    """A page about all jobs that are watched."""
    return LivePage([ShownWatchedJob(job, surroundings.clock) for job in watcher.jobs], surroundings)


@asynccontextmanager
async def page_of_run(
    config: JobConfig, options: RunOptions, listen: str, note: Callable[[str], None]
) -> AsyncIterator[None]:
    """Serve a page about the run that is made meanwhile with these options. Raises ConfigError for an address that
    cannot be listened on."""
    run = SingleRun(config, options)
    page = LivePage([run], options)
    async with serving(page_application(page), ListenAddress.of(listen) if listen else OWN_PORT) as url:
        note(f"page: {page.key.address(url)}")
        async with kept(page):
            try:
                yield
            except BaseException as error:
                run.end(reported(error) if isinstance(error, Exception) else Transient("aborted"))
                raise
            run.end(None)
