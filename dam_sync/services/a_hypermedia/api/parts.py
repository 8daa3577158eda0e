"""Where the parts of a media are: where a media that was read links to, otherwise in the current layout (spec 000, What
the service does: clients follow links). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.api.hal import Rels, collection_path, link

MEDIA = "/{mediaId}"
# wire A 3.1: relations of a media, by the word of the current layout
RELATIONS: Mapping[str, str] = {
    "metadatas": "metadatas",
    "folders": "folders",
    "labels": "labels",
    "permalinks": "permalinks",
    "file-versions": "file-versions",
    "media-links": "media-links",
    "attachments": "attachment",
}


class MediaParts:
    """Paths of the parts of every media, learned from one of them."""

    def __init__(self, rels: Rels) -> None:
        self.known = False
        self._rels = rels
        self._moved: dict[str, str] = {}

    @interprets_response
    def learn(self, media: Json, identity: str) -> None:
        """Take over where this media links to. A resource without links, or a link without its id, says nothing."""
        for word, relation in RELATIONS.items():
            path = collection_path(link(media, self._rels.rel(relation)))
            before, found, after = f"{path}/".partition(f"/{identity}/")
            if found and after:
                self.known = True
                self._moved[word] = f"{before}{MEDIA}/{after.rstrip('/')}"

    def path(self, template: str) -> str:
        """The whole path of a part, with slots; empty if it is not known. template: `/{mediaId}/metadatas/{field}`."""
        word, slash, below = template.removeprefix(f"{MEDIA}/").partition("/")
        moved = self._moved.get(word, "") if template.startswith(f"{MEDIA}/") else ""
        return moved + slash + below if moved else ""


def is_part(template: str) -> bool:
    """Whether it is below a media, and not the media itself."""
    return template.startswith(f"{MEDIA}/")
