"""Selections, bulk changes, bulk jobs, baskets, boards, exports and download requests."""

from __future__ import annotations

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.call import Call
from dam_sync.emulators.a_hypermedia.collections import Basket, Ephemeral
from dam_sync.emulators.a_hypermedia.downloading import zipped
from dam_sync.emulators.a_hypermedia.errors import Refusal, bad, not_found
from dam_sync.emulators.a_hypermedia.finding import listing, medias_page
from dam_sync.emulators.a_hypermedia.hal import embedded
from dam_sync.emulators.a_hypermedia.records import Media, instant
from dam_sync.emulators.a_hypermedia.writing import known_status, made_of
from dam_sync.emulators.kit.environment import Json

_JOB_SLOTS = 7


async def selection_begin(call: Call) -> Response:
    """POST /users/{id}/selections."""
    _own(call)
    made = call.instance.collections.selection(call.user)
    return call.answer(_selection(call, made), 201, location=f"/users/{call.user.id}/selections/{made.id}")


async def selection(call: Call) -> Response:
    """GET /users/{id}/selections/{selection}."""
    return call.answer(_selection(call, _found(call)))


async def selection_medias(call: Call) -> Response:
    """GET /users/{id}/selections/{selection}/medias."""
    found = _found(call)
    path = f"/users/{call.user.id}/selections/{found.id}/medias"
    return medias_page(call, path, _living(call, found))


async def selection_add(call: Call) -> Response:
    """POST …/medias `{"id"}`."""
    found, number = _found(call), await call.item_id()
    call.instance.collections.select(found, call.user, [number])
    return call.answer(None, 201, location=f"/users/{call.user.id}/selections/{found.id}/medias/{number}")


async def selection_collection(call: Call) -> Response:
    """POST and DELETE …/medias-collection `{"ids"}`."""
    found, body = _found(call), await call.body()
    ids = body.get("ids") if isinstance(body, dict) else None
    if call.request.method == "POST":
        call.instance.collections.select(found, call.user, ids)
        return call.answer(_selection(call, found), 201)
    if not isinstance(ids, list):
        raise bad("body-invalid", 'The body must be {"ids": [numbers]}.')
    for number in ids:
        found.medias.pop(number, None)
    return Response(status_code=204)


async def bulk_fields(call: Call) -> Response:
    """GET …/bulks/fields: what can be edited on all selected media."""
    fields = call.instance.collections.shared_fields(_found(call), call.user)
    rows = [call.instance.schema.field(one, f"/sheet-fields/{one.name}") for one in fields]
    links = {"curies": call.instance.writer.curies()}
    return call.answer({"_links": links, **embedded({"field": rows}, call.force), "totalCount": len(rows)})


async def bulk(call: Call) -> Response:
    """POST …/bulks: all or nothing; on some instances nothing, refused or not (nobody shows this body)."""
    found, body, writer = _found(call), await call.body(), call.instance.writer
    plays = call.instance.options.bulk
    if plays.isdigit():
        raise Refusal(int(plays), "bulk-invalid", "The body of the bulk is not understood.")
    if plays == "ignored":
        return call.answer({"type": "UPDATE", "mediaCount": len(found.medias)})
    linked = writer.target(body, writer.rel("custom-status"))
    status = None if linked is None else known_status(call, linked)
    count = call.instance.collections.bulk(found, call.user, body, status, call.write_language)
    counted = {"type": "UPDATE", "mediaCount": count}
    return call.answer(counted if plays == "uncounted" else {**counted, "updatedCount": count})


async def bulk_jobs(call: Call) -> Response:
    """GET /bulk-jobs (4.33.0)."""
    call.needs("4.33.0")
    alive = call.instance.collections.alive("bulk-job")
    links = call.instance.writer.links("/bulk-jobs")
    return call.answer({"availableJobs": _JOB_SLOTS - len(alive), "totalCount": len(alive), "_links": links})


