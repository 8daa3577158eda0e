"""Service D: how much memory and how many calls it takes to read the memberships of a large library."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import httpx

from dam_sync.model.connector import Context
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from dam_sync.services.d_templates import CONNECTOR, facts
from dam_sync.services.d_templates.service import TemplatesService
from tests.support.services.scripted_d import AUTH
from tests.support.services.typed_options import connected
from tests.support.stepped_clock import SteppedClock

A_TIME = 1_000  # members whose assets are found out together
VERSIONED = 10  # every tenth file is a version of the asset before
OF_A_PAGE = 200  # bytes for each file of a page: the response, its texts of 36 characters, and what is kept of them
OF_THE_LIBRARY = 30  # for each file of a scan: its hash, again while they are sorted, and ids of versioned assets


class LargeLibrary(httpx.AsyncBaseTransport):
    """Responses without a network; pages of collections are made before, all of equal size."""

    def __init__(self, pages: int, each: int) -> None:
        self.files, self.scans = pages * facts.COLLECTION_PAGE * each, 0
        numbers = range(pages * facts.COLLECTION_PAGE)
        rows = [_collection(number, range(number * each, (number + 1) * each)) for number in numbers]
        self._pages = {
            start: _packed({"totalCount": len(rows), "result": rows[start : start + facts.COLLECTION_PAGE]})
            for start in numbers[:: facts.COLLECTION_PAGE]
        }

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        match request.url.path:
            case "/v1/auth/token":
                data = _packed({"session": {"authorization": "id-token", "accessToken": "access-token"}})
            case "/v1/search/collection":
                data = self._pages[body["from"]]
            case path:
                assert path == "/v1/asset/scan"
                data = self._scanned(int(body.get("cursor") or 0), body["limit"])
        return httpx.Response(200, content=data, headers={"Content-Type": "application/json"})

    def _scanned(self, start: int, limit: int) -> bytes:
        self.scans += 1
        rows = [_record(number) for number in range(start, min(start + limit, self.files))]
        return _packed({"totalCount": self.files, "result": rows, "cursor": str(start + len(rows))})


async def test_memory_hardly_grows_with_the_library() -> None:
    """It grows with the files of a page, of which there is a limit, and not with the number of pages."""
    small, page, library = LargeLibrary(1, 40), LargeLibrary(1, 240), LargeLibrary(6, 40)
    peaks = [await peak_of(each) for each in (small, small, page, library)][1:]  # the first one imports and compiles
    files = page.files - small.files
    assert page.files == library.files
    assert peaks[1] - peaks[0] < OF_A_PAGE * files
    assert peaks[2] - peaks[0] < OF_THE_LIBRARY * files


async def peak_of(library: LargeLibrary) -> int:
    """Bytes held at most while all memberships are read, by one scan of everything; their assets are right."""
    library.scans = 0
    service, expected = _service(library), (_id(number) for number in range(library.files) if not _is_version(number))
    with traced() as peak:
        async for membership in service.members():
            assert all(asset == next(expected) for asset in membership.assets)
    assert next(expected, None) is None
    assert library.scans <= 2 + -(-library.files // facts.PAGE)
    return peak[0]


@contextmanager
def traced() -> Iterator[list[int]]:
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
    finally:
        peak.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()


def _service(library: LargeLibrary) -> Service:
    clock = SteppedClock(auto=True)
    context = Context("http://127.0.0.1:1", AUTH, {"relations": "off"}, clock=clock, transport=library)
    service = connected(CONNECTOR, context)
    assert isinstance(service, TemplatesService)
    service.members_a_time = A_TIME
    return service


def _collection(number: int, files: range) -> Json:
    return {"collectionId": f"c{number}", "name": f"Collection {number}", "collectionDocument": list(map(_id, files))}


def _record(number: int) -> Json:
    """Of a version of the asset before, or of an asset."""
    family = _id(number - _is_version(number))
    return {"objectId": f"o{number}", "fileId": _id(number), "originalFileId": family, "objectType": "Asset"}


def _is_version(number: int) -> bool:
    return number % VERSIONED == VERSIONED - 1


def _id(number: int) -> str:
    return str(UUID(int=number + 1 << 96))


def _packed(data: Json) -> bytes:
    return json.dumps(data).encode()
