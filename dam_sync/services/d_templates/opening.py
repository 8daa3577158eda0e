"""The bytes of files, by links that live 20 seconds: a fresh one for every opening (wire D 4)."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.model.asset import FileRef
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.service import Stream
from dam_sync.net.client import Request
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.connection import Line
from dam_sync.services.d_templates.families import Families
from dam_sync.services.d_templates.wire import text_of

_TRIES = 3  # wire D 7: a 502 of a read is permanent for that id after three tries
_FILELESS = "see in the service whether the file was ever uploaded, or is kept outside of it"


@dataclass(frozen=True, slots=True)
class Opening:
    """Opens the original of any version."""

    line: Line
    families: Families

    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """Bytes from `offset`. A link that ended while it waited for its turn is asked for again, a few times."""
        asset, _, record = file.id.partition("/")
        owner = self.families.owners.get(record)
        if owner is not None and owner[0] != asset:
            raise NotFound("this is the file of another asset", asset=asset, operation=facts.CONTENT)
        for renewals in range(facts.LINK_RENEWALS, -1, -1):
            link = await self._link(asset, record)
            try:
                request = Request(facts.DOWNLOAD, "GET", link, asset=asset)
                return await self.line.client.stream(request, offset)
            except NotFound:
                if not renewals:
                    raise
        raise NotFound("the file cannot be downloaded", asset=asset)

    async def _link(self, asset: str, record: str) -> str:
        """A fresh signed link. Raises NotFound where the record has no file, whatever the service calls that."""
        request = self.line.request(
            facts.CONTENT, record, asset=asset, accept=frozenset({400, 404, 502}), repeatable=True
        )
        for attempt in range(1, _TRIES + 1):
            reply = await self.line.send(request)
            if reply.status == 200:
                link = text_of(reply.json(), "presignedURL", "presignedUrl", "url")
                if link:
                    return link
                break
            if reply.status != 502:
                break
            if attempt < _TRIES:
                await self.line.clock.sleep(float(attempt))
        known = await self.families.record(record, asset=asset)  # and where the service is down, that is told here
        if known.deleted:
            raise Rejected("a file in the recycle bin cannot be downloaded", asset=asset, operation=facts.CONTENT)
        raise NotFound("the asset has no file", asset=asset, operation=facts.CONTENT, code="no-file", hint=_FILELESS)
