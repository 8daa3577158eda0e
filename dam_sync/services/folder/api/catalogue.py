"""The catalogue: JSON lines in the neutral form, to which changes are appended; of several lines about one thing the
last one counts. A torn last line, which a crash may leave, counts for nothing and is cut off by the next write."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from dam_sync.http.parsing import has_too_many_values, parsed
from dam_sync.model.errors import ContractBroken, InvalidValue, NotFound
from dam_sync.model.other_formats import HEAD, other_format
from dam_sync.model.values import Json
from dam_sync.services.folder.api.disk import Disk, explained, shortened

Record: TypeAlias = Mapping[str, Json]
Key: TypeAlias = tuple[str, ...]
IDENTITY: Final[Mapping[str, tuple[str, ...]]] = {
    "type": ("name",),
    "field": ("key",),
    "vocabulary": ("key",),
    "term": ("vocabulary", "id"),
    "container": ("kind", "path"),
    "status": ("name",),
    "group": ("name",),
    "profile": ("name",),
    "relation_kind": ("name",),
    "asset": ("id",),
}
LONGEST_LINE = 64 * 1024 * 1024  # bytes, its end included
ROOM = 64 * 1024  # bytes that a file or two add to the line of an asset
IN_SHEET = 4  # by which part of that the line of an asset is shorter whose cells are written to a sheet as well
SHORTEN = "shorten the longest value with `truncate` in the mapping, or leave it out; then `errors JOB --retry`"
TOO_LONG = "remove the line, which no program can read; `run JOB --full` writes its asset again"
OWN = ".dam-sync"
LOCK, SCRATCH = f"{OWN}/lock", f"{OWN}/tmp"
COMPACTED = f"{SCRATCH}/catalogue.new"


@dataclass(frozen=True, slots=True)
class Edition:
    """What a catalogue says about one kind of record at some time. file: inode and device; lines: about that kind."""

    file: tuple[int, int]
    lines: int

    def after(self, lines: int) -> Edition:
        """Once so many lines are added."""
        return replace(self, lines=self.lines + lines)


class Catalogue:
    """Records by kind and identity. Other processes may append meanwhile: reading takes up what they wrote, and
    writing locks them out. Methods block; call them in a worker thread."""

    def __init__(self, disk: Disk, path: str, *, longest: int = LONGEST_LINE) -> None:
        """longest: of a line that is written; what is read has at most LONGEST_LINE."""
        self._disk, self._path, self._longest = disk, path, longest
        self._lock = threading.RLock()
        self._handle: int | None = None
        self._inode = self._device = self._end = self._lines = 0
        self._spans: dict[str, tuple[int, int]] = {}
        self._records: dict[str, dict[Key, Record]] = {kind: {} for kind in IDENTITY}
        self._taken = dict.fromkeys(IDENTITY, 0)  # lines read, by kind

    @property
    def exists(self) -> bool:
        """Whether there is a catalogue."""
        return self._disk.size(self._path) is not None

    def asset_ids(self) -> list[str]:
        """Ids of all assets, in a stable order."""
        with self._lock:
            self._refresh()
            return sorted(self._spans)

    def asset(self, identity: str) -> Record:
        """Raises NotFound."""
        with self._lock:
            self._refresh()
            if identity not in self._spans or self._handle is None:
                raise NotFound(f"there is no asset {identity}", asset=identity)
            start, length = self._spans[identity]
            return _record(os.pread(self._handle, length, start))

    def records(self, kind: str) -> list[Record]:
        """All records of a kind other than `asset`."""
        with self._lock:
            self._refresh()
            return list(self._records[kind].values())

    def record(self, kind: str, *key: Json) -> Record | None:
        """The record of a kind other than `asset` with these parts of its identity; None without one."""
        with self._lock:
            self._refresh()
            return self._records[kind].get(tuple(map(_text, key)))

    def edition(self, kind: str) -> Edition:
        """What changes as soon as a line about a kind is read; one line more adds one to its number."""
        with self._lock:
            self._refresh()
            return Edition((self._inode, self._device), self._taken[kind])

    def change(self, edit: Callable[[], Sequence[Record]]) -> None:
        """Append the records that `edit` gives; nobody else writes between what it reads and this. Durable when it
        returns; nothing was written where it raises."""
        with self.exclusive():
            self._refresh()
            records = edit()
            if records:
                self._append(b"".join(self.line(record) for record in records))

    def line(self, record: Record, room: int = 0) -> bytes:
        """A record as it is written. room: bytes that are to be left. Raises InvalidValue for one that `_refresh` would
        not read."""
        line = _line(record)
        if len(line) > self._longest - room or has_too_many_values(line):
            name = next((str(record[key]) for key in ("id", "key", "name") if record.get(key)), "")
            what = f"{record['record']} {shortened(name)}"
            message = (
                f"the record of {what} has {len(line):,} bytes, more than the catalogue takes: {_longest_of(record)}"
            )
            raise InvalidValue(message, hint=SHORTEN)
        return line

    def compact(self) -> None:
        """Write the catalogue again without the lines that count no more, if there are any."""
        with self.exclusive():
            self._refresh()
            live = len(self._spans) + sum(map(len, self._records.values()))
            if self._lines == live:
                return
            self._disk.write(self._path, self._live_lines(), COMPACTED)

    def _live_lines(self) -> Iterator[bytes]:
        for records in self._records.values():
            yield from map(_line, records.values())
        for identity in sorted(self._spans):
            yield _line(self.asset(identity))

    def close(self) -> None:
        """Give the descriptor back; safe to repeat."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
            self._handle = None
            self._inode = 0

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else writes to the folder meanwhile; not to be nested."""
        with self._lock:
            handle = self._disk.open(LOCK, os.O_RDWR | os.O_CREAT)
            try:
                with explained(LOCK):
                    fcntl.flock(handle, fcntl.LOCK_EX)
                yield
            finally:
                os.close(handle)

    def _refresh(self) -> None:
        """Take up what was written since."""
        try:
            handle = self._disk.open(self._path)
        except NotFound:
            self._reset()
            return
        now = os.fstat(handle)
        if self._handle is not None and (now.st_ino, now.st_dev) == (self._inode, self._device):
            os.close(handle)
        else:
            self._reset()
            self._handle, self._inode, self._device = handle, now.st_ino, now.st_dev
        if now.st_size < self._end:
            raise ContractBroken(f"{self._path} became shorter while it was read", hint="run the same command again")
        if now.st_size > self._end:
            self._read_on()

    def _reset(self) -> None:
        self.close()
        self._device = self._end = self._lines = 0
        self._spans.clear()
        self._taken = dict.fromkeys(IDENTITY, 0)
        for records in self._records.values():
            records.clear()

    def _read_on(self) -> None:
        assert self._handle is not None
        with os.fdopen(os.dup(self._handle), "rb") as file:
            other = None if self._end else other_format(file.read(HEAD))
            if other is not None:
                raise ContractBroken(f"{self._path} {other.instead_of('a catalogue')}", hint=other.remedy)
            file.seek(self._end)
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                self._take(line)
        if len(line) == LONGEST_LINE:
            message = f"{self._path}:{self._lines + 1}: the line has more than {LONGEST_LINE:,} bytes"
            raise ContractBroken(message, hint=TOO_LONG)

    def _take(self, line: bytes) -> None:
        """One complete line, which begins where the last one ended."""
        start, self._end, self._lines = self._end, self._end + len(line), self._lines + 1
        if not line.strip():
            return
        try:
            record = _record(line)
            kind = record["record"]
            key = tuple(_text(record[name]) for name in IDENTITY[kind])
        except (ValueError, LookupError, TypeError) as problem:
            message = f"{self._path}:{self._lines}: not a record of a catalogue: {type(problem).__name__}"
            raise ContractBroken(message, hint="correct the line; `dam-sync help folder` describes the form") from None
        self._taken[kind] += 1
        if kind == "asset":
            self._spans[key[0]] = (start, len(line))
        else:
            self._records[kind][key] = record

    def _append(self, data: bytes) -> None:
        handle = self._disk.open(self._path, os.O_RDWR | os.O_CREAT)
        try:
            with explained(self._path):
                self._write_at_end(handle, data)
        finally:
            os.close(handle)
        self._refresh()

    def _write_at_end(self, handle: int, data: bytes) -> None:
        """A torn line is cut off first. Nothing was written where it raises OSError."""
        system = self._disk.system
        try:
            system.truncate(handle, self._end)
            os.lseek(handle, self._end, os.SEEK_SET)
            self._disk.write_all(handle, data)
            system.sync(handle)
        except OSError:
            system.truncate(handle, self._end)
            raise


def _record(line: bytes) -> Record:
    """Raises InvalidJson."""
    record: Record = parsed(line)
    return record


def _line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _longest_of(record: Record) -> str:
    """The longest value of a record by name, with its length."""
    values = {key: value for key, value in record.items() if key != "fields"}
    fields = record.get("fields")
    values |= {f"fields.{key}": value for key, value in fields.items()} if isinstance(fields, dict) else {}
    lengths = {key: len(_line({key: value})) for key, value in values.items()}
    key = max(lengths, key=lambda each: lengths[each])
    return f"{shortened(key)} alone has {lengths[key]:,}"


def _text(value: Json) -> str:
    return json.dumps(value) if isinstance(value, list) else str(value)
