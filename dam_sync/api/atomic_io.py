"""Files that a command writes besides the state: reports, lists, scratch copies; file system errors in plain words."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir, mkstemp
from typing import IO, TYPE_CHECKING

from dam_sync.model.errors import NO_ROOM, ConfigError, DamSyncError, DiskFull

if TYPE_CHECKING:
    from _csv import Writer

MARK = "\ufeff"
PROBE_BYTES = 64 * 1024
OWNER_FOLDER, SHARED_FOLDER = 0o700, 0o755
ELSEWHERE = "free some space there, or name a file on another disk"


@contextmanager
def atomic_write(path: Path, what: str, *, shared: bool = False) -> Iterator[IO[str]]:
    """Write a text file completely or not at all: an old file stays until the new one is complete.

    Only its owner can read it. shared: it is for a server, which reads it as another user; whoever could read the old
    file can, and everybody as far as the umask allows. `what` names it in errors. Raises DiskFull, or ConfigError if
    the file cannot be written.
    """
    with _explained(path, what):
        make_folder(path.parent, shared=shared)
        apart = path.exists() and not path.is_file()  # a pipe or device cannot be replaced
        handle, part = (_opened_device(path), path) if apart else _new_beside(path)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                yield out
                out.flush()
                if not apart:
                    if shared:
                        os.fchmod(out.fileno(), _shared_mode(path))
                    os.fsync(out.fileno())
            if not apart:
                os.replace(part, path)
        except BaseException:
            if not apart:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
            raise


@contextmanager
def csv_file(path: Path, what: str) -> Iterator[Writer]:
    """Write rows as CSV, like `atomic_write`. A file begins with the mark by which spreadsheets know UTF-8; a pipe or
    device has none."""
    with atomic_write(path, what) as out:
        if not path.exists() or path.is_file():
            out.write(MARK)
        yield csv.writer(out)


def prove_writable(path: Path | None, what: str, *, shared: bool = False) -> None:
    """Raise ConfigError or DiskFull now rather than after days of work; leaves nothing behind but the folder. shared:
    as for `atomic_write`."""
    if path is None or (path.exists() and not path.is_file()):
        return
    with _explained(path, what):
        make_folder(path.parent, shared=shared)
        handle, probe = _new_beside(path)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(bytes(PROBE_BYTES))
        finally:
            probe.unlink(missing_ok=True)


def make_folder(folder: Path, *, shared: bool = False) -> None:
    """Create a folder and those above it that are missing, whatever the umask: only their owner can enter them, or if
    they are `shared`, nobody else can write there. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=SHARED_FOLDER if shared else OWNER_FOLDER, exist_ok=True)
    folder.mkdir(exist_ok=True)  # where something else has its name


def _shared_mode(path: Path) -> int:
    """The permissions of a file that others may read: those of the file it replaces, or what the umask leaves."""
    if path.exists():
        return path.stat().st_mode & 0o777
    os.umask(umask := os.umask(0o077))
    return 0o644 & ~umask


def _opened_device(path: Path) -> int:
    """Open a pipe or device for writing. Raises ConfigError for one of another user, who would read what is written,
    and OSError."""
    if os.name != "nt" and path.stat().st_uid not in (0, os.geteuid()):
        raise ConfigError(f"{path} is a pipe or device of another user", hint="name another file")
    return os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0))


def _new_beside(path: Path) -> tuple[int, Path]:
    """Create a file readable by its owner only, under an unpredictable name. Raises OSError."""
    handle, name = mkstemp(suffix=".part", prefix=f".{path.name[:100]}.", dir=path.parent)
    return handle, Path(name)


@contextmanager
def scratch_dir(purpose: str) -> Iterator[Path]:
    """A temporary folder. Raises DiskFull, or ConfigError if it cannot be created."""
    try:
        with TemporaryDirectory(prefix=f"dam-sync-{purpose}-", ignore_cleanup_errors=True) as name:
            try:
                yield Path(name)
            except DiskFull as error:
                if error.path is None or not error.path.is_relative_to(name):
                    raise
                raise _no_scratch(gettempdir()) from error
    except OSError as error:
        if full := next((name for name in _usual_folders() if _is_full(name)), ""):
            raise _no_scratch(full) from error
        hint = "set TMPDIR to a folder that this user can write to"
        raise ConfigError(f"no temporary folder can be created ({error.strerror or error})", hint=hint) from error


def _no_scratch(folder: str) -> DiskFull:
    hint = "free some space there, or set TMPDIR to a folder on another disk, and run the same command again"
    return DiskFull(f"no space left in {folder} for a temporary copy of the state", hint=hint)


def _usual_folders() -> Iterator[str]:
    """Candidates for the temporary folder, configured ones first."""
    yield from (os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name))
    yield from ("/tmp", "/var/tmp")


def _is_full(folder: str) -> bool:
    """Whether the disk of a folder is full."""
    try:
        with TemporaryFile(dir=folder, buffering=0) as probe:
            probe.write(bytes(PROBE_BYTES))
    except OSError as error:
        return error.errno in NO_ROOM
    return False


def translate_os_error(error: OSError, path: Path, what: str) -> DamSyncError:
    """What an error of the file system means to the operator."""
    if error.errno in NO_ROOM:
        hint = f"{ELSEWHERE}, and run the same command again"
        return DiskFull(f"no space left to write {what} {path}", path=path, hint=hint)
    hint = "name a file that this user can write"
    return ConfigError(f"{what} {path} cannot be written ({error.strerror or error})", hint=hint)


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise translate_os_error(error, path, what) from error
