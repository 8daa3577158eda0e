"""Bytes of one version of a file in order, across broken connections and renewed links, checked for length on the
way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from dam_sync.model.errors import (
    ContractBroken,
    FileReplaced,
    IntegrityError,
    InternalError,
    OtherVersion,
    Transient,
)
from dam_sync.model.parking import ParkReason
from dam_sync.model.ports import EncodedStream, Stream, codings_of
from dam_sync.model.validator import NO_VALIDATOR, Sameness, Validator

Opener: TypeAlias = Callable[[int, Validator], Awaitable[Stream]]
"""Opens the file at an offset, wanting the rest of this version; called again after a break, so it renews expired links
itself."""

TRIES = 5
LENGTH_TRIES = 3
BEGINNINGS = 4  # of one file whose bytes turn out to be of several versions, before it is given up


@dataclass(frozen=True, slots=True)
class EmptyStream:
    """The empty rest at the end of a file."""

    start: int
    total: int | None
    validator: Validator = NO_VALIDATOR

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing is open."""


@dataclass(slots=True)
class OneVersion:
    """The version of a file of which every byte has to be: that of the first response. The only place that decides
    whether two responses belong together.

    Where a validator is not strong, nothing shows that a second response is of the same version, whatever its size.
    """

    name: str
    validator: Validator = NO_VALIDATOR
    known: bool = False
    codings: tuple[str, ...] = ()  # in which its bytes are sent

    def begin(self, stream: Stream) -> None:
        """No byte was taken before this response: it says which version is read."""
        self.validator, self.codings, self.known = stream.validator, codings_of(stream), True

    def expect(self, stream: Stream) -> None:
        """Raises OtherVersion unless the response is of this version, and its bytes are sent in the same way."""
        if codings_of(stream) != self.codings:
            raise OtherVersion(f"{self.name} was read in two parts, and only one of them was sent compressed")
        match self.validator.compare(stream.validator):
            case Sameness.SAME:
                return
            case Sameness.OTHER:
                raise OtherVersion(f"{self.name} was replaced at the service while it was read")
            case Sameness.UNKNOWN:
                text = f"{self.name} was read in two parts, and nothing shows that they are of the same version of it"
                raise OtherVersion(text, code=ParkReason.UNKNOWN_VERSION)


