"""Finds media that we created: by its marker, and after a lost response in the staging folder (wire A 6.12)."""

from __future__ import annotations

from dam_sync.aio.single_flight import SingleFlight
from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.errors import DamSyncError, SessionGone
from dam_sync.model.ports import Content, Journal
from dam_sync.model.service import Context, Window
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest, made_id
from dam_sync.services.a_hypermedia.api.hal import embedded, wanted_id
from dam_sync.services.a_hypermedia.api.search import between
from dam_sync.services.a_hypermedia.codec.writes import Put
from dam_sync.services.a_hypermedia.target.update import FOLDER_MEDIAS, MEDIA, METADATA, holds, md5_of
from dam_sync.services.a_hypermedia.tenant import HypermediaBase

_POLLS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)  # when to check again, as fractions of the lag


class MediaFinder(HypermediaBase):
    """Finds media of ours. `_claims` says which unmarked media of the staging folder belongs to which marker."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._claims: dict[str, str] = {}
        self._staging = SingleFlight(self._staging_folder)

    async def find(self, marker: Marker) -> AssetId | None:
        """The media with the marker; the oldest of several. Waits out the lag before returning None."""
        for attempt in range(len(_POLLS)):
            await self._wait(attempt)
            for asset in await self._search([("f", f"{marker.field}:{quoted(marker.value)}")]):
                if await self._marked(asset, marker.field) == marker.value:
                    return AssetId(asset)
        return None

    async def find_partial(self, marker: Marker, journal: Journal) -> AssetId | None:
        """The media that an interrupted `create` left; before it has a marker, only the journal knows it."""
        made = await journal.get("create")
        return AssetId(str(made["id"])) if made is not None else await self.find(marker)

    async def _marked(self, asset: str, field: str) -> str:
        """The current content of the marker field; reading by id is not delayed like the index."""
        accept = frozenset({404})
        reply = await self._api.call(HalRequest("GET", "medias", METADATA, (asset, field), asset=asset, accept=accept))
        if reply.status == 404 or not reply.body.strip():
            return ""
        return str(reply.object().get("value") or "")

    async def _created(self, content: Content | None, marker: Put | None) -> str:
        """A media of the staging folder with this content, unmarked and unclaimed, and therefore the one whose
        response was lost; empty if the lag has passed without one. It is claimed at once."""
        owner = str(marker.value) if marker else ""
        md5 = await md5_of(content) if content else ""
        for attempt in range(len(_POLLS)):
            await self._wait(attempt)
            for asset in await self._staged():
                if asset in self._claims or not await self._fits(asset, content, md5):
                    continue
                mark = await self._marked(asset, marker.field) if marker else ""
                if mark in ("", owner) and self._claims.setdefault(asset, owner) == owner:
                    return asset
        return ""

    async def _claim(self, asset: str, marker: Marker | None, journal: Journal, resumed: bool) -> None:
        """Claim the media before it is marked. Raises SessionGone if another work item took it over."""
        owner = marker.value if marker else ""
        taken = self._claims.setdefault(asset, owner) != owner
        if not taken and resumed and marker:
            taken = await self._marked(asset, marker.field) not in ("", owner)
            if taken:
                self._release(asset)
        if taken:
            await journal.discard("create", "file*")
            raise SessionGone(
                "the media created for this asset was claimed for an identical asset; it is created again", asset=asset
            )

    def _release(self, asset: str) -> None:
        """Release the claim: the marker now identifies the media."""
        self._claims.pop(asset, None)

    async def _staging_if_any(self) -> str:
        """The staging folder; empty for a release that creates media outside of folders (wire A 10)."""
        return await self._staging.get() if (await self._api.entry.get()).has(facts.FOLDER_CREATE) else ""

    async def _staged(self) -> list[str]:
        """Members of the staging folder, from the folder and from the search (wire A 14), because the folder may return
        fewer than it counts (wire A 2.1); in an older release, all media imported since yesterday."""
        folder = await self._staging_if_any()
        if not folder:
            return await self._search([between("importDate", Window(self._api.clock.now() - facts.AHEAD))])
        request = HalRequest("GET", "folders", FOLDER_MEDIAS, (folder,), [("fields", "id")])
        direct = [wanted_id(row) for row in await self._api.listed(request, "media", counted=False)]
        searched = await self._search([("fq", f"folderId:{folder}")])
        return sorted({*direct, *searched}, key=lambda asset: asset.zfill(20))

    async def _fits(self, asset: str, content: Content | None, md5: str) -> bool:
        accept = frozenset({403, 404})
        reply = await self._api.call(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset, accept=accept))
        if reply.status != 200:
            return False
        media = reply.object()
        if not await self._is_ours(media):
            return False
        if content is None:
            return not media.get("originalFileName") and not media.get("fileSize")
        return holds(media, content, md5)

    async def _is_ours(self, media: Json) -> bool:
        """Outside of a staging folder another user's media may look the same; its importer decides, if both that
        and who we are is known (wire A 10)."""
        if await self._staging_if_any():
            return True
        importers = {str(user.get("id")) for user in embedded(media, "importUser") if user.get("id") is not None}
        own = (await self._api.entry.get()).user
        return not (importers and own.isdigit()) or own in importers

    async def _search(self, filters: list[tuple[str, str]]) -> list[str]:
        facets = [("facet-fields", "[]")] if (await self._api.entry.get()).has(facts.FACET_FIELDS) else []
        request = HalRequest("GET", "media-search", params=[*filters, ("fields", "id"), *facets])
        ids = [wanted_id(row) for row in await self._api.listed(request, "media")]
        return sorted(ids, key=lambda asset: asset.zfill(20))

    async def _wait(self, attempt: int) -> None:
        """Before each attempt: none at first; at the last one the index can no longer be behind."""
        earlier = _POLLS[attempt - 1] if attempt else 0.0
        await self._api.clock.sleep(self._options.index_lag * (_POLLS[attempt] - earlier))

    async def _staging_folder(self) -> str:
        """The folder for new media at the top of the tree; created if missing."""
        top = await self._tenant.top.get()
        for child in embedded(top, "child"):
            if child.get("title") == self._options.staging_folder:
                return wanted_id(child)
        try:
            return made_id(
                await self._api.call(HalRequest("POST", "folder-tree", json={"title": self._options.staging_folder}))
            )
        except DamSyncError:  # it may have been created: the next attempt checks again
            self._tenant.top.forget()
            raise


def quoted(text: str) -> str:
    """A phrase of the query syntax: always quoted, because `-` and `:` have a meaning (wire A 11.21)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
