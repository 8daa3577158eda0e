"""What goes wrong between the product and the services of a virtual world, call by call, and whether it did.

The wire plays what a network does; the rest is handed to the emulator that the call goes to, as a `Fault` of its own.
"""

from __future__ import annotations

import asyncio
import glob
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from dam_sync.emulators.kit.app import Application
from dam_sync.emulators.kit.faults import ACTIONS
from dam_sync.http.bounds import CONNECT_SECONDS
from tests.support.virtual.clock import Passing
from tests.support.virtual.damaged_listings import DAMAGES, damaged
from tests.support.virtual.reply import Reply

NETWORK = frozenset(
    {
        "refused",  # nobody listens: the service never sees the call
        "unreachable",  # no connection within the time for it: the service never sees the call
        "lost",  # the call is lost on its way, and nothing is heard until the reader's patience ends
        "mute",  # the service does its work, its response is lost
        "stalls",  # half of the body comes, then nothing any more
        "trickles",  # the rest of the body comes just before the reader's patience ends
        "twice",  # something on the way sends the call again once it was done: the second response comes back
        "sleeps",  # sleeps:3600 - this computer sleeps for so many seconds, with the call under way
    }
)
"""What the wire plays itself, besides damage to the rows of a listing (see `rows.DAMAGES`)."""
PATIENT = 0.9  # part of the reader's patience that a trickling body takes
Deliver = Callable[[], Awaitable[Reply]]


class Endless(AssertionError):
    """A run that calls and calls."""


@dataclass(slots=True)
class Trouble:
    """One line of the script. Of the calls of `app` that are `call` (see `Weather.name_of`): the `nth`, or each
    `every`-th, or all from `since` on, or from the `nth` on all for the same path when it is `sticky`."""

    app: Application
    call: str
    do: str
    nth: int | None = None
    every: int | None = None
    since: int | None = None
    sticky: bool = False
    seen: int = 0
    hits: int = 0
    path: str = ""

    def __post_init__(self) -> None:
        assert self.action in NETWORK | DAMAGES | ACTIONS.keys() | {"play"}, self.do

    @property
    def action(self) -> str:
        """The word before the colon."""
        return self.do.partition(":")[0]

    @property
    def number(self) -> float:
        """What stands after the colon."""
        return float(self.do.partition(":")[2] or 0)

    def strikes(self, app: Application, call: str, path: str) -> bool:
        """Whether it hits this call; counts what it saw and hit."""
        if app is not self.app or call != self.call:
            return False
        self.seen += 1
        hit = self.seen == self.nth
        hit = hit or (self.every is not None and self.seen % self.every == 0)
        hit = hit or (self.since is not None and self.seen >= self.since)
        if self.sticky and hit and not self.path:
            self.path = path
        hit = hit or (bool(self.path) and path == self.path)
        self.hits += hit
        return hit


@dataclass(slots=True)
class Weather:
    """The script, and what was called. most: calls after which a run is said to be endless."""

    clock: Passing
    lines: list[Trouble] = field(default_factory=list)
    called: Counter[tuple[Application, str]] = field(default_factory=Counter)
    most: int = 20_000

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self.lines.clear()

    def unhit(self) -> list[str]:
        """The lines that never hit: a test that scripted them proved nothing."""
        return [f"{line.call} {line.do}" for line in self.lines if not line.hits]

    async def carried(self, app: Application, outgoing: httpx.Request, deliver: Deliver) -> Reply:
        """What comes of a call under this script."""
        striking = self._striking(app, outgoing)
        for line in striking:
            await self._on_the_way(line, outgoing)
        reply = await deliver()
        if any(line.action == "twice" for line in striking):
            reply = await deliver()
        for line in striking:
            await self._on_the_way_back(line, outgoing, reply)
        return reply

    @staticmethod
    def name_of(app: Application, method: str, address: str) -> str:
        """A call as scripts name it: `GET /v2/assets/{id}`, or for the storage host `GET storage /objects`."""
        parts = urlsplit(address)
        if f"{parts.scheme}://{parts.netloc}" == app.world.storage_origin:
            return f"{method} storage /{parts.path.split('/')[1]}"
        return str(app.table.match(method, unquote(parts.path)).name)

    def _striking(self, app: Application, outgoing: httpx.Request) -> Sequence[Trouble]:
        call, path = self.name_of(app, outgoing.method, str(outgoing.url)), urlsplit(str(outgoing.url)).path
        self.called[app, call] += 1
        if self.called.total() > self.most:
            raise Endless(f"more than {self.most} calls, the last {call}")
        found = [line for line in self.lines if line.strikes(app, call, path)]
        _script(app, outgoing.method, path, (line.do for line in found if line.action in ACTIONS.keys() | {"play"}))
        return found

    async def _on_the_way(self, line: Trouble, outgoing: httpx.Request) -> None:
        match line.action:
            case "refused":
                raise httpx.ConnectError("connection refused") from ConnectionRefusedError()
            case "unreachable":
                await self.clock.sleep(CONNECT_SECONDS)
                raise httpx.ConnectTimeout("no connection in time")
            case "lost":
                await self.clock.sleep(patience(outgoing))
                raise httpx.ReadTimeout("lost on the way")
            case "sleeps":
                self.clock.jump(line.number)
                await asyncio.sleep(0)

    async def _on_the_way_back(self, line: Trouble, outgoing: httpx.Request, reply: Reply) -> None:
        match line.action:
            case "mute":
                await self.clock.sleep(patience(outgoing))
                raise httpx.ReadTimeout("the response was lost")
            case "stalls":
                reply.pause, reply.stalls = patience(outgoing), True
            case "trickles":
                reply.pause = patience(outgoing) * PATIENT
            case action if action in DAMAGES:
                damaged(reply, action)


def patience(outgoing: httpx.Request) -> float:
    """Seconds that the caller waits for the response."""
    return float(outgoing.extensions["timeout"]["read"])


def _script(app: Application, method: str, path: str, actions: Iterable[str]) -> None:
    """Let the emulator do this to the call that is on its way."""
    match = f"{method} {glob.escape(unquote(path))}"
    lines: list[dict[str, Any]] = [{"match": match, "times": 1, "do": do} for do in actions]
    app.faults.lines[:] = [line for line in app.faults.lines if not line.hits]
    app.faults.add(lines)
