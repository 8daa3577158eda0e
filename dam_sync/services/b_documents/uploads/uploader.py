"""Uploads of service B: files in batches, whole or in chunks, named by documents afterwards (wire B 6.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote

from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import DamSyncError, SessionGone, Transient
from dam_sync.model.limits import Part
from dam_sync.model.ports import Budget, Content, Journal
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import DocumentsApi
from dam_sync.services.b_documents.uploads.batches import SharedBatches, drop_batch, new_batch
from dam_sync.transfer.part_sender import Blocks
from dam_sync.transfer.upload import send_parts, send_single

BINARY = "application/octet-stream"
FIRST = "0"  # the index of the only file of a batch
GONE = frozenset({404, 410})
EMPTY = 204  # wire B 6.2: the list of a batch without files


@dataclass(slots=True)
class DocumentsUploads:
    """Sends files; what comes back names one until it is used or the batch ends. Small files share batches, so that
    beginning and dropping one is not paid for each; a large one has its own."""

    api: DocumentsApi
    budget: Budget
    batches: SharedBatches = field(init=False)

    def __post_init__(self) -> None:
        self.batches = SharedBatches(self.api)

    async def send(self, content: Content, journal: Journal, name: str = "file", *, alone: bool = False) -> Json:
        """`{"batch", "index"}`; alone: in a batch of its own. Safe to repeat. Raises SessionGone if the batch ended,
        IntegrityError."""
        bounds = self.api.limits.parts_for(content.size)
        if bounds is not None:
            wire = DocumentsChunks(self.api, content)
            return await send_parts(content, wire, bounds, journal, self.budget, name, ttl=facts.BATCH_KEPT)
        sent: list[Json] = []

        async def whole(content: Content) -> Json:
            sent.append(await (self._alone(content) if alone else self._whole(content)))
            return sent[0]

        try:
            return await send_single(content, whole, journal, name, ttl=facts.BATCH_KEPT)
        except BaseException:
            for handle in sent:
                self.batches.release(handle)
            raise

    async def drop(self, handle: Json) -> None:
        """The file is not needed any more. Best effort: a batch nobody drops ends by itself."""
        if not handle.get("shared"):
            await drop_batch(self.api, handle["batch"])
        elif self.batches.release(handle):
            await self.batches.drop_used()
        else:
            await self._drop_of_others(handle)

    def refused(self, handle: Json | None, error: DamSyncError) -> None:
        """The write that named the file failed, and the file is sent again if it is needed."""
        if handle is not None and isinstance(error, SessionGone):
            self.batches.lost(handle)
        elif handle is not None:
            self.batches.release(handle)

    async def _drop_of_others(self, handle: Json) -> None:
        """A file that an earlier process sent; its batch goes with its last file, because other work may need them."""
        file = Request(facts.DROP_FILE, "DELETE", upload_path(handle), repeatable=True, accept=GONE)
        rest = Request(facts.BATCH, "GET", f"{facts.API}/upload/{quote(handle['batch'], safe='')}", accept=GONE)
        with suppress(DamSyncError):
            await self.api.client.send(file)
            if (await self.api.client.send(rest)).status == EMPTY:
                await drop_batch(self.api, handle["batch"])

    async def _whole(self, content: Content) -> Json:
        """In a shared batch; in another one if that is gone."""
        handle = await self.batches.take(content.size)
        try:
            return await self._post(content, handle)
        except SessionGone:
            self.batches.lost(handle)
            return await self._alone(content)
        except BaseException:
            self.batches.release(handle)
            raise

    async def _alone(self, content: Content) -> Json:
        return await self._post(content, {"batch": await new_batch(self.api), "index": FIRST})

    async def _post(self, content: Content, handle: Json) -> Json:
        headers = file_headers(content) | {"Content-Type": BINARY}
        request = Request(
            facts.UPLOAD,
            "POST",
            upload_path(handle),
            body=content.blocks,
            size=content.size,
            headers=headers,
            repeatable=True,  # wire B 6.2: posting an index again replaces it
        )
        await self.api.client.send(request)
        return handle


@dataclass(frozen=True, slots=True)
class DocumentsChunks:
    """Chunks of one file, as `PartsWire`; a chunk that came is refused when it comes again, so the server is asked."""

    api: DocumentsApi
    content: Content

    async def begin(self, size: int, parts: int) -> Json:
        """A batch."""
        return {"batch": await new_batch(self.api), "parts": parts, "size": size}

    async def received(self, ticket: Json) -> Mapping[int, Json]:
        """The chunks the server holds. Raises SessionGone if the batch is gone."""
        row = await self._state(ticket)
        return {number + 1: {"chunk": number} for number in _chunks_of(row or {})}

    async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
        """One chunk; after a lost response it is searched before it is sent again (wire B 6.2)."""
        for _ in facts.TRY_WAITS:
            try:
                return await self._send(ticket, part, body)
            except Transient:
                held = await self.received(ticket)
                if part.number in held:
                    return held[part.number]
        return await self._send(ticket, part, body)

    async def finish(self, ticket: Json, receipts: Sequence[Json]) -> Json:
        """The file, once the server says that it is complete. Raises SessionGone if it is not."""
        row = await self._state(ticket)
        held = len(_chunks_of(row or {}))
        if row is None or held < ticket["parts"]:
            raise SessionGone(f"the batch holds {held} of {ticket['parts']} chunks", operation=facts.UPLOADED)
        return {"batch": ticket["batch"], "index": FIRST}

    async def abort(self, ticket: Json) -> None:
        """Drop the batch."""
        await drop_batch(self.api, ticket["batch"])

    async def _send(self, ticket: Json, part: Part, body: Blocks) -> Json:
        number = part.number - 1
        headers = file_headers(self.content) | {
            "Content-Type": BINARY,
            "X-Upload-Type": "chunked",
            "X-Upload-Chunk-Index": str(number),
            "X-Upload-Chunk-Count": str(ticket["parts"]),
        }
        path = upload_path({**ticket, "index": FIRST})
        unfinished = frozenset({308})  # wire B 6.2: before the 2021 line
        request = Request(
            facts.UPLOAD,
            "POST",
            path,
            body=body,
            size=part.size,
            headers=headers,
            repeatable=False,
            accept=unfinished,
        )
        await self.api.client.send(request)
        return {"chunk": number}

    async def _state(self, ticket: Json) -> Json | None:
        """What the server knows of the file; None before its first chunk. Raises SessionGone."""
        path = upload_path({**ticket, "index": FIRST})
        request = Request(facts.UPLOADED, "GET", path, accept=frozenset({308, 404}))
        reply = await self.api.client.send(request)
        if reply.status == 404:
            await self.api.client.send(Request(facts.BATCH, "GET", path.rpartition("/")[0]))  # or it is gone itself
            return None
        found: Json = reply.object()
        return found


def reference(handle: Json) -> Json:
    """How a document names an uploaded file; both are texts (wire B 6.2)."""
    return {"upload-batch": handle["batch"], "upload-fileId": handle["index"]}


def upload_path(handle: Json) -> str:
    """Where a file of a batch is."""
    return f"{facts.API}/upload/{quote(handle['batch'], safe='')}/{handle['index']}"


def file_headers(content: Content) -> dict[str, str]:
    """Name, type and size; the server decodes the name as a URL (wire B 6.2, 11)."""
    name = quote(content.name, safe="").replace(".", "%2E")
    return {"X-File-Name": name, "X-File-Type": content.media_type, "X-File-Size": str(content.size)}


@interprets_response
def _chunks_of(row: Json) -> list[int]:
    """The numbers of the chunks that a batch holds."""
    return [int(number) for number in row.get("uploadedChunkIds") or ()]
