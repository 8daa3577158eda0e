"""Finds our assets: by the token in their description, by the value of their marker (wire C 6.9)."""

from __future__ import annotations

from datetime import datetime

from dam_sync.aio.polling import poll_until
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.errors import NotFound
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import marks, wire
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryBase


class BrandLibraryFinder(BrandLibraryBase):
    """Searches first where reads are immediate, then in the index; a hit is read by id before it counts."""

    async def find(self, marker: Marker, *, section: str = "", since: datetime | None = None) -> AssetId | None:
        """The asset with this marker; None only after the index lag has passed. Safe to repeat.

        section, since: where and when it was created, if it was. Raises InvalidValue if it cannot be searched.
        """
        marks.by_value(marker)
        begun = since if since is not None else self._api.clock.now() - facts.RECENT

        async def look() -> Json:
            return await self._recent(marker, section, begun - facts.EARLIER) or await self._searched(marker)

        found = await poll_until(self._api.clock, look, self._api.options.index_lag, facts.LAG_WAITS)
        return None if found is None else AssetId(found)

    async def _recent(self, marker: Marker, section: str, since: datetime) -> str | None:
        """Search the newest assets, which needs no index."""
        operation, ids = facts.LIBRARY_ASSETS, (await self._tenant.id(),)
        if section:
            operation, ids = facts.SECTION_ASSETS, (section,)
        for number in range(1, facts.RECENT_PAGES + 1):
            asked = (
                *(("page", str(number)), ("per", str(facts.RECENT_PAGE))),
                *(("sort_by", "created_at"), ("order", "DESC")),
                *(("include", "custom_fields"), ("fields", "created_at")),
            )
            document = await self._api.listed(operation, ids, asked)
            ours = [row["id"] for row in document.rows if is_ours(row, marker)]
            if ours:
                return str(ours[-1])  # the oldest, should there be two
            made = [parse_timestamp(row["attributes"].get("created_at")) for row in document.rows]
            if not made or document.more is False or (made[-1] is not None and made[-1] < since):
                return None
            if number * facts.RECENT_PAGE >= (document.total or 0):
                return None
        return None

    async def _searched(self, marker: Marker) -> str | None:
        """By token and by value; the index may return deleted or changed assets, so the asset itself decides."""
        for text in (marks.by_token(marker), marks.by_value(marker)):
            for identity in await self._hits(text):
                if await self._is_ours(identity, marker):
                    return identity
        return None

    async def _hits(self, search: str) -> list[str]:
        """404 means that there is no such key or value (wire C 2.4)."""
        asked = (
            *(("search", search), ("page", "1"), ("per", str(facts.RECENT_PAGE))),
            *(("sort_by", "created_at"), ("order", "ASC")),
        )
        try:
            document = await self._api.listed(facts.LIBRARY_ASSETS, (await self._tenant.id(),), asked)
        except NotFound:
            return []
        return [row["id"] for row in document.rows]

    async def _is_ours(self, identity: str, marker: Marker) -> bool:
        try:
            row = await self._api.one(facts.ASSET, (identity,), (("include", "custom_fields"),), asset=identity)
        except NotFound:
            return False  # deleted, by somebody or as a duplicate, while the index still shows it
        return is_ours(row, marker)


@interprets_response
def is_ours(row: Json, marker: Marker) -> bool:
    """Whether the asset has this token or value."""
    if marks.token_in(row["attributes"].get("description")) == marks.token_of(marker):
        return True
    return marker.value in wire.values_of(row).get(marker.field, {}).values()
