"""The bytes of files: static links first, renewed if expired, otherwise express download (wire A 4)."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

from dam_sync.http.client import Request
from dam_sync.model.asset import FileRef
from dam_sync.model.errors import Denied, NotFound, Rejected
from dam_sync.model.ports import Stream
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.api.connection import HalRequest
from dam_sync.services.a_hypermedia.api.hal import file_url, link, own_link, tail, wanted_id
from dam_sync.services.a_hypermedia.codec.wire import withheld
from dam_sync.services.a_hypermedia.source.fetch import MediaReader

_API = "/api/"
_RAISE_LEVEL = "grant the integration user's group the download level HD on this media"


class MediaOpener(MediaReader):
    """Opens originals, old versions and attachments."""

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """Bytes from `offset`; an expired link is read again, once. Raises Rejected if the user may
        not have the original: a low-definition copy is never accepted."""
        if file.link:
            try:
                return await self._static(file, file.link, offset, validator)
            except (Denied, Rejected):
                pass  # the random part of a link changes with each new version (wire A 4)
        media, _, rest = file.id.partition("/")
        if rest.startswith("attachments/"):
            return await self._static(file, await self._attachment_link(media, tail(rest)), offset, validator)
        return await self._original(file, media, rest, offset, validator)

    async def download_link(self, file: FileRef, lasts: timedelta) -> str:
        """The static link of the file; it does not expire (wire A 4)."""
        if not self.is_static(file):
            return ""
        return await self._api.client.link_for_others(self._static_request(file, file.link))

    def refuse_withheld(self, file: FileRef) -> None:
        """Raises Rejected as `open` will, if the level was returned with the media."""
        if file.withheld:
            raise _below_level(file.id.partition("/")[0], file.withheld)

    def is_static(self, file: FileRef) -> bool:
        """Whether the link came with the asset."""
        return bool(file.link) and not urlsplit(file.link).path.startswith(_API)

    async def _original(self, file: FileRef, media: str, version: str, offset: int, validator: Validator) -> Stream:
        _, now = await self.media(media)
        current = tail(link(now, "current"))
        if version and current and version != current:
            link_of_version = await self._version_link(media, version, file.withheld)
            return await self._static(file, link_of_version, offset, validator)
        if reason := withheld(now):
            raise _below_level(media, reason)
        url = file_url(link(now, self._api.rels.rel("hires")))
        if url:
            return await self._static(file, url, offset, validator)
        request = Request(
            operation="GET /download-express",
            method="GET",
            path="/download-express",
            params=[("mid", media)],
            headers={"Accept": "*/*"},  # any file, where the other calls want HAL
            asset=media,
        )
        return await self._api.client.stream(request)

    async def _static(self, file: FileRef, url: str, offset: int, validator: Validator) -> Stream:
        return await self._api.client.stream(self._static_request(file, url), offset, validator)

    def _static_request(self, file: FileRef, url: str) -> Request:
        asset = file.id.partition("/")[0]
        bare = not urlsplit(url).path.startswith(_API)  # files are public at their URL (wire A 4)
        return Request(operation="GET the file", method="GET", path=url, asset=asset, bare=bare)

    async def _version_link(self, media: str, version: str, reason: str) -> str:
        request = HalRequest("GET", "medias", "/{mediaId}/file-versions/{versionId}", (media, version), asset=media)
        item: Json = await self._api.json(request)
        url = file_url(link(item, self._api.rels.rel("hires")))
        if not url and reason:
            raise _below_level(media, reason)
        if not url:
            text = f"the service returns no download link for the older version {version}"
            raise Rejected(text, asset=media, code="no-link", hint=_RAISE_LEVEL)
        return url

    async def _attachment_link(self, media: str, identity: str) -> str:
        for item in await self.attachment_items(media):
            if wanted_id(item) == identity:
                url = file_url(own_link(item, self._api.rels, "download-link"))
                if url:
                    return url
                state = str(item.get("status") or "without a link")
                text = f"attachment {identity} cannot be downloaded: it is {state}"
                raise Rejected(text, asset=media, code="no-link", hint="bring the attachment online and retry")
        raise NotFound(f"attachment {identity} is gone", asset=media)


def _below_level(media: str, reason: str) -> Rejected:
    return Rejected(reason, asset=media, code="download-level", hint=_RAISE_LEVEL)
