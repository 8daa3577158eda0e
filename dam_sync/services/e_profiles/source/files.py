"""Signed download links of service E: kept in memory until they expire, renewed when they do. Never stored or shown."""

from __future__ import annotations

from datetime import timedelta

from dam_sync.aio.lru import LruCache
from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.stream import HttpStream
from dam_sync.model.asset import AssetId, FileRef
from dam_sync.model.connector import Context
from dam_sync.model.errors import NotFound, Rejected, Transient
from dam_sync.model.ports import Stream
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.codec import wire
from dam_sync.services.e_profiles.tenant import ProfilesPart
from dam_sync.transfer.described import UNKNOWN, media_type_of

PAGE = "text/html"
_SIZE = (("expand", facts.EXPAND_VERSIONS),)


class ProfilesFiles(ProfilesPart):
    """Opens files. Keeps links by file, at most LINKS_KEPT of them."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._links: LruCache[str, str] = LruCache(facts.LINKS_KEPT)
        self._filled: LruCache[str, bool] = LruCache(facts.LINKS_KEPT)  # files that are not empty, of unknown size

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """Bytes from offset; a link that is old or refused is renewed, LINK_RENEWALS times at most."""
        asset, _, version = file.id.partition("/")
        for _ in range(facts.LINK_RENEWALS):
            try:
                return await self._opened(file, await self._link(file, asset, version), offset, validator)
            except NotFound as error:
                if error.operation != facts.DOWNLOAD:
                    raise
                self._links.drop(file.id)
        return await self._opened(file, await self._link(file, asset, version), offset, validator)

    async def _opened(self, file: FileRef, link: str, offset: int, validator: Validator) -> Stream:
        """Raises Transient for a response that is not the file, which nobody could tell afterwards where its size is
        unknown (wire E 4): an empty one, or a page of whatever is in between."""
        asset = file.id.partition("/")[0]
        stream = await self.api.client.stream(_download(link, asset), offset, validator)
        wrong = self._wrong(file, stream) if file.size is None else ""
        if wrong:
            await stream.aclose()
            self._links.drop(file.id)
            raise Transient(wrong, asset=asset, operation=facts.DOWNLOAD)
        return stream

    def _wrong(self, file: FileRef, stream: HttpStream) -> str:
        if stream.total == 0 and self._filled.get(file.id):
            return "the file arrived without a byte"
        if stream.media_type == PAGE and media_type_of(file) not in (PAGE, UNKNOWN):
            return f"a web page arrived instead of the file {file.name}"
        return ""

    def refuse_withheld(self, file: FileRef) -> None:
        """Raises Rejected as `open` will, if the asset came without a link."""
        if file.withheld:
            raise _without_link(file.id.partition("/")[0])

    async def download_link(self, file: FileRef, lasts: timedelta) -> str:
        """The signed link, renewed once if too little of its life is left; empty if it does not say how long it
        lives."""
        asset, _, version = file.id.partition("/")
        for _ in range(2):
            link = await self._link(file, asset, version)
            left = wire.life_of(link, self.api.clock.now())
            if left is not None and left >= lasts:
                return await self.api.client.link_for_others(_download(link, asset))
            self._links.drop(file.id)
        return ""

    @interprets_response
    def keep_link(self, row: Json) -> None:
        """Remember the link that an asset object, of the current or an older version, came with."""
        self._keep(wire.file_id(wire.id_of(row), wire.version_of(row)), row)

    def _keep(self, name: str, row: Json) -> None:
        self._keep_link(name, wire.download_link(row))
        if wire.has_bytes(row):
            self._filled.put(name, True)

    async def read_documents(self, asset: AssetId) -> list[Json]:
        """The documents attached to an asset, each with a fresh link that is remembered (wire E 3.4)."""
        path = f"/api/rest/asset/uuid/{asset}"
        reply = await self.api.get(facts.V1_ASSET, path, (("options", "attachedDocs"),), asset=asset)
        rows = wire.documents_of(reply)
        for row in rows:
            self._keep_link(wire.document_of(row, asset).id, member_text(row, "downloadUrl"))
        return rows

    def _keep_link(self, name: str, link: str) -> None:
        if link:
            self._links.put(name, link)

    async def _link(self, file: FileRef, asset: str, version: str) -> str:
        kept = self._links.get(file.id) or ""
        if kept and wire.is_fresh(kept, self.api.clock.now()):
            return kept
        if version.startswith(wire.DOCUMENT):
            await self.read_documents(AssetId(asset))
            link = self._links.get(file.id) or ""
        else:
            row = await self._row(asset, version)
            self._keep(file.id, row)
            link = wire.download_link(row)
        if not link:
            raise _without_link(asset)
        self._keep_link(file.id, link)
        return link

    async def _row(self, asset: str, version: str) -> Json:
        row = await self.api.get(facts.ASSET, wire.asset_path(asset), _SIZE, asset=asset)
        if not version or wire.version_of(row) == version:
            return row
        return await self._version(asset, version, listed=row.get("version_id") is None)

    async def _version(self, asset: str, version: str, *, listed: bool) -> Json:
        """An older version by its id, or out of the list where versions have none. Raises NotFound."""
        if not listed:
            return await self.api.get(facts.VERSION, wire.asset_path(asset, "versions", version), _SIZE, asset=asset)
        rows = wire.items_of(await self.api.get(facts.VERSIONS, wire.asset_path(asset, "versions"), _SIZE, asset=asset))
        row = next((each for each in rows if wire.version_of(each) == version), None)
        if row is None:
            raise NotFound("this file version is gone", asset=asset, operation=facts.VERSIONS)
        return row


def _without_link(asset: str) -> Rejected:
    return Rejected(
        wire.NO_LINK,
        asset=AssetId(asset),
        operation=facts.ASSET,
        code="no download link",
        hint="grant the user the conversion “original format” and permission to order active, expired and unreleased "
        "assets",
    )


def _download(link: str, asset: str) -> Request:
    return Request(facts.DOWNLOAD, "GET", link, asset=asset, bare=True)
