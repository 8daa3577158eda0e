"""Changes to a media that exists: fields, labels, folders, status, versions, trash (wire A 6.4 to 6.11)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.http.interpreting import interpreting_response, interprets_response, member_text
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, digest_of
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
from dam_sync.services.a_hypermedia.codec.wire import Status
from dam_sync.services.a_hypermedia.codec.writes import Put, Writes, bulk_body, writes_of
from dam_sync.services.a_hypermedia.source.optional_lists import is_gone
from dam_sync.services.a_hypermedia.target.members import GONE, MEDIA, MediaMembers
from dam_sync.services.a_hypermedia.target.proofs import BULK, SINGLE, first_of_each, kept
from dam_sync.services.a_hypermedia.target.stops import properties_reset, purged, several_updated, versions_gone
from dam_sync.services.a_hypermedia.tenant import served_language
from dam_sync.transfer.digests import md5_of

METADATA = "/{mediaId}/metadatas/{metadataId}"
VERSIONS = "/{mediaId}/file-versions"
ONE_VERSION = "/{mediaId}/file-versions/{versionId}"
SELECTIONS = "/{userId}/selections"
SELECTED = "/{userId}/selections/{selectionId}/medias"
BULKS = "/{userId}/selections/{selectionId}/bulks"
PUBLISHED, CLOSED = "published", "draft"  # base statuses
ABSENT = frozenset({GONE})
STATUS, BULK_STATUS, TRASH = "status", "bulk status", "trash"  # forms that are read back on first use
CURRENT = "current version"  # another one
ALONE = "selection of one media"
KEPT = "kept by a PUT"  # properties that the PUT of a media does not change
PROPERTIES = ("annotation", "pointOfInterest")  # wire A 6.6: writable there, and changed by nobody but people
UNSET = (None, "", "NONE")
UNKNOWN = "UNKNOWN"  # status of a media that shows none


class MediaUpdater(MediaMembers):
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
        """Whether the media shows a status that hides it from ordinary users; one that shows none may be seen."""
        status = await self._base_status(asset)
        return status not in ("", UNKNOWN, PUBLISHED.upper())

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
        return self._shows_status(
            await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset)), status
        )

    def _shows_status(self, media: Json, status: Status) -> bool:
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
        if not selection:
            self._proofs.no_bulks("a new selection holds media of others")
            return False
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
        keep = {
            name: body[name] for name in PROPERTIES if body.get(name) not in UNSET and name not in (writes.own or {})
        }
        if writes.sets_status:
            with interpreting_response("the links of a media"):
                links = dict(body.get("_links") or {})
            relation = self._api.rels.rel("custom-status")
            links.pop(relation, None)
            if status.id:
                links[relation] = {"href": await self._api.href("custom-statuses", "/{id}", status.id)}
            body |= {"status": status.base.upper(), "_links": links}
        language = served_language(reply.headers)
        request = HalRequest(
            "PUT", "medias", MEDIA, (asset,), json=body, language=language, asset=asset, repeatable=True
        )
        async with self._proofs.first_use(KEPT) if keep else nullcontext():
            shown = await self._api.json(request)
            if keep and all(shown.get(name) == value for name, value in keep.items()):
                self._proofs.prove(KEPT)
            written = await self._is_written(request, status if writes.sets_status else None, keep)
        if not written:
            raise Rejected(
                f"the status {status.title} was not written: the service accepted it but returns another one",
                operation=HalRequest("PUT", "medias", MEDIA).operation,
                asset=asset,
                code="not-written",
                hint="set this status by hand to see what prevents it, then `errors JOB --retry`",
            )

    async def _is_written(self, put: HalRequest, status: Status | None, keep: Mapping[str, Json]) -> bool:
        """Whether a PUT of the media wrote this status, and left alone what it was to keep: read back where either was
        not seen before. Raises SafetyStop if it reset a property."""

        async def look() -> bool:
            media = await self._api.json(HalRequest("GET", "medias", MEDIA, put.ids, asset=put.asset))
            if lost := [name for name, value in keep.items() if media.get(name) != value]:
                raise self._proofs.harmful(KEPT, partial(properties_reset, put.asset, put.operation, lost))
            return status is None or self._shows_status(media, status)

        if keep and not self._proofs.proven([KEPT]):
            if not await self._proofs.holds(KEPT, look):
                return False
            if status is not None:
                self._proofs.prove(STATUS)
        return status is None or await self._proofs.holds(STATUS, look)

    async def _status_of(self, writes: Writes) -> Status:
        """The status to write; one without a name if none is. Raises InvalidValue."""
        return status_to_write(writes, await self._tenant.statuses.get() if writes.sets_status else {})

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

        try:
            await journal.run(name, add, reconcile=lambda: self._found_version(asset, content, journal))
        except (Rejected, SessionGone):
            if refused:  # certainly nothing was added, so there is nothing to look for next time
                await journal.discard(name, f"{name}:*")
            raise

    async def _found_version(self, asset: str, content: Content, journal: Journal) -> Json:
        """The new version, if it arrived."""
        if equal := int(await journal.get(journal_names.EQUAL_BEFORE) or 0):
            return await self._one_more(asset, content, equal)
        media = await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset))
        if not holds(media, content, await md5_of(content)):
            return None
        if not shows_digest(media):
            await self._refuse_doubtful(asset, content)
        return {"id": ""}

    async def _one_more(self, asset: str, content: Content, equal: int) -> Json:
        """The same after versions with the same file: one more of the newest has it than before."""
        rows, md5 = await self._version_rows(asset), await md5_of(content)
        newest = sorted(rows, key=lambda row: whole(row.get("versionNumber")) or 0, reverse=True)
        there = sum(1 for _ in takewhile(lambda row: resembles(row, content.name, content.size, md5), newest))
        return {"id": ""} if there > equal else None

    async def _refuse_doubtful(self, asset: str, content: Content) -> None:
        """Raises Rejected if a file of this name and size may be the one of before, for the media shows no digest."""
        rows = await self._version_rows(asset)
        older = sorted(rows, key=lambda row: whole(row.get("versionNumber")) or 0)[-2:-1]
        if older and not resembles(older[0], content.name, content.size, ""):
            return
        raise Rejected(
            "the response about a new version was lost, and the media shows no digest of its file, which has the name "
            "and the size of the one before: whether it arrived is unknown",
            operation=HalRequest("POST", "medias", VERSIONS).operation,
            asset=asset,
            code="version unknown",
            hint="compare the file there by hand, and upload the new one if it is not there",
        )

    async def restore_version(self, asset: AssetId, version: FileRef) -> None:
        """Makes an older version the current one; of the first of a run the versions are read before and after (wire A
        6.8). Raises SafetyStop if any of them is gone then."""
        number = version.id.partition("/")[2]

        async def is_current() -> bool:
            now = await self._versions(asset)
            if gone := before - now.keys():
                raise self._proofs.harmful(CURRENT, partial(versions_gone, asset, request.operation, len(gone)))
            return now.get(number, False)

        request = HalRequest("PUT", "medias", ONE_VERSION, (asset, number), json={"current": True}, asset=asset)
        async with self._proofs.first_use(CURRENT):
            before = set[str]() if self._proofs.proven([CURRENT]) else set(await self._versions(asset))
            await self._api.call(replace(request, repeatable=True))
            shown = await self._proofs.holds(CURRENT, is_current)
        if not shown:
            raise Rejected(
                "the version is not the current one, although the service accepted the request",
                operation=request.operation,
                asset=asset,
                code="not-written",
                hint="make it the current one by hand",
            )

    async def _versions(self, asset: str) -> dict[str, bool]:
        """The ids of all versions, and which one says that it is the current one."""
        return {wanted_id(row): row.get("current") is True for row in await self._version_rows(asset)}

    async def _version_rows(self, asset: str) -> list[Json]:
        return await self._api.listed(HalRequest("GET", "medias", VERSIONS, (asset,), asset=asset), "file-version")

    async def remove(self, asset: AssetId) -> None:
        """Move to the trash. The media is read first, because a second DELETE would purge it (wire A 6.11); if it is
        gone, it is done. Raises SafetyStop if the first one of a run cannot be read afterwards."""

        async def trashed() -> bool:
            status = await self._base_status(asset)
            if not status:
                raise self._proofs.harmful(TRASH, partial(purged, asset, request.operation))
            return status == "TRASH"

        request = HalRequest("DELETE", "medias", MEDIA, (asset,), asset=asset)
        if await self._base_status(asset) in ("", "TRASH"):
            return
        async with self._proofs.first_use(TRASH):
            await self._api.call(request)
            shown = await self._proofs.holds(TRASH, trashed)
        if not shown:
            raise Rejected(
                "the media is not in the trash, although the service accepted its removal",
                operation=request.operation,
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
        """In upper case; empty if there is no such media, UNKNOWN if it shows none."""
        reply = await self._api.call(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset, accept=ABSENT))
        return "" if reply.status == GONE else member_text(reply.object(), "status").upper() or UNKNOWN

    async def _select(self, asset: str) -> str:
        """A new selection of one media; empty if it holds others, too, which a bulk would write to. A reused one could
        write to the wrong media if a removal was lost."""
        user = (await self._api.entry.get()).user
        if not user:
            raise Unsupported("the instance does not return the current user, so nothing can be selected", asset=asset)
        request = HalRequest("POST", "users", SELECTIONS, (user,), asset=asset, repeatable=True)
        reply = await self._api.call(request)
        selection = made_id(reply)
        count = whole(reply.object().get("mediaCount")) if reply.body.strip() else None
        if count:
            return ""
        chosen = HalRequest("POST", "users", SELECTED, (user, selection), asset=asset, repeatable=True)
        await self._api.call(replace(chosen, json={"id": as_number(asset)}))

        async def alone() -> bool:
            members = HalRequest("GET", "users", SELECTED, (user, selection), [("fields", "id")], asset=asset)
            return [wanted_id(row) for row in await self._api.listed(members, "media")] == [asset]

        known = await self._proofs.holds(ALONE, alone, patient=False) if count is not None else await alone()
        if known:
            self._proofs.prove(ALONE)
        return selection if known else ""

    async def _bulk(self, asset: str, selection: str, body: Mapping[str, Json], language: str = "") -> bool:
        """REPLACE and CLEAR are idempotent, so a bulk may be repeated. False if no media was updated. Raises SafetyStop
        if it was several."""
        ids = ((await self._api.entry.get()).user, selection)
        request = HalRequest("POST", "users", BULKS, ids, json=body, language=language, asset=asset, repeatable=True)
        reply = await self._api.call(replace(request, timeout=facts.BULK_TIMEOUT))
        reported = reply.object() if reply.body.lstrip().startswith(b"{") else {}
        counts = [whole(reported.get(name)) for name in ("mediaCount", "updatedCount")]  # wire A 6.5: assumed
        if any(count is not None and count > 1 for count in counts):
            raise several_updated(asset, request.operation, max(filter(None, counts)))
        return 0 not in counts  # a response without them is accepted: what it wrote is read back


def bulk_forms(writes: Writes, rides: bool) -> set[str]:
    """The forms in which values are written by bulks; `rides`: includes the status."""
    return {ALONE, *first_of_each(writes.puts, BULK), *([BULK_STATUS] if rides else [])}


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


@interprets_response
def holds(media: Json, content: Content, md5: str) -> bool:
    """Whether the media's current file is this content: name, size, md5 if it is published (wire A 6.12)."""
    return resembles(media, content.name, content.size, md5)


@interprets_response
def shows_digest(media: Json) -> bool:
    """Whether the media shows the digest of its file."""
    return bool((media.get("checkSums") or {}).get("md5"))


@interprets_response
def resembles(media: Json, name: str, size: int, md5: str) -> bool:
    """The same for content of which this is known; md5 may be empty."""
    theirs = str((media.get("checkSums") or {}).get("md5") or "").lower()
    same = same_name(media.get("originalFileName"), name) and size_of_file(media.get("fileSize")) == size
    return same and (not theirs or not md5 or theirs == md5)
