"""Files below one folder: no symbolic link is followed, no path leads out, and what is written survives a crash."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dam_sync.model.errors import NO_ROOM, Denied, DiskFull, InvalidValue, NotFound, Transient

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DEEPEST = 64
REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
UNUSABLE = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EEXIST, errno.EISDIR, errno.ELOOP})
PERMISSIONS = "correct the permissions of the folder"
SHOWN = 100  # characters of a name that somebody else chose


def parts_of(path: str) -> tuple[str, ...]:
    """The parts of a relative path with `/`. Raises InvalidValue for a path that could lead out of the folder."""
    parts = tuple(path.split("/"))
    if len(parts) > DEEPEST or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise InvalidValue(
            f"the path {shortened(path)!r} does not lead to a file in the folder", hint="correct the catalogue"
        )
    return parts


def shortened(name: str) -> str:
    """A name as shown in messages."""
    return name if len(name) <= SHOWN else f"{name[:SHOWN]}…"


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Errors of the file system as ours, naming the file."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{what} is not there") from None
    except UnicodeEncodeError:
        message = f"{shortened(what)} is no name for a file in the encoding {sys.getfilesystemencoding()}"
        raise InvalidValue(message, hint="set PYTHONUTF8=1, or a locale with UTF-8") from None
    except OSError as error:
        if error.errno in REFUSED:
            raise Denied(f"{what}: {error.strerror}", hint=PERMISSIONS) from None
        if error.errno in NO_ROOM:
            raise DiskFull(f"no room left to write {what}", hint="free some space and run again") from None
        if error.errno in UNUSABLE:
            raise InvalidValue(f"{shortened(what)} is no name for a file here: {error.strerror}") from None
        raise Transient(f"{what}: {error.strerror or error}") from None


def is_of_group(folder: os.stat_result) -> bool:
    """Whether what is made in a folder belongs to its group (`chmod g+s`): somebody set it up for that group."""
    return bool(folder.st_mode & stat.S_ISGID)


def folder_mode(above: os.stat_result) -> int:
    """The permissions of a new folder. No service that an asset was closed in guards it here: nobody else can enter."""
    return 0o750 if is_of_group(above) else 0o700


class FileSystem:
    """The calls by which a folder changes, and what its permissions allow. A test passes one that ends the process at
    any of them, or one with fewer permissions."""

    def create(self, name: str, flags: int, at: int) -> int:
        """A descriptor. Only its owner can read the file, and the group where the folder is one of a group."""
        return os.open(name, flags, 0o600 | (0o040 if is_of_group(os.fstat(at)) else 0), dir_fd=at)

    def open(self, name: str, flags: int, at: int) -> int:
        """A descriptor of a file that is there."""
        return os.open(name, flags, dir_fd=at)

    def make_directory(self, name: str, at: int) -> None:
        """As for a file. Raises FileExistsError."""
        os.mkdir(name, folder_mode(os.fstat(at)), dir_fd=at)

    def write(self, handle: int, data: memoryview) -> int:
        """How many bytes were written."""
        return os.write(handle, data)

    def truncate(self, handle: int, size: int) -> None:
        """Cut off what follows."""
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        """Returns when it would survive a loss of power."""
        os.fsync(handle)

    def rename(self, old: str, new: str, source: int, target: int) -> None:
        """Replaces a file."""
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)

    def unlink(self, name: str, at: int) -> None:
        """Raises FileNotFoundError."""
        os.unlink(name, dir_fd=at)

    def may_write(self, folder: Path) -> bool:
        """Whether this user may make files in a folder."""
        return os.access(folder, os.W_OK | os.X_OK)

    def may_list(self, name: str, at: int) -> bool:
        """Whether this user may see what lies in a folder."""
        return os.access(name, os.R_OK | os.X_OK, dir_fd=at)


FILE_SYSTEM = FileSystem()


@dataclass(frozen=True, slots=True)
class Disk:
    """One folder. Paths are relative and are given with `/`. The methods raise NotFound, Denied, DiskFull, InvalidValue
    and Transient."""

    root: Path
    system: FileSystem = FILE_SYSTEM

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        """A descriptor of a regular file, made with the folders above it where `flags` have O_CREAT. Raises
        InvalidValue for anything else, a symbolic link for one."""
        *above, name = parts_of(path)
        with explained(path), self.directory(above, make=bool(flags & os.O_CREAT)) as at:
            self._refuse_link(at, name, path)
            if flags & os.O_CREAT:
                handle = self.system.create(name, flags | FILE, at)
                self.system.sync(at)
            else:
                handle = self.system.open(name, flags | FILE, at)
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                os.close(handle)
                raise InvalidValue(f"{path} is not a regular file")
            return handle

    def size(self, path: str) -> int | None:
        """Bytes of a regular file; None if there is none."""
        try:
            return self.stat(path).st_size
        except (NotFound, InvalidValue):
            return None

    def is_there(self, path: str) -> bool:
        """Whether anything has this path, a link for one. Raises InvalidValue for a path that could lead out."""
        try:
            self.stat(path)
        except NotFound:
            return False
        except InvalidValue:
            parts_of(path)
        return True

    def stat(self, path: str) -> os.stat_result:
        """What is known of a regular file, also of one that this user may not read. Raises InvalidValue for anything
        else."""
        *above, name = parts_of(path)
        with explained(path), self.directory(above) as at:
            self._refuse_link(at, name, path)
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidValue(f"{path} is not a regular file")
        return found

    def changed_at(self, path: str) -> float:
        """When a regular file was last written, in seconds since 1970: not every date of a file is in a calendar."""
        return self.stat(path).st_mtime

    def read(self, path: str, most: int) -> bytes:
        """A small file. Raises InvalidValue for one of more than `most` bytes."""
        with os.fdopen(self.open(path), "rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise InvalidValue(f"{path} has more than {most:,} bytes")
        return data

    def write(self, path: str, blocks: Iterable[bytes], scratch: str) -> None:
        """A file, whole or not at all. scratch: the path that it has until it is complete."""
        handle = self.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            with explained(path):
                for block in blocks:
                    self.write_all(handle, block)
                self.system.sync(handle)
        finally:
            os.close(handle)
        self.rename(scratch, path)

    def write_all(self, handle: int, data: bytes) -> None:
        """Write at the place where the descriptor is. Raises OSError."""
        left = memoryview(data)
        while left:
            left = left[self.system.write(handle, left) :]

    def rename(self, old: str, new: str) -> None:
        """Move a file or folder within the folder, durably; what is at `new` is replaced if it is a file."""
        *from_parts, from_name = parts_of(old)
        *to_parts, to_name = parts_of(new)
        with explained(new), self.directory(from_parts) as source, self.directory(to_parts, make=True) as target:
            self.system.rename(from_name, to_name, source, target)
            self.system.sync(target)
            self.system.sync(source)

    def unlink(self, path: str) -> None:
        """Remove a file, if it is there."""
        *above, name = parts_of(path)
        with explained(path), suppress(FileNotFoundError), self.directory(above) as at:
            self.system.unlink(name, at)

    def names(self, path: str) -> Sequence[str]:
        """The names in a folder, in order; none if there is no such folder."""
        try:
            with explained(path), self.directory(parts_of(path)) as at:
                return sorted(os.listdir(at))
        except NotFound:
            return ()

    @contextmanager
    def directory(self, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
        """A descriptor of a folder, reached step by step. make: the steps that are missing are made."""
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        self.system.make_directory(part, handle)
                        self.system.sync(handle)
                self._refuse_link(handle, part, "/".join(parts))
                below = os.open(part, DIRECTORY, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    def _refuse_link(self, at: int, name: str, path: str) -> None:
        """Says what is wrong; O_NOFOLLOW is what holds."""
        with suppress(FileNotFoundError):
            if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                raise InvalidValue(f"{path}: {name} is a symbolic link, which is not followed")
