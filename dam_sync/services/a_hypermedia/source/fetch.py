"""Reads one media completely with the fewest calls (wire A 3)."""

from __future__ import annotations

from dataclasses import replace

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Asset, AssetId, FileRef, Loss, Relation
from dam_sync.model.connector import Context
from dam_sync.model.service import TRASH, Published
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.api.connection import HalRequest, resource_of
from dam_sync.services.a_hypermedia.api.hal import file_url, link, own_link, tail, wanted_id, whole
from dam_sync.services.a_hypermedia.codec.wire import (
    MediaDecodeContext,
    asset_of,
    attachment_count,
    attachment_of,
    current_file,
    file_losses,
    folder_ids,
    is_online,
    needs_more_calls,
    offline_loss,
    relation_count,
    version_count,
    version_of,
    version_order,
    withheld,
)
from dam_sync.services.a_hypermedia.source.optional_lists import OptionalLists, not_listed
from dam_sync.services.a_hypermedia.tenant import HypermediaBase, served_language


class MediaReader(HypermediaBase):
    """Reads media by id: one call, one more per further language if a form has localized fields, and calls for
    versions, attachments and links only if the media counts some (wire A 3.3)."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._embeds_folders = False
        self._optional = OptionalLists(self._api, self._media_search)

    async def fetch(self, asset: AssetId) -> Asset:
        """The whole media. Raises NotFound."""
        locales = await self._tenant.locales.get()
        served, media = await self.media(asset, locales[0])
        media = await self._with_folders(media)
        context = await self._tenant.decode_context([media])
        readings = [(served, media)]
        if self._has_languages(media, context):
            for language in locales[1:]:
                served, more = await self._metadata(asset, language)
                if served not in [known for known, _ in readings]:
                    readings.append((served, more))
        return await self.completed(asset_of(readings, context), media)

    async def unknown_languages(self) -> tuple[str, ...]:
        """Those of the option `locales`, by one call for each."""
        return await self._tenant.languages_not_served(self._options.locales)

    async def is_trashed(self, asset: AssetId) -> bool:
        """By one call, in one language and without versions, attachments and links."""
        _, media = await self.media(asset)
        return member_text(media, "status").casefold() == TRASH

    async def media(self, asset: str, language: str = "") -> tuple[str, Json]:
        """The media as JSON, and its language."""
        params = [("embedAllMetadata", "true"), ("embeddedFolders", "true"), *await self._api.arrays()]
        return await self._read(asset, language, params)

    async def _with_folders(self, media: Json) -> Json:
        """A media without embedded folders may be in none; until one shows that this instance embeds them, the list of
        its folders is requested (wire A 3.3)."""
        self._embeds_folders = self._embeds_folders or bool(folder_ids(media))
        if self._embeds_folders or not own_link(media, self._api.rels, "folders"):
            return media
        asset = wanted_id(media)
        request = HalRequest("GET", "medias", "/{mediaId}/folders", (asset,), asset=asset)
        folders = await self._optional.read("folders", asset, lambda: self._api.listed(request, "folder"))
        return {**media, "_embedded": {**(media.get("_embedded") or {}), "folder": folders or []}}

    async def completed(self, asset: Asset, media: Json) -> Asset:
        """The media with older versions, attachments and links, if it counts any."""
        if self._options.public_links:
            asset = replace(asset, source_links=await self.permalinks(asset.id))
        if not needs_more_calls(media):
            return asset
        versions = await self.versions(media) if version_count(media) > 1 else asset.versions
        files = relations = None
        lost: list[Loss] = []
        if attachment_count(media):
            files = await self._optional.read("attachments", asset.id, lambda: self.attachments(asset.id))
            lost += [not_listed("attachments")] if files is None else []
        if relation_count(media):
            relations = await self._optional.read("media-links", asset.id, lambda: self.relations(asset.id))
            lost += [not_listed("relations")] if relations is None else []
        attachments, away = files or ((), ())
        return replace(
            asset,
            versions=versions,
            attachments=attachments,
            relations=relations or frozenset(),
            losses=(*asset.losses, *away, *lost),
        )

    @interprets_response
    def is_whole(self, media: Json) -> bool:
        """Whether a media is complete, so that no further call is needed."""
        return not self._options.public_links and not needs_more_calls(media)

    async def public_links(self, asset: AssetId) -> dict[str, str]:
        """Permalinks by format; none of a media in the trash. Raises NotFound."""
        _, media = await self.media(asset)
        return {} if member_text(media, "status") == "TRASH" else await self.permalinks(asset)

    async def published(self, asset: AssetId) -> Published:
        """Without versions, attachments and relations. Raises NotFound."""
        reading = await self.media(asset)
        found = asset_of([reading], await self._tenant.decode_context([reading[1]]))
        return Published(found, {} if found.status == TRASH else await self.permalinks(asset))

    async def permalinks(self, asset: str) -> dict[str, str]:
        """Public URLs by format, including `original` if it is configured (wire A 3.2)."""
        request = HalRequest("GET", "medias", "/{mediaId}/permalinks", (asset,), asset=asset)
        items = await self._api.listed(request, "permalink")
        links = {wanted_id(item): file_url(link(item, "latest-version")) for item in items}
        return {name: address for name, address in links.items() if address}

    async def versions(self, media: Json) -> tuple[FileRef, ...]:
        """Oldest first, the current one last, whatever its number (a restored version is current again)."""
        asset = wanted_id(media)
        request = HalRequest("GET", "medias", "/{mediaId}/file-versions", (asset,), asset=asset)
        items = await self._api.listed(request, "file-version")
        now = current_file(media, self._api.rels)
        current = tail(link(media, "current"))
        items.sort(key=lambda item: version_order(item, current))
        files = [version_of(asset, item, self._api.rels) for item in items]
        if files and now and version_order(items[-1], current)[0]:
            files[-1] = replace(now[0], id=files[-1].id)
        return tuple(file if file.link else replace(file, withheld=withheld(media)) for file in files) or now

    async def attachments(self, asset: str) -> tuple[tuple[FileRef, ...], tuple[Loss, ...]]:
        """Attachments in order of id; those that are not online cannot be downloaded and are reported as losses."""
        items = await self.attachment_items(asset)
        away = [item for item in items if not is_online(item)]
        files = [attachment_of(asset, item, self._api.rels) for item in items if item not in away]
        strange = [loss for item in items for loss in file_losses(item, "attachments")]
        return tuple(files), (*(offline_loss(item) for item in away), *strange)

    async def attachment_items(self, asset: str) -> list[Json]:
        """The attachments as JSON."""
        request = HalRequest("GET", "medias", "/{mediaId}/attachments", (asset,), asset=asset)
        return sorted(await self._api.listed(request, "attachment"), key=lambda item: wanted_id(item).zfill(20))

    async def relations(self, asset: str) -> frozenset[Relation]:
        """Linked media by the title of the link's type."""
        found = set()
        for kind in await self.link_types(asset):
            if whole(kind.get("mediaCount")) != 0:
                ids = (asset, wanted_id(kind))
                params = [("fields", "id")]
                request = HalRequest(
                    "GET", "medias", "/{mediaId}/media-links/{linkId}/medias", ids, params, asset=asset
                )
                for row in await self._api.listed(request, "media"):
                    found.add(Relation((member_text(kind, "title") or str(kind["id"])), AssetId(wanted_id(row))))
        return frozenset(found)

    async def link_types(self, asset: str) -> list[Json]:
        """Link types of a media, with counts; no other call lists them (wire A 14)."""
        request = HalRequest("GET", "medias", "/{mediaId}/media-links", (asset,), asset=asset)
        return await self._api.listed(request, "media-link")

    async def _metadata(self, asset: str, language: str) -> tuple[str, Json]:
        params = [("fields", "id,_embedded{metadata}"), *await self._api.arrays()]
        return await self._read(asset, language, params)

    async def _read(self, asset: str, language: str, params: list[tuple[str, str]]) -> tuple[str, Json]:
        request = HalRequest("GET", "medias", "/{mediaId}", (asset,), params, language=language, asset=asset)
        reply = await self._api.call(request)
        return served_language(reply.headers) or language, resource_of(reply)

    @interprets_response
    def _has_languages(self, media: Json, context: MediaDecodeContext) -> bool:
        form = context.forms.by_id.get(tail(link(media, self._api.rels.rel("form"))))
        return form is not None and any(field.localized for field in form.fields.values())
