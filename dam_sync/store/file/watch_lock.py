"""The lock of the one `watch` of a state file: of the operating system, which ends it with the process."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path

from dam_sync.model.errors import StoreBusy
from dam_sync.model.values import Json
from dam_sync.model.watched_elsewhere import watched_elsewhere
from dam_sync.store.file.database import NO_LINK, make_file, translate_errors

ENDING = ".watch"
TRIES = 10  # whoever held the file may remove it while others open it
_WHAT = "the lock of `watch`"


class FileWatchLock:
    """A locked file beside the state, which says who holds it."""

    def __init__(self, state: Path, since: str) -> None:
        self._state, self._since = state, since
        self._path = state.with_name(state.name + ENDING)
        self._handle: int | None = None

    def hold(self) -> None:
        """Take the lock, or prove that it is still held. Raises StoreBusy while another `watch` holds it, ConfigError
        and DiskFull if its file cannot be written."""
        if self._handle is not None and self._is_current(self._handle):
            return
        self.release()
        with translate_errors(self._path, _WHAT):
            for _ in range(TRIES):
                if self._taken():
                    return
        raise self._busy()

    def release(self) -> None:
        """Let it go; safe to repeat."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        with suppress(OSError):
            if self._is_current(handle):
                self._path.unlink()
        os.close(handle)

    def _taken(self) -> bool:
        """Whether it is ours now. Raises StoreBusy, OSError."""
        make_file(self._path, _WHAT)
        handle = os.open(self._path, os.O_RDWR | NO_LINK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_current(handle):
                os.ftruncate(handle, 0)
                os.write(handle, json.dumps(self._who()).encode())
                self._handle = handle
                return True
        except BlockingIOError:
            raise self._busy() from None
        finally:
            if self._handle != handle:
                os.close(handle)
        return False

    def _is_current(self, handle: int) -> bool:
        """Whether the path still leads to this file."""
        with suppress(OSError):
            ours, named = os.fstat(handle), self._path.stat()
            return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
        return False

    def _who(self) -> Json:
        return {"pid": os.getpid(), "host": socket.gethostname(), "since": self._since}

    def _busy(self) -> StoreBusy:
        found: Json = {}
        with suppress(OSError, ValueError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
        known = isinstance(found, dict) and {"pid", "host", "since"} <= found.keys()
        by = f"process {found['pid']} on {found['host']}, since {found['since']}" if known else ""
        return watched_elsewhere(str(self._state), by)
