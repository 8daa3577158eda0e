"""A folder without a catalogue, as it lies on a hard disk: every file is an asset, named by its path."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from dam_sync.model.errors import Denied
from dam_sync.model.values import Json, instant_text
from dam_sync.services.folder.api.catalogue import Record
from dam_sync.services.folder.api.disk import DEEPEST, PERMISSIONS, Disk, explained
from dam_sync.services.folder.api.foreign_bag import PAYLOAD, ForeignBag


class Odd(Enum):
    """What is left out of a folder, and why."""

    HIDDEN = "hidden files, links and odd file or folder names"
    BIN = "recycle bins and folders of systems"
    SYSTEM = "files of systems"
    SIDECAR = "sidecars beside their file"


BINS: Final = frozenset(
    {
        *("$recycle.bin", "recycler", "system volume information", "$extend", "lost+found"),  # Windows, Linux
        *("__macosx", "network trash folder", "temporary items", "thevolumesettingsfolder"),  # macOS
        *("@eadir", "#recycle", "#snapshot", "@recycle", "@recently-snapshot", "@tmp", "~snapshot"),  # network storage
    }
)
_BIN = re.compile(r"(?-i:RECYCLED)|found\.\d{3}|\.?trash-\d+|\.trashes", re.IGNORECASE)
SYSTEM: Final = frozenset({"thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "picasa.ini", "icon\r"})
SIDECARS: Final = frozenset({"xmp", "aae", "thm", "dop", "pp2", "pp3", "cos", "nksc", "on1", "exv", "mie"})
BESIDE_NAME: Final = (".json", ".supplemental-metadata.json")  # of an export of photographs, behind the whole name


def is_bin(name: str) -> bool:
    """Whether a folder holds what somebody deleted, or what a system keeps for itself."""
    return name.casefold() in BINS or _BIN.fullmatch(name) is not None


def sidecars_of(names: Iterable[str]) -> dict[str, bool]:
    """The sidecars among the files of a folder, and whether the file that they are about is beside each of them."""
    folded = {name: name.casefold() for name in names}
    others = {name for name in folded.values() if name.rpartition(".")[2] not in SIDECARS}
    stems = {name.rpartition(".")[0] for name in others}
    found: dict[str, bool] = {}
    for name, each in folded.items():
        stem, _, extension = each.rpartition(".")
        if extension in SIDECARS:
            found[name] = bool({stem, _unedited(stem)} & (others | stems) - {""})
        elif any(each.endswith(end) and each.removesuffix(end) in others for end in BESIDE_NAME):
            found[name] = True
    return found


def _unedited(stem: str) -> str:
    """The name of the photograph about whose edits a phone wrote a file: `IMG_O0002.AAE` is about `IMG_0002.HEIC`."""
    return re.sub(r"\Aimg_[eo](?=\d)", "img_", stem)


class FileTree:
    """Reads like `Catalogue`, and cannot be written. Hidden files, links, special files, names that are not UTF-8,
    recycle bins and folders too far below are left out, and sidecars where `sidecars` is false; `left_out` counts those
    of the last listing, each folder once, `lone` the sidecars without their file. Of a bag, only what lies below `data`
    counts, and files that its manifests name are assets even if they are not there. Methods block, and raise Denied
    where a folder cannot be read."""

    def __init__(self, disk: Disk, *, sidecars: bool = False, bag: ForeignBag | None = None) -> None:
        self._disk = disk
        self._sidecars, self._bag = sidecars, bag
        self.left_out = Counter[Odd]()
        self.lone = 0

    def asset_ids(self) -> list[str]:
        """Paths of all files, in order."""
        self.left_out.clear()
        self.lone = 0
        return sorted({*self._paths(), *self._missing})

    def asset(self, identity: str) -> Record:
        """The record of one file. Raises NotFound, InvalidValue."""
        *folders, name = identity.split("/")
        folders = folders[1:] if self._bag is not None else folders
        file: dict[str, Json] = {"name": name, "file": identity}
        record: dict[str, Json] = {"record": "asset", "id": identity, "filename": name, "versions": [file]}
        record["placements"] = [{"kind": "folder", "path": folders}] if folders else []
        if identity in self._missing:
            return record
        found = self._disk.stat(identity)
        file["size"] = found.st_size
        return {**record, "changed_at": changed_at(found.st_mtime_ns)}

    @property
    def _missing(self) -> frozenset[str]:
        return self._bag.manifests.missing if self._bag is not None else frozenset()

    def records(self, kind: str) -> Sequence[Record]:
        """The folders as containers; nothing of any other kind."""
        if kind != "container":
            return []
        top = 1 if self._bag is not None else 0
        above = {tuple(path.split("/")[top:-1]) for path in self.asset_ids()}
        paths = {path[:depth] for path in above for depth in range(1, len(path) + 1)}
        return [{"record": "container", "kind": "folder", "path": list(path)} for path in sorted(paths)]

    def close(self) -> None:
        """Nothing is held open."""

    def _paths(self) -> Iterator[str]:
        with explained(str(self._disk.root)), self._disk.directory(()) as top:
            for above, folders, names, at in os.fwalk(".", dir_fd=top, onerror=_raised, follow_symlinks=False):
                here = above.removeprefix(".").lstrip("/")
                if self._bag is not None and not here:
                    folders[:], names = [PAYLOAD], []
                near = here.count("/") < DEEPEST - 2
                shown = [name for name in folders if self._shown(name, near=near)]
                folders[:] = shown
                self._refuse_unreadable(shown, at, here)
                files = [name for name in names if self._is_file(name, at)]
                yield from (f"{here}/{name}" if here else name for name in self._assets(files))

    def _shown(self, name: str, *, near: bool) -> bool:
        odd = Odd.BIN if is_bin(name) else Odd.HIDDEN
        shown = odd is Odd.HIDDEN and near and not name.startswith(".") and _is_utf_8(name)
        self.left_out[odd] += not shown
        return shown

    def _assets(self, files: Sequence[str]) -> Iterator[str]:
        """Those of the files of one folder that are assets."""
        sidecars = sidecars_of(files)
        self.lone += sum(not beside for beside in sidecars.values())
        for name in files:
            beside = sidecars.get(name, False)
            self.left_out[Odd.SIDECAR] += beside and not self._sidecars
            if self._sidecars or not beside:
                yield name

    def _refuse_unreadable(self, names: Sequence[str], at: int, here: str) -> None:
        """By their paths, which errors of the walk itself do not have."""
        for name in names:
            if not self._disk.system.may_list(name, at):
                path = f"{here}/{name}" if here else name
                raise Denied(f"the folder {path} cannot be read by this user", hint=PERMISSIONS)

    def _is_file(self, name: str, at: int) -> bool:
        odd = Odd.SYSTEM if name.casefold() in SYSTEM else Odd.HIDDEN
        is_file = odd is Odd.HIDDEN and not name.startswith(".") and _is_utf_8(name) and _is_regular(name, at)
        self.left_out[odd] += not is_file
        return is_file


def _is_regular(name: str, at: int) -> bool:
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
