"""Uploads the file of an existing record: one PUT, or the presigned parts of a session (wire D 6.2, 6.3)."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from dam_sync.http.client import Request, Response
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.connector import Context
from dam_sync.model.errors import Denied, IntegrityError, InvalidValue, Rejected, SessionGone, Transient
from dam_sync.model.journal import note_fact
from dam_sync.model.journal_names import silent
from dam_sync.model.limits import Part
from dam_sync.model.ports import Content, IsReferenced, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import PROCESSED
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi
from dam_sync.services.d_templates.codec.wire import (
    Record,
    created_ids,
    failed,
    message_of,
    signed_headers,
    upload_links,
)
from dam_sync.services.d_templates.source.versions import VersionGroups
from dam_sync.services.d_templates.tenant import TemplatesPart
from dam_sync.services.d_templates.uploads.urls import CreatedRecord, UploadUrls
from dam_sync.transfer.part_sender import Blocks
from dam_sync.transfer.upload import send_single, send_streamed_parts

WAITED = silent("waited")  # for a file that was sent whole, and in vain


class StoreRefused(Rejected):
    """The storage refused a URL that has not expired; it would refuse that of another record as well."""

    default_hint = (
        "check the clock of this host, and that no proxy changes requests to the storage; then `errors JOB --retry`"
    )

    @classmethod
    def of(cls, error: SessionGone) -> StoreRefused:
        """From the storage's response."""
        return cls(f"the upload was refused twice: {error.message}", operation=error.operation, code=error.code)


@dataclass(slots=True)
class Md5Tracker:
    """Computes the MD5 of what is sent."""

    content: Content
    md5: str = ""

    async def blocks(self) -> AsyncIterator[bytes]:
        """Starts over on each call."""
        tally = hashlib.md5(usedforsecurity=False)
        async for block in self.content.blocks():
            tally.update(block)
            yield block
        self.md5 = tally.hexdigest()


