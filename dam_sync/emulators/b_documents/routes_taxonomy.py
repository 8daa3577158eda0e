"""Vocabularies, users and groups (wire B 5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulators.b_documents.calls import Call, Handler, Reply
from dam_sync.emulators.b_documents.directories import Directory
from dam_sync.emulators.b_documents.records import Group, Refusal, User
from dam_sync.emulators.b_documents.search import Paging, envelope
from dam_sync.emulators.kit.environment import Json

_PAGE = 50


def directories(call: Call) -> Reply:
    """`GET /directory`."""
    wanted = call.wanted("types")
    rows = [
        _directory(call, each)
        for each in call.server.repository.directories.listed()
        if not wanted or each.schema in wanted
    ]
    return Reply(200, {"entity-type": "directories", "entries": rows})


def _directory(call: Call, directory: Directory) -> Json:
    more = {"readOnly": directory.read_only} if call.server.options.at_least("2025.4") else {}
    return {
        "entity-type": "directory", "name": directory.name, "schema": directory.schema, "idField": "id",
        "parent": directory.parent or None, **more,
    }  # fmt: skip


def entries(call: Call) -> Reply:
    """`GET /directory/{name}`: 50 a page unless asked otherwise."""
    directory = call.server.repository.directories.get(call.params["name"])
    found = sorted(directory.entries.values(), key=lambda each: (each.get("ordering") or 0, str(each["id"])))
    rows = [_entry(call, directory, each) for each in found]
    return Reply(200, _page(call, "directoryEntries", rows))


def entry(call: Call) -> Reply:
    """`GET /directory/{name}/{id}`."""
    known = call.server.repository.directories
    directory = known.get(call.params["name"])
    return Reply(200, _entry(call, directory, known.entry(directory, call.params["entry"])))


def entry_create(call: Call) -> Reply:
    """`POST /directory/{name}`: 409 for an id that exists, 500 in older releases."""
    known = call.server.repository.directories
    directory, sent = known.get(call.params["name"]), _sent(call)
    if directory.name == "oauth2Clients":
        sent = {**sent, "id": sent.get("clientId")}
        _client(call, sent)
    try:
        made = known.create(directory, sent, call.user)
    except Refusal as refusal:
        if refusal.status == 409 and not call.server.options.at_least("2025.0"):
            raise Refusal(500, refusal.message) from None
        raise
    return Reply(201, _entry(call, directory, made))


def _client(call: Call, sent: Mapping[str, Json]) -> None:
    """An OAuth client is registered as an entry of its directory."""
    redirects = [each.strip() for each in str(sent.get("redirectURIs") or "").split(",") if each.strip()]
    if call.user.administrator and sent.get("clientId") and sent.get("enabled", True):
        call.server.accounts.clients.setdefault(
            str(sent["clientId"]),
            {"secret": sent.get("clientSecret") or "", "redirects": redirects, "auto_grant": sent.get("autoGrant")},
        )


def entry_update(call: Call) -> Reply:
    """`PUT /directory/{name}/{id}`."""
    known = call.server.repository.directories
    directory = known.get(call.params["name"])
    made = known.update(directory, call.params["entry"], _sent(call), call.user)
    return Reply(200, _entry(call, directory, made))


def entry_delete(call: Call) -> Reply:
    """`DELETE /directory/{name}/{id}`."""
    known = call.server.repository.directories
    known.delete(known.get(call.params["name"]), call.params["entry"], call.user)
    return Reply(204)


def _sent(call: Call) -> Mapping[str, Json]:
    properties = call.body.get("properties")
    kind = call.body.get("entity-type")
    if not isinstance(properties, dict) or kind not in ("directoryEntry", None):
        raise Refusal(400, "No properties of a directory entry")
    if kind is None and "lenient_body" not in call.server.options.plays:
        raise Refusal(400, "Json object entity-type property is not the expected one: directoryEntry")
    return properties


def _entry(call: Call, directory: Directory, found: Mapping[str, Json]) -> Json:
    return call.server.writer.directory_entry(directory.name, found, translate=call.view.translate)


# people


def user(call: Call) -> Reply:
    """`GET /user/{id}`."""
    people = call.server.repository.people
    return Reply(200, people.user_json(people.user(call.params["name"])))


def user_create(call: Call) -> Reply:
    """`POST /user`: 409 for one that exists, 400 without a password (2025.0)."""
    people = call.server.repository.people
    _administrator(call)
    given = dict(call.body.get("properties") or {})
    name = str(given.pop("username", "") or call.body.get("id") or "")
    password = str(given.pop("password", "") or "")
    if not name or (not password and call.server.options.at_least("2025.0")):
        raise Refusal(400, "username and password are needed")
    if name in people.users:
        raise Refusal(409, "user already exists")
    groups = list(given.pop("groups", None) or ["members"])
    people.users[name] = User(name, password, groups, given)
    return Reply(201, people.user_json(people.users[name]))


def user_change(call: Call) -> Reply:
    """`PUT /user/{id}`: only what is sent changes."""
    people = call.server.repository.people
    _administrator(call)
    found = people.user(call.params["name"])
    given = {key: value for key, value in (call.body.get("properties") or {}).items() if key != "username"}
    found.password = str(given.pop("password", "") or found.password)
    found.groups = list(given.pop("groups", None) or found.groups)
    found.properties = {**found.properties, **given}
    return Reply(200, people.user_json(found))


def user_remove(call: Call) -> Reply:
    """`DELETE /user/{id}`."""
    people = call.server.repository.people
    _administrator(call)
    del people.users[people.user(call.params["name"]).name]
    return Reply(204)


def user_search(call: Call) -> Reply:
    """`GET /user/search?q=`."""
    people, wanted = call.server.repository.people, call.query.get("q", "").strip("*").lower()
    rows = [people.user_json(each) for name, each in sorted(people.users.items()) if wanted in name.lower()]
    return Reply(200, _page(call, "users", rows))


def group(call: Call) -> Reply:
    """`GET /group/{id}`."""
    people = call.server.repository.people
    members = bool(call.wanted("fetch.group"))
    return Reply(200, people.group_json(people.group(call.params["name"]), members=members))


def group_create(call: Call) -> Reply:
    """`POST /group`."""
    people = call.server.repository.people
    _administrator(call)
    name = str(call.body.get("groupname") or call.body.get("id") or "")
    if name in people.groups or not name:
        raise Refusal(409 if name else 400, "group already exists" if name else "groupname is needed")
    people.groups[name] = Group(name, str(call.body.get("grouplabel") or name))
    return Reply(201, people.group_json(people.groups[name]))


def group_change(call: Call) -> Reply:
    """`PUT /group/{id}`: label and members, where they are sent."""
    people, body = call.server.repository.people, call.body
    _administrator(call)
    found = people.group(call.params["name"])
    found.label = str(body.get("grouplabel") or found.label)
    found.groups = [str(name) for name in body.get("memberGroups", found.groups)]
    if "memberUsers" in body:
        for each in people.users.values():
            kept = [name for name in each.groups if name != found.name]
            each.groups = [*kept, found.name] if each.name in body["memberUsers"] else kept
    return Reply(200, people.group_json(found))


def group_remove(call: Call) -> Reply:
    """`DELETE /group/{id}`."""
    people = call.server.repository.people
    _administrator(call)
    del people.groups[people.group(call.params["name"]).name]
    return Reply(204)


def group_search(call: Call) -> Reply:
    """`GET /group/search?q=`."""
    people, wanted = call.server.repository.people, call.query.get("q", "").strip("*").lower()
    rows = [people.group_json(each) for name, each in sorted(people.groups.items()) if wanted in name.lower()]
    return Reply(200, _page(call, "groups", rows))


def group_users(call: Call) -> Reply:
    """`GET /group/{id}/@users`."""
    people = call.server.repository.people
    name = people.group(call.params["name"]).name
    return Reply(200, _page(call, "users", [people.user_json(u) for u in people.users.values() if name in u.groups]))


def group_groups(call: Call) -> Reply:
    """`GET /group/{id}/@groups`."""
    people = call.server.repository.people
    inside = people.group(call.params["name"]).groups
    return Reply(200, _page(call, "groups", [people.group_json(people.groups[each]) for each in inside]))


def _administrator(call: Call) -> None:
    if not call.user.administrator:
        raise Refusal(403, "Only administrators may do this")


def _page(call: Call, kind: str, rows: list[Json]) -> Json:
    paging, most = Paging.of(call.query, _PAGE), call.server.options.max_page_size
    taken = rows[paging.offset : paging.offset + min(paging.size or most, most)]
    return {"entity-type": kind, **envelope(len(rows), len(taken), paging, most), "entries": taken}


LINES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/directory", directories),
    ("GET", "/directory/{name}", entries),
    ("POST", "/directory/{name}", entry_create),
    ("GET", "/directory/{name}/{entry:path}", entry),
    ("PUT", "/directory/{name}/{entry:path}", entry_update),
    ("DELETE", "/directory/{name}/{entry:path}", entry_delete),
    ("GET", "/user/search", user_search),
    ("GET", "/user/{name}", user),
    ("PUT", "/user/{name}", user_change),
    ("DELETE", "/user/{name}", user_remove),
    ("POST", "/user", user_create),
    ("GET", "/group/search", group_search),
    ("GET", "/group/{name}", group),
    ("PUT", "/group/{name}", group_change),
    ("DELETE", "/group/{name}", group_remove),
    ("POST", "/group", group_create),
    ("GET", "/group/{name}/@users", group_users),
    ("GET", "/group/{name}/@groups", group_groups),
)
