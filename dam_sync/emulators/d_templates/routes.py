"""The routes of an emulated tenant of service D: v1.5, the deprecated base, OAuth and webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dam_sync.emulators.d_templates.accounts import Accounts
from dam_sync.emulators.d_templates.bulk import BulkEdits
from dam_sync.emulators.d_templates.calls import Endpoint, Handler
from dam_sync.emulators.d_templates.collections import Collections
from dam_sync.emulators.d_templates.records import Refusal
from dam_sync.emulators.d_templates.render import Renderer
from dam_sync.emulators.d_templates.routes_assets import AssetCalls
from dam_sync.emulators.d_templates.routes_collections import CollectionCalls
from dam_sync.emulators.d_templates.routes_hooks import HookCalls
from dam_sync.emulators.d_templates.routes_people import PeopleCalls
from dam_sync.emulators.d_templates.routes_schema import SchemaCalls
from dam_sync.emulators.d_templates.routes_search import SearchCalls
from dam_sync.emulators.d_templates.search import Search
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.d_templates.storage import Storage
from dam_sync.emulators.d_templates.uploads import Creation

Line = tuple[str, str, Handler]


def routes_of(
    tenant: Tenant, accounts: Accounts, collections: Collections, storage: Storage, creation: Creation
) -> list[Route]:
    """Every route of the service."""
    renderer = Renderer(tenant, storage.rendition)
    people, schema, hooks = PeopleCalls(tenant, accounts), SchemaCalls(tenant), HookCalls(tenant)
    lines = [
        *_asset_lines(AssetCalls(tenant, renderer, storage, creation)),
        *_search_lines(SearchCalls(tenant, renderer, Search(tenant))),
        *_collection_lines(CollectionCalls(tenant, collections, BulkEdits(tenant, collections))),
        *_people_lines(people),
        *_schema_lines(schema),
        *_hook_lines(hooks),
    ]
    newer = [*_newer_asset_lines(lines), *_admin_lines(people, schema)]
    older = "older" in tenant.options.plays
    routes = list(_routes(tenant, accounts, "/v1", _without(lines, newer) if older else [*lines, *newer]))
    routes += _routes(tenant, accounts, "/content-store-v1", _without(lines, newer))
    keyed = (("POST", "/v1/auth/token", people.token), ("DELETE", "/v1/auth/token", people.expire))
    old = (("POST", "/content-store-v1/auth/token", people.token_v1),)
    routes += [_route(tenant, accounts, line, "key") for line in (*keyed, *old)]
    if not older:
        oauth = (("GET", "/v2/oauth/authorize", people.authorize), ("POST", "/v2/oauth/token", people.exchange))
        routes += [_route(tenant, accounts, line, "open") for line in oauth]
    return routes + admin_routes(tenant)


def admin_routes(tenant: Tenant) -> list[Route]:
    """What only the administrator's own tools can do (wire D 12.16): `POST /_emulator/purge {"id"}`."""

    async def purge(request: Request) -> Response:
        tenant.settle()
        try:
            tenant.purge(str((await request.json())["id"]))
        except Refusal as refusal:
            return JSONResponse(refusal.body, refusal.status)
        return Response(status_code=204)

    return [Route("/_emulator/purge", purge, methods=["POST"])]


def _routes(tenant: Tenant, accounts: Accounts, prefix: str, lines: Iterable[Line]) -> Iterator[Route]:
    for method, path, handler in lines:
        yield _route(tenant, accounts, (method, prefix + path, handler), "user")


def _route(tenant: Tenant, accounts: Accounts, line: Line, way: str) -> Route:
    method, path, handler = line
    route = Route(path, Endpoint(tenant, accounts, handler, way), methods=[method])
    route.methods = {method}  # a HEAD is another call
    return route


def _without(lines: Iterable[Line], newer: Iterable[Line]) -> list[Line]:
    gone = {(method, path) for method, path, _ in newer}
    return [line for line in lines if line[:2] not in gone]


def _newer_asset_lines(lines: Iterable[Line]) -> list[Line]:
    """What came with v1.5 (wire D 10)."""
    return [line for line in lines if line[1].startswith(("/assets/", "/collections/")) or line[1] == "/search"]


def _asset_lines(assets: AssetCalls) -> tuple[Line, ...]:
    one = "/asset/{id}"
    return (
        ("POST", "/asset", assets.create),
        ("POST", "/asset/complete", assets.complete),
        ("POST", "/asset/expose", assets.expose),
        ("POST", "/asset/content/preview", assets.preview),
        ("GET", one, assets.read),
        ("PATCH", one, assets.update),
        ("POST", f"{one}/delete", assets.delete),
        ("GET", f"{one}/history", assets.history),
        ("GET", f"{one}/version", assets.versions),
        ("GET", f"{one}/latest", assets.latest),
        ("POST", f"{one}/version/promote", assets.promote),
        ("GET", f"{one}/content", assets.content),
        ("GET", f"{one}/link", assets.links),
        ("POST", f"{one}/link", assets.link),
        ("PATCH", f"{one}/link", assets.unlink),
        ("POST", f"{one}/technical-metadata", assets.technical),
        ("POST", "/assets/asset", assets.create_simply),
        ("GET", "/assets/asset/{id}", assets.read_simply),
        ("PATCH", "/assets/asset/{id}", assets.update_simply),
    )