@dataclass(slots=True)
class TemplatesUploader:
    """Uploads files. completes: small files of this instance get an upload id too, as the first upload shows. sized:
    their size is sent with the create, which requests one."""

    api: TemplatesApi
    version_groups: VersionGroups
    urls: UploadUrls
    completes: bool = False
    sized: bool = False

    async def created(self, body: Json, content: Content | None, *, asset: str = "") -> CreatedRecord:
        """Create a record with `POST /asset` and store its upload URLs. Not safe to repeat."""
        size = content.size if content is not None else 0
        reply = await self._created(body, size, asset)
        identity, file, family = created_ids(reply)
        if failed(reply) or not identity or not file:
            raise InvalidValue(
                f"the service created nothing: {message_of(reply)[:200]}", operation=facts.CREATE, asset=asset
            )
        links = upload_links(reply)
        made = CreatedRecord(
            object=identity,
            file=file,
            family=family,
            filename=body["filename"],
            template=body["metadataTemplateId"],
            upload=member_text(reply, "uploadId"),
            parts=len(links),
            size=size,
        )
        if size and not self.api.limits.parts_for(size):
            self.completes = bool(made.upload)
        if content is not None:
            await self.urls.keep(made, links)
        return made

    async def _created(self, body: Json, size: int, asset: str) -> Json:
        """The response to the create. `filesize` requests an upload session; if a small file is refused with it, it is
        sent without, now and from then on (wire D 6.1)."""
        large = self.api.limits.parts_for(size) is not None
        sized = {**body, "filesize": size}
        if not (large or (size and self.sized)):
            return (await self.api.write(facts.CREATE, "", body, asset=asset, again=False)).object()
        try:
            return (await self.api.write(facts.CREATE, "", sized, asset=asset, again=False)).json()
        except InvalidValue:
            if large:
                raise
        reply = (await self.api.write(facts.CREATE, "", body, asset=asset, again=False)).object()
        self.sized = False
        return reply

    async def send(self, made: CreatedRecord, content: Content, journal: Journal) -> None:
        """Upload the file; safe to repeat. If the storage returns the MD5 of a file sent whole (wire D 6.2), that
        proves the upload; otherwise the processed record is checked.

        Raises SessionGone if the upload URLs expired or are lost, StoreRefused if they are valid and the storage
        refuses them, IntegrityError if the service has other bytes.
        """
        large = self.api.limits.parts_for(content.size) is not None
        if await journal.get("processed") is None and not await self._has_file(made, journal):
            await self._forget_lost(made, journal)
            try:
                if made.upload and content.size:
                    await self._in_parts(made, content, journal)
                else:
                    put = partial(self._put_whole, made)
                    sent = await send_single(content, put, journal, ttl=facts.UPLOAD_LIFE)
                    if made.upload:  # a file of no bytes has no parts
                        await self.complete(made, 0, [{"partNumber": 1, "etag": sent["etag"]}])
            except SessionGone:
                await self.urls.drop(made.file, large=large)
                if await self._looked_at(made) is None:  # else it had come to its end, and only we did not know
                    raise
        if made.upload or not _is_whole(await journal.get("file")):
            await journal.run("processed", lambda: self._processed(made, content, journal), idempotent=True)
        await self.urls.drop(made.file, large=large)

    async def _forget_lost(self, made: CreatedRecord, journal: Journal) -> None:
        """A file sent whole that an earlier attempt waited for in vain, and that the storage did not confirm with its
        MD5, may never have arrived: it is sent again."""
        if made.upload or await journal.get(WAITED) is None:
            return
        if not _is_whole(await journal.get("file")) and await self._looked_at(made) is None:
            await journal.discard("file", WAITED)

    async def _has_file(self, made: CreatedRecord, journal: Journal) -> bool:
        """Whether an earlier attempt uploaded the file although its URLs are lost."""
        try:
            await self.urls.find(made.file)
        except SessionGone:
            sent = await journal.get("file") is not None or await journal.get("parts:finish") is not None
            seconds = facts.PROCESS_SECONDS if sent else sum(facts.PROCESS_WAITS[:4])
            ask, waits = (lambda: self._looked_at(made)), facts.PROCESS_WAITS
            return await self.api.until(ask, seconds, waits, PROCESSED) is not None
        return False

    async def _put_whole(self, made: CreatedRecord, content: Content) -> Json:
        link = (await self.urls.find(made.file))[0]
        tally = Md5Tracker(content)
        request = Request(
            facts.UPLOAD,
            "PUT",
            link,
            body=tally.blocks,
            size=content.size,
            headers=signed_headers(link),
            repeatable=True,
            asset=made.family,
            bare=True,
        )
        etag = _etag((await self.put(request)).headers).lower()
        return {"etag": etag, "md5": tally.md5}

    async def put(self, request: Request) -> Response:
        """Send to an upload URL. A refusal that is not an expiry is tried again with the same URL. Raises
        SessionGone for an expired URL, StoreRefused."""
        try:
            return await self.api.client.send(request)
        except SessionGone as error:
            if error.code in facts.ENDED:
                raise
        try:
            return await self.api.client.send(request)
        except SessionGone as error:
            if error.code in facts.ENDED:
                raise
            raise StoreRefused.of(error).within(asset=request.asset) from error

    async def _in_parts(self, made: CreatedRecord, content: Content, journal: Journal) -> None:
        wire = PartWire(self, made, content.size)
        bounds = replace(self.api.limits.parts or facts.BOUNDS, least=1)
        await send_streamed_parts(content, wire, bounds, journal, ttl=facts.UPLOAD_LIFE)

    async def _processed(self, made: CreatedRecord, content: Content, journal: Journal) -> Json:
        """The service's checksum, once the file is processed. Raises Transient, IntegrityError."""
        ask, waits = (lambda: self._looked_at(made)), facts.PROCESS_WAITS
        record = await self.api.until(ask, facts.PROCESS_SECONDS, waits, PROCESSED, first=False)
        if record is None:
            await note_fact(journal, WAITED)
            raise Transient("the service has not processed the file yet", operation=facts.ASSET, asset=made.family)
        wanted = content.digests.get("md5", "")
        if (record.size not in (None, content.size)) or (wanted and record.md5 and record.md5 != wanted):
            got = f"{record.size} bytes, MD5 {record.md5}"
            text = f"{content.size} bytes, MD5 {wanted} were sent but the service has {got}"
            raise IntegrityError(text, operation=facts.ASSET, asset=made.family)
        return {"md5": record.md5}

    async def _looked_at(self, made: CreatedRecord) -> Record | None:
        record = await self.version_groups.record(made.object, asset=made.family)
        return record if record.has_file else None

    async def complete(self, made: CreatedRecord, size: int, receipts: Sequence[Json]) -> None:
        """Complete the session. A refused completion is a success if the file is there (wire D 6.3, 15)."""
        parts = [{"partNumber": one["partNumber"], "etag": one["etag"]} for one in receipts]
        try:
            reply = await self._end(made, "complete", filesize=size, parts=parts)
            if not failed(reply) and _completes(reply, made):
                return
            message = message_of(reply)[:200] or "the response does not name the file"
            refusal = InvalidValue(message, operation=facts.COMPLETE, asset=made.family)
        except InvalidValue as error:
            refusal = error
        ask, waits = (lambda: self._looked_at(made)), facts.PROCESS_WAITS
        if await self.api.until(ask, sum(waits), waits, PROCESSED, first=False) is None:
            text = f"the upload could not be completed: {refusal.message}"
            raise SessionGone(text, operation=facts.COMPLETE, asset=made.family, code=refusal.code)

    async def cancel(self, made: CreatedRecord) -> bool:
        """Discard uploaded parts; returns whether a session was open. Best effort; the record stays."""
        with suppress(Rejected, Denied, Transient):
            if made.upload and await self._looked_at(made) is None:
                return not failed(await self._end(made, "cancel", filesize=made.size, parts=[]))
        return False

    async def give_up(self, made: CreatedRecord) -> None:
        """Cancel the upload and forget its URLs."""
        await self.cancel(made)
        await self.urls.drop(made.file, large=bool(made.upload))

    async def _end(self, made: CreatedRecord, action: str, **more: Json) -> Json:
        body = {
            "fileId": made.file,
            "filename": made.filename,
            "originalFileId": made.family,
            "uploadId": made.upload,
            "action": action,
            **more,
        }
        return (await self.api.write(facts.COMPLETE, "", body, asset=made.family)).json()


