"""Assets with equal files, by digest; by name and size where the service publishes no digest."""

from __future__ import annotations

from dataclasses import dataclass, field

from dam_sync.engine.inventory.tallies import MOST_SHOWN
from dam_sync.model.asset import Asset, FileRef
from dam_sync.model.inventory import DuplicateGroup, Duplicates

MOST_FILES = 100_000  # different files remembered; later ones are compared with these only
DIGEST, NAME_AND_SIZE = "digest", "name and size"


@dataclass(slots=True)
class FileGroup:
    """Assets with one file; ids of the first of them."""

    name: str
    size: int | None
    assets: int = 1
    examples: tuple[str, ...] = ()


@dataclass(slots=True)
class DuplicateTally:
    """Compares the current file of each asset. A file of no bytes, or without digest and size, is not compared."""

    by: str
    most: int = MOST_FILES
    first: dict[int, FileGroup | str] = field(default_factory=dict)
    compared: int = 0
    exceeded: bool = False

    def add(self, asset: Asset) -> None:
        """Count one asset."""
        file = asset.file
        key = None if file is None else self._key(asset, file)
        if file is None or key is None:
            return
        self.compared += 1
        known = self.first.get(key)
        if known is None:
            if len(self.first) < self.most:
                self.first[key] = str(asset.id)
            else:
                self.exceeded = True
            return
        if isinstance(known, str):
            self.first[key] = known = FileGroup(asset.filename or file.name, file.size, 1, (known,))
        known.assets += 1
        if len(known.examples) < MOST_SHOWN:
            known.examples = (*known.examples, str(asset.id))

    def result(self) -> Duplicates:
        """What was found so far, the largest groups first."""
        groups = [group for group in self.first.values() if isinstance(group, FileGroup)]
        shown = sorted(groups, key=lambda group: (-group.assets, group.name, group.examples))[: 4 * MOST_SHOWN]
        return Duplicates(
            self.by,
            self.compared,
            self.exceeded,
            len(groups),
            sum(group.assets - 1 for group in groups),
            sum((group.assets - 1) * (group.size or 0) for group in groups),
            tuple(DuplicateGroup(group.name, group.size, group.assets, group.examples) for group in shown),
        )

    def _key(self, asset: Asset, file: FileRef) -> int | None:
        """A hash of 64 bits of what the file is known by. Equal hashes of different files are improbable: 3 in 10 ** 10
        for as many as are remembered."""
        if file.size == 0:
            return None
        if self.by == DIGEST:
            known = min(file.digests.items(), default=None)
            return None if known is None else hash(known)
        name = (asset.filename or file.name).casefold()
        return hash((name, file.size)) if name and file.size else None
