"""Service E for libraries of any size: its emulator for all that is asked once, and for what is asked of every asset a
stand-in that keeps nothing of it but a bit."""

from __future__ import annotations

import json
import random
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any
from urllib.parse import urlsplit

from dam_sync.http.outgoing import DirectTransport, HttpxTransport, OutgoingRequest, ResponseSource
from dam_sync.http.request_body import RequestBody
from tests.support.virtual.clock import EPOCH
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.universe import Tenant, Universe
from tests.support.virtual.wire import FAR, NEAR, VirtualTransport

RATE = 50  # wire E 7: sliding 50/s per tenant, v1 counted
SERVING = (0.05, 0.12)  # seconds that an upload takes the service
MARK = "srckey"
UPLOAD, TAGS, FILL = "POST /v2/uploads", "PUT /v2/assets/{id}/tags/add", "POST /api/rest/category/assets"
READ = "GET /v2/assets/{id}"
BEGUN = b'name="'
LAST = 256  # assets that may still be read: each after its upload, and the first after its tags
DATE = "2026-01-01T00:00:00Z"
_JSON = (b"content-type", b"application/json")


class ThinTarget:
    """One tenant. `met` has a bit for each source asset: 1 where it came, `twice` counts those that came again."""

    def __init__(self, universe: Universe, tenant: Tenant, size: int, number_of: Callable[[str], int]) -> None:
        self.universe, self.tenant, self.size = universe, tenant, size
        self.calls: Counter[str] = Counter()
        self.met = bytearray(size // 8 + 1)
        self.made = self.tagged = self.placed = self.twice = self.refused = self.most_in_a_second = 0
        self._number_of = number_of
        self._window: deque[float] = deque()
        self._last: dict[str, dict[str, Any]] = {}
        self._rng = random.Random(f"service e {universe.seed}")

    @property
    def met_in_all(self) -> int:
        """How many source assets came."""
        return sum(byte.bit_count() for byte in self.met)

    def admit(self) -> float | None:
        """None, or for how many seconds no call can succeed."""
        now, window = self.universe.clock.monotonic(), self._window
        while window and window[0] <= now - 1.0:
            window.popleft()
        if len(window) >= RATE:
            self.refused += 1
            return window[0] + 1.0 - now
        window.append(now)
        self.most_in_a_second = max(self.most_in_a_second, len(window))
        return None

    def answer(self, method: str, path: str, content_type: str, body: bytes) -> tuple[int, Any] | None:
        """Status and JSON of a call about assets; None for one that the emulator responds to."""
        if (method, path) == ("POST", "/v2/uploads"):
            return self._upload(form_of(content_type, body))
        if method == "GET":
            return self._read(path.split("/")[3])
        if method == "PUT" and path.startswith("/v2/assets/") and path.endswith("/tags/add"):
            return self._tag(path.split("/")[3], json.loads(body))
        if (method, path) == ("POST", "/api/rest/category/assets"):
            return self._fill(json.loads(body))
        return None

    def _upload(self, form: Mapping[str, str]) -> tuple[int, Any]:
        self.calls[UPLOAD] += 1
        fields = json.loads(form.get("metadata", "{}")).get("fields", {})
        if not form.get("profile") or not form.get("filename") or "file" not in form or not fields.get("title"):
            return 400, {"error": "invalid_request", "error_description": f"incomplete: {sorted(form)}"}
        number = self._number_of(fields[MARK][0])
        if form["file"] != f"picture {number}\n":
            return 400, {"error": "invalid_request", "error_description": "bytes of another asset"}
        place, bit = number // 8, 1 << number % 8
        self.twice += bool(self.met[place] & bit)
        self.met[place] |= bit
        self.made += 1
        asset = f"{self.made:08d}-0000-4000-8000-{number:012d}"
        self._last[asset] = {
            "id": asset,
            "created_date": DATE,
            "file_upload_date": DATE,
            "metadata": {"fields": fields},
        }
        if len(self._last) > LAST:
            del self._last[next(iter(self._last))]
        return 201, {"_links": {"self": f"{self.tenant.url}/v2/assets/{asset}"}}

    def _tag(self, asset: str, sent: Any) -> tuple[int, Any]:
        self.calls[TAGS] += 1
        if not self._is_made(asset) or not sent.get("tags"):
            return 404, {"error": "not_found", "error_description": "no such asset"}
        self.tagged += 1
        self._last[asset]["tags"] = sent["tags"]
        return 200, {}

    def _read(self, asset: str) -> tuple[int, Any]:
        """An asset that was made just now."""
        self.calls[READ] += 1
        return 200, self._last[asset]

    def _fill(self, sent: Any) -> tuple[int, Any]:
        self.calls[FILL] += 1
        (category,) = sent["categories"]["uuids"]
        added = sent["add"]["uuids"]
        known = self.tenant.app.state.tenant.taxonomy.categories
        if category not in known or not all(map(self._is_made, added)) or sent["remove"]["uuids"]:
            return 404, {"error": "not_found", "error_description": "no such category or asset"}
        self.placed += len(added)
        return 200, {}

    def _is_made(self, asset: str) -> bool:
        return asset[:8].isdigit() and 0 < int(asset[:8]) <= self.made

    def pause_headers(self, seconds: float) -> list[tuple[bytes, bytes]]:
        """What a call beyond the rate is sent: the timestamp, in milliseconds rounded up (wire E 7)."""
        epoch = self.universe.clock.monotonic() + seconds + 0.001
        return [(b"x-ratelimit-reset", _instant(epoch).encode()), *rate_headers(0)]

    def left(self) -> int:
        """Calls left in this second."""
        return RATE - len(self._window)

    async def serve(self) -> None:
        """The time it takes."""
        await self.universe.clock.sleep(self._rng.uniform(*SERVING))

    async def way(self) -> None:
        """The time a call or its response is under way."""
        await self.universe.clock.sleep(self._rng.uniform(NEAR, FAR))


@dataclass(slots=True)
class Response:
    """A `ResponseSource` that has arrived."""

    status: int
    raw_headers: list[tuple[bytes, bytes]]
    body: bytes

    def arrived(self) -> bytes | None:
        """All of the body."""
        return self.body

    async def blocks(self) -> AsyncIterator[bytes]:
        """The body."""
        yield self.body

    async def aclose(self) -> None:
        """Nothing to give back."""


class ThinTransport(DirectTransport):
    """The network to that tenant: every call is held to the rate, few reach the emulator. It carries requests as
    connections do, so that none of httpx is made, which no real run makes either."""

    def __init__(self, service: ThinTarget) -> None:
        self._service = service
        self._emulator = HttpxTransport(VirtualTransport(service.universe.network, Fuse()))

    async def send(self, outgoing: OutgoingRequest) -> ResponseSource:
        """The response of the stand-in, or of the emulator."""
        service = self._service
        await service.way()
        wait = service.admit()
        if wait is not None:
            refusal = {"error": "too_many_requests", "error_description": "API rate limit exceeded"}
            return await self._response(429, refusal, service.pause_headers(wait))
        url = urlsplit(outgoing.url)
        reads_asset = url.path.startswith("/v2/assets/") and "-" in url.path
        if url.path == "/api/rest/category" or (outgoing.method == "GET" and not reads_asset):
            return await self._emulator.send(outgoing)
        headers = rate_headers(service.left())
        body = await outgoing.body.joined() if isinstance(outgoing.body, RequestBody) else outgoing.body or b""
        assert len(body) == int(outgoing.headers.get("content-length", len(body))), "a body of another length"
        await service.serve()
        said = service.answer(outgoing.method, url.path, outgoing.headers.get("content-type", ""), body)
        assert said is not None, f"{outgoing.method} {url.path} is not expected"
        return await self._response(*said, headers)

    async def _response(self, status: int, reply: Any, headers: list[tuple[bytes, bytes]]) -> Response:
        await self._service.way()
        return Response(status, [_JSON, *headers], json.dumps(reply).encode())


def rate_headers(left: int) -> list[tuple[bytes, bytes]]:
    """Of every v2 response."""
    return [(b"x-ratelimit-limit", b"%d/second" % RATE), (b"x-ratelimit-remaining", b"%d" % left)]


def form_of(content_type: str, body: bytes) -> dict[str, str]:
    """The parts of a form by name, as RFC 7578 has them. Raises for one that is malformed."""
    kind, _, boundary = content_type.partition("; boundary=")
    assert kind == "multipart/form-data"
    start, *parts, end = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())
    assert (start, end) == (b"", b"--\r\n"), "a form that does not end"
    found: dict[str, str] = {}
    for part in parts:
        head, _, value = part.partition(b"\r\n\r\n")
        found[head.partition(BEGUN)[2].partition(b'"')[0].decode()] = value.decode()
    return found


def _instant(seconds: float) -> str:
    when = (EPOCH + timedelta(seconds=seconds)).astimezone(UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
