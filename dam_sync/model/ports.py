"""The ports that a service receives: file contents, the journal, memory for bytes, and a store for rotating secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Protocol, TypeAlias, runtime_checkable

from dam_sync.model.asset import FileLink
from dam_sync.model.validator import Validator
from dam_sync.model.values import Json

Call: TypeAlias = Callable[[], Awaitable[Json]]


class Transport(Protocol):
    """Carries HTTP requests instead of the network: an `httpx.AsyncBaseTransport`, which this package cannot import."""

    async def aclose(self) -> None:
        """Close every connection."""
        ...


class Stream(Protocol):
    """Bytes of a file from an offset on. `start` is the actual first byte: 0 if the server ignored the offset."""

    @property
    def start(self) -> int:
        """Offset of the first byte."""
        ...

    @property
    def total(self) -> int | None:
        """Length of the whole file, if the server states it."""
        ...

    @property
    def validator(self) -> Validator:
        """Which version of the file these bytes are of, as far as the server says; `NO_VALIDATOR` if it does not."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Blocks in order. Raises Transient if the connection breaks."""
        ...

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        ...


@runtime_checkable
class EncodedStream(Stream, Protocol):
    """A stream that a server may have compressed although nobody asked for it, or whose file it keeps compressed and
    says so: then `codings` are those of its `Content-Encoding`, and its bytes are as sent until `decode` is called."""

    @property
    def codings(self) -> tuple[str, ...]:
        """Empty for bytes as they are."""
        ...

    def decode(self) -> None:
        """Give the decoded bytes, whose number is not known before; only before reading, of a stream that starts at
        byte 0. Reading then raises IntegrityError where the bytes do not match the codings."""
        ...


def codings_of(stream: Stream) -> tuple[str, ...]:
    """How these bytes are encoded; empty for bytes as they are."""
    return stream.codings if isinstance(stream, EncodedStream) else ()


class Content(Protocol):
    """Bytes to be uploaded, of known length; any range can be read again for a retry."""

    @property
    def name(self) -> str:
        """File name with extension."""
        ...

    @property
    def media_type(self) -> str:
        """MIME type, `application/octet-stream` if unknown."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """By algorithm; complete only once `check()` has passed."""
        ...

    @property
    def link(self) -> FileLink | None:
        """Where a target with `Capabilities.fetches` may fetch the bytes itself; None if they go through us."""
        ...

    async def read(self, start: int, stop: int) -> bytes:
        """Exactly the bytes [start, stop); keep ranges small. Raises IntegrityError if the source changed."""
        ...

    async def version(self) -> str:
        """A text that differs between versions of the file at the source; empty if the digests are of all bytes, and
        say it. An upload that was begun is continued with the same text only."""
        ...

    def blocks(self, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        """The bytes [start, stop), by default all, in blocks of up to 1 MiB; may be called again."""
        ...

    async def check(self) -> None:
        """Raises IntegrityError unless length and published digests agree. Call it before the call that finishes an
        upload."""
        ...


class Journal(Protocol):
    """Durable memory of the writes of one work item."""

    async def run(
        self,
        name: str,
        call: Call,
        *,
        reconcile: Call | None = None,
        ttl: timedelta | None = None,
        idempotent: bool = False,
    ) -> Json:
        """Return the recorded result, or record the intent, make the call and record its result.

        reconcile: called first after a crash between intent and result; a result that is not None is recorded instead
        of making the call again. Pass it wherever a call that succeeded can be recognised at the service. idempotent:
        the call may be repeated without looking, because a second one changes nothing; then no intent is recorded. An
        open intent without either raises Uncertain. ttl: a recorded result older than this is ignored: how long an
        upload session or temporary file lives. The result is JSON without secrets and signed URLs.
        """
        ...

    async def discard(self, *names: str) -> None:
        """Forget these entries; a name ending in `*` is a prefix."""
        ...

    async def get(self, name: str) -> Json:
        """The recorded result or None."""
        ...

    async def begin(self, names: Sequence[str]) -> None:
        """Record the intents of several entries, which one call makes together; those that exist stay as they are."""
        ...

    async def begun(self, prefix: str) -> frozenset[str]:
        """Entries whose names begin so, and whose outcome is unknown: their intent is recorded, and no result."""
        ...

    async def is_recorded(self, text: str) -> bool:
        """Whether the journal of any unfinished work item contains this text: a result, or a part of one."""
        ...


class Budget(Protocol):
    """Memory for file bytes, shared by all transfers of the process."""

    def hold(self, size: int) -> AbstractAsyncContextManager[None]:
        """Wait until `size` bytes are free; a request larger than the whole budget gets all of it."""
        ...


class CredentialStore(Protocol):
    """Where a rotating credential is stored durably before it is used. Kept apart from the state, owner-only."""

    async def load(self, name: str) -> str | None:
        """The stored secret, or None."""
        ...

    async def save(self, name: str, secret: str) -> None:
        """Durable when this returns."""
        ...

    async def change(self, name: str, changed: Callable[[str], str]) -> None:
        """Replace a secret, or an empty one, by what `changed` makes of it; nobody else changes it meanwhile. Durable
        when this returns."""
        ...

    async def names(self, prefix: str) -> Sequence[str]:
        """Names of stored secrets with this prefix; a secret saved as empty is deleted. Read-only."""
        ...

    def renewing(self, name: str) -> AbstractAsyncContextManager[None]:
        """One process at a time renews this credential; whoever waited reads it again. It ends with the process."""
        ...


IsReferenced: TypeAlias = Callable[[str], Awaitable[bool]]
"""Whether the journal of any unfinished work item contains this text."""