async def bulk_job_begin(call: Call) -> Response:
    """POST /bulk-jobs (4.33.0): 30 to 600 s, 30 if not given."""
    call.needs("4.33.0")
    body = await call.body()
    duration = body.get("duration", 30) if isinstance(body, dict) else 30
    if not isinstance(duration, int) or not 30 <= duration <= 600:  # spec 000, Limits
        raise bad("bulk-job-duration", "A bulk job lasts 30 to 600 seconds.")
    if len(call.instance.collections.alive("bulk-job")) >= _JOB_SLOTS:
        raise Refusal(409, "bulk-job-unavailable", "All bulk jobs are in use.")
    made = call.instance.collections.begin("bulk-job", call.user, duration)
    return call.answer({"id": made.id, "expirationDate": instant(made.expires)}, 201, location=f"/bulk-jobs/{made.id}")


async def baskets(call: Call) -> Response:
    """GET /baskets; all users' with as-admin."""
    every = [one for one in call.instance.collections.baskets.values() if one.kind == "basket"]
    admin = call.flag("as-admin") and call.user.may()
    return listing(call, "/baskets", "basket", [_basket(call, o) for o in every if admin or o.owner == call.user.id])


async def basket_create(call: Call) -> Response:
    """POST /baskets."""
    made = call.instance.collections.new_basket("basket", call.user, await call.body())
    return call.answer(_basket(call, made), 201, location=f"/baskets/{made.id}")


async def basket(call: Call) -> Response:
    """GET, PUT, DELETE /baskets/{id}."""
    found = _basket_of(call, "basket")
    return await _lasting(call, found)


async def basket_medias(call: Call) -> Response:
    """GET /baskets/{id}/medias; POST makes a media in it, or adds one."""
    found = _basket_of(call, "basket")
    if call.request.method == "GET":
        return medias_page(call, f"/baskets/{found.id}/medias", _living(call, found))
    body = await call.body()
    if isinstance(body, dict) and "_links" in body:
        made = await made_of(call, body, "BASKET")
        found.medias[made.id] = None
        return call.answer(None, 201, location=f"/medias/{made.id}")
    number = await call.item_id()
    call.instance.collections.fill(found, call.user, [number], inside=True)
    return call.answer(None, 201, location=f"/baskets/{found.id}/medias/{number}")


async def basket_collection(call: Call) -> Response:
    """POST and DELETE /baskets/{id}/medias-collection: at most 500 a call."""
    found, body = _basket_of(call, "basket"), await call.body()
    inside = call.request.method == "POST"
    ids = body.get("ids") if isinstance(body, dict) else None
    call.instance.collections.fill(found, call.user, ids, inside=inside)
    return call.answer(_basket(call, found), 201) if inside else Response(status_code=204)


async def boards(call: Call) -> Response:
    """GET /boards (4.31.0)."""
    call.needs("4.31.0")
    every = [one for one in call.instance.collections.baskets.values() if one.kind == "board"]
    return listing(call, "/boards", "board", [_basket(call, one) for one in every if one.owner == call.user.id])


async def board_create(call: Call) -> Response:
    """POST /boards (4.95.0)."""
    call.needs("4.95.0")
    made = call.instance.collections.new_basket("board", call.user, await call.body())
    return call.answer(_basket(call, made), 201, location=f"/boards/{made.id}")


async def board(call: Call) -> Response:
    """GET, PUT, DELETE /boards/{id} (4.31.0)."""
    call.needs("4.31.0")
    return await _lasting(call, _basket_of(call, "board"))


async def export(call: Call) -> Response:
    """POST …/exports: 500 above the item limit, when an e-mail is sent instead (spec 000, Errors)."""
    found, body = _found(call), await call.body()
    body = body if isinstance(body, dict) else {}
    if body.get("acceptTermsOfUse") is not True:
        raise bad("terms-of-use-not-accepted", "acceptTermsOfUse must be true.")
    if not body.get("usage") and not call.user.may():
        raise bad("export-usage-missing", "A usage must be given.")
    if len(found.medias) > call.instance.options.export_number_limit:
        raise Refusal(500, "export-too-large", "The export will be sent by e-mail.")
    made = await _packed(call, "export", _living(call, found))
    links = {
        "self": call.instance.writer.link(f"/users/{call.user.id}/exports/{made.id}"),
        "enclosure": made.facts["link"],
    }
    return call.answer({"id": made.id, "_links": links}, 201, location=f"/users/{call.user.id}/exports/{made.id}")


