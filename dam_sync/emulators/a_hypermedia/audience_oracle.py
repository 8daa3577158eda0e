"""Who sees the media of an instance.

Readings (wire A 2.1, 5.4, 8): ordinary users see what is published, in folders that are theirs; a media in no folder is
still found by search. Nothing is public: addresses of files hold a random part that only readers of the media are
given. Only the level HD opens the original. Groups of a catalogue's assets are not heeded, since no call tells of rules
that restrict single media; groups of its folders are.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from dam_sync.emulators.a_hypermedia.records import Media
from dam_sync.emulators.kit.audience import NOBODY, USER, group

if TYPE_CHECKING:
    from dam_sync.emulators.a_hypermedia.state import Library


class AudienceOracle:
    """Viewers `user:preview`, `user:download`, and the same of each group that a folder is restricted to."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def assets(self) -> Iterable[str]:
        """The ids of all media."""
        return [str(number) for number in self._library.medias]

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Readers of a published media, by what they may do with its file."""
        media = self._library.medias.get(int(asset))
        if media is None or self._library.schema.base(media.status) != "PUBLISHED":
            return NOBODY
        ways = ("preview", "download") if media.download == "HD" else ("preview",)
        return frozenset(f"{reader}:{way}" for reader in self._readers(media) for way in ways)

    def turns(self, asset: str) -> Iterable[datetime]:
        """Nothing changes by itself."""
        return ()

    def _readers(self, media: Media) -> frozenset[str]:
        groups = {name for folder in self._library.folders.by_id.values() for name in folder.groups}
        everybody = frozenset({USER, *map(group, groups)})
        if not media.folders:
            return everybody
        return frozenset().union(*(self._readers_of(number, everybody) for number in media.folders))

    def _readers_of(self, number: int, readers: frozenset[str]) -> frozenset[str]:
        """Those whom neither the folder nor one above it keeps out."""
        while number:
            folder = self._library.folders.by_id[number]
            if folder.groups:
                readers &= frozenset(map(group, folder.groups))
            number = folder.parent
        return readers
