"""A folder without a catalogue, as it lies on a hard disk: every file is an asset, named by its path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from dam_sync.model.errors import Denied
from dam_sync.model.values import instant_text
from dam_sync.services.folder.api.catalogue import Record
from dam_sync.services.folder.api.disk import DEEPEST, PERMISSIONS, Disk, explained

NOT_ASSETS = frozenset({"Thumbs.db", "desktop.ini"})


class FileTree:
    """Reads like `Catalogue`, and cannot be written. Hidden files, links, special files, names that are not UTF-8 and
    folders too far below are left out; `left_out` counts those of the last listing, each folder once. Methods block,
    and raise Denied where a folder cannot be read."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.left_out = 0

    def asset_ids(self) -> list[str]:
        """Paths of all files, in order."""
        self.left_out = 0
        return sorted(self._paths())

    def asset(self, identity: str) -> Record:
        """The record of one file. Raises NotFound, InvalidValue."""
        found = self._disk.stat(identity)
        *folders, name = identity.split("/")
        return {
            "record": "asset",
            "id": identity,
            "filename": name,
            "versions": [{"name": name, "file": identity, "size": found.st_size}],
            "placements": [{"kind": "folder", "path": folders}] if folders else [],
            "changed_at": changed_at(found.st_mtime_ns),
        }

    def records(self, kind: str) -> Sequence[Record]:
        """The folders as containers; nothing of any other kind."""
        if kind != "container":
            return []
        above = {tuple(path.split("/")[:-1]) for path in self.asset_ids()}
        paths = {path[:depth] for path in above for depth in range(1, len(path) + 1)}
        return [{"record": "container", "kind": "folder", "path": list(path)} for path in sorted(paths)]

    def close(self) -> None:
        """Nothing is held open."""

    def _paths(self) -> Iterator[str]:
        with explained(str(self._disk.root)), self._disk.directory(()) as top:
            for above, folders, names, at in os.fwalk(".", dir_fd=top, onerror=_raised, follow_symlinks=False):
                here = above.removeprefix(".").lstrip("/")
                near = here.count("/") < DEEPEST - 2
                shown = [name for name in folders if near and not name.startswith(".") and _is_utf_8(name)]
                self.left_out += len(folders) - len(shown)
                folders[:] = shown
                self._refuse_unreadable(shown, at, here)
                for name in names:
                    if self._is_asset(name, at):
                        yield f"{here}/{name}" if here else name
                    else:
                        self.left_out += 1

    def _refuse_unreadable(self, names: Sequence[str], at: int, here: str) -> None:
        """By their paths, which errors of the walk itself do not have."""
        for name in names:
            if not self._disk.system.may_list(name, at):
                path = f"{here}/{name}" if here else name
                raise Denied(f"the folder {path} cannot be read by this user", hint=PERMISSIONS)

    def _is_asset(self, name: str, at: int) -> bool:
        if name.startswith(".") or name in NOT_ASSETS or not _is_utf_8(name):
            return False
        try:
            return stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False


def changed_at(nanoseconds: int) -> str | None:
    """When a file was changed, to the millisecond; None for a date that no calendar has, which file systems keep."""
    try:
        return instant_text(datetime.fromtimestamp(nanoseconds // 1_000_000 / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _is_utf_8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _raised(error: OSError) -> None:
    raise error
