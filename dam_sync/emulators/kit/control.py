"""The control routes under `/_emulator`: counters, faults, the clock, the ground truth. Not part of any service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.orphans import Orphans

Dump = Callable[[], Iterable[Mapping[str, Json]]]
Endpoint = Callable[[Request], Awaitable[Response]]


def control_routes(world: Environment, faults: Faults, dump: Dump, orphans: Orphans, audience: Audience) -> list[Route]:
    """Routes that are neither counted nor struck by faults, and need no credentials."""
    return [
        Route("/_emulator/calls", _calls(world)),
        Route("/_emulator/reset-calls", _reset_calls(world), methods=["POST"]),
        Route("/_emulator/faults", _fault_lines(faults), methods=["GET", "POST", "DELETE"]),
        Route("/_emulator/clock", _clock(world), methods=["GET", "POST"]),
        Route("/_emulator/assets", _assets(dump)),
        Route("/_emulator/orphans", _orphans(orphans)),
        Route("/_emulator/audience", _audience(audience)),
        Route("/_emulator/events", _events(world)),
    ]


def _calls(world: Environment) -> Endpoint:
    async def calls(request: Request) -> Response:
        return JSONResponse(world.calls())

    return calls


def _reset_calls(world: Environment) -> Endpoint:
    async def reset_calls(request: Request) -> Response:
        world.reset_calls()
        return Response(status_code=204)

    return reset_calls


def _fault_lines(faults: Faults) -> Endpoint:
    async def fault_lines(request: Request) -> Response:
        if request.method == "DELETE":
            faults.clear()
        elif request.method == "POST":
            try:
                faults.add(await request.json())
            except (TypeError, ValueError) as problem:
                return JSONResponse({"message": str(problem)}, 400)
        return JSONResponse({"hits": faults.hits, "unhit": faults.unhit()})

    return fault_lines


def _clock(world: Environment) -> Endpoint:
    async def clock(request: Request) -> Response:
        if request.method == "POST":
            world.advance(float((await request.json())["advance"]))
        return JSONResponse({"now": world.now().isoformat()})

    return clock


def _assets(dump: Dump) -> Endpoint:
    async def assets(request: Request) -> Response:
        return StreamingResponse(_lines(dump()), media_type="application/jsonl")

    return assets


def _orphans(orphans: Orphans) -> Endpoint:
    async def listed(request: Request) -> Response:
        return JSONResponse(list(orphans()))

    return listed


def _audience(audience: Audience) -> Endpoint:
    async def seen(request: Request) -> Response:
        return JSONResponse(audience.as_json())

    return seen


def _events(world: Environment) -> Endpoint:
    async def events(request: Request) -> Response:
        return JSONResponse(world.events)

    return events


async def _lines(rows: Iterable[Mapping[str, Json]]) -> AsyncIterator[bytes]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False).encode() + b"\n"
