"""Baskets of service A as collections: counted, read if the job requests them (wire A 6.10)."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dam_sync.http.interpreting import member_text
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import Denied, NotFound, Rejected
from dam_sync.model.probed import Undecided
from dam_sync.model.values import Json
from dam_sync.model.writes import Membership
from dam_sync.services.a_hypermedia.api.connection import HalRequest
from dam_sync.services.a_hypermedia.api.hal import total_of, wanted_id
from dam_sync.services.a_hypermedia.tenant import HypermediaBase

KIND = "collection"
MEMBERS = "/{basketId}/medias"
EVERYBODYS = ("as-admin", "true")  # wire A 6.10: otherwise only the user's own
REFUSED = frozenset({403, 404, 405})


class BasketReader(HypermediaBase):
    """The baskets that the integration user may see: all for an administrator, otherwise its own."""

    async def _unread_baskets(self) -> tuple[Undecided, ...]:
        """Whether there are baskets, which are not read without the option; one call."""
        request = HalRequest("GET", "baskets", params=[EVERYBODYS, ("page", "1"), ("size", "1")], accept=REFUSED)
        reply = await self._api.call(request)
        number = total_of(reply.json()) if reply.status == 200 else None
        if not number:
            return ()
        hint = (
            "`options: {baskets: on}` of the source reads them as collections, with one more call for each hundred of "
            "their assets; `off` leaves them behind"
        )
        return (Undecided(Feature.COLLECTION, f"{number:,} baskets are not read", hint),)

    async def members(self) -> AsyncIterator[Membership]:
        """Each basket with its media, page by page. Raises TruncatedListing if there are fewer than it counts."""
        for basket in await self._baskets():
            place = Placement(KIND, ((member_text(basket, "title") or wanted_id(basket)),), wanted_id(basket))
            params = [("fields", "id")]
            request = HalRequest("GET", "baskets", MEMBERS, (wanted_id(basket),), params)
            try:
                medias = await self._api.listed(request, "media")
            except NotFound:
                continue  # deleted since the baskets were listed
            if medias:
                yield Membership(place, tuple(AssetId(wanted_id(media)) for media in medias))

    async def _baskets(self) -> list[Json]:
        try:
            return await self._api.listed(HalRequest("GET", "baskets", params=[EVERYBODYS]), "basket")
        except (Denied, Rejected):
            return await self._api.listed(HalRequest("GET", "baskets"), "basket")
