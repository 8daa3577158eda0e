"""Files whose names on disk are those of a list but for the form of Unicode or for case, as copies from other systems
have them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field

from dam_sync.model.errors import Denied, InvalidValue, NotFound
from dam_sync.model.unicode_forms import nfc
from dam_sync.services.folder.api.disk import Disk, explained, parts_of, shortened

MOST_FOLDERS = 64  # whose names are remembered
MOST_ALIKE = 50
SHOWN = 3
HINT = "name one of them as it is on disk, or rename the others; what differs is shown as a code such as \\u0301"
Names = Mapping[str, Sequence[str]]  # those of a folder, by what they have in common


def in_any_case(name: str) -> str:
    """What names have in common that differ in case or in the form of Unicode only."""
    return nfc(nfc(name).casefold())


KEYS: Sequence[Callable[[str], str]] = (nfc, in_any_case)  # the nearest first


def one_alike(wanted: str, found: Iterable[str]) -> str | None:
    """Which of several names is the wanted one but for its form, or for its case; None if none is. Raises InvalidValue
    if it is not the only one."""
    names = list(found)
    for key in KEYS:
        alike = [name for name in names if key(name) == key(wanted)]
        if alike:
            return _only(wanted, alike)
    return None


def _only(wanted: str, alike: Sequence[str]) -> str:
    if len(alike) > 1:
        shown = ", ".join(ascii(shortened(name)) for name in sorted(alike)[:SHOWN])
        raise InvalidValue(
            f"{shortened(wanted)} is not there, which is {shortened(wanted)!a}; {len(alike)} files differ from it "
            f"only in case or in the form of Unicode: {shown}",
            hint=HINT,
        )
    return alike[0]


@dataclass(frozen=True, slots=True)
class ComparedFiles:
    """Files on disk and in a list. unlisted: how many no asset has; alike: those of the list that are on disk under
    another spelling, with it."""

    unlisted: int = 0
    alike: Mapping[str, str] = field(default_factory=dict)


def compared(named: Set[str], found: Set[str]) -> ComparedFiles:
    """Paths that assets name, and paths of files."""
    by_key: dict[str, list[str]] = {}
    for path in found:
        by_key.setdefault(in_any_case(path), []).append(path)
    alike: dict[str, str] = {}
    for path in named - found:
        with suppress(InvalidValue):  # reading it alone says that there are several
            one = one_alike(path, by_key.get(in_any_case(path), ()))
            alike |= {path: one} if one is not None else {}
    return ComparedFiles(len(found - named - set(alike.values())), alike)


@dataclass(slots=True)
class AlikeNames:
    """Looks for files of one folder by names that other systems spell otherwise. Methods block."""

    disk: Disk
    _known: dict[tuple[str, ...], tuple[int, Names]] = field(default_factory=dict)

    def find(self, path: str) -> str:
        """The path of the only file that is equal to this path but for the form of Unicode, or else for case. Raises
        NotFound, and InvalidValue for several."""
        wanted = parts_of(path)
        near = [(*above, name) for above in self._folders(wanted[:-1]) for name in self._names(above, wanted[-1])]
        found = one_alike(path, (each for each in map("/".join, near) if self.disk.size(each) is not None))
        if found is None:
            raise NotFound(f"{path} is not there")
        return found

    def _folders(self, wanted: Sequence[str]) -> list[tuple[str, ...]]:
        near: list[tuple[str, ...]] = [()]
        for part in wanted:
            near = [(*above, name) for above in near for name in self._names(above, part)][:MOST_ALIKE]
        return near

    def _names(self, folder: tuple[str, ...], wanted: str) -> Sequence[str]:
        try:
            with explained("/".join(folder)), self.disk.directory(folder) as at:
                changed = os.fstat(at).st_mtime_ns
                if folder not in self._known or self._known[folder][0] != changed:
                    self._remember(folder, changed, os.listdir(at))
        except (NotFound, InvalidValue, Denied):  # it is a file, or a link
            return ()
        return self._known[folder][1].get(in_any_case(wanted), ())

    def _remember(self, folder: tuple[str, ...], changed: int, names: Iterable[str]) -> None:
        while len(self._known) >= MOST_FOLDERS:
            self._known.pop(next(iter(self._known)))
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(in_any_case(name), []).append(name)
        self._known[folder] = changed, alike
