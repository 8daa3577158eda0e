"""Which asset each file of a scan belongs to, in little memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable

from dam_sync.model.asset import AssetId
from dam_sync.services.d_templates import facts

_PARTS = 64


class FileOwners:
    """The files of a scan of everything: eight bytes for each whose asset has the same id, by name the others, which
    are later versions. whole: the scan ended, and had no more of those than `FILES_KEPT`."""

    def __init__(self) -> None:
        self.whole = False
        self._same = [array("q") for _ in range(_PARTS)]  # hashes by their remainder, sorted at the end
        self._others: dict[str, AssetId] = {}

    def add(self, owned: Iterable[tuple[str, AssetId]]) -> None:
        """Files of a page, each with its asset."""
        for file, asset in owned:
            if file == asset:
                number = hash(file)
                self._same[number % _PARTS].append(number)
            elif file and len(self._others) <= facts.FILES_KEPT:
                self._others[file] = asset

    def end(self) -> None:
        """There are no more files."""
        for place, part in enumerate(self._same):  # one by one: a list of all of them takes four times their room
            self._same[place] = array("q", sorted(part))
        self.whole = len(self._others) <= facts.FILES_KEPT

    def of(self, files: Iterable[str]) -> dict[str, AssetId]:
        """The assets of those of the files that the scan returned; none unless it is whole."""
        if not self.whole:
            return {}
        found = {file: self._others.get(file) or AssetId(file) for file in files}
        return {file: asset for file, asset in found.items() if asset != file or self._has(file)}

    def _has(self, file: str) -> bool:
        wanted = hash(file)
        part = self._same[wanted % _PARTS]
        place = bisect_left(part, wanted)
        return place < len(part) and part[place] == wanted
