"""Bytes to the service: one request up to 20 MB, else ranges in sequence (wire A 6.1, 6.2)."""

from __future__ import annotations

import base64

from dam_sync.http.client import Request, Response
from dam_sync.http.interpreting import interprets_response
from dam_sync.http.multipart import BodyFactory
from dam_sync.http.retry import patient
from dam_sync.model.errors import ContractBroken, SessionGone, TooLarge, Transient
from dam_sync.model.limits import MIB, Part
from dam_sync.model.ports import Budget, Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import ENDPOINTS, HypermediaApi
from dam_sync.services.a_hypermedia.api.hal import api_path, link, tail
from dam_sync.transfer.part_sender import Blocks
from dam_sync.transfer.upload import send_ranges, send_single

_WHOLE_BYTES = 4 * MIB
_FILE = f"{ENDPOINTS['files']}/{{fileId}}"


class HypermediaUploads:
    """Uploads content to a file descriptor; descriptors expire within the hour."""

    def __init__(self, api: HypermediaApi, budget: Budget | None) -> None:
        self._api = api
        self._budget = budget

    async def send(self, content: Content, journal: Journal, name: str = "file") -> str:
        """The path of the descriptor, recorded in `journal` under `name`; safe to repeat.

        Raises TooLarge, SessionGone if the descriptor expired.
        """
        await self.check(content)
        bounds, keep = self._api.limits.parts_for(content.size), facts.UPLOAD_LIFE
        if bounds is None or not await self._takes_chunks():
            handle = await send_single(content, self._single, journal, name, ttl=keep)
        else:
            wire, step = Ranges(self._api, content), bounds.preferred
            handle = await send_ranges(content, wire, step, journal, name, budget=self._budget, ttl=keep)
        return str(handle["path"])

    async def check(self, content: Content) -> None:
        """Raises TooLarge for what this release does not accept; no call except the first of the connection."""
        most = largest(await self._takes_chunks())
        if content.size > most:
            text = f"{content.name} has {content.size} bytes; the service accepts {most}"
            older = most < facts.LARGEST_BYTES
            raise TooLarge(text, hint="files this large need release 4.31.0 or newer" if older else "")

    async def _single(self, content: Content) -> Json:
        if content.size > _WHOLE_BYTES or self._budget is None:
            return await self._posted(content, content.blocks)
        async with self._budget.hold(content.size):
            return await self._posted(content, await content.read(0, content.size))

    async def _posted(self, content: Content, body: bytes | BodyFactory) -> Json:
        reply = await self._api.client.send(
            Request(
                operation=f"POST {ENDPOINTS['files']}",
                method="POST",
                path=await self._api.path("files"),
                body=body,
                size=content.size,
                headers={"Content-Type": content.media_type, **_file_name(self._api, content)},
                repeatable=True,  # a second descriptor does no harm
            )
        )
        return {"path": _descriptor(reply, await self._api.path("files"))}

    async def _takes_chunks(self) -> bool:
        return (await self._api.entry.get()).has(facts.CHUNKS)


def largest(takes_chunks: bool) -> int:
    """Bytes a file may have: without chunks it must fit into one request (wire A 10)."""
    return facts.LARGEST_BYTES if takes_chunks else facts.ONE_REQUEST_BYTES


class Ranges:
    """A chunked upload: one range in flight, the service says which byte it expects next."""

    def __init__(self, api: HypermediaApi, content: Content) -> None:
        self._api = api
        self._content = content

    async def begin(self, size: int) -> Json:
        """Announce the file; returns a ticket."""
        rels = self._api.rels
        reply = await self._api.client.send(
            Request(
                operation=f"POST {ENDPOINTS['files']}",
                method="POST",
                path=await self._api.path("files"),
                body=b"",
                headers={
                    rels.header("Upload-Content-Type"): self._content.media_type,
                    rels.header("Upload-Content-Length"): str(size),
                    **_file_name(self._api, self._content),
                },
                repeatable=True,
            )
        )
        return {"path": _descriptor(reply, await self._api.path("files")), "size": size}

    async def offset(self, ticket: Json) -> int:
        """The next byte that the service expects. Raises SessionGone if the descriptor expired."""
        request = Request(operation=f"GET {_FILE}", method="GET", path=ticket["path"])
        return next_expected((await self._api.client.send(request)).json(), ticket["size"])

    async def put(self, ticket: Json, part: Part, total: int, body: Blocks) -> int:
        """Send one range; returns the next expected byte. After a lost response the service is asked what it has, so no
        range that arrived is sent again. Raises Transient if it fails repeatedly."""
        for pause in facts.RANGE_PAUSES:
            try:
                return await self._sent(ticket, part, total, body)
            except (Transient, ContractBroken) as error:
                wanted = await self.offset(ticket)
                if wanted != part.start:
                    return wanted
                await sleep_for(self._api.clock, patient(error, pause), AGAIN, "target")
        return await self._sent(ticket, part, total, body)

    async def _sent(self, ticket: Json, part: Part, total: int, body: Blocks) -> int:
        reply = await self._api.client.send(
            Request(
                operation=f"PUT {_FILE}",
                method="PUT",
                path=ticket["path"],
                body=body,
                size=part.size,
                headers={
                    "Content-Type": "application/octet-stream",
                    "Content-Range": f"bytes {part.start}-{part.stop - 1}/{total}",
                },
                repeatable=False,
                accept=frozenset({416}),
            )
        )
        if reply.status == 416 or (reply.status == 200 and part.stop < total):
            return await self.offset(ticket)
        return next_expected(reply.json() if reply.body.strip() else {}, part.stop)

    async def finish(self, ticket: Json) -> Json:
        """Nothing to send: the last range completes the file."""
        return {"path": ticket["path"]}


@interprets_response
def next_expected(descriptor: Json, complete: int) -> int:
    """The first offset of `nextExpectedRanges`; `complete` if it has no ranges (wire A 6.2)."""
    ranges = descriptor.get("nextExpectedRanges") if isinstance(descriptor, dict) else None
    if isinstance(ranges, str):
        ranges = [ranges]
    if not ranges:
        return complete
    start = str(ranges[0]).removeprefix("bytes").strip(" =").partition("-")[0]
    if not start.isdigit():
        raise SessionGone(f"the service expects an unreadable range: {ranges[0]!r}")
    return int(start)


@interprets_response
def _descriptor(reply: Response, files: str) -> str:
    """Location first; otherwise the link or id of the body (wire A 6.1)."""
    location = reply.headers.get("location", "")
    if location:
        return api_path(location)
    body = reply.json()
    return api_path(link(body, "self")) if link(body, "self") else f"{files}/{tail(str(body['id']))}"


def _file_name(api: HypermediaApi, content: Content) -> dict[str, str]:
    encoded = base64.b64encode(content.name.encode()).decode()
    return {api.rels.header("Base64FileName"): encoded}
