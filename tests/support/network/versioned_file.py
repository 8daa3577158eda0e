"""A file behind a URL that is replaced while it is read, and servers that say so in every way, or not at all."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import httpx

DATES = tuple(f"Sun, 29 Nov 2026 0{hour}:00:00 GMT" for hour in range(10))
LATER = "Sun, 29 Nov 2026 12:00:00 GMT"
TELLS = ("tag", "date", "young date", "weak tag", "nothing", "tag at first")
HEEDS = ("all", "no condition", "no range")
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Break:
    """A connection that ends `after` so many bytes; `replaced`: the file is another one then."""

    after: int
    replaced: bool = True


@cache
def version_of(number: int, size: int) -> bytes:
    """The bytes of a version, which are others everywhere."""
    return random.Random(number).randbytes(size)


@dataclass
class VersionedFile(httpx.AsyncBaseTransport):
    """Gives the version of the file that there is when a request comes, and all of a response from that one.

    tells: by what it says which version that is; heeds: what it does with `Range` and `If-Range`. breaks: of the first
    responses, one each. cuts: every response is cut there, and the file replaced.
    """

    sizes: Sequence[int]
    tells: str = "tag"
    heeds: str = "all"
    breaks: list[Break] = field(default_factory=list)
    cuts: int | None = None
    now: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)

    def version(self, number: int) -> bytes:
        """The sizes of later versions are those of the first again."""
        return version_of(number, self.sizes[number % len(self.sizes)])

    @property
    def versions(self) -> set[bytes]:
        """All that there were so far."""
        return {self.version(number) for number in range(self.now + 1)}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """A response of one version."""
        wanted, condition = (request.headers.get(name, "") for name in ("range", "if-range"))
        self.asked.append((wanted, condition))
        data, says = self.version(self.now), self._validators(first=len(self.asked) == 1)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.heeds != "no range" else 0
        if condition and self.heeds == "all" and condition not in says.values():
            start = 0
        if start and start >= len(data):
            return httpx.Response(416, headers={**says, "content-range": f"bytes */{len(data)}"})
        body = data[start:]
        headers = {**says, "content-length": str(len(body)), "date": LATER}
        if self.tells == "young date":
            headers["date"] = says["last-modified"]
        if start:
            headers["content-range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        return httpx.Response(206 if start else 200, headers=headers, stream=_Body(self, body, self._break()))

    def _validators(self, *, first: bool) -> dict[str, str]:
        match self.tells:
            case "tag":
                return {"etag": f'"{self.now}"', "last-modified": DATES[0]}
            case "tag at first":
                return {"etag": f'"{self.now}"'} if first else {}
            case "weak tag":
                return {"etag": 'W/"the same"'}
            case "date":
                return {"last-modified": DATES[self.now % len(DATES)]}
            case "young date":
                return {"last-modified": DATES[0]}
            case _:
                return {}

    def _break(self) -> Break | None:
        if self.cuts is not None:
            return Break(self.cuts)
        return self.breaks.pop(0) if self.breaks else None


class _Body(httpx.AsyncByteStream):
    def __init__(self, file: VersionedFile, data: bytes, broken: Break | None) -> None:
        self._file, self._data, self._broken = file, data, broken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        end = len(self._data) if self._broken is None else min(self._broken.after, len(self._data))
        for start in range(0, end, BLOCK):
            yield self._data[start : min(start + BLOCK, end)]
        if self._broken is not None and end < len(self._data):
            self._file.now += self._broken.replaced
            raise httpx.ReadError("the connection broke")
