"""Sends files again that service C never processed."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.model.asset import AssetId
from dam_sync.model.journal import note_fact
from dam_sync.model.ports import Content, Journal
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi
from dam_sync.services.c_brandlibrary.uploads import BrandLibraryUploads


@dataclass(frozen=True, slots=True)
class Resend:
    """An object may expire before the service processes it (wire C 6.1: after seven days)."""

    api: BrandLibraryApi
    uploads: BrandLibraryUploads

    async def sent(
        self, asset: AssetId, attachment: str, content: Content, journal: Journal, name: str = "file"
    ) -> bool:
        """Whether the file was sent again: only after an earlier wait was in vain, because a slow
        service needs nothing but time. The same bytes, so it is safe to repeat."""
        waited = f"{name}:waited"
        if await journal.get(waited) is None:
            await note_fact(journal, waited)
            return False
        await self.uploads.discard(journal, name)
        url = await self.uploads.send(content, journal, name)
        body = {"data": {"attributes": {"url": url, "filename": content.name}}}
        await self.api.write(facts.PUT_ATTACHMENT, (attachment,), body, asset=asset, repeatable=True)
        return True
