"""Creates an asset so that a crash at any moment leaves no second one (wire B 6.8)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from dam_sync.http.interpreting import member_text
from dam_sync.model.asset import AssetId, Draft, Marker, digest_of
from dam_sync.model.audience import Audience
from dam_sync.model.errors import Conflict, DamSyncError, IntegrityError, Rejected, SessionGone
from dam_sync.model.journal import completed
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import INDEX, sleep_for
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.search import LIVE, quoted, select
from dam_sync.services.b_documents.codec import wire
from dam_sync.services.b_documents.codec.forms import (
    TITLE,
    DocumentForm,
    check_groups,
    folder_among,
    form_of,
    state_of,
    unresolved,
)
from dam_sync.services.b_documents.codec.values import lost, tidy
from dam_sync.services.b_documents.target.create_once import NewDocument, again_on_conflict, asset_name
from dam_sync.services.b_documents.target.update import LARGE, DocumentsUpdate, holds
from dam_sync.services.b_documents.uploads.uploader import reference
from dam_sync.transfer.upload_session import was_sent

MOVE = "Document.Move"
SENT = "file"  # the journal entry of the last upload for the create


class DocumentsCreate(DocumentsUpdate):
    """Uploads, creates under the deterministic name, compares, then does what a create cannot."""

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """What can be refused without a call is refused before the first one. A document not meant for everybody is
        created in a closed folder, gets its permissions there, and is moved last."""
        form, folder = await self._form(draft), folder_among(draft.placements)
        state = state_of(draft.status, self.api.options) if draft.status and not self.api.options.status_field else ""
        parent = folder.id if folder else await self.home_folder()
        name = (
            asset_name(draft.marker.value)
            if draft.marker
            else str(await journal.run("name", self._any, idempotent=True))
        )
        limited = draft.closed or bool(draft.rights.groups)
        below = await self.closed_folder() if limited else parent
        new = NewDocument(
            below,
            await self.folder_path(below),
            form.type,
            name,
            form.properties,
            facts.ANSWER_SECONDS if content and content.size > LARGE else None,
        )
        row = await self._made(new, draft.marker, content, journal)
        asset = wire.uid_of(row)
        if lost(form.properties, row.get("properties") or {}):  # made by an earlier try, from another draft
            row = await self.put_checked(asset, form.properties, row)
        await self._finish(asset, row, form, draft, state, journal)
        now = member_text(row, "parentRef")
        if limited and now != parent and (folder is not None or now == below):  # else people moved it
            path = await self.folder_path(parent)
            place = replace(new, parent=parent, parent_path=path)
            await journal.run(
                "move", lambda: self._move_out(asset, place, ours_by(draft.marker, name)), idempotent=True
            )
        return asset

    async def find(self, marker: Marker) -> AssetId | None:
        """By name or by the marker property, from the repository, which is never behind; if that is forbidden,
        the index lag is waited out before None is returned. Safe to repeat."""
        found = await self._find(marker)
        if found is None and self.search.forbidden:
            await sleep_for(self.api.clock, facts.INDEX_SECONDS, INDEX, "target")
            found = await self._find(marker)
        return found

    async def look_for(self, marker: Marker) -> AssetId | None:
        """The same without waiting."""
        return await self._find(marker)

    def audience(self, draft: Draft) -> Audience:
        """Neither states nor dates hide a document (wire B 6.5), and the permissions of a folder are unknown here."""
        if draft.closed:
            user = self.tenant.user.now
            left = {facts.ADMINISTRATORS, *([] if user is None else [user.name])}
            return Audience(hidden="closed", groups=frozenset(left))
        groups = draft.rights.groups
        return Audience(groups=None if not groups or groups & self.api.options.everybody else groups)

    def bare_filename(self, draft: Draft) -> str:
        """The title is what such a document is called."""
        title = draft.fields.get(TITLE)
        return title if isinstance(title, str) else tidy(draft.filename)

    async def _find(self, marker: Marker) -> AssetId | None:
        name, value = asset_name(marker.value), marker.value
        either = f"(ecm:name = {quoted(name)} OR {marker.field} = {quoted(value)})"
        hits = await self.search.page(select(LIVE, either), 10, {"properties": "*"})
        ours = [row for row in hits.rows if ours_by(marker, name)(row)]
        ours.sort(key=wire.is_trashed)
        return wire.uid_of(ours[0]) if ours else None

    async def _form(self, draft: Draft) -> DocumentForm:
        server = await self.tenant.server.get()
        terms = await self.stored_terms(unresolved(draft.fields, server))
        check_groups(draft.rights, self.api.options, await self.refused_groups(draft.rights))
        return form_of(draft, server, self.api.options, terms, (await self.tenant.user.get()).name)

    async def _any(self) -> Json:
        return self.api.clock.token()[: facts.NAME_LETTERS]

    async def _made(self, new: NewDocument, marker: Marker | None, content: Content | None, journal: Journal) -> Json:
        """The document with its file, created now or by an earlier attempt."""
        ours = ours_by(marker, new.name)
        key = str(await journal.run("key", self._token, idempotent=True))
        known = content is not None and await was_sent(content, journal, SENT)
        handle = await self.uploads.send(content, journal) if content else None
        if handle is not None:
            new = replace(new, properties={**new.properties, wire.CONTENT: reference(handle)})
        fresh: list[Json] = []

        async def make() -> Json:
            fresh.append(await self.creates.make(new, key, ours))
            return {"uid": wire.uid_of(fresh[0])}

        try:
            made = await journal.run("create", make, reconcile=lambda: self._lost(new, marker))
        except (Rejected, SessionGone) as error:  # refused, so nothing was made
            await journal.discard("create", "key", "file*")
            self.uploads.refused(handle, error)
            raise
        row = fresh[0] if fresh else await self.api.document(str(made["uid"]))
        if content is not None and handle is not None:
            try:
                if fresh or not (known and _blob_of(row)):  # else it has this file, or somebody's
                    row = await self._with_file(row, content, handle, journal, proven=not fresh)
            except DamSyncError:
                self.uploads.batches.release(handle)
                raise
            await self.uploads.drop(handle)
        return row

    async def _lost(self, new: NewDocument, marker: Marker | None) -> Json:
        """What a create whose response was lost made, also where people moved it; None if there is nothing."""
        row = await self.creates.find(new)
        if row is not None and ours_by(marker, new.name)(row):
            return {"uid": wire.uid_of(row)}
        moved = await self.find(marker) if marker is not None else None
        if moved is None or wire.is_trashed(await self.api.document(moved)):
            return None
        return {"uid": moved}

    async def _with_file(self, row: Json, content: Content, handle: Json, journal: Journal, *, proven: bool) -> Json:
        """The document may silently have been created without its file: then the file is sent again (wire B 6.4). So is
        one that an earlier attempt may have created with an earlier version of the file (proven)."""
        if await holds(_blob_of(row), content, self.api.limits, proven=proven):
            return row
        asset = wire.uid_of(row)
        await journal.discard("file*")
        if _blob_of(row) is None:
            self.uploads.batches.lost(handle)
        again = await self.uploads.send(content, journal, alone=True)
        try:
            return await self.write_file(asset, content, again, row)
        except SessionGone as error:
            await journal.discard("file*")
            text = "the service accepts the upload but stores no file, or another one"
            raise IntegrityError(text, asset=asset, operation=facts.PUT_ID) from error
        finally:
            await self.uploads.drop(again)

    async def _finish(
        self, asset: AssetId, row: Json, form: DocumentForm, draft: Draft, state: str, journal: Journal
    ) -> None:
        """Write dates that a create resets, tags of types without them, rights, then the state."""
        late, groups = form.late, draft.rights.groups
        if late:
            await journal.run("late", lambda: completed(self.put_checked(asset, late, row)), idempotent=True)
        if form.tags:
            await journal.run("tags", lambda: completed(self.tag(asset, form.tags, frozenset())), idempotent=True)
        if draft.closed:
            await journal.run("closed", lambda: completed(self.permissions.close(asset)), idempotent=True)
        elif groups:
            name = f"groups:{digest_of(sorted(groups))}"  # others than an earlier try gave are given first
            await journal.run(name, lambda: completed(self.permissions.give_alone(asset, groups)), idempotent=True)
        if state and state != facts.INITIAL:

            async def arrived() -> Json:
                return True if (await self.api.document(asset)).get("state") == state else None

            now = str(row.get("state") or facts.INITIAL)
            await journal.run("state", lambda: completed(self.follow(asset, now, state)), reconcile=arrived)

    async def _move_out(self, asset: AssetId, place: NewDocument, ours: Callable[[Json], bool]) -> Json:
        """Move it out of the closed folder. If one of ours is already there, from a lost state,
        the new one is deleted: two would be a duplicate. Raises Conflict."""
        params = {"target": place.parent, "name": place.name}

        async def move() -> Json:
            reply = await self.api.operate(MOVE, f"doc:{asset}", params, repeatable=True, asset=asset)
            return wire.document_of(reply.object())

        with suppress(Conflict):
            moved = await again_on_conflict(self.api, move)
            if str(moved.get("path") or place.path).rpartition("/")[2] == place.name:
                return True
        there = await self.creates.find(place)
        if there is not None and wire.uid_of(there) == asset:
            return True
        if there is not None and ours(there):
            await self.creates.delete(asset)
            raise Conflict(
                f"the target already has this asset, as {wire.uid_of(there)}",
                asset=asset,
                operation=facts.OPERATION + MOVE,
                code="already there",
                hint="link it with `adopt JOB`",
            )
        raise self.creates.taken(place)

    async def _token(self) -> Json:
        return self.api.clock.token()


def ours_by(marker: Marker | None, name: str) -> Callable[[Json], bool]:
    """Whether a document is the one of this marker: by the marker property, or by our name if that was changed."""

    def ours(row: Json) -> bool:
        if marker is None:
            return member_text(row, "path").endswith(f"/{name}")
        return str((row.get("properties") or {}).get(marker.field) or "") == marker.value

    return ours


def _blob_of(row: Json) -> Json:
    return (row.get("properties") or {}).get(wire.CONTENT)
