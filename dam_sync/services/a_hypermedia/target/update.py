"""Changes to a media that exists: fields, labels, folders, status, versions, trash (wire A 6.4 to 6.11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.http.interpreting import interpreting_response, interprets_response, member_text
from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement, digest_of
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import (
    ContractBroken,
    DamSyncError,
    InvalidValue,
    NotFound,
    Rejected,
    SessionGone,
    Unsupported,
)
from dam_sync.model.mistyped import size_of_file
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.write_record import note_version
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import (
    HalRequest,
    as_number,
    made_id,
    resource_of,
)
from dam_sync.services.a_hypermedia.api.hal import link, same_name, tail, wanted_id, whole
from dam_sync.services.a_hypermedia.codec.wire import Status, placed_in
from dam_sync.services.a_hypermedia.codec.writes import Put, Writes, bulk_body, writes_of
from dam_sync.services.a_hypermedia.source.optional_lists import is_gone
from dam_sync.services.a_hypermedia.target.proofs import BULK, SINGLE, first_of_each, kept
from dam_sync.services.a_hypermedia.tenant import HypermediaBase, served_language
from dam_sync.transfer.digests import md5_of

DONE, GONE = 204, 404
MEDIA = "/{mediaId}"
METADATA = "/{mediaId}/metadatas/{metadataId}"
FOLDER_MEDIAS = "/{folderId}/medias"
FOLDER_MEDIA = "/{folderId}/medias/{mediaId}"
LABELS = "/{mediaId}/labels"
LABEL = "/{mediaId}/labels/{labelId}"
VERSIONS = "/{mediaId}/file-versions"
ONE_VERSION = "/{mediaId}/file-versions/{versionId}"
SELECTIONS = "/{userId}/selections"
SELECTED = "/{userId}/selections/{selectionId}/medias"
BULKS = "/{userId}/selections/{selectionId}/bulks"
PUBLISHED, CLOSED = "published", "draft"  # base statuses
WITHIN = {"folder": "/{mediaId}/folders", "label": "/{mediaId}/labels"}
ABSENT = frozenset({GONE})
STATUS, BULK_STATUS, TRASH = "status", "bulk status", "trash"  # forms that are read back on first use
CURRENT = "current version"  # another one


class MediaUpdater(HypermediaBase):
    """Every call may be repeated, except the one that adds a version, which has a journal entry."""

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """Write labels and folders; fields, which become exactly what the patch says in every content language; the
        status.

        No call renames a file (wire A 6.6), so `filename` is not written; a new
        name comes with the next version.
        """
        forms, locales = await self._tenant.forms.get(), await self._tenant.locales.get()
        status = "" if patch.closed else patch.status or ""
        writes = writes_of(patch.fields, forms, locales, status, whole=True)
        await self._status_of(writes)
        if patch.closed:
            await self._hide(asset)
        await self._add_placements(asset, patch.placements_add)
        await self._remove_placements(asset, patch.placements_remove)
        await self._apply(asset, writes)

    async def _hide(self, asset: str) -> None:
        """Hide the media from ordinary users; safe to repeat."""
        await self._apply(asset, Writes(closed=True))

    async def _is_hidden(self, asset: str) -> bool:
        """Whether the status hides a media from ordinary users."""
        media = await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset))
        return member_text(media, "status").lower() != PUBLISHED

    async def _apply(self, asset: str, writes: Writes) -> None:
        """Write the fields, one by one or in bulks; then the status, after everything that a publication requires, and
        with it what only a PUT of the media can write. The status is part of the last bulk (wire A 6.13)."""
        status = await self._status_of(writes)
        writes = await self._selectable(writes)
        rides = writes.bulked and bool(status.id) and not writes.own
        forms = bulk_forms(writes, rides) if writes.bulked else set()
        doubtful = not self._proofs.proven(forms)
        bulked = writes.bulked and await self._in_bulks(asset, writes, status if rides else None, doubtful)
        if not bulked:
            await self._in_puts(asset, writes)
        if not (bulked and rides) and (writes.sets_status or writes.own):
            await self._put_media(asset, writes, status)
        if writes.bulked and not bulked and doubtful:
            self._proofs.no_bulks()

    async def _selectable(self, writes: Writes) -> Writes:
        """The writes, saying whether bulks may be used at present."""
        return replace(writes, selectable=self._proofs.bulk and bool((await self._api.entry.get()).user))

    async def _in_puts(self, asset: str, writes: Writes) -> None:
        """One call for each field; the first use of an undocumented form is read back. Raises Rejected."""
        for put in writes.puts:
            await self._put_field(asset, put)
        lost = await self._not_kept(asset, writes, SINGLE)
        if lost:
            raise Rejected(
                f"field {lost[0].field} was not written: the service accepted the value but does not have it",
                operation=HalRequest("PUT", "medias", METADATA).operation,
                asset=asset,
                code="not-written",
                hint="write this value by hand to see what the field accepts, then change its line in the mapping",
            )

    async def _not_kept(self, asset: str, writes: Writes, way: str) -> list[Put]:
        """The writes in an unproven form that had no effect."""
        firsts = first_of_each(writes.puts, way)
        shown = await gather_or_raise(
            [
                self._proofs.holds(form, partial(self._kept, asset, put), replaceable=way == BULK)
                for form, put in firsts.items()
            ]
        )
        return [put for put, kept in zip(firsts.values(), shown, strict=True) if not kept]

    async def _in_bulks(self, asset: str, writes: Writes, status: Status | None, doubtful: bool) -> bool:
        """Whether the service wrote them. An unproven form is read back, and does not count against the
        asset if it is refused: one call per field then shows which field fails, and does no harm otherwise
        . Raises Rejected if a proven form is refused."""
        try:
            if not await self._send_bulks(asset, writes, status):
                return False
        except (Rejected, ContractBroken):
            if doubtful:
                return False
            raise
        if await self._not_kept(asset, writes, BULK):
            return False
        if status is None:
            return True
        return await self._proofs.holds(BULK_STATUS, partial(self._has_status, asset, status), replaceable=True)

    async def _kept(self, asset: str, put: Put) -> bool:
        request = HalRequest(
            "GET", "medias", METADATA, (asset, put.field), language=put.language, asset=asset, accept=ABSENT
        )
        reply = await self._api.call(request)
        served = served_language(reply.headers)
        elsewhere = bool(put.language and served) and served != put.language  # the media has no value in it (wire A 0)
        empty = reply.status == GONE or elsewhere or not reply.body.strip()
        return kept(put, {} if empty else resource_of(reply), self._tenant.zone)

    async def _has_status(self, asset: str, status: Status) -> bool:
        media = await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset))
        now = tail(link(media, self._api.rels.rel("custom-status")))
        return now == status.id if status.id and now else member_text(media, "status").lower() == status.base

    async def _send_bulks(self, asset: str, writes: Writes, status: Status | None) -> bool:
        """False if the service reports no media as written. A selection may be gone before it expires, and is then
        made again, once (wire A 11.20)."""
        try:
            return await self._send_selected(asset, writes, status)
        except NotFound as error:
            if is_gone(error):
                raise
        return await self._send_selected(asset, writes, status)

    async def _send_selected(self, asset: str, writes: Writes, status: Status | None) -> bool:
        selection = await self._select(asset)
        bulks = writes.bulks()
        for number, (language, puts) in enumerate(bulks, 1):
            body = bulk_body(puts)
            if status is not None and number == len(bulks):
                href = await self._api.href("custom-statuses", "/{id}", status.id)
                body["_links"] = {self._api.rels.rel("custom-status"): {"href": href}}
            if not await self._bulk(asset, selection, body, language):
                return False
        return True

    async def _put_field(self, asset: str, put: Put) -> None:
        """Write one field in one language."""
        ids, body = (asset, put.field), {"value": put.value}
        await self._api.call(
            HalRequest("PUT", "medias", METADATA, ids, json=body, language=put.language, asset=asset, repeatable=True)
        )

    async def _put_media(self, asset: str, writes: Writes, status: Status) -> None:
        """GET, edit, PUT: the whole body is sent, because a part might clear the rest (wire A 14)."""
        reply = await self._api.call(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset))
        body: dict[str, Any] = {**reply.object(), **(writes.own or {})}
        if writes.sets_status:
            with interpreting_response("the links of a media"):
                links = dict(body.get("_links") or {})
            relation = self._api.rels.rel("custom-status")
            links.pop(relation, None)
            if status.id:
                links[relation] = {"href": await self._api.href("custom-statuses", "/{id}", status.id)}
            body |= {"status": status.base.upper(), "_links": links}
        language = served_language(reply.headers)
        await self._api.call(
            HalRequest("PUT", "medias", MEDIA, (asset,), json=body, language=language, asset=asset, repeatable=True)
        )
        if writes.sets_status and not await self._proofs.holds(STATUS, partial(self._has_status, asset, status)):
            raise Rejected(
                f"the status {status.title} was not written: the service accepted it but returns another one",
                operation=HalRequest("PUT", "medias", MEDIA).operation,
                asset=asset,
                code="not-written",
                hint="set this status by hand to see what prevents it, then `errors JOB --retry`",
            )

    async def _status_of(self, writes: Writes) -> Status:
        """The status to write; one without a name if none is. Raises InvalidValue."""
        return status_to_write(writes, await self._tenant.statuses.get() if writes.sets_status else {})

    async def _add_placements(self, asset: str, placements: Iterable[Placement]) -> None:
        """Add labels and folders; safe to repeat."""
        for place in in_order(placements):
            if place.kind == "label":
                body = {"id": as_number(place.id)}
                await self._api.call(
                    HalRequest(
                        "POST",
                        "medias",
                        LABELS,
                        (asset,),
                        json=body,
                        asset=asset,
                        repeatable=True,
                        accept=frozenset({409}),
                    )
                )
            else:
                await self._into_folder(asset, place.id)
            await self._refuse_unplaced(asset, place, inside=True)

    async def _refuse_unplaced(self, asset: str, place: Placement, *, inside: bool) -> None:
        """Raises Rejected if the first membership of its kind, added or removed, had no effect."""

        async def look() -> bool:
            try:
                items = await self._api.listed(
                    HalRequest("GET", "medias", WITHIN[place.kind], (asset,), asset=asset), place.kind
                )
            except NotFound as error:
                if is_gone(error):
                    raise
                return True  # the instance has no such list
            return (place.id in map(wanted_id, items)) is inside

        if not await self._proofs.holds(membership_form(place.kind, inside=inside), look):
            raise Rejected(
                f"the media {'is not in' if inside else 'stays in'} {place.kind} {place.id or place.text}, though the "
                "service accepted the change",
                asset=asset,
                code="not-written",
                hint=f"{'put it there' if inside else 'take it out'} by hand, or `errors JOB --retry` and run again",
            )

    async def _into_folder(self, asset: str, folder: str) -> None:
        """Put an existing media into a folder; safe to repeat."""
        body = {"id": as_number(asset)}
        request = HalRequest("POST", "folders", FOLDER_MEDIAS, (folder,), json=body, asset=asset)
        await self._api.call(replace(request, repeatable=True, accept=frozenset({409})))

    async def _remove_placements(self, asset: str, placements: Iterable[Placement]) -> None:
        """Remove labels and folders; missing ones are ignored."""
        for place in in_order(placements):
            if place.kind == "label":
                await self._taken_out(
                    asset, "label", place.id, HalRequest("DELETE", "medias", LABEL, (asset, place.id))
                )
                await self._refuse_unplaced(asset, place, inside=False)
            else:
                await self._out_of_folder(asset, place.id)

    async def _out_of_folder(self, asset: str, folder: str) -> None:
        """Take a media out of a folder; it stays in the library (wire A 6.7)."""
        await self._taken_out(asset, "folder", folder, HalRequest("DELETE", "folders", FOLDER_MEDIA, (folder, asset)))
        await self._refuse_unplaced(asset, Placement("folder", (), folder), inside=False)

    async def _taken_out(self, asset: str, kind: str, place: str, request: HalRequest) -> None:
        """Sent twice if the first response is not the 204 of the service (wire A 6.7): a proxy on
        the way may have responded. Raises Rejected if it is still in the container although the service denies it."""
        request = replace(request, asset=asset, repeatable=True, accept=frozenset({GONE}))
        reply = await self._api.call(request)
        if reply.status not in (DONE, GONE):
            reply = await self._api.call(request)
        if reply.status != GONE:
            return
        params = (("embeddedFolders", "true"), *await self._api.arrays())
        media = await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), params=params, asset=asset))
        if place in map(wanted_id, placed_in(media, kind)):
            raise Rejected(
                f"the media stays in {kind} {place}, although the service says that it is not in it",
                operation=request.operation,
                asset=asset,
                hint="take it out by hand, or `errors JOB --retry` and run again",
            )

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """A new file version. After a lost response the current file is compared first. Raises SessionGone."""
        name = f"version-{digest_of([asset, content.name, content.size, dict(content.digests)])[:12]}"
        path = await self._uploads.send(content, journal, f"{name}:file")
        refused: list[DamSyncError] = []

        async def add() -> Json:
            body = {"_links": {"from": {"href": self._api.base_url + path}}}
            request = HalRequest("POST", "medias", VERSIONS, (asset,), json=body, asset=asset)
            try:
                made = made_id(await self._api.call(request))
            except (Rejected, SessionGone) as error:
                refused.append(error)
                raise
            note_version(made)
            return {"id": made}

        async def found() -> Json:
            media = await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset))
            return {"id": ""} if holds(media, content, await md5_of(content)) else None

        try:
            await journal.run(name, add, reconcile=found)
        except (Rejected, SessionGone):
            if refused:  # certainly nothing was added, so there is nothing to look for next time
                await journal.discard(name, f"{name}:*")
            raise

    async def restore_version(self, asset: AssetId, version: FileRef) -> None:
        """Makes an older version the current one; the first of a run is read back (wire A 6.8)."""
        number = version.id.partition("/")[2]

        async def is_current() -> bool:
            media = await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset))
            return bool(tail(link(media, "current")) == number)

        request = HalRequest("PUT", "medias", ONE_VERSION, (asset, number), json={"current": True}, asset=asset)
        await self._api.call(replace(request, repeatable=True))
        if not await self._proofs.holds(CURRENT, is_current):
            raise Rejected(
                "the version is not the current one, although the service accepted the request",
                operation=request.operation,
                asset=asset,
                code="not-written",
                hint="make it the current one by hand",
            )

    async def remove(self, asset: AssetId) -> None:
        """Move to the trash. The media is read first, because a second DELETE would purge it (wire A 6.11); if it is
        gone, it is done."""

        async def gone() -> bool:
            return await self._base_status(asset) in ("", "TRASH")

        if await gone():
            return
        await self._api.call(HalRequest("DELETE", "medias", MEDIA, (asset,), asset=asset))
        if not await self._proofs.holds(TRASH, gone):
            raise Rejected(
                "the media is not in the trash, although the service accepted its removal",
                operation=HalRequest("DELETE", "medias", MEDIA).operation,
                asset=asset,
                code="not-written",
                hint="remove it by hand",
            )

    async def restore(self, asset: AssetId, draft: Draft) -> None:
        """Another status takes a media out of the trash (wire A 6.11): that of the draft, and one that hides it if the
        draft has none."""
        now = await self._base_status(asset)
        if not now:
            raise NotFound(f"{asset} is not in the trash any more", asset=asset)
        if now == "TRASH":
            await self._apply(asset, out_of_trash(draft))

    async def _base_status(self, asset: str) -> str:
        """In upper case; empty if there is no such media."""
        reply = await self._api.call(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset, accept=ABSENT))
        return "" if reply.status == GONE else str(reply.object().get("status", "")).upper() or "UNKNOWN"

    async def _select(self, asset: str) -> str:
        """A new selection of one media. A reused one could write to the wrong media if a removal was lost."""
        user = (await self._api.entry.get()).user
        if not user:
            raise Unsupported("the instance does not return the current user, so nothing can be selected", asset=asset)
        request = HalRequest("POST", "users", SELECTIONS, (user,), asset=asset, repeatable=True)
        selection = made_id(await self._api.call(request))
        body = {"id": as_number(asset)}
        await self._api.call(
            HalRequest("POST", "users", SELECTED, (user, selection), json=body, asset=asset, repeatable=True)
        )
        return selection

    async def _bulk(self, asset: str, selection: str, body: Mapping[str, Json], language: str = "") -> bool:
        """REPLACE and CLEAR are idempotent, so a bulk may be repeated. False if no media was updated."""
        ids = ((await self._api.entry.get()).user, selection)
        reply = await self._api.call(
            HalRequest(
                "POST",
                "users",
                BULKS,
                ids,
                json=body,
                language=language,
                asset=asset,
                repeatable=True,
                timeout=facts.BULK_TIMEOUT,
            )
        )
        reported = reply.object() if reply.body.lstrip().startswith(b"{") else {}
        return whole(reported.get("updatedCount")) != 0  # wire A 6.5: assumed, so a response without it is accepted


def bulk_forms(writes: Writes, rides: bool) -> set[str]:
    """The forms in which values are written by bulks; `rides`: includes the status."""
    return {*first_of_each(writes.puts, BULK), *([BULK_STATUS] if rides else [])}


def membership_form(kind: str, *, inside: bool) -> str:
    """The form in which a media is added to or removed from a container of this kind."""
    return f"{kind} {'in' if inside else 'out'}"


def out_of_trash(draft: Draft) -> Writes:
    """The status to write for a media that leaves the trash."""
    return Writes(status=draft.status, closed=draft.closed or not draft.status)


def status_to_write(writes: Writes, statuses: Mapping[str, Status]) -> Status:
    """The status of the writes; one without a name if they have none. Raises InvalidValue."""
    if writes.closed:
        return hidden_status(statuses)
    return chosen_status(writes.status, statuses) if writes.status else Status("", "", "")


def hidden_status(statuses: Mapping[str, Status]) -> Status:
    """A status in which only editors see a media (wire A 2.1)."""
    return _of_base(CLOSED, statuses) or Status("", CLOSED, CLOSED)


def chosen_status(name: str, statuses: Mapping[str, Status]) -> Status:
    """By base status, otherwise by title: a title never makes a media visible against the base status of its
    name. Raises InvalidValue."""
    wanted = name.casefold()
    found = _of_base(wanted, statuses) if wanted in facts.STATUSES else None
    found = found or next((one for one in statuses.values() if one.title.casefold() == wanted), None)
    if found is not None and (wanted not in facts.STATUSES or found.base == wanted):
        return found
    if wanted in facts.STATUSES and wanted != "trash":
        return Status("", name, wanted)
    raise InvalidValue(
        f"the target has no status {name!r}", hint=nearest(name, [status.title for status in statuses.values()])
    )


def _of_base(base: str, statuses: Mapping[str, Status]) -> Status | None:
    """The one with that title, then the plain one, then the lowest id."""
    fitting = [status for status in statuses.values() if status.base == base]
    return min(fitting, key=lambda one: (one.title.casefold() != base, one.custom, one.id.zfill(20)), default=None)


def in_order(placements: Iterable[Placement]) -> list[Placement]:
    """Labels before folders, by id. Raises InvalidValue for a container without an id or of another kind."""
    places = sorted(placements, key=lambda place: (place.kind != "label", place.kind, place.id))
    for place in places:
        if place.kind not in ("folder", "label"):
            raise InvalidValue(f"the target has no containers of kind {place.kind!r}")
        if not place.id:
            raise InvalidValue(f"the {place.kind} {place.text} does not exist in the target", code="no-container")
    return places


@interprets_response
def holds(media: Json, content: Content, md5: str) -> bool:
    """Whether the media's current file is this content: name, size, md5 if it is published (wire A 6.12)."""
    return resembles(media, content.name, content.size, md5)


@interprets_response
def resembles(media: Json, name: str, size: int, md5: str) -> bool:
    """The same for content of which this is known; md5 may be empty."""
    theirs = str((media.get("checkSums") or {}).get("md5") or "").lower()
    same = same_name(media.get("originalFileName"), name) and size_of_file(media.get("fileSize")) == size
    return same and (not theirs or not md5 or theirs == md5)
