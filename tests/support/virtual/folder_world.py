"""A folder in a virtual world: each operation that changes it is a moment at which the process may be gone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import bagit  # type: ignore[import-untyped]  # it has no annotations

from dam_sync.model.clock import Clock
from dam_sync.model.connector import Connector, Context
from dam_sync.services import discover
from dam_sync.services.folder import facts
from dam_sync.services.folder.api import bag, manifests
from dam_sync.services.folder.api.disk import Disk, FileSystem
from dam_sync.services.folder.service import FolderService
from dam_sync.services.folder.tenant import ABOUT, FORMAT
from tests.support.jobs.folder_jobs import PARTS, InFolder
from tests.support.services.profiles import FOLDER
from tests.support.virtual.fuse import FILE, Fuse

Row = Mapping[str, Any]


class FusedFileSystem(FileSystem):
    """The system's, behind a Fuse; files change by the clock of this world. A write stops half-way once."""

    def __init__(self, fuse: Fuse, clock: Clock) -> None:
        self._fuse, self._clock = fuse, clock
        self._is_half = False

    def create(self, name: str, flags: int, at: int) -> int:
        """See `FileSystem.create`."""
        return int(self._done(self._created, name, flags, at))

    def make_directory(self, name: str, at: int) -> None:
        """See `FileSystem.make_directory`."""
        self._done(super().make_directory, name, at)

    def write(self, handle: int, data: memoryview) -> int:
        """See `FileSystem.write`."""
        self._is_half = not self._is_half and len(data) > 1
        return int(self._done(self._written, handle, data[: len(data) // 2] if self._is_half else data))

    def truncate(self, handle: int, size: int) -> None:
        """See `FileSystem.truncate`."""
        self._done(self._truncated, handle, size)

    def sync(self, handle: int) -> None:
        """No power is cut here."""
        if self._fuse.blown:
            self._fuse.enter(FILE)

    def rename(self, old: str, new: str, source: int, target: int) -> None:
        """See `FileSystem.rename`."""
        self._done(super().rename, old, new, source, target)

    def unlink(self, name: str, at: int) -> None:
        """See `FileSystem.unlink`."""
        self._done(super().unlink, name, at)

    def seal(self, disk: Disk, today: date) -> None:
        """See `bag.seal`, in this process."""
        bag.prepare(disk)
        assert self._done(manifests.main, str(disk.root), today.isoformat()) == 0
        handle = disk.open(bag.SEALED)
        stamp(handle, self._clock)
        os.close(handle)

    def _created(self, name: str, flags: int, at: int) -> int:
        handle = super().create(name, flags, at)
        stamp(handle, self._clock)
        return handle

    def _written(self, handle: int, data: memoryview) -> int:
        number = super().write(handle, data)
        stamp(handle, self._clock)
        return number

    def _truncated(self, handle: int, size: int) -> None:
        super().truncate(handle, size)
        stamp(handle, self._clock)

    def _done(self, call: Callable[..., Any], *arguments: Any) -> Any:
        number = self._fuse.enter(FILE)
        try:
            return call(*arguments)
        finally:  # one that was refused, as making a folder that is there, has an end as well
            self._fuse.leave(FILE, number)


def stamp(handle: int, clock: Clock) -> None:
    """A file was changed now."""
    now = clock.now().timestamp()
    os.utime(handle, (now, now))


def connectors(fuse: Fuse) -> dict[str, Connector]:
    """Those that are installed; folders are changed behind the fuse."""

    class Fused(FolderService):
        def __init__(self, context: Context) -> None:
            system = FusedFileSystem(fuse, context.clock)
            super().__init__(context, system, system.seal)

    found = dict(discover())
    return {**found, FOLDER: replace(found[FOLDER], service=lambda: Fused)}


class FolderState:
    """What an emulator would report of a folder: a library to be read, or one that is still to be filled."""

    def __init__(self, path: Path, records: Sequence[Row], clock: Clock) -> None:
        self.state = self
        self._clock = clock
        self.side = InFolder(path)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        if records:
            self.side.fill(records, digests=True)
            about = {"format": FORMAT, "id": path.name, "locales": ["en", "fr"]}
            (path / ABOUT).write_text(json.dumps(about), encoding="utf-8")

    def dump(self) -> Iterator[Row]:
        """Every asset; files have ids that follow from those of assets."""
        for row in self.side.rows():
            files = {part: [{key: file[key] for key in file if key != "file"} for file in row[part]] for part in PARTS}
            yield {**row, **files}

    def orphans(self) -> Iterator[Row]:
        """What is left over besides assets: partial files, until a run removes them; files that no record names; and
        a bag that does not validate."""
        path, now = self.side.path, self._clock.now().timestamp()
        for scratch in (path / ".dam-sync" / "tmp").glob("*"):
            if now - scratch.stat().st_mtime <= facts.KEPT.total_seconds():
                yield {"kind": "half-written file"}
        named = {file["file"] for row in self.side.assets for part in PARTS for file in row.get(part, ())}
        for top in (path / "data" / "files", path / "data" / "trash"):
            for file in top.rglob("*"):
                if file.is_file() and str(file.relative_to(top)) not in named:
                    yield {"kind": "file of no record"}
        if (path / "bagit.txt").exists() and not bagit.Bag(str(path)).is_valid():
            yield {"kind": "bag that does not validate"}
