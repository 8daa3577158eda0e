"""Which asset a file belongs to, remembered of a scan of the whole library in a few bytes for each file."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from dam_sync.model.asset import AssetId
from dam_sync.services.d_templates import facts

_PARTS = 64


class FileHashes:
    """A set of files in eight bytes for each: their hashes. Nothing may be added once it is sorted, nor looked for
    before."""

    def __init__(self) -> None:
        self._parts = [array("q") for _ in range(_PARTS)]  # by their remainder

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __contains__(self, file: str) -> bool:
        return self._found(file)[1] >= 0

    def add(self, files: Iterable[str]) -> None:
        """Files, some perhaps again."""
        parts = self._parts
        for number in map(hash, files):
            parts[number % _PARTS].append(number)

    def sort(self) -> None:
        """There are no more files."""
        for place, part in enumerate(self._parts):  # one by one: a list of all of them takes four times their room
            self._parts[place] = array("q", sorted(set(part)))

    def discard(self, file: str) -> bool:
        """Take a file away; whether it was there."""
        part, place = self._found(file)
        if place >= 0:
            part.pop(place)
        return place >= 0

    def _found(self, file: str) -> tuple[array[int], int]:
        """The part that it belongs to, and its place there; -1 if it is absent."""
        wanted = hash(file)
        part = self._parts[wanted % _PARTS]
        place = bisect_left(part, wanted)
        return part, place if place < len(part) and part[place] == wanted else -1


class _NamedOwners:
    """Assets by file: the hash of the file, and the bytes of the asset's id."""

    def __init__(self) -> None:
        self._hashes = array("q")
        self._ends = array("Q", [0])  # of the ids in `_ids`, in the order in which they came
        self._ids = bytearray()
        self._order = [array("I") for _ in range(_PARTS)]  # of the hashes, by their remainder

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, file: str, asset: AssetId) -> None:
        number = hash(file)
        self._order[number % _PARTS].append(len(self._hashes))
        self._hashes.append(number)
        self._ids += asset.encode()
        self._ends.append(len(self._ids))

    def sort(self) -> None:
        for place, part in enumerate(self._order):
            self._order[place] = array("I", sorted(part, key=self._hashes.__getitem__))

    def get(self, file: str) -> AssetId | None:
        wanted = hash(file)
        part = self._order[wanted % _PARTS]
        place = bisect_left(part, wanted, key=self._hashes.__getitem__)
        if place == len(part) or self._hashes[part[place]] != wanted:
            return None
        number = part[place]
        return AssetId(self._ids[self._ends[number] : self._ends[number + 1]].decode())


class FileOwners:
    """The files of scans: by their hash those whose asset has the same id, with the id of their asset the others, which
    are versions. whole: every file of the library is remembered."""

    def __init__(self) -> None:
        self.whole = False
        self._same, self._others = FileHashes(), _NamedOwners()

    def add(self, owned: Sequence[tuple[str, AssetId]], wanted: FileHashes, *, everything: bool) -> None:
        """Files of a page, each with its asset. Those that are wanted are remembered in any case, and are wanted no
        longer; the others if everything is to be."""
        if not everything:
            owned = [each for each in owned if wanted.discard(each[0])]
        self._same.add(file for file, asset in owned if file == asset)
        for file, asset in owned:
            if file in ("", asset):
                continue
            if not everything or len(self._others) <= facts.FILES_KEPT or wanted.discard(file):
                self._others.add(file, asset)

    def end(self, *, everything: bool) -> None:
        """The scan has no more files."""
        self._same.sort()
        self._others.sort()
        self.whole = everything and len(self._others) <= facts.FILES_KEPT

    def of(self, files: Iterable[str]) -> dict[str, AssetId]:
        """The assets of those of the files that are remembered."""
        return dict(self._known(files))

    def _known(self, files: Iterable[str]) -> Iterator[tuple[str, AssetId]]:
        for file in files:
            asset = AssetId(file) if file in self._same else self._others.get(file)
            if asset is not None:
                yield file, asset
