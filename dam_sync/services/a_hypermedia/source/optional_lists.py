"""Lists of a media that an instance of service A may lack: attachments, links, folders (wire A 6.9)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from dam_sync.model.asset import Loss
from dam_sync.model.errors import NotFound, Rejected
from dam_sync.services.a_hypermedia.api.connection import HalRequest, HypermediaApi
from dam_sync.services.a_hypermedia.api.hal import embedded, wanted_id
from dam_sync.services.a_hypermedia.api.search import MediaSearch

T = TypeVar("T")

MEDIA_GONE: Final = "media-not-found"  # wire A 7
REFUSED: Final = frozenset({403, 404, 405})
TWO: Final = (("page", "1"), ("size", "2"), ("fields", "id"))
RETRY_HINT: Final = "when the service lists them again, `errors JOB --retry`, then run again"


class OptionalLists:
    """Tells a list that the instance lacks from one that is refused for a single media: the first is a loss, the second
    an error of this media, for its parts would be lost silently."""

    def __init__(self, api: HypermediaApi, media_search: MediaSearch) -> None:
        self._api = api
        self._media_search = media_search
        self._listed: set[str] = set()  # that the instance returned for some media

    async def read(self, name: str, media: str, reading: Callable[[], Awaitable[T]]) -> T | None:
        """The response; None if the instance lacks this list, which a refusal for this media, a second one and one for
        another one shows. Raises NotFound if the media itself is gone, Rejected if the list of this media alone is
        refused."""
        refusal = None
        for _ in range(2):
            try:
                found = await reading()
            except NotFound as error:
                if is_gone(error):
                    raise
                refusal = error
            else:
                self._listed.add(name)
                return found
        if await self._is_listed(name, media):
            message = f"the service refused the {name} of this media, but lists those of others"
            operation = refusal.operation if refusal else ""
            raise Rejected(message, operation=operation, asset=media, hint=RETRY_HINT) from refusal
        return None

    async def _is_listed(self, name: str, media: str) -> bool:
        """Whether the instance returns this list for another media; by two calls if it returned none yet."""
        if name in self._listed:
            return True
        found = await self._media_search.search(TWO)
        for other in map(wanted_id, embedded(found.body, "media")):
            if other != media:
                request = HalRequest("GET", "medias", f"/{{mediaId}}/{name}", (other,), asset=other, accept=REFUSED)
                return (await self._api.call(request)).status not in REFUSED
        return False


def not_listed(path: str) -> Loss:
    """The loss of a list that the instance lacks."""
    return Loss(path, "not given out", "the media counts some, but the instance does not list them")


def is_gone(error: NotFound) -> bool:
    """Whether the error means that the media itself is gone, not an optional list of the instance (wire A 7)."""
    return error.code == MEDIA_GONE
