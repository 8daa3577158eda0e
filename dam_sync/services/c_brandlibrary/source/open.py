"""Signed download links of service C: kept in memory, renewed when old or refused (wire C 4)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from dam_sync.aio.lru import LruCache
from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import FileRef
from dam_sync.model.connector import Context
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.ports import Stream
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.envelope import related
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryBase


class BrandLibraryOpener(BrandLibraryBase):
    """Opens files. Links are secrets: they are kept in memory only."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._links = LruCache[str, str](facts.LINKS_KEPT)

    @interprets_response
    def _keep_links(self, row: Json, counts: Mapping[str, int]) -> None:
        """Keep the links returned with an asset."""
        for attachment in related(row, "attachments"):
            name = wire.file_id(row["id"], attachment["id"], counts.get(attachment["id"], 1))
            self._keep_link(name, str(attachment["attributes"].get("url") or ""))

    def _keep_link(self, name: str, link: str) -> None:
        if link:
            self._links.put(name, link)

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """Bytes from offset; a link that is old or refused is renewed, LINK_RENEWALS times at most."""
        asset = wire.parts_of(file.id)[0]
        for _ in range(facts.LINK_RENEWALS):
            try:
                return await self._stream(await self._link(file), asset, offset, validator)
            except NotFound as error:
                if error.operation != facts.DOWNLOAD:
                    raise
                self._links.drop(file.id)
        return await self._stream(await self._link(file), asset, offset, validator)

    async def download_link(self, file: FileRef, lasts: timedelta) -> str:
        """The signed link, renewed once if too little of its life is left; empty if it does not say how long it
        lives."""
        for _ in range(2):
            link = await self._link(file)
            left = wire.life_of(link, self._api.clock.now())
            if left is not None and left >= lasts:
                return await self._api.client.link_for_others(_download(link, wire.parts_of(file.id)[0]))
            self._links.drop(file.id)
        return ""

    async def _stream(self, link: str, asset: str, offset: int, validator: Validator) -> Stream:
        return await self._api.client.stream(_download(link, asset), offset, validator)

    async def _link(self, file: FileRef) -> str:
        kept = self._links.get(file.id) or ""
        if kept and wire.is_fresh(kept, self._api.clock.now()):
            return kept
        asset, attachment, count = wire.parts_of(file.id)
        asked = (("fields", "version_count"), ("include", "asset"))
        row = await self._api.one(facts.ATTACHMENT, (attachment,), asked, asset=asset)
        owners = [each["id"] for each in related(row, "asset")]
        if owners and asset not in owners:
            raise NotFound("the file now belongs to another asset", asset=asset, operation=facts.ATTACHMENT)
        reported = row["attributes"].get("version_count")
        if isinstance(reported, int) and max(reported, 1) != count and self._api.options.version_counts:
            raise NotFound("the file was replaced by a newer version", asset=asset, operation=facts.ATTACHMENT)
        link = str(row["attributes"].get("url") or "")
        if not link:
            raise Rejected(
                "the service returns no link to the original",
                asset=asset,
                operation=facts.ATTACHMENT,
                code="no download link",
                hint="the asset is view-only, or has no file: let an administrator allow its download",
            )
        self._keep_link(file.id, link)
        return link


def _download(link: str, asset: str) -> Request:
    return Request(facts.DOWNLOAD, "GET", link, asset=asset, bare=True)
