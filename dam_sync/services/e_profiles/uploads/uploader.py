"""Uploads of service E: one form, or chunks of a session and then a form that names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dam_sync.http.client import FormPart, Request
from dam_sync.http.interpreting import interprets_response
from dam_sync.http.retry import patient
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import (
    ContractBroken,
    DamSyncError,
    InvalidValue,
    NotFound,
    SessionGone,
    TooLarge,
    Transient,
    Unsupported,
)
from dam_sync.model.journal import note_fact
from dam_sync.model.limits import Part
from dam_sync.model.ports import Budget, Call, Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api.client import ProfilesApi
from dam_sync.services.e_profiles.codec import wire
from dam_sync.transfer.checked import CheckedContent
from dam_sync.transfer.part_sender import Blocks
from dam_sync.transfer.upload import send_parts

BINARY = "application/octet-stream"
SENT_AGAIN = "sent anew"  # name of the journal entry
UPLOAD = "upload"  # that of the upload that makes an asset, or a version


@dataclass(frozen=True, slots=True)
class UploadForm:
    """What goes with the bytes: the profile's name, the file name, the metadata as JSON text (empty: none)."""

    profile: str
    filename: str
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class SentChunks:
    """A file that `send_parts` sent, and checked before it ended the session. handle: its `file_id` and its session."""

    handle: Json


@dataclass(slots=True)
class ProfilesUploads:
    """Sends files; an account without chunks is found out once."""

    api: ProfilesApi
    budget: Budget
    without_chunks: bool = False

    async def upload(self, form: UploadForm, content: Content, journal: Journal, found: Call | None) -> AssetId:
        """The asset the upload made, or gave a version. `found` finds it when the response was lost. Raises
        SessionGone when the chunks expired before they were used; a repetition sends them again."""
        refuse_larger(content, facts.LARGEST_BYTES)
        file = await self._in_chunks(content, journal) or await self._for_form(content)

        async def post() -> Json:
            try:
                return await self._post(form, file)
            except (InvalidValue, NotFound) as refusal:
                if isinstance(file, CheckedContent) or not await ProfilesChunks(self.api).has_ended(file.handle):
                    raise
                message = f"the chunks expired before they were used: {refusal.message}"
                raise SessionGone(message, operation=facts.UPLOAD) from refusal

        try:
            made = AssetId(await journal.run(UPLOAD, post, reconcile=found))
        except SessionGone as gone:  # refused, so nothing was made
            await self._start_over(gone, journal)
            raise
        self.api.uploaded(made)
        return made

    async def _start_over(self, gone: SessionGone, journal: Journal) -> None:
        """Discards what was sent, once; when chunks sent again are refused too, expiry was not the reason, and the
        refusal itself is raised."""
        was_sent_again = await journal.get(SENT_AGAIN)
        await journal.discard(UPLOAD, "chunks:*", SENT_AGAIN)
        if was_sent_again and isinstance(gone.__cause__, InvalidValue | NotFound):
            raise gone.__cause__
        await note_fact(journal, SENT_AGAIN)

    async def _in_chunks(self, content: Content, journal: Journal) -> SentChunks | None:
        """A large file that was sent, and checked; None for one that travels inside the form."""
        bounds = self.api.limits.parts_for(content.size)
        if bounds is None or self.without_chunks:
            return None
        try:
            chunks = ProfilesChunks(self.api)
            return SentChunks(
                await send_parts(content, chunks, bounds, journal, self.budget, "chunks", ttl=facts.FILE_LIFE)
            )
        except Unsupported as error:
            if error.operation != facts.CHUNK_START:
                raise
            self.without_chunks = True
            return None

    async def _for_form(self, content: Content) -> CheckedContent:
        refuse_larger(content, min(facts.FORM_BYTES, self.api.limits.largest_bytes or facts.FORM_BYTES))
        return await CheckedContent.of(content)

    async def _post(self, form: UploadForm, file: SentChunks | CheckedContent) -> AssetId:
        """The call that makes the asset; never repeated blindly."""
        parts = [FormPart("profile", form.profile), FormPart("filename", form.filename)]
        if form.metadata:
            parts.append(FormPart("metadata", form.metadata))
        if isinstance(file, CheckedContent):
            parts.append(FormPart("file", file.content.blocks, form.filename, BINARY, file.content.size))
        else:
            parts.append(FormPart("file_id", str(file.handle["file_id"])))
        request = Request(facts.UPLOAD, "POST", "/v2/uploads", form=tuple(parts), repeatable=False)
        return wire.made_id((await self.api.client.send(request)).json())


