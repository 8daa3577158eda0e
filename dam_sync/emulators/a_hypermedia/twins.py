"""Which media have the same bytes; digests are computed only where sizes agree."""

from __future__ import annotations

from dam_sync.emulators.kit.object_store import Blob


class Twins:
    """Media ids by the md5 of files they have or had."""

    def __init__(self) -> None:
        self._by_md5: dict[str, set[int]] = {}
        self._waiting: dict[int, list[tuple[int, Blob]]] = {}

    def add(self, media: int, blob: Blob) -> None:
        """A media got a file."""
        if blob.known:
            self._by_md5.setdefault(blob.known.md5, set()).add(media)
        else:
            self._waiting.setdefault(blob.size, []).append((media, blob))

    def of(self, blob: Blob) -> set[int]:
        """The media that have, or had, a file with these bytes."""
        for media, other in self._waiting.pop(blob.size, ()):
            self._by_md5.setdefault(other.digests().md5, set()).add(media)
        return self._by_md5.get(blob.digests().md5, set())
