"""Serving an emulated service on real sockets: the API and the storage host on two ports of 127.0.0.1."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any, Literal, Self

import uvicorn

from dam_sync.emulators.kit.app import Application
from dam_sync.emulators.kit.owner import OwnConnections


class Served:
    """A running service; `url` is the API's origin, `storage_url` that of signed links. A context manager."""

    def __init__(self, app: Application, server: uvicorn.Server, thread: threading.Thread | None) -> None:
        self.app = app
        self.url = app.world.api_origin
        self.storage_url = app.world.storage_origin
        self._server = server
        self._thread = thread

    def stop(self) -> None:
        """Close the connections and end; may be called twice."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
            self.app.objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def serve_in_thread(app_factory: Callable[[], Application], port: int = 0) -> Served:
    """Serve on free ports (or `port` for the API) in a thread of its own; returns when it answers.

    Raises RuntimeError if the server does not come up.
    """
    app = app_factory()
    server, sockets = _server(app, port)
    thread = threading.Thread(target=_run, args=(server, sockets), daemon=True, name="emulated-service")
    served = Served(app, server, thread)
    thread.start()
    _await_start(server, thread)
    return served


def serve_forever(app: Application, port: int, ready: Callable[[Served], None]) -> None:
    """Serve this user until interrupted; `ready` is called once, when the sockets answer. Raises OSError for a taken
    port."""
    server, sockets = _server(app, port, OwnConnections)
    served = Served(app, server, None)

    async def main() -> None:
        running = asyncio.ensure_future(server.serve(sockets=sockets))
        while not server.started and not running.done():
            await app.world.sleep(0.01)
        if server.started:
            ready(served)
        await running

    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        return
    finally:
        app.objects.close()


def _server(
    app: Application, port: int, protocol: type[asyncio.Protocol] | Literal["auto"] = "auto"
) -> tuple[uvicorn.Server, list[socket.socket]]:
    sockets = [_listening(port), _listening(0)]
    origins = [f"http://127.0.0.1:{sock.getsockname()[1]}" for sock in sockets]
    app.world.api_origin, app.world.storage_origin = origins
    config = uvicorn.Config(
        app, http=protocol, log_level="error", access_log=False, lifespan="off", ws="none", server_header=False,
        date_header=False, timeout_graceful_shutdown=1, timeout_keep_alive=75,
    )  # fmt: skip
    return uvicorn.Server(config), sockets


def _listening(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so that asyncio sets TCP_NODELAY
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
        sock.listen(512)
    except (OSError, OverflowError):
        sock.close()
        raise
    return sock


def _run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
    asyncio.run(server.serve(sockets=sockets))


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    waiting = threading.Event()
    for _ in range(1000):
        if server.started:
            return
        if not thread.is_alive():
            break
        waiting.wait(0.01)
    raise RuntimeError("the emulated service did not start")
