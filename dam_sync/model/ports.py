"""The ports a service is given: bytes of files, durable steps, memory for bytes, and a place for rotating secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Protocol, TypeAlias

from dam_sync.model.values import Json

Call: TypeAlias = Callable[[], Awaitable[Json]]


class Transport(Protocol):
    """Carries HTTP requests instead of the network: an `httpx.AsyncBaseTransport`, which this layer cannot name."""

    async def aclose(self) -> None:
        """Close every connection."""
        ...


class Stream(Protocol):
    """Bytes of a file from some offset on. `start` is where they really begin: 0 when the server ignored the offset."""

    @property
    def start(self) -> int:
        """Offset of the first byte that comes."""
        ...

    @property
    def total(self) -> int | None:
        """Length of the whole file, where the server said."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Blocks in order. Raises Transient when the connection breaks."""
        ...

    async def aclose(self) -> None:
        """Give the connection back; safe to repeat."""
        ...


class Content(Protocol):
    """Bytes to be uploaded: their length is known and any range can be read again, as often as a retry needs."""

    @property
    def name(self) -> str:
        """File name with extension."""
        ...

    @property
    def media_type(self) -> str:
        """MIME type, `application/octet-stream` when unknown."""
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
    def link(self) -> str:
        """A public address of the bytes, or empty."""
        ...

    async def read(self, start: int, stop: int) -> bytes:
        """Exactly the bytes [start, stop), so keep ranges small. Raises IntegrityError when the source changed."""
        ...

    def blocks(self, start: int = 0, stop: int | None = None) -> AsyncIterator[bytes]:
        """The bytes [start, stop), however many, else the whole, in blocks of up to 1 MiB; may be called again."""
        ...

    async def check(self) -> None:
        """Every byte seen: length and published digests agree, or IntegrityError. Call it before a finishing call."""
        ...


class Journal(Protocol):
    """Durable memory of one piece of work."""

    async def run(
        self,
        name: str,
        call: Call,
        *,
        reconcile: Call | None = None,
        ttl: timedelta | None = None,
        idempotent: bool = False,
    ) -> Json:
        """The recorded result, or: record the intent, make the call, record its result.

        reconcile: asked first after a crash between intent and result; a result that is not None is recorded instead of
        making the call again. Pass it wherever a call that succeeded can be recognised at the service.
        idempotent: the call may be repeated without looking, because a second one changes nothing; then no intent is
        recorded. An open intent with neither raises Uncertain.
        ttl: a recorded result older than this is ignored: how long an upload session or temporary file lives.
        The result is JSON and holds no secret and no signed URL.
        """
        ...

    async def discard(self, *names: str) -> None:
        """Start these over; a name ending in `*` is a prefix."""
        ...

    async def get(self, name: str) -> Json:
        """The recorded result or None."""
        ...


class Budget(Protocol):
    """Memory for file bytes, shared by all transfers of the process."""

    def hold(self, size: int) -> AbstractAsyncContextManager[None]:
        """Waits until `size` bytes are free; one request larger than the whole budget gets all of it."""
        ...


class CredentialStore(Protocol):
    """Where a rotating credential is stored durably before it is used. Kept apart from the state, owner-only."""

    async def load(self, name: str) -> str | None:
        """The stored secret, or None."""
        ...

    async def save(self, name: str, secret: str) -> None:
        """Durable when this returns."""
        ...

    async def names(self, prefix: str) -> Sequence[str]:
        """Of the secrets that are kept under such names; one saved as empty is kept no more. Nothing is written."""
        ...


IsReferenced: TypeAlias = Callable[[str], Awaitable[bool]]
"""Whether the recorded steps of work that is not settled say this text anywhere."""
