"""A small disk that can be full or read-only at any moment, and commands of `dam-sync` that work on it.

The strongest way that this machine allows: a file system in memory, mounted where only the commands see it (as root, or
in a namespace of one's own), by the process that forks them; else a limit on how large a file may grow, set on the
command while it runs.
DAM_SYNC_DISK=limited asks for the second.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.forking import Forked, Forking
from tests.support.jobs.small_jobs import Ran
from tests.support.programs import shared

FILLER = "filler"
WAY = "the small disk was"  # begins what a test tells of it
SUPERUSER = os.geteuid() == 0


class Disk:
    """A folder on a small disk. folder: as the commands see it; seen: as the test does."""

    way = "a limit on the size of files"
    apart = False  # whether only the folder is full, and what is written there already can be written over

    def __init__(self, forking: Forking, folder: Path) -> None:
        self.forking = forking
        self.folder = self.seen = folder
        self.running: Forked | None = None
        self._full = False
        self._heeding = False

    def start(self, *arguments: str, **environment: Any) -> Forked:
        """Begin a command; one at a time."""
        given: dict[str, Any] = {"limit": 0 if self._full else -1, "heeding": self._heeding, **environment}
        self.running = self.forking.start(*arguments, **given)
        return self.running

    def command(self, *arguments: str, **environment: Any) -> Ran:
        """A command from its beginning to its end."""
        try:
            return self.start(*arguments, **environment).wait()
        finally:
            self.running = None

    def fill(self) -> None:
        """No room is left from now on."""
        self._full = True
        if self.running is not None:
            resource.prlimit(self.running.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    def make_room(self) -> None:
        """There is room again."""
        self._full = False

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Nothing can be written in the folder while the block runs."""
        parts = [self.seen, *sorted(self.seen.rglob("*"))]
        rights = {path: path.stat().st_mode & 0o777 for path in parts}
        for path in reversed(parts):
            path.chmod(rights[path] & 0o555)
        self._heeding = SUPERUSER
        try:
            yield
        finally:
            self._heeding = False
            for path in parts:
                path.chmod(rights[path])


class MountedDisk(Disk):
    """On a file system of its own."""

    apart = True
    way = "a file system in memory, mounted" + ("" if SUPERUSER else " in a user namespace")

    def __init__(self, forking: Forking, folder: Path) -> None:
        super().__init__(forking, folder)
        self.seen = Path(f"/proc/{forking.pid}/root{folder}")

    def fill(self) -> None:
        """See `Disk.fill`."""
        with (self.seen / FILLER).open("ab", buffering=0) as out:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while out.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def make_room(self) -> None:
        """See `Disk.make_room`."""
        (self.seen / FILLER).unlink(missing_ok=True)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """See `Disk.read_only`."""
        self._do("mount", "-o", "remount,ro")
        try:
            yield
        finally:
            self._do("mount", "-o", "remount,rw")

    @contextmanager
    def mounted(self, size: int) -> Iterator[None]:
        """So many bytes of disk while the block runs."""
        self._do("mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs")
        try:
            yield
        finally:
            self._do("umount")

    def _do(self, *command: str) -> None:
        done = self.forking.sh(*command, str(self.folder))
        assert done.returncode == 0, done.stdout


@contextmanager
def forking_disks() -> Iterator[tuple[Forking, type[Disk]]]:
    """What forks the commands, and the strongest kind of disk that works here."""
    mounts = _can_mount()
    with shared().branch() as forking:
        if mounts:
            assert forking.unshare_mounts()
        yield forking, MountedDisk if mounts else Disk


@cache
def _can_mount() -> bool:
    """Whether a forked process may mount a file system that only it and its children see."""
    if os.environ.get("DAM_SYNC_DISK") == "limited" or not shutil.which("mount"):
        return False
    with shared().branch() as probing:
        return probing.unshare_mounts() and not probing.sh("mount", "-t", "tmpfs", "tmpfs", "/mnt").returncode


@contextmanager
def small_disk(forking: Forking, kind: type[Disk], folder: Path, size: int) -> Iterator[Disk]:
    """The folder, made and empty, as a disk of so many bytes."""
    folder.mkdir()
    disk = kind(forking, folder)
    if isinstance(disk, MountedDisk):
        with disk.mounted(size):
            yield disk
    else:
        yield disk