def _search_lines(search: SearchCalls) -> tuple[Line, ...]:
    return (
        ("POST", "/asset/scan", search.scan),
        ("POST", "/search/keyword", search.keyword),
        ("POST", "/search", search.slim),
    )


def _collection_lines(collections: CollectionCalls) -> tuple[Line, ...]:
    return (
        ("POST", "/search/collection", collections.search),
        ("PATCH", "/asset", collections.bulk),
        ("POST", "/collection", collections.create),
        ("GET", "/collection/{id}", collections.read),
        ("PATCH", "/collection/{id}", collections.update),
        ("DELETE", "/collection/{id}", collections.drop),
        ("PATCH", "/collections/{id}", collections.update_newly),
    )


def _people_lines(people: PeopleCalls) -> tuple[Line, ...]:
    return (
        ("POST", "/auth/impersonate", people.impersonate),
        ("GET", "/user", people.me),
        ("GET", "/user/{id}", people.user),
        ("GET", "/users", people.users),
        ("GET", "/security/template", people.security),
        ("GET", "/security/templates/{id}", people.security_one),
        ("POST", "/security/templates", people.add_security),
        ("GET", "/security/groups", people.groups),
        ("POST", "/security/user-groups", people.add_group),
        ("POST", "/security/user-groups/bulk", people.add_groups),
        ("GET", "/security/permissions", people.permissions),
        ("POST", "/request/list", people.requests),
    )


def _schema_lines(schema: SchemaCalls) -> tuple[Line, ...]:
    return (
        ("GET", "/metadata/template", schema.templates),
        ("POST", "/metadata/template", schema.add_template),
        ("GET", "/metadata/template/{id}", schema.template),
        ("PATCH", "/metadata/template/{id}", schema.change_template),
        ("DELETE", "/metadata/template/{id}", schema.drop_template),
        ("GET", "/metadata/vocabulary", schema.vocabularies),
        ("POST", "/metadata/vocabulary", schema.add_vocabulary),
        ("GET", "/metadata/vocabulary/{id}", schema.vocabulary),
        ("PATCH", "/metadata/vocabulary/{id}", schema.change_vocabulary),
        ("DELETE", "/metadata/vocabulary/{id}", schema.drop_vocabulary),
        ("POST", "/metadata/apply", schema.apply),
    )


def _admin_lines(people: PeopleCalls, schema: SchemaCalls) -> tuple[Line, ...]:
    """The newer administration calls."""
    lines: list[Line] = [
        ("GET", "/roles", people.roles),
        ("GET", "/metadata/templates", schema.template_rows),
        ("GET", "/metadata/vocabularies", schema.vocabulary_rows),
        ("GET", "/metadata/attributes", schema.attributes),
        ("GET", "/attributes", schema.attributes),
        ("POST", "/metadata/attribute", schema.add_attribute),
        ("GET", "/metadata/groups", schema.groups),
        ("POST", "/metadata/group", schema.add_group),
        ("GET", "/metadata/group/{id}", schema.group),
        ("PATCH", "/metadata/group/{id}", schema.change_group),
        ("DELETE", "/metadata/group/{id}", schema.drop_group),
        ("GET", "/metadata/tables", schema.tables),
        ("POST", "/metadata/tables", schema.add_table),
        ("GET", "/metadata/cascades", schema.cascades),
        ("POST", "/metadata/cascades", schema.add_cascade),
    ]
    for path in ("/metadata/attribute/{id}", "/metadata/tables/{id}", "/metadata/cascades/{id}"):
        lines += [("GET", path, schema.attribute), ("PATCH", path, schema.change_attribute)]
        lines.append(("DELETE", path, schema.drop_attribute))
    return tuple(lines)


def _hook_lines(hooks: HookCalls) -> tuple[Line, ...]:
    one = "/webhooks/endpoint/{id}"
    return (
        ("POST", "/webhooks/endpoint", hooks.add),
        ("GET", "/webhooks/endpoint/list", hooks.every),
        ("GET", "/webhooks/event-type/list", hooks.types),
        ("GET", one, hooks.one),
        ("PATCH", one, hooks.change),
        ("DELETE", one, hooks.drop),
        ("PUT", "/webhooks/endpoint/oauth/{id}", hooks.oauth),
        ("DELETE", "/webhooks/endpoint/oauth/{id}", hooks.oauth),
    )
