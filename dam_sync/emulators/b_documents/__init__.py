"""An emulated server of service B: silent where the service is silent, and refusing what it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.b_documents.calls import exception
from dam_sync.emulators.b_documents.dump import ground_truth
from dam_sync.emulators.b_documents.enrichers import enrichers_of
from dam_sync.emulators.b_documents.loading import Loader
from dam_sync.emulators.b_documents.options import Options, options_of
from dam_sync.emulators.b_documents.orphans import orphans_of
from dam_sync.emulators.b_documents.routes import routes_of
from dam_sync.emulators.b_documents.server import Server
from dam_sync.emulators.kit.app import Application
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.environment import Environment, RateLimit
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.options import tags_of

__all__ = ["emulator"]


def emulator(world: Environment, faults: Faults, objects: ObjectStore, options: Mapping[str, object]) -> Application:
    """The service as an ASGI application; `app.state.load(catalogue, files)` fills it, `app.state.server` is it.

    Raises ValueError on an option or variant that does not exist; both are listed in `options.py`.
    """
    given = options_of(options)
    objects.tags = tags_of(given.plays)
    world.lag_s = given.lag
    server = Server(world, objects, given)
    server.writer.enrichers.update(enrichers_of(server))

    def load(catalogue: Catalogue, files: Path | None) -> None:
        Loader(server, catalogue, files).load()

    limit = RateLimit(world, given.rate) if given.rate else None
    app = Platform(
        routes_of(server), world, faults, objects,
        load=load, dump=lambda: ground_truth(server.repository), orphans=lambda: orphans_of(server),
        error=_error, limit=limit, audience=server.audience,
    )  # fmt: skip
    app.aliases = Aliases(given)
    app.storage = _no_head(app.storage)
    app.state.server = server
    return app


class Aliases:
    """Older and longer addresses of the same resources (wire B 1.1); empty for an unknown repository."""

    def __init__(self, options: Options) -> None:
        self._prefix = options.prefix
        self._repository = re.compile(re.escape(self._prefix) + r"/api/v1/repo/([^/]+)(?=/|$)")

    def plain(self, path: str) -> str:
        """The address every route is known by."""
        for older, newer in (("/site/api/v1", "/api/v1"), ("/site/automation", "/api/v1/automation")):
            head = f"{self._prefix}{older}"
            if path == head or path.startswith(f"{head}/"):
                path = f"{self._prefix}{newer}{path.removeprefix(head)}"
        found = self._repository.match(path)
        if found is None:
            return path
        if found[1] != "default":
            return f"{self._prefix}/unknown-repository"
        return f"{self._prefix}/api/v1{path[found.end() :]}"


class Platform(Application):
    """The application; also knows the socket, to break a response that promised more than there is."""

    aliases: Aliases

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer under every address a resource has."""
        if scope["type"] == "http":
            scope["emulation.transport"] = getattr(getattr(send, "__self__", None), "transport", None)
            plain = self.aliases.plain(scope["path"])
            if plain != scope["path"]:
                scope = {**scope, "path": plain}
        await super().__call__(scope, receive, send)


def _no_head(storage: ASGIApp) -> ASGIApp:
    """The object store behind direct downloads answers no HEAD (wire B 4)."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await Response(status_code=403)(scope, receive, send)
        else:
            await storage(scope, receive, send)

    return app


def _error(status: int, code: str, message: str) -> Response:
    return JSONResponse(exception(status, message), status)