def refuse_larger(content: Content, most: int) -> None:
    """Raises TooLarge before a byte is read that nobody will take."""
    if content.size > most:
        raise TooLarge(
            f"{content.name} has {content.size:,} bytes, but at most {most:,} can be sent",
            operation=facts.UPLOAD,
            hint=facts.CHUNKS_NEEDED if most <= facts.FORM_BYTES else "",
        )


@dataclass(frozen=True, slots=True)
class ProfilesChunks:
    """The chunk session of wire E 6.3, as `PartsWire`."""

    api: ProfilesApi

    async def begin(self, size: int, parts: int) -> Json:
        """A session, good for SESSION_LIFE."""
        request = Request(facts.CHUNK_START, "POST", "/v2/uploads/chunks/start", repeatable=True)
        reply = (await self.api.client.send(request)).json()
        return {"session_id": _member(reply, "session_id", facts.CHUNK_START)}

    async def received(self, ticket: Json) -> Mapping[int, Json]:
        """Tags of the chunks the service holds; {} where it does not say."""
        request = Request(facts.CHUNK_STATUS, "POST", "/v2/uploads/chunks/status", json=ticket, repeatable=True)
        try:
            reply = (await self.api.client.send(request)).json()
            return {int(row["chunk_number"]): _receipt(row) for row in reply["chunks"]}
        except (DamSyncError, KeyError, TypeError, ValueError):
            return {}

    async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
        """The chunk's tag. After a lost response the service is asked what it holds, so that no chunk that arrived
        is sent again; sending it again would replace it. Raises Transient if it keeps failing."""
        for pause in facts.CHUNK_PAUSES:
            try:
                return await self._sent(ticket, part, body)
            except (Transient, ContractBroken) as error:
                if (receipt := (await self.received(ticket)).get(part.number)) is not None:
                    return receipt
                await sleep_for(self.api.clock, patient(error, pause), AGAIN, "target")
        return await self._sent(ticket, part, body)

    async def _sent(self, ticket: Json, part: Part, body: Blocks) -> Json:
        form = (
            FormPart("session_id", ticket["session_id"]),
            FormPart("chunk_number", str(part.number)),
            FormPart("file", body, "chunk", BINARY, part.size),
        )
        request = Request(facts.CHUNK_PUT, "POST", "/v2/uploads/chunks/upload", form=form, repeatable=False)
        reply = (await self.api.client.send(request)).json()
        return {"chunk_number": part.number, "tag": _member(reply, "tag", facts.CHUNK_PUT)}

    async def finish(self, ticket: Json, receipts: Sequence[Json]) -> Json:
        """The `file_id`, and the session with which it ends."""
        body = {**ticket, "tags": [receipt["tag"] for receipt in receipts]}
        request = Request(facts.CHUNK_COMPLETE, "POST", "/v2/uploads/chunks/complete", json=body, repeatable=True)
        reply = (await self.api.client.send(request)).json()
        return {**ticket, "file_id": _member(reply, "file_id", facts.CHUNK_COMPLETE)}

    async def has_ended(self, handle: Json) -> bool:
        """Whether the service says that the session of a finished file is over; False if that is unknown."""
        ticket = {"session_id": handle["session_id"]}
        try:
            await self.api.client.send(
                Request(facts.CHUNK_STATUS, "POST", "/v2/uploads/chunks/status", json=ticket, repeatable=True)
            )
        except SessionGone:
            return True
        except DamSyncError:
            return False
        return False

    async def abort(self, ticket: Json) -> None:
        """There is no such call; sessions end by themselves."""


@interprets_response
def _receipt(row: Json) -> Json:
    return {"chunk_number": int(row["chunk_number"]), "tag": str(row["tag"])}


@interprets_response
def _member(reply: Json, name: str, operation: str) -> str:
    value = reply.get(name) if isinstance(reply, dict) else None
    if not value:
        raise ContractBroken(f"the response has no `{name}`", operation=operation)
    return str(value)