async def export_get(call: Call) -> Response:
    """GET /users/{id}/exports/{export}."""
    _own(call)
    made = call.instance.collections.get("export", call.request.path_params["export"], call.user)
    own = call.instance.writer.link(f"/users/{call.user.id}/exports/{made.id}")
    return call.answer({"id": made.id, "_links": {"self": own, "enclosure": made.facts["link"]}})


async def download_request(call: Call) -> Response:
    """POST /download-requests (4.54.0)."""
    call.needs("4.54.0")
    body = await call.body()
    elements = body.get("elementDownloads") if isinstance(body, dict) else None
    if not isinstance(elements, list) or not elements:
        raise bad("download-request-invalid", "elementDownloads is missing.")
    ids = [number for one in elements for number in one.get("mediaIds") or ()]
    made = await _packed(call, "download-request", [call.instance.library.media(one, call.user) for one in ids])
    made.facts |= {"elements": elements, "ready": call.instance.world.now().timestamp() + 1}
    return call.answer(_request(call, made), 201, location=f"/download-requests/{made.id}")


async def download_request_get(call: Call) -> Response:
    """GET and DELETE /download-requests/{id}."""
    call.needs("4.54.0")
    found = call.instance.collections.get("download-request", call.request.path_params["id"], call.user)
    if call.request.method == "DELETE":
        del call.instance.collections.ephemerals[found.id]
        return Response(status_code=204)
    return call.answer(_request(call, found))


async def _packed(call: Call, kind: str, medias: list[Media]) -> Ephemeral:
    objects = call.instance.objects
    blob = await zipped(call, medias)
    link = {"href": objects.sign(blob, call.instance.options.ephemeral_life, "export.zip", "application/zip")}
    return call.instance.collections.begin(kind, call.user, link=link)


def _request(call: Call, made: Ephemeral) -> dict[str, Json]:
    done = call.instance.world.now().timestamp() >= made.facts["ready"]
    target = {"target": {call.instance.writer.rel("target"): made.facts["link"]["href"]}} if done else {}
    return {
        "id": made.id,
        "expiredDate": instant(made.expires),
        "elementDownloads": made.facts["elements"],
        "status": "SUCCESS" if done else "PROCESSING",
        **target,
    }


async def _lasting(call: Call, found: Basket) -> Response:
    if call.request.method == "DELETE":
        del call.instance.collections.baskets[found.id]
        return Response(status_code=204)
    if call.request.method == "PUT":
        body = await call.body()
        found.title = str(body.get("title") or found.title)
        found.description = str(body.get("description") or "")
        return call.written(_basket(call, found))
    return call.answer(_basket(call, found))


def _own(call: Call) -> None:
    if call.id("user") != call.user.id:
        raise not_found("user")


def _found(call: Call) -> Ephemeral:
    _own(call)
    return call.instance.collections.get("selection", call.request.path_params["selection"], call.user)


def _basket_of(call: Call, kind: str) -> Basket:
    return call.instance.collections.basket(kind, call.id(), call.user, as_admin=call.flag("as-admin"))


def _living(call: Call, group: Ephemeral | Basket) -> list[Media]:
    medias = call.instance.library.medias
    return [medias[number] for number in group.medias if number in medias]


def _selection(call: Call, made: Ephemeral) -> dict[str, Json]:
    own, writer = f"/users/{call.user.id}/selections/{made.id}", call.instance.writer
    parts = ("medias", "media-types", "exports", "terms-of-use", "bulks")
    links = {"self": writer.link(own), **{writer.rel(part): writer.link(f"{own}/{part}") for part in parts}}
    expires = instant(made.expires)
    count = {"mediaCount": len(made.medias)} if call.instance.options.selection_count else {}
    return {"id": made.id, "expirationDate": expires, **count, "_links": links}


def _basket(call: Call, one: Basket) -> dict[str, Json]:
    own = f"/{one.kind}s/{one.id}"
    body = {"id": one.id, "title": one.title, "description": one.description, "mediaCount": len(one.medias)}
    return {**body, "permission": "ADMIN", "_links": call.instance.writer.links(own, medias=f"{own}/medias")}
