"""Best-effort lookup of the process that holds the lock of an SQLite file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LOCKS = Path("/proc/locks")  # one line per lock: `1: POSIX  ADVISORY  WRITE 4711 fd:01:123456 120 120`


def holder_of(path: Path) -> str:
    """`process 4711 (backup)` for another process that holds a write lock on the file or its log, otherwise empty.

    Neither file is opened, because closing it would release the locks of this process.
    """
    for pid in _writers(path):
        if pid != os.getpid():
            return f"process {pid}{_name(pid)}"
    return ""


def _writers(path: Path) -> Iterator[int]:
    files = set()
    for part in (path, path.with_name(f"{path.name}-shm")):
        with suppress(OSError):
            found = part.stat()
            files.add(f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}")
    try:
        lines = LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split()
        if len(words) >= 6 and words[3] == "WRITE" and words[4].isdigit() and words[5] in files:
            yield int(words[4])


def _name(pid: int) -> str:
    try:
        return f" ({Path(f'/proc/{pid}/comm').read_text(encoding='utf-8', errors='replace').strip()})"
    except OSError:
        return ""


def process_exists(pid: int) -> bool:
    """Whether a process of this host exists; assumed if it cannot be checked safely."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
