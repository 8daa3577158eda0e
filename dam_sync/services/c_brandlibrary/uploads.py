"""Uploads to the object storage of service C: one request, or ranges in sequence (wire C 6.1, 6.2)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urljoin

from dam_sync.http.client import Request, Response
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import digest_of
from dam_sync.model.errors import ContractBroken, Denied, IntegrityError, Rejected, SessionGone, Transient
from dam_sync.model.limits import Part
from dam_sync.model.ports import Budget, Content, CredentialStore, IsReferenced, Journal
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi
from dam_sync.transfer.part_sender import Blocks
from dam_sync.transfer.upload import send_ranges, send_single

BINARY = "application/octet-stream"
REFUSALS = frozenset(range(400, 500)) - {408, 429}
DONE = frozenset({200, 201})
GONE = frozenset({404, 410})
CANCELLED = 499  # how the storage says yes (wire C 6.2)
GOES_ON = 308  # progress, not a redirect (wire C 11.10)
WAYS = (("PUT", True), ("PUT", False), ("POST", True))  # method, and whether the media type is sent (wire C 6.1)
PLACES = 64  # in the credential store for sessions, at most
_PLACE = f"{facts.NAME}-upload-"
_END = re.compile(r"bytes=0-(\d+)$")
_MD5 = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class UploadSlot:
    """Where one file goes: `object` names it afterwards; the others are secrets."""

    upload: str = field(repr=False)
    resumable: str = field(repr=False)
    object: str


@dataclass(slots=True)
class BrandLibraryUploads:
    """Sends files; the method that the upload link accepts is detected once."""

    api: BrandLibraryApi
    budget: Budget
    credentials: CredentialStore | None
    way: int | None = None
    _sessions: dict[str, str] = field(default_factory=dict, repr=False)

    async def send(self, content: Content, journal: Journal, name: str = "file") -> str:
        """The URL that refers to the object; recorded, valid for six days, safe to repeat."""
        bounds = self.api.limits.parts_for(content.size)
        if bounds is None:
            return str(await send_single(content, self._single, journal, name, ttl=facts.OBJECT_LIFE))
        wire = SessionWire(self, content)
        handle = await send_ranges(
            content, wire, bounds.preferred, journal, name, budget=self.budget, ttl=facts.UPLOAD_LIFE
        )
        await self.done(handle)  # not before the end is recorded: till then the session is needed to go on
        return str(handle["object"])

    async def discard(self, journal: Journal, name: str = "file") -> None:
        """Send it again next time: an earlier create may have used it up (wire C 6.9)."""
        await journal.discard(name, f"{name}:*")

    async def slot(self) -> UploadSlot:
        """New URLs; the response may or may not be wrapped in `data` (wire C 11.8)."""
        reply = (await self.api.client.send(self.api.reading(facts.UPLOAD_REQUEST))).json()
        body = reply
        for name in ("data", "attributes"):
            body = body[name] if isinstance(body, dict) and isinstance(body.get(name), dict) else body
        try:
            upload, named = str(body["upload_url"]), str(body["object_url"])
            return UploadSlot(upload, member_text(body, "resumable_upload_url"), named)
        except (KeyError, TypeError):
            raise ContractBroken(
                "the response to an upload request has no URLs", operation=facts.UPLOAD_REQUEST
            ) from None

    async def _single(self, content: Content) -> Json:
        """Up to two new requests after a refusal."""
        for _ in range(facts.FRESH_UPLOADS):
            slot = await self.slot()
            if await self._put(slot, content) is None:
                return slot.object
        slot = await self.slot()
        refusal = await self._put(slot, content)
        if refusal is not None:
            raise Rejected(
                f"the storage refused the file with {refusal}",
                operation=facts.SEND_FILE,
                code="upload refused",
                hint="compare this host's clock with the service's; try `options: {upload_method: put}` or post",
            )
        return slot.object

    async def _put(self, slot: UploadSlot, content: Content) -> int | None:
        """None if the storage accepted it, otherwise its refusal; all methods are tried until one works, then only that
        one."""
        status = 0
        for way in self._ways():
            sent = _Sent(content)
            reply = await self._sent(slot, sent, *WAYS[way])
            if reply.status in DONE or reply.status == 204:
                sent.refuse_other(reply.headers)
                self.way = way
                return None
            status = reply.status
        return status

    def _ways(self) -> tuple[int, ...]:
        if self.way is not None:
            return (self.way,)
        return {"auto": (0, 1, 2), "put": (0, 1), "post": (2,)}[self.api.options.upload_method]

    async def _sent(self, slot: UploadSlot, sent: _Sent, method: str, typed: bool) -> Response:
        """The whole body again after a broken connection: it overwrites."""
        request = Request(
            facts.SEND_FILE,
            method,
            slot.upload,
            body=sent.blocks,
            size=sent.content.size,
            headers={"Content-Type": (sent.content.media_type or BINARY) if typed else ""},
            repeatable=True,
            accept=REFUSALS,
            bare=True,
        )
        return await self.api.client.send(request)

    # -- sessions --------------------------------------------------------------------------------------------------

    async def remember(self, url: str) -> Json:
        """A session's URL is a credential: in memory and in the credential store, if any, never in the state.

        Returns what recalls it: a place in the credential store, of which there are few, and a digest that shows that
        it is still there.
        """
        place = await self._free_place()
        self._sessions[place] = url
        if self.credentials is not None:
            await self.credentials.save(place, url)
        return {"place": place, "digest": digest_of(url)}

    async def _free_place(self) -> str:
        for number in range(PLACES):
            place = f"{_PLACE}{number}"
            if place in self._sessions:
                continue
            self._sessions[place] = ""  # taken, before anybody else looks
            if self.credentials is None or not await self.credentials.load(place):
                return place
            del self._sessions[place]
        return f"{_PLACE}{self.api.clock.token()[:2]}"  # the session there has long ended, or starts again

    async def session_url(self, ticket: Json) -> str:
        """The session's URL. Raises SessionGone if it was not stored."""
        place, url = str(ticket["place"]), await self._kept(ticket)
        if digest_of(url) != ticket["digest"]:
            raise SessionGone("the upload session is no longer known", operation=facts.SEND_RANGES)
        self._sessions[place] = url
        return url

    async def done(self, ticket: Json) -> None:
        """Forget a finished session. Safe to repeat."""
        place = str(ticket["place"])
        if digest_of(await self._kept(ticket)) != ticket["digest"]:
            return
        if self.credentials is not None:
            await self.credentials.save(place, "")
        self._sessions.pop(place, None)

    async def sweep(self, recorded: IsReferenced) -> int:
        """Abort orphaned sessions; returns how many another process had left open. Safe to repeat."""
        places = await self.credentials.names(_PLACE) if self.credentials is not None else ()
        left = 0
        for place in places:
            ours, url = place in self._sessions, await self._kept({"place": place})
            if not await recorded(digest_of(url)):
                ended = await self._ended(url)
                await self.done({"place": place, "digest": digest_of(url)})
                left += ended and not ours
        return left

    async def _ended(self, url: str) -> bool:
        """Whether it was open and has now ended. Best effort: what cannot be ended now expires."""
        accept = GONE | {CANCELLED}
        with suppress(Rejected, Denied, Transient):
            request = Request(facts.END_RANGES, "DELETE", url, body=b"", repeatable=True, accept=accept, bare=True)
            return (await self.api.client.send(request)).status not in GONE
        return False

    async def _kept(self, ticket: Json) -> str:
        """The entry stored for the ticket, maybe of another session by now."""
        place = str(ticket["place"])
        if known := self._sessions.get(place):
            return known
        return (await self.credentials.load(place) if self.credentials is not None else None) or ""


