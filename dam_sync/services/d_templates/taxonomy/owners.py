"""Which asset each file of a scan belongs to, in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable

from dam_sync.model.asset import AssetId
from dam_sync.services.d_templates import facts


class FileOwners:
    """The files of a scan of everything: eight bytes for each whose asset has the same id, by name the others, which
    are later versions. whole: the scan ended, and had no more of those than `FILES_KEPT`."""

    def __init__(self) -> None:
        self.whole = False
        self._same = array("q")  # hashes, sorted at the end
        self._others: dict[str, AssetId] = {}

    def add(self, owned: Iterable[tuple[str, AssetId]]) -> None:
        """Files of a page, each with its asset."""
        for file, asset in owned:
            if file == asset:
                self._same.append(hash(file))
            elif file and len(self._others) <= facts.FILES_KEPT:
                self._others[file] = asset

    def end(self) -> None:
        """There are no more files."""
        self._same = array("q", sorted(self._same))
        self.whole = len(self._others) <= facts.FILES_KEPT

    def of(self, files: Iterable[str]) -> dict[str, AssetId]:
        """The assets of those of the files that the scan returned; none unless it is whole."""
        if not self.whole:
            return {}
        found = {file: self._others.get(file) or AssetId(file) for file in files}
        return {file: asset for file, asset in found.items() if asset != file or self._has(file)}

    def _has(self, file: str) -> bool:
        wanted = hash(file)
        place = bisect_left(self._same, wanted)
        return place < len(self._same) and self._same[place] == wanted
