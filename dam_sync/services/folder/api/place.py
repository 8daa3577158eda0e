"""Where a folder is on the disk, whichever path leads there: links, mounts and the case of names make no difference."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from dam_sync.model.library import Library
from dam_sync.services.folder import facts

MOUNTS = Path("/proc/self/mountinfo")  # of Linux: what is mounted where, a folder at a second place too
_OCTAL = re.compile(r"\\([0-7]{3})")


class _Mount(NamedTuple):
    """A folder of a device, and where it is mounted."""

    device: str
    top: PurePosixPath
    at: PurePosixPath


def library_at(root: Path, mounts: Path = MOUNTS) -> Library:
    """The folder, whether it exists or not yet; blocks."""
    real, names = Path(os.path.realpath(root)), _Names.of(mounts)
    above = [name for folder in real.parents for name in names.of_folder(folder)]
    return Library(
        facts.NAME, str(root), frozenset(names.of_folder(real)), frozenset([*above, *names.of_containing(real)])
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """What a folder is called, and nothing else is."""

    mounts: tuple[_Mount, ...]

    @classmethod
    def of(cls, mounts: Path) -> _Names:
        """Without the mounts where the system does not say what they are."""
        try:
            lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:
            lines = []
        rows = [line.split(" ") for line in lines]
        return cls(tuple(_Mount(row[2], _path(row[3]), _path(row[4])) for row in rows if len(row) > 4))

    def of_folder(self, folder: Path) -> Iterator[object]:
        """Its path, its number in the file system, and its place on the device."""
        yield str(folder)
        if (place := self._place(folder)) is not None:
            yield place
        try:
            found = folder.stat()
        except OSError:
            return
        yield found.st_dev, found.st_ino

    def of_containing(self, folder: Path) -> Iterator[object]:
        """The folders of its device that it lies in, also those that no path leads to."""
        if (place := self._place(folder)) is not None:
            yield from ((place[0], one) for one in place[1].parents)

    def _place(self, folder: Path) -> tuple[str, PurePosixPath] | None:
        """The device and the path on it."""
        path = PurePosixPath(folder)
        fitting = [mount for mount in self.mounts if path.is_relative_to(mount.at)]
        if not fitting:
            return None
        longest = max(len(mount.at.parts) for mount in fitting)
        nearest = [mount for mount in fitting if len(mount.at.parts) == longest][-1]  # it hides those before it
        return nearest.device, nearest.top / path.relative_to(nearest.at)


def _path(text: str) -> PurePosixPath:
    return PurePosixPath(_OCTAL.sub(lambda found: chr(int(found[1], 8)), text))
