"""Renditions, comments, asynchronous operations, bulk export (wire B 2.7, 3, 4, 6.1)."""

from __future__ import annotations

from dam_sync.emulators.b_documents.bulk import csv_of
from dam_sync.emulators.b_documents.calls import Call, Handler, Reply
from dam_sync.emulators.b_documents.downloads import sent
from dam_sync.emulators.b_documents.enrichers import names_of_renditions
from dam_sync.emulators.b_documents.operations import invoke
from dam_sync.emulators.b_documents.records import FileBlob, Refusal
from dam_sync.emulators.kit.environment import Json


def rendition(call: Call) -> Reply:
    """`@rendition/{name}`: not there until the extraction is done; `sync` waits a minute for it."""
    server, doc, name = call.server, call.document(), call.params["name"]
    if name not in names_of_renditions(server, doc):
        raise Refusal(400 if server.options.at_least("2025.0") else 404, f"Unknown rendition: {name}")
    views = {str(each["title"]).lower(): each["content"] for each in doc.props.get("picture:views") or ()}
    if not server.enrichment.ready(doc):
        if call.query.get("sync") == "true":
            raise Refusal(404, f"The rendition {name} is not ready")
        return Reply(200, media_type="application/octet-stream", headers=((b"content-type", b"image/jpeg;empty=true"),))
    found = views.get(name.lower()) or doc.file
    assert isinstance(found, FileBlob)
    return sent(call, found)


# comments


def comments(call: Call) -> Reply:
    """`GET @comment`."""
    doc = call.document()
    found = call.server.comments.get(doc.uid, [])
    return Reply(200, {"entity-type": "comments", "totalSize": len(found), "entries": found})


def comment(call: Call) -> Reply:
    """`POST @comment`: the author is the caller."""
    doc, body, server = call.document(), call.body, call.server
    made = {
        "entity-type": "comment", "id": server.repository.new_id(), "parentId": doc.uid, "ancestorIds": [doc.uid],
        "author": call.user.name, "text": str(body.get("text") or ""), "creationDate": server.repository.stamp(),
        "modificationDate": None, "permissions": ["Read"],
        **{key: body[key] for key in ("entityId", "origin", "entity") if key in body},
    }  # fmt: skip
    server.comments.setdefault(doc.uid, []).append(made)
    return Reply(201, made)


def comment_external(call: Call) -> Reply:
    """`GET @comment/external/{entityId}`."""
    call.document()
    for found in call.server.comments.values():
        for each in found:
            if each.get("entityId") == call.params["entity"]:
                return Reply(200, each)
    raise Refusal(404, call.params["entity"])


# asynchronous operations


def begin(call: Call) -> Reply:
    """`POST /automation/{operation}/@async`: done at once, returned as if it took its time."""
    server, key = call.server, call.server.repository.new_id()
    due = server.world.now().timestamp() + server.options.bulk_lag
    server.executions[key] = (due, invoke(call))
    where = f"{server.base()}/api/v1/automation/{call.params['operation']}/@async/{key}/status"
    return Reply(202, headers=((b"location", where.encode()),))


def status(call: Call) -> Reply:
    """`RUNNING`, then a redirect to the result."""
    due, _ = _execution(call)
    if call.server.world.now().timestamp() < due:
        return Reply(200, body=b'"RUNNING"', media_type="text/plain")
    where = f"{call.server.base()}/api/v1/automation/{call.params['operation']}/@async/{call.params['key']}"
    return Reply(303, headers=((b"location", where.encode()),))


def result(call: Call) -> Reply:
    """What the operation gave."""
    return _execution(call)[1]


def _execution(call: Call) -> tuple[float, Reply]:
    found = call.server.executions.get(call.params["key"])
    if found is None:
        raise Refusal(404, call.params["key"])
    due, reply = found
    assert isinstance(reply, Reply)
    return due, reply


# bulk export


