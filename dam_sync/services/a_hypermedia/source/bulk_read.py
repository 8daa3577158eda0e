"""Searches that return complete media, if the instance supports it: verified on one hit before use (wire A 2.5,
3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dam_sync.aio.single_flight import SingleFlight
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import Asset
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.api.connection import HypermediaApi
from dam_sync.services.a_hypermedia.api.hal import embedded, wanted_id
from dam_sync.services.a_hypermedia.api.search import MediaSearch, Query
from dam_sync.services.a_hypermedia.codec.wire import asset_of, folder_ids, has_counts_of, has_full_shape
from dam_sync.services.a_hypermedia.source.fetch import MediaReader
from dam_sync.services.a_hypermedia.tenant import HypermediaTenant, served_language

_PROPERTIES = (
    "id,title,status,downloadLevel,annotation,width,height,resolution,orientation,mediaType,fileSize,originalFileName,"
    "creationDate,updateDate,importDate,durationInSeconds,pageCount,colorSpace,latitude,longitude,address,statViews,"
    "statDownloads,checkSums,attachmentCounts,mediaLinkCount,formType,pointOfInterest,fileVersionCount"
)


class BulkReader:
    """Complete media from search rows; `proven` says whether this instance's search returns them."""

    def __init__(
        self, api: HypermediaApi, tenant: HypermediaTenant, reader: MediaReader, media_search: MediaSearch
    ) -> None:
        self._api = api
        self._tenant = tenant
        self._reader = reader
        self._media_search = media_search
        self.proven = SingleFlight(self._prove)

    @property
    def fields(self) -> tuple[str, str]:
        """All fields from which a media is read (wire A 2.5)."""
        rel = self._api.rels.rel
        links = ",".join([rel("form"), rel("custom-status"), rel("hires"), "current"])
        inner = "_embedded{metadata},_embedded{label},_embedded{folder}"
        return ("fields", f"{_PROPERTIES},_links{{{links}}},{inner}")

    async def _prove(self) -> bool:
        """Two calls at most: a row must equal the asset read by id, and be in some folder."""
        found = await self._media_search.search([self.fields, ("page", "1"), ("size", "1")])
        rows = embedded(found.body, "media")
        if not rows or not has_full_shape(rows[0]):
            return False
        language = served_language(found.headers)
        try:
            served, media = await self._reader.media(wanted_id(rows[0]), language)
        except (NotFound, Rejected):
            return False
        context = await self._tenant.decode_context([rows[0], media])
        by_row, by_id = (asset_of([(served, one)], context) for one in (rows[0], media))
        return by_row == by_id and has_counts_of(rows[0], media) and bool(folder_ids(media))

    async def language(self) -> str:
        """The language of the rows; `assets` requests the others."""
        return (await self._tenant.locales.get())[0]

    async def assets(self, query: Query, endpoint: str, first: str, rows: Sequence[Json]) -> dict[str, Asset]:
        """Complete assets by id, for rows in the language `first`; the same page is requested in the other
        languages. Rows that need calls of their own are left out: for versions or links, or because a page in another
        language lacks them or has them changed, which would lose that language."""
        readings: dict[str, list[tuple[str, Json]]] = {wanted_id(row): [(first, row)] for row in rows}
        for language in (await self._tenant.locales.get())[1:]:
            found = await self._media_search.search(query, endpoint, language)
            served = served_language(found.headers) or language
            others = {wanted_id(row): row for row in embedded(found.body, "media")}
            readings = {
                identity: [*known, (served, others[identity])] if served not in dict(known) else known
                for identity, known in readings.items()
                if identity in others and _same_state(known[0][1], others[identity])
            }
        context = await self._tenant.decode_context(rows)
        return {
            identity: asset_of(known, context)
            for identity, known in readings.items()
            if self._reader.is_whole(known[0][1])
        }


@interprets_response
def _same_state(one: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    return one.get("updateDate") == other.get("updateDate")