@interprets_response
def _completes(reply: Json, made: CreatedRecord) -> bool:
    """Whether a response confirms that the file is complete (wire D 6.3)."""
    return isinstance(reply, dict) and (reply.get("status") == "success" or made.file in reply.values())


@dataclass(frozen=True, slots=True)
class PartWire:
    """The presigned parts of one record, as `PartsWire`; the record already exists, so `begin` creates nothing."""

    uploader: TemplatesUploader
    made: CreatedRecord
    size: int

    async def begin(self, size: int, parts: int) -> Json:
        """The session created with the record. Raises SessionGone if the number of parts differs."""
        if parts != self.made.parts:
            text = f"{size} bytes make {parts} parts, but the service returned {self.made.parts} links"
            raise SessionGone(text, asset=self.made.family)
        return {"file": self.made.file, "upload": self.made.upload}

    async def received(self, ticket: Json) -> Mapping[int, Json]:
        """The API does not list uploaded parts."""
        return {}

    async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
        """Upload a part; sending it again replaces it."""
        link = (await self.uploader.urls.find(self.made.file))[part.number - 1]
        request = Request(
            facts.UPLOAD,
            "PUT",
            link,
            body=body,
            size=part.size,
            headers=signed_headers(link),
            repeatable=True,
            asset=self.made.family,
            bare=True,
        )
        reply = await self.uploader.put(request)
        return {"partNumber": part.number, "etag": _etag(reply.headers)}

    async def finish(self, ticket: Json, receipts: Sequence[Json]) -> Json:
        """Complete the session."""
        await self.uploader.complete(self.made, self.size, receipts)
        return {"file": self.made.file}

    async def abort(self, ticket: Json) -> None:
        """Discard the parts; the record stays."""
        await self.uploader.cancel(self.made)


def _is_whole(sent: Json) -> bool:
    """Whether the storage confirmed a file sent whole with the MD5 of what was sent."""
    handle = sent.get("handle") if isinstance(sent, dict) else None
    return isinstance(handle, dict) and bool(handle.get("etag")) and handle["etag"] == handle.get("md5")


def _etag(headers: Mapping[str, str]) -> str:
    return headers.get("etag", "").strip('"')


class TemplatesUploads(TemplatesPart):
    """Owns the uploader and aborts orphaned uploads."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        sized = self.api.options.small_uploads == "session"
        self.uploader = TemplatesUploader(self.api, self.version_groups, UploadUrls(self.api), sized, sized)

    async def sweep(self, recorded: IsReferenced) -> int:
        """One call per open session; none if nothing is left."""
        return sum([await self.uploader.cancel(made) for made in await self.uploader.urls.sweep(recorded)])
