"""Entry points, self-description, users, the identity provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dam_sync.emulators.a_hypermedia.auth import OIDC_LIFE_S
from dam_sync.emulators.a_hypermedia.call import Call, Instance
from dam_sync.emulators.a_hypermedia.errors import forbidden, not_found
from dam_sync.emulators.a_hypermedia.finding import listing
from dam_sync.emulators.a_hypermedia.hal import hal
from dam_sync.emulators.kit.environment import Json

Plain = Callable[[Request], Awaitable[Response]]
_AREAS = {
    "medias": "/medias",
    "media-search": "/search/media",
    "files": "/files",
    "folder-tree": "/folder-tree",
    "thesaurus-tree": "/thesaurus-tree",
    "forms": "/forms",
    "sheet-fields": "/sheet-fields",
    "labels": "/medias/labels",
    "custom-statuses": "/medias/custom-statuses",
    "users": "/users",
    "baskets": "/baskets",
}


async def dam(call: Call) -> Response:
    """GET /api/dam: 200 proves the credentials."""
    writer = call.instance.writer
    links: dict[str, Json] = {"self": writer.link(""), "curies": writer.curies()}
    links[writer.rel("current-user")] = writer.link(f"/users/{call.user.id}")
    return call.answer({"_links": links | {writer.rel(name): writer.link(path) for name, path in _AREAS.items()}})


async def users(call: Call) -> Response:
    """GET /users (4.20.0): by surname; for administrators."""
    call.needs("4.20.0")
    if not call.user.may():
        raise forbidden("list the users")
    every = sorted(call.instance.library.users.values(), key=lambda user: user.login)
    return listing(call, "/users", "user", [call.instance.schema.user(one) for one in every])


async def user(call: Call) -> Response:
    """GET /users/{user}: oneself; others for administrators."""
    number = call.id("user")
    found = next((one for one in call.instance.library.users.values() if one.id == number), None)
    if found is None or not (number == call.user.id or call.user.may()):
        raise not_found("user")
    return call.answer(call.instance.schema.user(found))


async def scripts(call: Call) -> Response:
    """GET /scripts (4.50.0): none are configured."""
    call.needs("4.50.0")
    return listing(call, "/scripts", "script", ())


def root(instance: Instance) -> Plain:
    """GET /api, without credentials."""
    options, writer = instance.options, instance.writer

    async def serve(request: Request) -> Response:
        origin = instance.world.api_origin
        links = {"self": {"href": f"{origin}/api"}, "curies": writer.curies(), writer.rel("dam"): writer.link("")}
        return hal(
            {"version": 1, "release": options.release, "_links": links | {"help": {"href": f"{origin}/api/doc"}}}
        )

    return serve


def public(body: Callable[[], Json]) -> Plain:
    """A fixed answer without credentials."""

    async def serve(request: Request) -> Response:
        return JSONResponse(body())

    return serve


def token(instance: Instance) -> Plain:
    """The identity provider's token endpoint: client credentials only, no refresh token."""

    async def serve(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        issued = instance.gate.issue(form.get("client_id", ""), form.get("client_secret", ""))
        if form.get("grant_type") != "client_credentials":
            return JSONResponse({"error": "unsupported_grant_type"}, 400)
        if issued is None:
            return JSONResponse({"error": "invalid_client", "error_description": "Invalid client credentials"}, 401)
        answer = {"access_token": issued, "expires_in": OIDC_LIFE_S, "token_type": "Bearer", "scope": "openid"}
        return JSONResponse(answer)

    return serve


def description(routes: Iterable[Route]) -> Json:
    """All operations, in the older form of API descriptions: `apis[].operations[]`."""
    apis: dict[str, list[Json]] = {}
    for route in routes:
        for method in sorted((route.methods or set()) - {"HEAD"}):
            apis.setdefault(route.path.replace(":int}", "}"), []).append({"method": method, "nickname": route.name})
    listed = [{"path": path, "operations": operations} for path, operations in apis.items()]
    return {"swaggerVersion": "1.2", "apiVersion": "1", "basePath": "/", "apis": listed}
