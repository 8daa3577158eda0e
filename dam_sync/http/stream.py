"""A download in progress."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

from dam_sync.http.bounds import READ_SECONDS
from dam_sync.http.dates import http_date
from dam_sync.http.decoding import Undecodable, decoded
from dam_sync.http.dispatch import RequestDispatcher
from dam_sync.http.exchange import RawResponse
from dam_sync.model.errors import ContractBroken, DamSyncError, IntegrityError, OtherVersion, Transient
from dam_sync.model.parking import ParkReason
from dam_sync.model.validator import Validator
from dam_sync.model.waits import FILE, waiting

_LENGTH = re.compile(r"[0-9]{1,18}")
_CONTENT_RANGE = re.compile(r"bytes\s+(?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18}|\*)$")


class HttpStream:
    """A `model.ports.EncodedStream` with `status`, `headers` (lower case) and `media_type` of the response."""

    def __init__(
        self,
        response: RawResponse,
        offset: int,
        dispatcher: RequestDispatcher,
        within: Callable[[DamSyncError], DamSyncError],
    ) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self.start, self.total, self._expected = _extent(response, offset)
        self.validator = validator_of(response.headers)
        self._response = response
        self._dispatcher = dispatcher
        self._within = within
        self.codings = response.codings
        self._decodes = False
        self._sent: AsyncGenerator[bytes, None] | None = None
        self._blocks: AsyncGenerator[bytes, None] | None = None

    def __repr__(self) -> str:
        return f"HttpStream(from {self.start} of {self.total})"

    @property
    def media_type(self) -> str:
        """The MIME type without parameters; empty if missing."""
        return self.headers.get("content-type", "").partition(";")[0].strip()

    def __aiter__(self) -> AsyncIterator[bytes]:
        if self._blocks is None:
            self._sent = self._run()
            self._blocks = self._decoded(self._sent) if self._decodes else self._sent
        return self._blocks

    def decode(self) -> None:
        self._decodes, self.total = bool(self.codings), None if self.codings else self.total

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        for blocks in (self._blocks, self._sent):
            if blocks is not None:
                await blocks.aclose()
        await self._response.aclose()

    async def _decoded(self, sent: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        try:
            async for block in decoded(sent, ", ".join(self.codings)):
                yield block
        except Undecodable as problem:
            raise self._within(IntegrityError(str(problem), code=ParkReason.ENCODING)) from None

    async def _run(self) -> AsyncGenerator[bytes, None]:
        seen = 0
        blocks = self._response.blocks()
        try:
            while self.status != 416:  # whose body is no part of the file
                async with self._dispatcher.storage:
                    with waiting(self._dispatcher.clock, READ_SECONDS, FILE, self._dispatcher.side):
                        block = await anext(blocks, None)
                if block is None:
                    break
                seen += len(block)
                await self._dispatcher.bandwidth.pass_on(len(block))
                yield block
            if self._expected is not None and seen != self._expected:
                raise Transient(f"the body ended after {seen} of {self._expected} bytes")
        except DamSyncError as problem:
            raise self._within(problem) from None
        finally:
            await blocks.aclose()
            await self._response.aclose()


def _extent(response: RawResponse, offset: int) -> tuple[int, int | None, int | None]:
    """Start of the body, size of the whole file, size of the body, all as sent. Raises ContractBroken."""
    length = response.headers.get("content-length", "")
    coming = int(length) if _LENGTH.fullmatch(length) else None
    if response.status == 416 and offset > 0:
        return _beyond(response, offset)
    if response.status != 206:
        return 0, coming, coming
    shown = response.headers.get("content-range", "")
    found = _CONTENT_RANGE.match(shown.strip())
    if not found or found[1] is None or int(found[1]) != offset:
        raise ContractBroken(f"requested bytes from {offset} on, got 206 with the range {shown[:60]!r}")
    count = int(found[2]) - int(found[1]) + 1
    if count < 0 or (coming is not None and coming != count):
        raise ContractBroken(f"got 206 with {coming} bytes for the range {shown[:60]!r}")
    return offset, None if found[3] == "*" else int(found[3]), count


def _beyond(response: RawResponse, offset: int) -> tuple[int, int, None]:
    """A range at the very end is empty; beyond it the file has become shorter."""
    found = _CONTENT_RANGE.match(response.headers.get("content-range", "").strip())
    if not found:
        raise ContractBroken(f"requested bytes from {offset} on, got 416 without a valid range")
    total = int(found[3]) if found[3] != "*" else None
    if total == offset:
        return offset, offset, None
    raise OtherVersion(f"requested bytes from {offset} on, but the file has {total} now", code=ParkReason.LENGTH)


def validator_of(headers: Mapping[str, str]) -> Validator:
    """The validators of a response. A date is a strong one if the response was made at least a second later (RFC 9110,
    8.8.2.2)."""
    tag, modified = headers.get("etag", "").strip(), headers.get("last-modified", "").strip()
    weak = tag[:2] in ("W/", "w/")
    changed, made = http_date(modified), http_date(headers.get("date", ""))
    return Validator(
        tag="" if weak or tag == '""' else tag,
        weak=tag if weak else "",
        modified=modified if changed is not None else "",
        dated=changed is not None and made is not None and (made - changed).total_seconds() >= 1,
    )
