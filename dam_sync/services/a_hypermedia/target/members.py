"""Into folders and labels, and out of them (wire A 6.7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dam_sync.model.asset import Placement
from dam_sync.model.errors import InvalidValue, NotFound, Rejected
from dam_sync.services.a_hypermedia.api.connection import HalRequest, as_number
from dam_sync.services.a_hypermedia.api.hal import wanted_id
from dam_sync.services.a_hypermedia.codec.wire import placed_in
from dam_sync.services.a_hypermedia.source.optional_lists import is_gone
from dam_sync.services.a_hypermedia.tenant import HypermediaBase

DONE, GONE = 204, 404
MEDIA = "/{mediaId}"
FOLDER_MEDIAS = "/{folderId}/medias"
FOLDER_MEDIA = "/{folderId}/medias/{mediaId}"
LABELS = "/{mediaId}/labels"
LABEL = "/{mediaId}/labels/{labelId}"
WITHIN = {"folder": "/{mediaId}/folders", "label": "/{mediaId}/labels"}


class MediaMembers(HypermediaBase):
    """Every call may be repeated; the first of each kind is read back."""

    async def _add_placements(self, asset: str, placements: Iterable[Placement]) -> None:
        """Add labels and folders; safe to repeat."""
        for place in in_order(placements):
            if place.kind == "label":
                body = {"id": as_number(place.id)}
                await self._api.call(
                    HalRequest(
                        "POST",
                        "medias",
                        LABELS,
                        (asset,),
                        json=body,
                        asset=asset,
                        repeatable=True,
                        accept=frozenset({409}),
                    )
                )
            else:
                await self._into_folder(asset, place.id)
            await self._refuse_unplaced(asset, place, inside=True)

    async def _refuse_unplaced(self, asset: str, place: Placement, *, inside: bool) -> None:
        """Raises Rejected if the first membership of its kind, added or removed, had no effect."""

        async def look() -> bool:
            found = await self._places(asset, place.kind)
            return found is not None and (place.id in found) is inside

        if not await self._proofs.holds(membership_form(place.kind, inside=inside), look):
            where = f"{'is not in' if inside else 'stays in'} {place.kind} {place.id or place.text}"
            raise Rejected(
                f"the media {where}, or does not show it, though the service accepted the change",
                asset=asset,
                code="not-written",
                hint=f"{'put it there' if inside else 'take it out'} by hand, or `errors JOB --retry` and run again",
            )

    async def _into_folder(self, asset: str, folder: str) -> None:
        """Put an existing media into a folder; safe to repeat."""
        body = {"id": as_number(asset)}
        request = HalRequest("POST", "folders", FOLDER_MEDIAS, (folder,), json=body, asset=asset)
        await self._api.call(replace(request, repeatable=True, accept=frozenset({409})))

    async def _remove_placements(self, asset: str, placements: Iterable[Placement]) -> None:
        """Remove labels and folders; missing ones are ignored."""
        for place in in_order(placements):
            if place.kind == "label":
                await self._taken_out(
                    asset, "label", place.id, HalRequest("DELETE", "medias", LABEL, (asset, place.id))
                )
                await self._refuse_unplaced(asset, place, inside=False)
            else:
                await self._out_of_folder(asset, place.id)

    async def _out_of_folder(self, asset: str, folder: str) -> None:
        """Take a media out of a folder; it stays in the library (wire A 6.7)."""
        await self._taken_out(asset, "folder", folder, HalRequest("DELETE", "folders", FOLDER_MEDIA, (folder, asset)))
        await self._refuse_unplaced(asset, Placement("folder", (), folder), inside=False)

    async def _taken_out(self, asset: str, kind: str, place: str, request: HalRequest) -> None:
        """Sent twice if the first response is not the 204 of the service (wire A 6.7): a proxy on
        the way may have responded. Raises Rejected if it is still in the container although the service denies it."""
        request = replace(request, asset=asset, repeatable=True, accept=frozenset({GONE}))
        reply = await self._api.call(request)
        if reply.status not in (DONE, GONE):
            reply = await self._api.call(request)
        if reply.status != GONE:
            return
        found = await self._embedded_places(asset, kind)
        found = await self._places(asset, kind) if found is None else found
        if found is None or place in found:
            raise Rejected(
                f"the media stays in {kind} {place}, or does not show it, although the service says that it is not in "
                "it",
                operation=request.operation,
                asset=asset,
                hint="take it out by hand, or `errors JOB --retry` and run again",
            )

    async def _places(self, asset: str, kind: str) -> frozenset[str] | None:
        """The ids of its folders or labels: as listed, else as embedded in the media; None if the instance shows
        neither, which says nothing about them."""
        request = HalRequest("GET", "medias", WITHIN[kind], (asset,), asset=asset)
        try:
            return frozenset(map(wanted_id, await self._api.listed(request, kind)))
        except NotFound as error:
            if is_gone(error):
                raise
        return await self._embedded_places(asset, kind)

    async def _embedded_places(self, asset: str, kind: str) -> frozenset[str] | None:
        """The same as embedded in the media; None if nothing is, as in a media that is in none."""
        params = (("embeddedFolders", "true"), *await self._api.arrays())
        media = await self._api.json(HalRequest("GET", "medias", MEDIA, (asset,), params=params, asset=asset))
        return frozenset(map(wanted_id, placed_in(media, kind))) or None


def membership_form(kind: str, *, inside: bool) -> str:
    """The form in which a media is added to or removed from a container of this kind."""
    return f"{kind} {'in' if inside else 'out'}"


def in_order(placements: Iterable[Placement]) -> list[Placement]:
    """Labels before folders, by id. Raises InvalidValue for a container without an id or of another kind."""
    places = sorted(placements, key=lambda place: (place.kind != "label", place.kind, place.id))
    for place in places:
        if place.kind not in ("folder", "label"):
            raise InvalidValue(f"the target has no containers of kind {place.kind!r}")
        if not place.id:
            raise InvalidValue(f"the {place.kind} {place.text} does not exist in the target", code="no-container")
    return places
