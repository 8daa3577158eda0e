"""Signing in, and what the server says of itself (wire B 1)."""

from __future__ import annotations

import base64
from urllib.parse import parse_qsl

from dam_sync.emulators.b_documents.accounts import OAuthError
from dam_sync.emulators.b_documents.calls import Call, Reply, unauthenticated
from dam_sync.emulators.b_documents.records import Refusal
from dam_sync.emulators.b_documents.types import described
from dam_sync.emulators.kit.environment import Json

HTML = "text/html;charset=utf-8"


def me(call: Call) -> Reply:
    """`GET /me`."""
    return Reply(200, call.server.repository.people.user_json(call.user))


def login(call: Call) -> Reply:
    """`POST /automation/login`."""
    user = call.user
    return Reply(200, {
        "entity-type": "login", "username": user.name, "isAdministrator": user.administrator, "groups": user.groups,
    })  # fmt: skip


def capabilities(call: Call) -> Reply:
    """`GET /capabilities`; unknown before the 2021 line."""
    options = call.server.options
    if not options.at_least("2021.0"):
        raise Refusal(404, "capabilities")
    server = {
        "distributionName": "lts", "distributionVersion": options.release, "distributionServer": "tomcat",
    }  # fmt: skip
    return Reply(200, {
        "entity-type": "capabilities", "server": server, "cluster": {"enabled": False, "nodeId": "8142"},
        "repository": {"default": {"queryBlobKeys": True}},
    })  # fmt: skip


def cmis(call: Call) -> Reply:
    """`GET /json/cmis`."""
    version = call.server.options.release
    return Reply(200, {"default": {"repositoryId": "default", "productName": "Platform", "productVersion": version}})


def running(call: Call) -> Reply:
    """`GET /runningstatus`."""
    return Reply(200, {"runtimeStatus": "ok", "repositoryStatus": "ok"})


def login_page(call: Call) -> Reply:
    """The page people sign in on."""
    return Reply(200, body=b"<html><body><form>Sign in</form></body></html>", media_type=HTML)


# login tokens


def login_token(call: Call) -> Reply:
    """`GET /authentication/token`: a token, or its revocation; only Basic opens it here."""
    query, server = call.query, call.server
    scheme, _, rest = call.headers.get("authorization", "").partition(" ")
    user = server.accounts.basic(rest.strip()) if scheme.lower() == "basic" else None
    if user is None:
        return unauthenticated(call)
    application, device = query.get("applicationName", ""), query.get("deviceId", "")
    if query.get("revoke", "").lower() == "true":
        done = bool(application and device) and server.accounts.revoke(user, application, device)
        return Reply(202 if done else 400, body=b"Token revoked" if done else b"No token", media_type="text/plain")
    if not application or not device or not query.get("permission"):
        return Reply(400, body=b"A required parameter is missing", media_type="text/plain")
    token = server.accounts.login_token(user, application, device)
    cookie = (b"set-cookie", f"X-Authentication-Token={token}; Path=/; HttpOnly".encode())
    return Reply(201, body=token.encode(), media_type="text/plain", headers=(cookie,))


# OAuth


def authorize(call: Call) -> Reply:
    """`GET /oauth2/authorize` as a logged-in user: to the redirect address, or the consent page."""
    try:
        where = call.server.accounts.authorize(call.query, call.user)
    except OAuthError as error:
        return Reply(400, {"error": error.code, "error_description": error.text})
    if not where:
        return Reply(200, body=b"<html><body><form>Grant access?</form></body></html>", media_type=HTML)
    return Reply(302, headers=((b"location", where.encode()),))


def grant(call: Call) -> Reply:
    """`POST /oauth2/authorize`: consent is given."""
    client = call.server.accounts.clients.get(call.query.get("client_id", ""))
    if client is not None:
        client["auto_grant"] = True
    return authorize(call)


def token(call: Call) -> Reply:
    """`POST /oauth2/token`, parameters in the query or as a form; client credentials as Basic win."""
    given = dict(call.query) | dict(parse_qsl(call.raw.decode("utf-8", "replace"), keep_blank_values=True))
    scheme, _, rest = call.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        given |= _client_of(rest)
    try:
        return Reply(200, call.server.accounts.token(given))
    except OAuthError as error:
        return Reply(400, {"error": error.code, "error_description": error.text})


def _client_of(encoded: str) -> dict[str, str]:
    try:
        name, _, secret = base64.b64decode(encoded.strip()).decode().partition(":")
    except ValueError:
        return {}
    return {"client_id": name, "client_secret": secret}


# configuration


def types(call: Call) -> Reply:
    """`GET /config/types`: every type with its schemas."""
    known = call.server.repository.types
    doctypes = {
        each.name: {"parent": each.parent or "None!!!", "facets": list(each.facets), "schemas": list(each.schemas)}
        for each in known.types.values()
    }
    schemas = {
        name: {"@prefix": schema.key, **{field.name: _field(call, field) for field in schema.fields}}
        for name, schema in known.schemas.items()
    }
    return Reply(200, {"doctypes": doctypes, "schemas": schemas})


def type_(call: Call) -> Reply:
    """`GET /config/types/{name}`; 204 for an unknown one."""
    known = call.server.repository.types
    found = known.types.get(call.params["name"])
    if found is None:
        return Reply(204)
    return Reply(200, {
        "entity-type": "docType", "name": found.name, "parent": found.parent or "None!!!",
        "facets": list(found.facets), "schemas": [_schema(call, name) for name in found.schemas],
    })  # fmt: skip


def schemas(call: Call) -> Reply:
    """`GET /config/schemas`."""
    return Reply(200, [_schema(call, name) for name in call.server.repository.types.schemas])


def schema(call: Call) -> Reply:
    """`GET /config/schemas/{name}`; 204 for an unknown one."""
    known = call.params["name"] in call.server.repository.types.schemas
    return Reply(200, _schema(call, call.params["name"])) if known else Reply(204)


def facets(call: Call) -> Reply:
    """`GET /config/facets`."""
    return Reply(200, [_facet(call, name) for name in call.server.repository.types.facets])


def facet(call: Call) -> Reply:
    """`GET /config/facets/{name}`; 204 for an unknown one."""
    known = call.params["name"] in call.server.repository.types.facets
    return Reply(200, _facet(call, call.params["name"])) if known else Reply(204)


def _schema(call: Call, name: str) -> Json:
    schema = call.server.repository.types.schemas[name]
    return {
        "entity-type": "schema", "name": name, "prefix": schema.key, "@prefix": schema.key,
        "fields": {field.name: _field(call, field) for field in schema.fields},
    }  # fmt: skip


def _facet(call: Call, name: str) -> Json:
    inside = [_schema(call, each) for each in call.server.repository.types.facets[name]]
    return {"entity-type": "facet", "name": name, **({"schemas": inside} if inside else {})}


def _field(call: Call, field: Json) -> Json:
    arrays = "array_constraints" in call.server.options.plays
    return described(field, with_rules="fields" in call.wanted("fetch.schema", "x.nxfetch.schema"), arrays=arrays)
