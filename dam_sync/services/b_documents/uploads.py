"""Uploads of service B: a batch for each file, whole or in chunks, named by documents afterwards (wire B 6.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import ContractBroken, DamSyncError, SessionGone, Transient
from dam_sync.model.limits import Part
from dam_sync.model.ports import Budget, Content, Journal
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import DocumentsApi
from dam_sync.transfer.upload import send_parts, send_single

BINARY = "application/octet-stream"
FIRST = "0"  # the index of the only file of a batch


@dataclass(frozen=True, slots=True)
class DocumentsUploads:
    """Sends files; what comes back names one until it is used or the batch ends."""

    api: DocumentsApi
    budget: Budget

    async def send(self, content: Content, journal: Journal, name: str = "file") -> Json:
        """`{"batch", "index"}`. Safe to repeat. Raises SessionGone if the batch ended, IntegrityError."""
        bounds = self.api.limits.parts_for(content.size)
        if bounds is None:
            return await send_single(content, self._whole, journal, name, ttl=facts.BATCH_KEPT)
        wire = DocumentsChunks(self.api, content)
        return await send_parts(content, wire, bounds, journal, self.budget, name, ttl=facts.BATCH_KEPT)

    async def drop(self, handle: Json) -> None:
        """Best effort: a batch nobody drops ends by itself."""
        path = f"{facts.API}/upload/{handle['batch']}"
        gone = frozenset({404, 410})
        with suppress(DamSyncError):
            await self.api.client.send(Request(facts.DROP_BATCH, "DELETE", path, repeatable=True, accept=gone))

    async def _whole(self, content: Content) -> Json:
        batch = await new_batch(self.api)
        headers = file_headers(content) | {"Content-Type": BINARY}
        request = Request(
            facts.UPLOAD,
            "POST",
            upload_path(batch),
            body=content.blocks,
            size=content.size,
            headers=headers,
            repeatable=True,  # wire B 6.2: posting an index again replaces it
        )
        await self.api.client.send(request)
        return {"batch": batch, "index": FIRST}


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

    async def put(self, ticket: Json, part: Part, body: bytes) -> Json:
        """One chunk; after a lost response it is searched before it is sent again (wire B 6.2)."""
        number = part.number - 1
        for _ in facts.TRY_WAITS:
            try:
                return await self._send(ticket, number, body)
            except Transient:
                held = await self.received(ticket)
                if part.number in held:
                    return held[part.number]
        return await self._send(ticket, number, body)

    async def finish(self, ticket: Json, receipts: Sequence[Json]) -> Json:
        """The file, once the server says that it is complete. Raises SessionGone if it is not."""
        row = await self._state(ticket)
        held = len(_chunks_of(row or {}))
        if row is None or held < ticket["parts"]:
            raise SessionGone(f"the batch holds {held} of {ticket['parts']} chunks", operation=facts.UPLOADED)
        return {"batch": ticket["batch"], "index": FIRST}

    async def abort(self, ticket: Json) -> None:
        """Drop the batch."""
        with suppress(DamSyncError):
            path = f"{facts.API}/upload/{ticket['batch']}"
            await self.api.client.send(Request(facts.DROP_BATCH, "DELETE", path, accept=frozenset({404, 410})))

    async def _send(self, ticket: Json, number: int, body: bytes) -> Json:
        headers = file_headers(self.content) | {
            "Content-Type": BINARY,
            "X-Upload-Type": "chunked",
            "X-Upload-Chunk-Index": str(number),
            "X-Upload-Chunk-Count": str(ticket["parts"]),
        }
        path = upload_path(ticket["batch"])
        unfinished = frozenset({308})  # wire B 6.2: before the 2021 line
        await self.api.client.send(
            Request(facts.UPLOAD, "POST", path, body=body, headers=headers, repeatable=False, accept=unfinished)
        )
        return {"chunk": number}

    async def _state(self, ticket: Json) -> Json | None:
        """What the server knows of the file; None before its first chunk. Raises SessionGone."""
        path = upload_path(ticket["batch"])
        request = Request(facts.UPLOADED, "GET", path, accept=frozenset({308, 404}))
        reply = await self.api.client.send(request)
        if reply.status == 404:
            await self.api.client.send(Request(facts.BATCH, "GET", path.rpartition("/")[0]))  # or it is gone itself
            return None
        found: Json = reply.object()
        return found


async def new_batch(api: DocumentsApi) -> str:
    """A batch; one that is never used does no harm."""
    request = Request(facts.NEW_BATCH, "POST", f"{facts.API}/upload/new/default", body=b"", repeatable=True)
    reply = (await api.client.send(request)).json()
    batch = reply.get("batchId") if isinstance(reply, dict) else None
    if not batch:
        raise ContractBroken("the response about a new batch has no `batchId`", operation=facts.NEW_BATCH)
    return str(batch)


def reference(handle: Json) -> Json:
    """How a document names an uploaded file; both are texts (wire B 6.2)."""
    return {"upload-batch": handle["batch"], "upload-fileId": handle["index"]}


def upload_path(batch: str) -> str:
    """Where the file of a batch is."""
    return f"{facts.API}/upload/{quote(batch, safe='')}/{FIRST}"


def file_headers(content: Content) -> dict[str, str]:
    """Name, type and size; the server decodes the name as a URL (wire B 6.2, 11)."""
    name = quote(content.name, safe="").replace(".", "%2E")
    return {"X-File-Name": name, "X-File-Type": content.media_type, "X-File-Size": str(content.size)}


@interprets_response
def _chunks_of(row: Json) -> list[int]:
    """The numbers of the chunks that a batch holds."""
    return [int(number) for number in row.get("uploadedChunkIds") or ()]
