"""Opens files by signed URLs: fifty per call for files of a listing, otherwise one call per file (wire D 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

from dam_sync.aio.lru import LruCache
from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import FileRef
from dam_sync.model.connector import Context
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.ports import Stream
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Json
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.wire import VersionGroup, listed, number_of
from dam_sync.services.d_templates.tenant import TemplatesPart

_TRIES = 3  # wire D 7: a 502 of a read is permanent for that id after three tries
_FILELESS = "check in the service whether the file was ever uploaded, or is stored outside it"
_REFUSED = frozenset({400, 403, 404, 502})


@dataclass(slots=True, repr=False)
class LinkChunk:
    """Records listed next to each other: their URLs come from one call, and each is used once. URLs are secrets."""

    name: str  # the first record
    waiting: dict[str, None]
    links: dict[str, str] = field(default_factory=dict)
    until: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class TemplatesOpen(TemplatesPart):
    """Opens the original of any version."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._chunks = LruCache[str, LinkChunk](facts.FAMILIES_KEPT)
        self._lasts = 0.0  # seconds that links were asked to last
        self._lends = True  # as far as is known, links live as long as is asked

    def expect_opens(self, families: Iterable[VersionGroup]) -> None:
        """Announce files that may be opened soon, in this order, so that one call can fetch their URLs."""
        records = [one.object for family in families for one in family.living if one.has_file]
        for some in _shares(records, facts.EXPOSED):
            chunk = LinkChunk(some[0], dict.fromkeys(some))
            for record in some:
                self._chunks.put(record, chunk)

    def shared_link(self, file: FileRef) -> str | None:
        """Names the files whose links come with that of this file; None if it was not announced."""
        chunk = self._chunks.get(file.id.partition("/")[2])
        return None if chunk is None else chunk.name

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """Bytes from `offset`. A URL that expires while waiting is renewed a few times."""
        asset, _, record = file.id.partition("/")
        owner = self.version_groups.owners.get(record)
        if owner is not None and owner[0] != asset:
            raise NotFound("the file belongs to another asset", asset=asset, operation=facts.CONTENT)
        for renewals in range(facts.LINK_RENEWALS, -1, -1):
            link = await self._exposed(record) or await self._link(asset, record)
            if not link.lower().startswith(("https://", "http://")):
                raise Rejected("the download link is not an http URL", asset=asset, operation=facts.CONTENT)
            try:
                return await self.api.client.stream(_download(link, asset), offset, validator)
            except NotFound:
                if not renewals:
                    raise
        raise NotFound("the file cannot be downloaded", asset=asset)

    async def download_link(self, file: FileRef, lasts: timedelta) -> str:
        """A URL that was asked to live long enough, with those of the other files of its chunk; empty if the service
        gives a shorter one."""
        asset, _, record = file.id.partition("/")
        owner = self.version_groups.owners.get(record)
        if owner is not None and owner[0] != asset:
            raise NotFound("the file belongs to another asset", asset=asset, operation=facts.CONTENT)
        chunk = self._chunks.get(record)
        if chunk is None or record not in chunk.waiting:
            self._chunks.put(record, LinkChunk(record, {record: None}))
        self._lasts = max(self._lasts, lasts.total_seconds())
        link = await self._exposed(record, lasts.total_seconds()) if self._lends else ""
        return await self.api.client.link_for_others(_download(link, asset)) if link else ""

    async def _exposed(self, record: str, lasts: float = 0.0) -> str:
        """A URL fetched for the chunk, used once; empty if there is none or it expires before that."""
        chunk = self._chunks.get(record)
        if chunk is None:
            return ""
        async with chunk.turn:
            if record not in chunk.waiting:
                return ""
            if self.api.clock.monotonic() + lasts >= chunk.until:
                await self._expose(chunk)
            if chunk.links and self.api.clock.monotonic() + lasts >= chunk.until:
                self._lends = False  # whatever is asked, links live shorter here
                return ""
            chunk.waiting.pop(record, None)
            return chunk.links.pop(record, "")

    async def _expose(self, chunk: LinkChunk) -> None:
        """Fetch the URLs of all files of a chunk that are still unopened; missing ones are fetched one by one (wire D
        15)."""
        asked = self.api.clock.monotonic()
        life = facts.EXPOSED_SECONDS + int(self._lasts)  # the last one of a chunk is used later than the first
        component = {"componentType": "object", "componentRef": "original", "expiration": life}
        body = [{"id": one, "identifier": "objectId", "components": [component]} for one in chunk.waiting]
        request = self.api.request(facts.EXPOSE, json=body, reads=True, repeatable=True, accept=_REFUSED)
        reply = await self.api.send(request)
        rows = listed(reply.json(), "assets") if reply.status == 200 else []
        links = {member_text(row, "id"): _original(row) for row in rows}
        chunk.links = {one: link for one, link in links.items() if link and one in chunk.waiting}
        chunk.waiting = dict.fromkeys(one for one in chunk.waiting if one in chunk.links)
        lives = min((_seconds(link) for link in chunk.links.values()), default=0.0)
        chunk.until = asked + lives - facts.EXPOSED_RESERVE

    async def _link(self, asset: str, record: str) -> str:
        """A fresh signed URL. Raises NotFound if the record has no file, whatever status the service returns."""
        request = self.api.request(
            facts.CONTENT, record, asset=asset, accept=frozenset({400, 404, 502}), repeatable=True
        )
        for attempt in range(1, _TRIES + 1):
            try:
                reply = await self.api.send(request)
            except NotFound:  # 403, also for what is in the recycle bin (wire D 4, 7)
                break
            if reply.status == 200:
                link = member_text(reply.json(), "presignedURL", "presignedUrl", "url")
                if link:
                    return link
                break
            if reply.status != 502:
                break
            if attempt < _TRIES:
                await sleep_for(self.api.clock, float(attempt), AGAIN, "source")
        known = await self.version_groups.record(record, asset=asset)  # raises where the service is down
        if known.deleted:
            raise Rejected("a file in the recycle bin cannot be downloaded", asset=asset, operation=facts.CONTENT)
        raise NotFound("the asset has no file", asset=asset, operation=facts.CONTENT, code="no-file", hint=_FILELESS)


def _download(link: str, asset: str) -> Request:
    return Request(facts.DOWNLOAD, "GET", link, asset=asset, bare=True)


def _shares(records: Sequence[str], most: int) -> Iterable[Sequence[str]]:
    """Split into as few shares of at most `most` as possible, of nearly equal size."""
    shares = -(-len(records) // most)
    ends = [len(records) * number // shares for number in range(shares + 1)] if shares else []
    return [records[start:stop] for start, stop in pairwise(ends)]


@interprets_response
def _original(row: Json) -> str:
    components = [one for one in row.get("components") or () if isinstance(one, dict)]
    return next((member_text(one, "url") for one in components if one.get("componentRef") == "original"), "")


def _seconds(link: str) -> float:
    """Lifetime according to the URL itself; other members of the response may be wrong (wire D 4)."""
    query = {name.lower(): value for name, value in parse_qsl(urlsplit(link).query)}
    return float(number_of(query.get("x-amz-expires", "")) or facts.LINK_LIFE.total_seconds())
