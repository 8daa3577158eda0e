"""Service E as a target: create, find again, change, add versions, trash."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from dam_sync.aio.polling import poll_until
from dam_sync.http.client import Request, Response
from dam_sync.model.asset import AssetId, Draft, Marker, Patch
from dam_sync.model.audience import Audience
from dam_sync.model.connector import Context
from dam_sync.model.errors import Conflict, InvalidValue, NotFound, Rejected, SafetyStop, SessionGone, Unsupported
from dam_sync.model.exposure_options import ExposureOption
from dam_sync.model.journal import note_fact
from dam_sync.model.journal_names import silent
from dam_sync.model.limits import MIB
from dam_sync.model.ports import Call, Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import INDEX, PROCESSED, sleep_for
from dam_sync.model.write_record import note_version
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api import query
from dam_sync.services.e_profiles.api.refusals import (
    name_taken,
    null_released,
    released_at_once,
    unavailable,
    without_effect,
)
from dam_sync.services.e_profiles.api.trash import STATE, is_trashed, purged, to_trash
from dam_sync.services.e_profiles.codec import security, wire
from dam_sync.services.e_profiles.codec.security import UploadPlan, forms_of_security, has_content
from dam_sync.services.e_profiles.tenant import ProfilesPart
from dam_sync.services.e_profiles.uploads.pull import GIVEN_UP, Pull
from dam_sync.services.e_profiles.uploads.uploader import UPLOAD, ProfilesUploads, UploadForm
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.linked import opened

MEMORY = 64 * MIB  # for parts in flight, where the process has no budget of its own
TAKEN = silent("name taken")
MARKED = (("expand", "metadata,security"),)
FIND_WAITS = (2.0, 4.0, 8.0, 15.0, 30.0)  # between searches for a marker, the last repeated


class ProfilesTarget(ProfilesPart):
    """Creates, finds, changes and removes assets."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.uploads = ProfilesUploads(self.api, context.budget or MemoryBudget(MEMORY))

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """One upload with the metadata in it, then tags, and at last rights that the profile does not give."""
        if content is None:
            raise Unsupported("the service cannot create an asset without a file")
        tenant = await self.tenant.load()
        self._refuse_nameless(draft)
        plan = self.plan(draft)
        if plan is None:
            raise Rejected(
                "no upload profile of its metadata type keeps an asset closed",
                code="not closed",
                hint="create a profile there that does not release automatically, or name one in `closed_profile`",
            )
        if (taken := await journal.get(TAKEN)) and taken["filename"] == draft.filename:
            raise name_taken(taken["asset"])
        form = UploadForm(plan.profile, draft.filename, wire.upload_metadata(draft, tenant))
        unseen = self._unseen_form(draft, plan)
        async with self.proven.first_use(unseen) if unseen else nullcontext():
            made = await self._uploaded(form, content, journal, draft.marker)
            self.api.uploaded(made)
            await journal.run(silent("alone"), lambda: self._judged(made, draft, unseen, journal), idempotent=True)
        if draft.tags:
            await journal.run("tags", lambda: self._tag(made, facts.ADD_TAGS, draft.tags), idempotent=True)
        if plan.body:
            await journal.run("security", lambda: self._put_security(made, plan.body), idempotent=True)
        return made

    async def _uploaded(self, form: UploadForm, content: Content, journal: Journal, marker: Marker | None) -> AssetId:
        """By the link of the source if there is one, and with the bytes where that fails."""
        finder = partial(self._finder, marker, journal)
        pulled = await Pull(self.api, marker, journal, finder).upload(form, content)
        if pulled is not None:
            return pulled
        return await self.uploads.upload(form, await opened(content), journal, finder())

    def _unseen_form(self, draft: Draft, plan: UploadPlan) -> str:
        """The form of an upload that nobody may see before its rights are written; empty for another one."""
        profile = self.tenant.known.profiles.get(plan.profile)
        hides = profile is not None and profile.is_unseen(self.api.clock.now())
        unseen = draft.closed or hides or plan.profile != self._profile(draft)
        return f"{facts.UPLOAD} unseen by {plan.profile}" if unseen else ""

    async def _judged(self, made: AssetId, draft: Draft, unseen: str, journal: Journal) -> Json:
        """True if the upload made an asset, and one that nobody sees where it is to be `unseen`. Raises Conflict if it
        became a version of an asset of others, before anything else of that asset is changed; it is not uploaded under
        this name again. Raises Rejected, after it was hidden, if it was released."""
        try:
            row = await self._if_alone(made, draft)
        except NotFound:
            if not unseen:
                raise
            raise self.proven.harmful(unseen, partial(unavailable, unseen)) from None
        if not row:
            await note_fact(journal, TAKEN, {"filename": draft.filename, "asset": made})
            await journal.discard(UPLOAD, "chunks:*")
            raise name_taken(made)
        if unseen:
            await self._refuse_released(made, row, unseen)
        return True

    async def _if_alone(self, made: AssetId, draft: Draft) -> Json:
        """The row of an upload that made an asset. False or None if it did not: under a name that somebody else took
        since names were listed, or that an asset has which this user cannot see, it becomes a version of theirs, now or
        in a while (wire E 6.7), and an asset without our marker is not ours."""
        request = self.api.reading(facts.ASSET, wire.asset_path(made), MARKED, asset=made)

        async def look() -> Json:
            row = (await self._send(request, made)).object()
            marked = draft.marker is None or draft.marker.value in wire.texts_in(row, draft.marker.field)
            if marked and not wire.needs_versions(row):
                return row
            if len(await self._versions_of(made)) > 1:
                return False
            return row if marked else None

        return await poll_until(self.api.clock, look, facts.TAKEN_SECONDS, facts.PENDING_WAITS, "a new asset")

    async def _refuse_released(self, made: AssetId, row: Json, unseen: str) -> None:
        """Raises Rejected if a new asset that nobody may see is released, or does not show whether it is."""
        now = self.api.clock.now()
        shown = security.is_shown(row, now)
        if shown is None:
            shown = security.is_shown({"security": await self._security_of(made)}, now)
        if shown is False:
            self.proven.prove(unseen)
            return
        await self._send_security(made, {security.RELEASE: None})
        raise self.proven.harmful(unseen, partial(released_at_once, unseen))

    async def _security_of(self, asset: AssetId) -> Json:
        path = wire.asset_path(asset, "security")
        return (await self._send(self.api.reading(facts.GET_SECURITY, path, asset=asset), asset)).json()

    async def _versions_of(self, asset: AssetId) -> list[Json]:
        request = self.api.reading(facts.VERSIONS, wire.asset_path(asset, "versions"), asset=asset)
        return wire.whole_of((await self._send(request, asset)).object())

    def plan(self, draft: Draft) -> UploadPlan | None:
        """How the draft is uploaded, the tenant having been read; None if that cannot be done unseen."""
        now = self.api.client.decision_time()
        return security.plan_of(draft, self._profile(draft), self.tenant.known, self.api.options, now)

    def audience(self, draft: Draft) -> Audience:
        """Judged by the upload profile and the rights of the draft."""
        now = self.api.client.decision_time()
        return security.audience_of(draft, self._profile(draft), self.tenant.known, self.api.options, now)

    def closing_option(self, draft: Draft) -> ExposureOption | None:
        """An asset that exists is hidden without a profile; a new one needs a profile of its type that hides it."""
        now = self.api.client.decision_time()
        return security.closing_option(self._profile(draft), self.tenant.known, self.api.options, now)

    async def find(self, marker: Marker) -> AssetId | None:
        """Looks into the archive too, not into the trash; None only after the index had its time. Safe to repeat."""
        return await self._found(marker, [])

    async def look_for(self, marker: Marker) -> AssetId | None:
        """The same without waiting."""
        return await self._marked(marker, [], None)

    async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
        """The journaled upload, otherwise the asset with the marker; one in the trash if there is no other. One that
        was given up for its file is not completed, so that only `unmarked` finds it, till it is in the trash."""
        made, given_up = await journal.get(UPLOAD), await _not_ours(journal)
        if made is not None and (unmarked or made != given_up):
            return AssetId(str(made))
        trashed: list[AssetId] = []
        found = await self._found(marker, trashed, given_up)
        return found if found is not None or not trashed else trashed[-1]

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """Each part by its own call, naming every member it sends; rights that shut somebody out come before the other
        parts, those that let somebody in after them. Safe to repeat."""
        self.api.just_read.take(asset)  # as it was before: a new version goes by the file name that is written here
        first, last = await self._rights(asset, patch)
        if first:
            await self._put_security(asset, first)
        if patch.fields:
            body = wire.metadata_body(patch.fields, await self.tenant.load())
            await self._put(facts.PUT_METADATA, asset, "metadata", body, tuple(body["fields"]))
        if patch.tags_remove:  # first: one may be added in another case, which the service may take for the same
            await self._tag(asset, facts.REMOVE_TAGS, patch.tags_remove)
        if patch.tags_add:
            await self._tag(asset, facts.ADD_TAGS, patch.tags_add)
        if patch.filename is not None:
            path = wire.asset_path(asset, "filename")
            await self.api.write(facts.PUT_FILENAME, path, {"filename": patch.filename}, asset=asset)
        if last:
            await self._put_security(asset, last)

    async def _rights(self, asset: AssetId, patch: Patch) -> tuple[Json, Json]:
        """What to write of the rights before the other parts, and what after them. A change that does both hides the
        asset in between."""
        now = self.api.client.decision_time()
        body = security.security_of_patch(patch, now)
        if not body or patch.closed is not None or not has_content(patch):
            return (body, {}) if patch.closed or not has_content(patch) else ({}, body)
        path = wire.asset_path(asset, "security")
        before = (await self._send(self.api.reading(facts.GET_SECURITY, path, asset=asset), asset)).object()
        if not security.widens(before, body):
            return body, {}
        if not security.narrows(before, body):
            return {}, body
        release = before.get(security.RELEASE) or security.second_text(now)  # none: an earlier try ended in between
        return {security.RELEASE: None}, {security.RELEASE: release, **body}

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """An upload under the asset's own file name, which the profile's policy makes a version of it."""
        if not self.api.options.versioning:
            raise Unsupported(
                "file versions are not added", asset=asset, hint="set the option version_policy in the job"
            )
        before = await journal.run("before", lambda: self._settled(asset), idempotent=True)

        async def another() -> Json:
            version = wire.version_of(await self._state(asset))
            if version == before["version"]:
                return None
            note_version(version)
            return asset

        async def landed() -> Json:
            return await poll_until(self.api.clock, another, self.api.options.index_lag, FIND_WAITS, "a new version")

        form = UploadForm(before["profile"], before["filename"])
        made = await self.uploads.upload(form, content, journal, landed)
        if made != asset and await another() is None:
            await self._refuse_queued(asset, made, journal)
        if (
            made == asset
            and await poll_until(self.api.clock, another, facts.TAKEN_SECONDS, facts.PENDING_WAITS, "a new version")
            is None
        ):
            raise Rejected(
                f"the new file version is not visible {facts.TAKEN_SECONDS:.0f} seconds after its upload",
                asset=asset,
                operation=facts.UPLOAD,
                code="upload pending",
                hint="check the queue of conflicted uploads and check the conflict policy of the upload profile "
                "against the option version_policy; then `errors JOB --retry`, which uploads nothing again",
            )

    async def _refuse_queued(self, asset: AssetId, made: AssetId, journal: Journal) -> None:
        """An upload in the queue is resolved by a person (wire E 6.7); one that was deleted there is sent again."""
        if (await self._state(made)).get("deleted_date") is not None:
            await journal.discard(UPLOAD, "chunks:*")
            raise SessionGone(f"the upload {made} was discarded", asset=asset, operation=facts.UPLOAD)
        raise Conflict(
            f"the upload became asset {made} instead of a version",
            asset=asset,
            operation=facts.UPLOAD,
            code="not a version",
            hint="check the conflict policy of the upload profile against the option version_policy; then take that "
            "upload as a version or discard it, then `errors JOB --retry`",
        )

    async def remove(self, asset: AssetId) -> None:
        """To the trash; what is gone or there already is left so. Safe to repeat. Raises SafetyStop if the first one of
        a run is gone afterwards."""
        async with self.proven.first_use(facts.TRASH):
            try:
                moved = await to_trash(self.api, asset)
                shown = not moved or await self.proven.holds(facts.TRASH, partial(is_trashed, self.api, asset))
            except SafetyStop:
                raise self.proven.harmful(facts.TRASH, partial(purged, asset)) from None
        if not shown:
            raise without_effect("the asset is not in the trash after its removal", asset, facts.TRASH)

    # -- parts -----------------------------------------------------------------------------------------------------

    def _profile(self, draft: Draft) -> str:
        return draft.profile or self.api.options.upload_profile.get("", "")

    def _refuse_nameless(self, draft: Draft) -> None:
        if not self._profile(draft):
            raise InvalidValue(
                "no upload profile is configured", hint="map `profile`, or set the option upload_profile in the job"
            )

    def _finder(self, marker: Marker | None, journal: Journal, seconds: float = 0.0) -> Call | None:
        """Finds the asset of an upload whose response was lost; it may be under way for so many seconds."""
        if marker is None:
            return None

        async def found() -> Json:
            return await self._found(marker, [], await _not_ours(journal), seconds)

        return found

    async def _found(
        self, marker: Marker, trashed: list[AssetId], given_up: Json = None, seconds: float = 0.0
    ) -> AssetId | None:
        """The asset with the marker outside the trash, once the index had its time; `trashed` gets those in it.
        given_up: one that is on its way there, though the index may not know; seconds: until it is there at the
        latest, if the service fetches it: raises StillFetching then if the run is to end soon."""
        lag, wanted = self.api.options.index_lag + seconds, self.api.keep_waiting if seconds else None
        return await poll_until(
            self.api.clock, lambda: self._marked(marker, trashed, given_up), lag, FIND_WAITS, INDEX, look=wanted
        )

    async def _marked(self, marker: Marker, trashed: list[AssetId], given_up: Json) -> AssetId | None:
        """The one with the marker itself in its field, the oldest first. One in the trash is of an earlier run, or
        people put it there."""
        asked = query.exactly(marker.field, marker.value)
        hits = await self.search.page(asked, expand="metadata")
        ours = [
            row for row in hits.rows if marker.value in wire.texts_in(row, marker.field) and wire.id_of(row) != given_up
        ]
        trashed[:] = [wire.id_of(row) for row in ours if row.get("deleted_date")]
        return next((wire.id_of(row) for row in ours if not row.get("deleted_date")), None)

    async def _settled(self, asset: AssetId) -> Json:
        """Name, version and profile of an asset whose last upload is complete (wire E 6.7). Raises Rejected."""
        age = self.api.age(asset)
        if age is not None and age < facts.PROCESSING_SECONDS:
            await sleep_for(self.api.clock, facts.PROCESSING_SECONDS - age, PROCESSED, "target")

        async def complete() -> Json:
            row = self.api.just_read.take(asset) or await self._state(asset)
            return row if wire.is_complete(row) else None

        row = await poll_until(self.api.clock, complete, facts.PENDING_SECONDS, facts.PENDING_WAITS, PROCESSED)
        if row is None:
            raise Rejected(
                "the last upload is still not complete",
                asset=asset,
                operation=facts.ASSET,
                code="upload pending",
                hint="check the queue of conflicted uploads, resolve it, then `errors JOB --retry`",
            )
        profile = await self._versioning_profile(wire.metadata_type_of(row))
        return {"version": wire.version_of(row), "filename": wire.filename_of(row), "profile": profile}

    async def _versioning_profile(self, kind: str) -> str:
        """The profile to add versions through: the job's for this metadata type, else the first that makes the type."""
        named = self.api.options.upload_profile
        if kind in named or "" in named:
            return named.get(kind) or named[""]
        profiles = (await self.tenant.load()).profiles.values()
        name = next((profile.name for profile in profiles if profile.type == kind), "")
        if not name:
            raise Rejected(f"no upload profile creates assets of type {kind!r}", hint="set the option upload_profile")
        return name

    async def _state(self, asset: AssetId) -> Json:
        request = self.api.reading(facts.ASSET, wire.asset_path(asset), STATE, asset=asset)
        return (await self._send(request, asset)).object()

    async def _send(self, request: Request, asset: AssetId) -> Response:
        """One that was uploaded a moment ago may not be there yet (wire E 6.2)."""
        return await (self.api.send_fresh(request) if self.api.is_recent(asset) else self.api.expanding(request))

    async def _put_security(self, asset: AssetId, body: Json) -> Json:
        forms = forms_of_security(body)
        if facts.HIDING not in forms:
            await self._send_security(asset, body)
        else:
            async with self.proven.first_use(facts.HIDING):
                await self._send_security(asset, body)
                await self._refuse_kept(asset, facts.HIDING)
        if facts.UNEXPIRING in forms:
            await self._refuse_kept(asset, facts.UNEXPIRING)
        return True

    async def _refuse_kept(self, asset: AssetId, form: str) -> None:
        """Raises Rejected if the first date that a run takes away is still there, or is not shown to be away, and
        SafetyStop if an asset without a release date is released."""
        name = security.CLEARED[form]
        expanded = self.api.reading(facts.ASSET, wire.asset_path(asset), (("expand", "security"),), asset=asset)

        async def cleared() -> bool:
            row = (await self._send(expanded, asset)).object()
            shown = security.is_cleared(row.get("security"), name)
            if shown is None:
                shown = security.is_cleared(await self._security_of(asset), name)
            if shown and form == facts.HIDING and row.get("released_and_not_expired") is True:
                await self._send_security(asset, {name: security.second_text(facts.FAR_RELEASE)})
                raise self.proven.harmful(form, null_released)
            return bool(shown)

        if not await self.proven.holds(form, cleared):
            what = f"the asset still has {security.NAMED[name]} after it was removed, or does not show that it has none"
            raise without_effect(what, asset, facts.PUT_SECURITY)

    async def _send_security(self, asset: AssetId, body: Json) -> None:
        await self._put(facts.PUT_SECURITY, asset, "security", body, tuple(body))

    async def _put(self, operation: str, asset: AssetId, part: str, body: Json, named: tuple[str, ...]) -> None:
        request = Request(
            operation,
            "PUT",
            wire.asset_path(asset, part),
            params=(("patch", ",".join(named)),),
            json=body,
            asset=asset,
            repeatable=True,
        )
        await self._send(request, asset)

    async def _tag(self, asset: AssetId, operation: str, tags: frozenset[str]) -> Json:
        await self._send_tags(asset, operation, tags)
        wanted = {tag.casefold().strip() for tag in tags}

        async def changed() -> bool:
            asked = self.api.reading(facts.ASSET, wire.asset_path(asset), (("expand", "tags,metadata"),), asset=asset)
            row = (await self._send(asked, asset)).object()
            if not isinstance(row.get("tags"), list):  # as in a release that shows none (wire E 10)
                return operation == facts.ADD_TAGS and await self._is_found_by(row, wanted)
            now = {str(tag).casefold().strip() for tag in row["tags"]}
            return wanted <= now if operation == facts.ADD_TAGS else not wanted & now

        if not await self.proven.holds(operation, changed):
            what = "the call for tags succeeded but had no effect, or the asset does not show its tags"
            raise without_effect(what, asset, operation)
        return True

    async def _is_found_by(self, row: Json, tags: set[str]) -> bool:
        """Whether a search for one of these tags finds an asset that does not show its tags."""
        own = wire.fields_of(row)
        tagged = next(filter(None, (query.tagged(tag, own) for tag in sorted(tags))), "")
        embed_id = str(row.get("external_id") or "")
        if not tagged or not query.SAFE.fullmatch(embed_id):
            return False
        asked = query.joined(tagged, query.exactly("embedid", embed_id))

        async def found() -> bool | None:
            rows = (await self.search.page(asked, limit=1)).rows
            return True if [wire.id_of(hit) for hit in rows] == [wire.id_of(row)] else None

        return await poll_until(self.api.clock, found, self.api.options.index_lag, FIND_WAITS, INDEX) is True

    async def _send_tags(self, asset: AssetId, operation: str, tags: frozenset[str]) -> None:
        verb = operation.rpartition("/")[2]
        path = wire.asset_path(asset, "tags", verb)
        await self.api.write(operation, path, {"tags": sorted(tags)}, asset=asset)


async def _not_ours(journal: Journal) -> Json:
    """The asset that earlier uploads are not to be completed in: given up for its file, or one of others."""
    taken = await journal.get(TAKEN)
    return taken["asset"] if taken else await journal.get(GIVEN_UP)
