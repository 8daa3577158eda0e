"""Files that service E fetches by a link of the source (wire E 6.2): uploaded by URL, waited for, and given up
where they did not come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dam_sync.aio.polling import poll_until, while_wanted
from dam_sync.http.bounds import READ_SECONDS
from dam_sync.http.client import FormPart, Request
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import AssetId, FileLink, Marker
from dam_sync.model.errors import Conflict, Denied, NotFound, Rejected
from dam_sync.model.journal import note_fact
from dam_sync.model.journal_names import silent
from dam_sync.model.ports import Call, Content, Journal
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.model.waits import FETCHED
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api.client import ProfilesApi
from dam_sync.services.e_profiles.api.trash import to_trash
from dam_sync.services.e_profiles.codec import wire
from dam_sync.services.e_profiles.uploads.uploader import UPLOAD, UploadForm

PULL = "pull"  # the journal entry that names the file whose link an upload was given
PULLED_AT = silent("pulled at")  # when it was given last
GIVEN_UP = "given up"  # that of the asset that got no file by its link, or another one; true where none was made
STATE = (("expand", "status,file_properties,metadata"),)


class LinkRefused(Exception):
    """The service refused an upload by a link, and maybe for the link: it made nothing."""


@dataclass(frozen=True, slots=True)
class Pull:
    """The upload by URL of one new asset. finder: what finds it when the response was lost, for so many seconds."""

    api: ProfilesApi
    marker: Marker | None
    journal: Journal
    finder: Callable[[float], Call | None]

    async def upload(self, form: UploadForm, content: Content) -> AssetId | None:
        """The asset, with a file of the size of the content; None if the bytes have to be sent, and there is no such
        asset any more. Safe to repeat. Raises StillFetching, and Conflict for an asset that is not ours to give up."""
        if await self.journal.get(GIVEN_UP) is None and not await self._fetched(form, content):
            return None
        given_up = await self.journal.get(GIVEN_UP)
        if given_up is None:
            return AssetId(str(await self.journal.get(UPLOAD)))
        if given_up is not True and await self.journal.get(UPLOAD) == given_up:
            await self._discard(AssetId(given_up))
        return None

    async def _fetched(self, form: UploadForm, content: Content) -> bool:
        """Whether the upload was one by a link; what became of it is in the journal."""
        link, begun = content.link if self.api.shows_sizes else None, await self.journal.get(PULL)
        if begun is None and (link is None or await self._is_sent()):
            return False
        before, waited = await self.journal.get(PULLED_AT), await self._waited()
        made = await self._made(form, link, content.size)
        if await self.journal.get(PULLED_AT) != before:
            waited = 0.0
        if made is None:
            await note_fact(self.journal, GIVEN_UP)
        elif link is None or begun not in (None, link.file) or not await self._has_arrived(made, content, waited):
            await note_fact(self.journal, GIVEN_UP, made)
        return True

    async def _is_sent(self) -> bool:
        """Whether an earlier attempt began to send the bytes."""
        return await self.journal.get(UPLOAD) is not None or await self.journal.get("chunks:begin") is not None

    async def _made(self, form: UploadForm, link: FileLink | None, size: int) -> AssetId | None:
        """The asset of the upload; None if the service refused it, so that nothing was made."""
        left = await self._left(size)
        if link is not None:
            await note_fact(self.journal, PULL, link.file)

        async def post() -> Json:
            try:
                return await self._post(form, link, size) if link is not None else None
            except (Rejected, Denied) as error:
                raise LinkRefused from error

        try:
            made = await self.journal.run(UPLOAD, post, reconcile=self.finder(left))
        except LinkRefused:
            made = None
        if made is None:
            await self.journal.discard(UPLOAD)
            return None
        self.api.uploaded(AssetId(made))
        return AssetId(made)

    async def _left(self, size: int) -> float:
        """Seconds for which an upload whose response was lost may still be under way: the service may fetch the file
        before it makes the asset."""
        if await self.journal.get(PULLED_AT) is None:
            return 0.0
        longest = min(self.api.options.fetch_seconds, facts.FETCH_SECONDS + size / facts.FETCH_RATE)
        return max(0.0, longest - await self._waited())

    async def _waited(self) -> float:
        """Seconds since the upload was given a link."""
        sent = await self.journal.get(PULLED_AT)
        return 0.0 if sent is None else (self.api.clock.now() - parse_instant(sent)).total_seconds()

    async def _post(self, form: UploadForm, link: FileLink, size: int) -> AssetId:
        """The call that makes the asset; never repeated blindly."""
        if await self.journal.get(PULLED_AT) is not None:
            await self.journal.discard(PULLED_AT)
        await note_fact(self.journal, PULLED_AT, instant_text(self.api.clock.now()))
        parts = [FormPart("profile", form.profile), FormPart("filename", form.filename)]
        if form.metadata:
            parts.append(FormPart("metadata", form.metadata))
        parts.append(FormPart("url", link.url))
        patience = READ_SECONDS + min(size / facts.FETCH_RATE, self.api.options.fetch_seconds)
        call = Request(facts.UPLOAD, "POST", "/v2/uploads", form=tuple(parts), repeatable=False, timeout=patience)
        sent = await while_wanted(self.api.client.send(call), self.api.keep_waiting)
        return wire.made_id(sent.json())

    async def _has_arrived(self, made: AssetId, content: Content, waited: float) -> bool:
        """Whether the service fetched a file of this size in time. waited: seconds for which earlier attempts did.
        Raises StillFetching if the run is to end soon."""

        async def look() -> Json:
            row = await self._state(made)
            return row if wire.is_complete(row) else None

        waits, most, wanted = facts.PENDING_WAITS, self.api.options.fetch_seconds, self.api.keep_waiting
        seconds = min(most, max(most - waited, facts.LEAST_FETCH_SECONDS))
        row = await poll_until(
            self.api.clock, look, seconds, waits, FETCHED, delay=facts.PROCESSING_SECONDS, look=wanted
        )
        if row is None:
            return False
        size = wire.file_of(row, made).size
        self.api.shows_sizes = size is not None  # of older servers nothing can be compared
        return size == content.size

    async def _discard(self, made: AssetId) -> None:
        """Move the asset of the upload to the trash, and forget the upload. Raises Conflict for an asset that others
        made, and that took the upload for a version (wire E 6.7)."""
        try:
            row = await self._state(made)
        except NotFound:  # somebody deleted it permanently
            row = None
        if row is not None and row.get("deleted_date") is None:
            if self.marker is None or not is_new(row, self.marker):
                raise Conflict(
                    f"the file of {made} was not fetched as announced, and the asset was not created by this job alone",
                    asset=made,
                    operation=facts.UPLOAD,
                    code="not fetched",
                    hint="check its versions there, then `errors JOB --retry` with `policy: {bytes: through_us}`",
                )
            await to_trash(self.api, made)
        await self.journal.discard(UPLOAD)

    async def _state(self, made: AssetId) -> Json:
        request = self.api.reading(facts.ASSET, wire.asset_path(made), STATE, asset=made)
        return (await self.api.send_fresh(request)).object()


@interprets_response
def is_new(row: Json, marker: Marker) -> bool:
    """Whether an asset has our marker and only one file version, so that one upload made it."""
    texts = ((row.get("metadata") or {}).get("fields") or {}).get(marker.field) or ()
    return marker.value in map(str, texts) and not wire.needs_versions(row)
