"""One upload session in the journal: its ticket and its parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

from dam_sync.model.asset import digest_of
from dam_sync.model.errors import DamSyncError
from dam_sync.model.ports import Call, Content, Journal
from dam_sync.model.values import Json
from dam_sync.transfer.checked import CheckedContent

FINISH = "finish"
UNDISTINGUISHED = "undistinguished"  # a `Content.version()` of which nothing is known


def source_of(content: Content) -> str:
    """A short text that changes when the file does, as far as known from its source."""
    return digest_of([content.name, content.size, dict(content.digests)])


def bytes_of(content: Content) -> str:
    """The same without its name."""
    return digest_of([content.size, dict(content.digests)])


async def described(content: Content) -> Json:
    """What an upload records of the file that it sends, to be continued with the same version of it only."""
    return {"source": source_of(content), "bytes": bytes_of(content), "version": await content.version()}


async def is_of(record: Json, content: Content, source: str) -> bool:
    """Whether what was recorded is of this file, and of this version of it. An older release recorded no version: what
    it sent of a large file is not continued."""
    if record.get("source") != source:
        return False
    return _is_of_version(record, await content.version())


async def was_sent_other(content: Content, journal: Journal, name: str) -> bool:
    """Whether what was begun to be sent as `name` is another file than this one, or another version of it."""
    record = await journal.get(name) or await journal.get(f"{name}:begin")
    if not isinstance(record, dict):
        return False
    return record["source"].partition("/")[0] != source_of(content) or not _is_of_version(
        record, await content.version()
    )


def _is_of_version(record: Json, version: str) -> bool:
    return bool(version != UNDISTINGUISHED and version == record.get("version", ""))


async def was_sent(content: Content, journal: Journal, name: str) -> bool:
    """Whether `upload.send_single` or `send_parts` began to send these bytes as `name`, with whatever file name."""
    record = await journal.get(name) or await journal.get(f"{name}:begin")
    if not isinstance(record, dict) or not _is_of_version(record, await content.version()):
        return False
    known = record.get("bytes")  # absent from a state of an older release
    return bool(known == bytes_of(content) if known else record["source"].partition("/")[0] == source_of(content))


class UploadSession:
    """Journal entries of one session, named `name:…`. Entries of another session are ignored."""

    def __init__(self, journal: Journal, name: str, ttl: timedelta | None) -> None:
        self._journal, self._name, self._ttl = journal, name, ttl
        self.ticket: Json = None
        self.resumed = False
        self._id = ""

    async def open(
        self, content: Content, parts: int, begin: Call, abort: Callable[[Json], Awaitable[None]] | None
    ) -> Json:
        """The ticket of the session recorded for this version of the file and this division into parts, or of a new
        one."""
        source = f"{source_of(content)}/{parts}"
        before = await self._journal.get(f"{self._name}:begin")
        if before is not None and not await is_of(before, content, source):
            self.ticket = before["ticket"]
            await self.abort(abort)
        fresh = False

        async def call() -> Json:
            nonlocal fresh
            fresh = True
            return {**await described(content), "source": source, "ticket": await begin()}

        record = await self._journal.run(f"{self._name}:begin", call, ttl=self._ttl, idempotent=True)
        self.ticket, self.resumed = record["ticket"], not fresh
        self._id = digest_of(self.ticket)
        return self.ticket

    async def known(self, step: str) -> Json:
        """`{"result": …}` of an entry recorded in this session, otherwise None."""
        record = await self._journal.get(f"{self._name}:{step}")
        return record if record is not None and record["session"] == self._id else None

    async def finish(self, content: Content, call: Callable[[CheckedContent], Awaitable[Json]]) -> Json:
        """The file handle returned by the finishing call, which is made only if all bytes were read and agree.
        Raises IntegrityError before it."""
        checked = await CheckedContent.of(content)
        return await self._run(FINISH, lambda: call(checked))

    async def run(self, step: str, call: Call) -> Json:
        """The result of a repeatable call, recorded for this session. Raises ValueError for the finishing
        call, which only `finish` may make."""
        if step == FINISH:
            raise ValueError("an upload is finished by `finish`, which checks its content")
        return await self._run(step, call)

    async def _run(self, step: str, call: Call) -> Json:
        name = f"{self._name}:{step}"
        if await self._journal.get(name) is not None and await self.known(step) is None:
            await self._journal.discard(name)

        async def recorded() -> Json:
            return {"session": self._id, "result": await call()}

        return (await self._journal.run(name, recorded, ttl=self._ttl, idempotent=True))["result"]

    async def discard(self) -> None:
        """Start over the next time."""
        await self._journal.discard(f"{self._name}:*")

    async def abort(self, abort: Callable[[Json], Awaitable[None]] | None) -> None:
        """End the session at the server, if possible, and forget it."""
        if abort is not None and self.ticket is not None:
            with suppress(DamSyncError):  # an unused session ends by itself
                await abort(self.ticket)
        await self.discard()
