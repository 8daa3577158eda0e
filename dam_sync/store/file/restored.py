"""Whether the file of a state was restored from a backup, which may be older than the last write.

Each time a state is opened to be written, it is given the next number, which is also kept in a small file next to it. A
state with a smaller number than that file was replaced by an older one. Where the folder was restored as a whole, both
files were made again: the state keeps by which numbers the file system knew them. Either is treated as a state that was
imported: the next run looks for what it does not know before it writes. Neither is known of a snapshot of a whole disk,
nor of a copy from its second run on: for these, each create asks the target, see `engine.guards.doubles`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, select

from dam_sync.store.base import from_text
from dam_sync.store.file.database import NO_LINK, OWNER_FILE, transaction
from dam_sync.store.note_keys import PLACE
from dam_sync.store.notes import note_import, put_note
from dam_sync.store.tables import META

OPENED = ".opened"  # the end of the name of the file next to the state
_LONGEST = 20  # digits of a number


@dataclass(frozen=True, slots=True)
class _Place:
    """How often the state was opened to be written, and the numbers of both files."""

    opened: int
    state: int
    beside: int


def note_place(connection: Connection, path: Path) -> None:
    """Notice a restore before anything is written."""
    beside = path.with_name(path.name + OPENED)
    with transaction(connection):
        here, noted = _here(path, beside, os.O_RDWR | os.O_CREAT), _noted(connection)
        if here is None:
            return
        if _is_restored(noted, here):
            note_import(connection)
        opened = max(here.opened, noted.opened if noted else 0) + 1
        put_note(connection, PLACE, [opened, here.state, here.beside])
    with suppress(OSError):  # without it, less is noticed
        _write(beside, opened)  # after the commit: a process that is killed in between leaves the smaller number here


def is_restored(connection: Connection, path: Path) -> bool:
    """Whether the state was restored since it was last opened to be written."""
    here = _here(path, path.with_name(path.name + OPENED), os.O_RDONLY)
    return here is not None and _is_restored(_noted(connection), here)


def forget_place(connection: Connection) -> None:
    """A copy is in no place yet."""
    connection.execute(delete(META).where(META.c.key == PLACE))


def _is_restored(noted: _Place | None, here: _Place) -> bool:
    if noted is None:  # new, written by an earlier version, or a copy
        return here.opened > 0
    return noted.opened < here.opened or (noted.state != here.state and noted.beside != here.beside)


def _here(path: Path, beside: Path, flags: int) -> _Place | None:
    """Of the files as they are; None if the one next to the state cannot be opened."""
    with suppress(OSError):
        handle = os.open(beside, flags | NO_LINK, OWNER_FILE)
        try:
            text = os.read(handle, _LONGEST).decode("ascii", "replace").strip()
            return _Place(int(text) if text.isdecimal() else 0, path.stat().st_ino, os.fstat(handle).st_ino)
        finally:
            os.close(handle)
    return None


def _write(beside: Path, opened: int) -> None:
    handle = os.open(beside, os.O_WRONLY | NO_LINK)
    try:
        os.pwrite(handle, f"{opened:0{_LONGEST}}".encode(), 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def _noted(connection: Connection) -> _Place | None:
    found = connection.execute(select(META.c.value).where(META.c.key == PLACE)).scalar()
    place = None if found is None else from_text(found)
    return _Place(*map(int, place)) if isinstance(place, list) else None  # a text: that of a server