def export(call: Call) -> Reply:
    """`POST /search/bulk/{action}`: 202 and a status; only `csvExport` is open to everybody."""
    server, action = call.server, call.params["action"]
    if action not in ("csvExport", "setProperties", "automation"):
        raise Refusal(400, f"Action '{action}' not found")
    if action != "csvExport":
        raise Refusal(403, f"Action '{action}' denied")
    query = server.search.parsed(call.query.get("query") or "SELECT * FROM Document", call.pairs)
    most = min(int(call.query.get("queryLimit") or server.options.export_most), server.options.export_most)
    found = server.search.hits(query, call.user, indexed=False)[:most]
    key = server.repository.new_id()
    server.commands[key] = {
        "at": server.world.now().timestamp(), "user": call.user.name, "submitted": server.repository.stamp(),
        "uids": [doc.uid for doc in found], "body": dict(call.body), "aborted": False, "given": False,
    }  # fmt: skip
    return Reply(202, _status(call, key))


def export_status(call: Call) -> Reply:
    """`GET /bulk/{id}` for its owner or an administrator."""
    _command(call)
    return Reply(200, _status(call, call.params["key"]))


def abort(call: Call) -> Reply:
    """`PUT /bulk/{id}/abort`."""
    _command(call)["aborted"] = True
    return Reply(200, _status(call, call.params["key"]))


def big_blob(call: Call) -> Reply:
    """`GET /nxbigblob/{key}`: once, when it is there."""
    command = _command(call)
    if command["given"] or command["aborted"]:
        raise Refusal(404, call.params["key"])
    if _state(call, command) != "COMPLETED":
        return Reply(202)
    command["given"] = True
    docs = [call.server.repository.docs[uid] for uid in command["uids"] if uid in call.server.repository.docs]
    text = csv_of(call.server.repository, docs, command["body"])
    return Reply(200, body=text.encode(), media_type="text/csv;charset=utf-8")


def _command(call: Call) -> dict[str, Json]:
    found = call.server.commands.get(call.params["key"])
    if found is None or (found["user"] != call.user.name and not call.user.administrator):
        raise Refusal(404, call.params["key"])
    return found


def _state(call: Call, command: dict[str, Json]) -> str:
    if command["aborted"]:
        return "ABORTED"
    part = (call.server.world.now().timestamp() - command["at"]) / max(call.server.options.bulk_lag, 0.001)
    steps = ("SCHEDULED", "SCROLLING_RUNNING", "RUNNING")
    return "COMPLETED" if part >= 1 else steps[max(0, min(2, int(part * 3)))]


def _status(call: Call, key: str) -> Json:
    command = call.server.commands[key]
    state, total = _state(call, command), len(command["uids"])
    done = state == "COMPLETED"
    made = {
        "entity-type": "bulkStatus", "commandId": key, "state": state, "processed": total if done else 0,
        "skipCount": 0, "error": False, "errorCount": 0, "total": total if state != "SCHEDULED" else 0,
        "action": "bulk/csvExport", "username": command["user"], "submitted": command["submitted"],
        "scrollStart": None, "scrollEnd": None, "processingStart": None, "processingEnd": None,
        "completed": call.server.repository.stamp() if done else None, "processingMillis": 0,
    }  # fmt: skip
    return {**made, "result": {"url": f"nxbigblob/{key}"}} if done else made


API: tuple[tuple[str, str, Handler], ...] = (
    ("POST", "/automation/{operation}/@async", begin),
    ("GET", "/automation/{operation}/@async/{key}/status", status),
    ("GET", "/automation/{operation}/@async/{key}", result),
    ("POST", "/search/bulk/{action}", export),
    ("POST", "/search/lang/NXQL/bulk/{action}", export),
    ("GET", "/bulk/{key}", export_status),
    ("GET", "/management/bulk/{key}", export_status),
    ("PUT", "/bulk/{key}/abort", abort),
)
DOCUMENT: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/@rendition/{name}", rendition),
    ("GET", "/@comment", comments),
    ("POST", "/@comment", comment),
    ("GET", "/@comment/external/{entity}", comment_external),
)
