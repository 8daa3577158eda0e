"""Upload batches of service B that several files share, each under an index of its own (wire B 6.2)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote

from dam_sync.aio.single_flight import KeyedLock
from dam_sync.http.client import Request
from dam_sync.model.errors import ContractBroken, DamSyncError
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import DocumentsApi


@dataclass(frozen=True, slots=True)
class BatchRoom:
    """How many files, of how many bytes, a batch has taken."""

    files: int = 0
    size: int = 0

    def takes(self, size: int) -> bool:
        """Whether one more file of this size goes into it; the first always does."""
        return not self.files or (self.files < facts.BATCH_FILES and self.size + size <= facts.BATCH_BYTES)

    def with_file(self, size: int) -> BatchRoom:
        """With one more file."""
        return BatchRoom(self.files + 1, self.size + size)


@dataclass(slots=True)
class SharedBatch:
    """One batch. held: indexes of files that are still needed; closed: whether it takes no more; lost: whether the
    server lost one."""

    id: str
    used: float  # when it was last written, by the monotonic clock
    room: BatchRoom = BatchRoom()
    held: set[str] = field(default_factory=set)
    closed: bool = False
    lost: bool = False


@dataclass(slots=True)
class SharedBatches:
    """The batches of one connection. A file takes the next index of the open batch without waiting for others; a batch
    is dropped once it takes no more files and none of them is needed. A server that loses batches while files are added
    gets one for each file from then on."""

    api: DocumentsApi
    _open: SharedBatch | None = None
    _known: dict[str, SharedBatch] = field(default_factory=dict)
    _turns: KeyedLock = field(default_factory=KeyedLock)
    _losses: int = 0

    async def take(self, size: int) -> Json:
        """A place for a file of this size, held until it is released."""
        if self._losses >= facts.BATCH_LOSSES:
            return {"batch": await new_batch(self.api), "index": "0"}
        while True:
            batch = self._with_room(size)
            if batch is not None:
                return self._placed(batch, size)
            async with self._turns.of("new"):
                if self._with_room(size) is None:
                    made = SharedBatch(await new_batch(self.api), self.api.clock.monotonic())
                    self._open = self._known[made.id] = made

    def _with_room(self, size: int) -> SharedBatch | None:
        """The open batch; one that is full, or that may have ended, is closed."""
        batch = self._open
        if batch is None or batch.closed:
            return None
        ended = self.api.clock.monotonic() - batch.used >= facts.BATCH_KEPT.total_seconds()
        batch.closed = ended or not batch.room.takes(size)
        return None if batch.closed else batch

    def _placed(self, batch: SharedBatch, size: int) -> Json:
        index = str(batch.room.files)
        batch.room = batch.room.with_file(size)
        batch.held.add(index)
        batch.used = self.api.clock.monotonic()
        return {"batch": batch.id, "index": index, "shared": True}

    def release(self, handle: Json) -> bool:
        """This file is not needed any more; whether its batch is one of this connection."""
        batch = self._known.get(handle["batch"])
        if batch is not None:
            batch.held.discard(handle["index"])
        return batch is not None

    def lost(self, handle: Json) -> None:
        """The server does not have this file as it was sent: nothing else goes into its batch."""
        batch = self._known.get(handle["batch"])
        if batch is not None:
            self._losses += not batch.lost
            batch.closed = batch.lost = True
            batch.held.discard(handle["index"])

    async def drop_used(self) -> None:
        """Drop the batches that take no more files and of which none is needed."""
        used = [batch.id for batch in self._known.values() if batch.closed and not batch.held]
        for batch in used:
            del self._known[batch]
        for batch in used:
            await drop_batch(self.api, batch)

    async def end(self) -> None:
        """Drop what is not needed, also a batch that would take more files; call it once all assets are written."""
        if self._open is not None:
            self._open.closed = True
        await self.drop_used()


async def new_batch(api: DocumentsApi) -> str:
    """A batch; one that is never used does no harm."""
    request = Request(facts.NEW_BATCH, "POST", f"{facts.API}/upload/new/default", body=b"", repeatable=True)
    reply = (await api.client.send(request)).json()
    batch = reply.get("batchId") if isinstance(reply, dict) else None
    if not batch:
        raise ContractBroken("the response about a new batch has no `batchId`", operation=facts.NEW_BATCH)
    return str(batch)


async def drop_batch(api: DocumentsApi, batch: str) -> None:
    """Best effort: a batch nobody drops ends by itself."""
    path = f"{facts.API}/upload/{quote(batch, safe='')}"
    gone = frozenset({404, 410})
    with suppress(DamSyncError):
        await api.client.send(Request(facts.DROP_BATCH, "DELETE", path, repeatable=True, accept=gone))