@dataclass(slots=True)
class _Sent:
    """A file being sent, with the MD5 of the bytes sent."""

    content: Content
    digest: bytes = b""

    async def blocks(self) -> AsyncIterator[bytes]:
        """Starts from the beginning each time it is called."""
        tally = hashlib.md5(usedforsecurity=False)
        async for block in self.content.blocks():
            tally.update(block)
            yield block
        self.digest = tally.digest()

    def refuse_other(self, headers: Mapping[str, str]) -> None:
        """Raises IntegrityError if the storage received other bytes (wire C 6.1)."""
        theirs = _reported_md5(headers)
        if theirs and self.digest and theirs != self.digest:
            text = f"the storage reports MD5 {theirs.hex()} for {self.content.name}, but {self.digest.hex()} was sent"
            raise IntegrityError(text, operation=facts.SEND_FILE)


@dataclass(frozen=True, slots=True)
class SessionWire:
    """The resumable protocol of the storage, as `RangesWire`."""

    uploads: BrandLibraryUploads
    content: Content

    async def begin(self, size: int) -> Json:
        """A session; the ticket does not contain its URL."""
        slot = await self.uploads.slot()
        headers = {"x-goog-resumable": "start", "Content-Type": self.content.media_type or BINARY}
        request = Request(
            facts.START_RANGES,
            "POST",
            slot.resumable,
            body=b"",
            headers=headers,
            repeatable=True,
            accept=REFUSALS,
            bare=True,
        )
        reply = await self.uploads.api.client.send(request)
        if reply.status in REFUSALS:
            raise SessionGone(f"the storage refused a new session with {reply.status}", operation=facts.START_RANGES)
        url = reply.headers.get("location", "") or _reported_location(reply)
        if not url:
            raise ContractBroken("the response to a new upload session has no URL", operation=facts.START_RANGES)
        url = urljoin(slot.resumable, url)
        return {**await self.uploads.remember(url), "object": slot.object, "size": size}

    async def offset(self, ticket: Json) -> int:
        """The next expected byte; the size if complete. Raises SessionGone."""
        reply = await self._ask(ticket, b"", 0, f"bytes */{ticket['size']}", repeatable=True)
        return int(ticket["size"]) if reply.status in DONE else _next_byte(reply)

    async def put(self, ticket: Json, part: Part, total: int, body: Blocks) -> int:
        """Send one range; after a broken connection the storage is asked how much of it arrived (wire C 6.2)."""
        try:
            reported = f"bytes {part.start}-{part.stop - 1}/{total}"
            reply = await self._ask(ticket, body, part.size, reported, repeatable=False)
        except Transient:
            return await self.offset(ticket)
        return total if reply.status in DONE else _next_byte(reply)

    async def finish(self, ticket: Json) -> Json:
        """The object's URL, and where that of the session is stored, once the storage reports that it is complete."""
        reply = await self._ask(ticket, b"", 0, f"bytes */{ticket['size']}", repeatable=True)
        if reply.status not in DONE:
            raise SessionGone("the storage does not report the upload as complete", operation=facts.SEND_RANGES)
        return ticket

    async def _ask(self, ticket: Json, body: bytes | Blocks, size: int, reported: str, *, repeatable: bool) -> Response:
        request = Request(
            facts.SEND_RANGES,
            "PUT",
            await self.uploads.session_url(ticket),
            body=body,
            size=size,
            headers={"Content-Range": reported},
            repeatable=repeatable,
            accept=REFUSALS | {GOES_ON},
            bare=True,
        )
        reply = await self.uploads.api.client.send(request)
        if reply.status in REFUSALS:  # wire C 6.2: fatal for the session, and for nothing else
            await self.uploads.done(ticket)
            raise SessionGone(f"the upload session has ended ({reply.status})", operation=facts.SEND_RANGES)
        return reply


@interprets_response
def _next_byte(reply: Response) -> int:
    """Behind the last byte kept; no `Range` means nothing was."""
    found = _END.match(reply.headers.get("range", "").replace(" ", ""))
    return int(found[1]) + 1 if found else 0


@interprets_response
def _reported_location(reply: Response) -> str:
    body = reply.json() if reply.body.strip() else {}
    return member_text(body, "location") if isinstance(body, dict) else ""


def _reported_md5(headers: Mapping[str, str]) -> bytes:
    """From x-goog-hash, else an ETag that looks like one; empty if the storage reports none."""
    for part in headers.get("x-goog-hash", "").split(","):
        name, _, text = part.strip().partition("=")
        if name == "md5":
            return base64.b64decode(text)
    etag = headers.get("etag", "").strip('"').lower()
    return bytes.fromhex(etag) if _MD5.fullmatch(etag) else b""