class Download:
    """One forward pass over a file from `position` on. `size` is taken from the first response if unknown.

    Broken connections are resumed by range; a response that ignores the range is read and skipped. After TRIES attempts
    in a row without progress it raises the error of the last one, or IntegrityError if the responses simply ended. A
    file of unknown size that seems to be empty is requested again: the response may have lost its body. A
    response that announces another length than expected, or than the previous one, may be a page of a proxy: it is
    requested again. Raises IntegrityError after LENGTH_TRIES such responses in a row, and at once if there are more
    bytes than the file should have.

    A file that is sent with a `Content-Encoding` nobody asked for has two readings: stores keep this header with
    compressed files, whose bytes are those that are sent, and proxies compress what they pass on. It is read as sent
    unless that has another length than expected; then, and after `decode_instead`, it is decoded.

    All bytes are of one version of the file: the one that `version` knows, otherwise that of the response whose bytes
    are taken first. Raises OtherVersion where a later response is of another one, or does not say; then `begin_again`.
    """

    def __init__(
        self, opener: Opener, name: str, size: int | None, position: int = 0, version: OneVersion | None = None
    ) -> None:
        self._opener, self._name, self._expected = opener, name, size
        self.size = size
        self.version = OneVersion(name) if version is None else version
        self._fixed = version is not None
        self._decodes = False
        self._doubtful = size is None  # an empty response may be one that lost its body
        self._beginnings = 1
        self._replaced: OtherVersion | None = None  # by which the last reading ended
        self._last_break: Transient | None = None
        self._waiting: Stream | None = None  # opened, and not read from yet
        self.position = position
        self._blocks = self._run()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._blocks

    async def __anext__(self) -> bytes:
        return await anext(self._blocks)

    async def aclose(self) -> None:
        """Release the connection; safe to repeat."""
        await self._blocks.aclose()
        await self._leave()

    async def begin(self) -> Validator:
        """Open the file; the validator of the version that comes. Nothing is read. Raises as reading does."""
        if self._waiting is None:
            self._waiting = await self._next()
        return self.version.validator

    def keep_to_version(self) -> OneVersion:
        """From now on only that of `begin`: somebody else reads the same file."""
        self._fixed = True
        return self.version

    async def decode_instead(self) -> bool:
        """Read from the first byte, decoded; False if this reading was tried, or there is no other."""
        if self._decodes or not self.version.codings:
            return False
        await self._blocks.aclose()
        self._decodes = True
        self._restart()
        return True

    async def begin_again(self, replaced: OtherVersion) -> None:
        """Read from the first byte, whichever version comes now. Raises the last error after BEGINNINGS."""
        await self._blocks.aclose()
        if self._beginnings == BEGINNINGS:
            raise self._given_up(replaced)
        self._beginnings += 1
        self._replaced = replaced
        self._restart()

    def outdated(self, wrong: IntegrityError) -> FileReplaced | None:
        """What it means if the bytes of the last reading are not the file that was announced: that was announced before
        the file was replaced. None for a file that was not."""
        if self._replaced is None or self._replaced.cause is not ParkReason.REPLACED:
            return None
        text = f"{self._replaced.message}, and what came then is not what was announced: {wrong.message}"
        return FileReplaced(text)

    def _restart(self) -> None:
        self.size, self._doubtful = self._expected, self._expected is None
        self.position, self.version = 0, OneVersion(self._name)
        self._blocks = self._run()

    def _given_up(self, replaced: OtherVersion) -> Transient | FileReplaced:
        """Where no response said which version it is of, it was the connection that never held long enough."""
        if self._last_break is not None and replaced.cause is ParkReason.UNKNOWN_VERSION:
            return self._last_break
        text = f"{replaced.message}: {self._beginnings} times in a row"
        return FileReplaced(text, code=replaced.code, hint=replaced.hint)

    async def _leave(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            await waiting.aclose()

    async def _run(self) -> AsyncGenerator[bytes, None]:
        fruitless = 0
        while fruitless < TRIES and not 0 < self.position == self.size:
            before, broken = self.position, None
            stream = await self._next()
            try:
                async for block in self._fresh(stream):
                    yield block
            except Transient as error:
                self._last_break = broken = error
            finally:
                if stream is not self._waiting:
                    await stream.aclose()
            if self._ended(broken):
                return
            fruitless = 0 if self.position > before else fruitless + 1
            if broken is not None and fruitless == TRIES:
                raise broken
        if self.position != self.size:
            raise IntegrityError(
                f"{self._name}: only {self.position} of {self.size} bytes arrived", code=ParkReason.LENGTH
            )

    async def _next(self) -> Stream:
        """The next response, of the known length and of the version that is read."""
        for attempt in range(1, LENGTH_TRIES + 1):
            stream, self._waiting = self._waiting, None
            start = 0 if self._decodes else self.position  # no range of it is one of what was sent
            stream = stream or await self._opener(start, self.version.validator)
            try:
                self._choose_reading(stream)
                if self._fits(stream, last=attempt == LENGTH_TRIES):
                    self._admit(stream)
                    return stream
            except BaseException:
                if stream is not self._waiting:
                    await stream.aclose()
                raise
            await stream.aclose()
        raise InternalError(f"{self._name}: no response, and no error")

    def _choose_reading(self, stream: Stream) -> None:
        """Decode where what is sent cannot be the file, having another length."""
        if isinstance(stream, EncodedStream) and stream.codings and stream.start == 0:
            if self._expected is not None and stream.total not in (None, self._expected) and self.position == 0:
                self._decodes = not self._fixed
            if self._decodes:
                stream.decode()

    def _admit(self, stream: Stream) -> None:
        """Raises OtherVersion unless its bytes belong to those that were taken. One that begins with the first byte of
        another version is kept, to be read when reading begins again."""
        if not self.version.known or (self.position == 0 and not self._fixed):
            self.version.begin(stream)
            return
        try:
            self.version.expect(stream)
        except OtherVersion:
            if stream.start == 0 and not self._fixed:
                self._waiting = stream
            raise

    async def _fresh(self, stream: Stream) -> AsyncGenerator[bytes, None]:
        """The bytes of the stream beyond the position; raises IntegrityError if there are more than the file should
        have."""
        at = stream.start
        async for block in stream:
            skip, at = max(0, self.position - at), at + len(block)
            fresh = block[skip:] if skip else block
            self.position += len(fresh)
            if self.size is not None and self.position > self.size:
                raise IntegrityError(
                    f"{self._name} has more than the {self.size} bytes expected", code=ParkReason.LENGTH
                )
            if fresh:
                yield fresh

    def _fits(self, stream: Stream, *, last: bool) -> bool:
        """Whether a response announces the known length; raises IntegrityError on the last attempt."""
        if stream.start > self.position:
            raise ContractBroken(
                f"{self._name}: requested from byte {self.position}, received from byte {stream.start}"
            )
        if self.size is None:
            self.size = stream.total
        if stream.total in (None, self.size):
            return True
        if last:
            text = f"{self._name} should have {self.size} bytes but has {stream.total}"
            hint = "it may have changed meanwhile: run the same command again"
            wrong = OtherVersion if self._expected is None else IntegrityError
            raise wrong(text, code=ParkReason.LENGTH, hint=hint)
        return False

    def _ended(self, broken: Transient | None) -> bool:
        if self.size is None and broken is None:
            self.size = self.position
        if self._doubtful and self.position == self.size == 0:
            self.size, self._doubtful = None, False
        return self.position == self.size


async def regrouped(blocks: AsyncIterator[bytes], least: int) -> AsyncGenerator[bytes, None]:
    """The same bytes in blocks of at least `least` bytes, except for the last."""
    waiting: list[bytes] = []
    size = 0
    async for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= least:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
