"""Shared by the repositories: reader and writer threads, the clock, JSON helpers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec
from sqlalchemy import Engine

from dam_sync.model.account import AccountKey
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ConfigError
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Json
from dam_sync.store.file.database import engine_of
from dam_sync.store.file.lock_holder import process_exists
from dam_sync.store.file.threads import GroupWriter, Job, ReaderThread, WriterThread
from dam_sync.store.tables import stamp

if TYPE_CHECKING:
    from dam_sync.store.server.threads import ServerReader

_DECODER: msgspec.json.Decoder[Json] = msgspec.json.Decoder()


class OpenEngine(Protocol):
    """Opens a file."""

    def __call__(self, path: Path, *, read_only: bool = False) -> Engine:
        """An engine of one connection."""
        ...


T = TypeVar("T")
PIECE = 500  # ids in one statement
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # `dumps` creates one for each call

_EMPTY: Mapping[type, str] = {dict: "{}", list: "[]", tuple: "[]", NoneType: "null"}  # half of what a link contains


def _server_reader(server: StateServer, patience: timedelta) -> ServerReader:
    from dam_sync.store.server.threads import ServerReader  # needs the driver, which a state file does not

    return ServerReader(server, patience)


def _server_writer(server: StateServer, patience: timedelta) -> GroupWriter:
    from dam_sync.store.server.threads import ServerWriter

    return ServerWriter(server, patience)


@dataclass(frozen=True, slots=True)
class Storage:
    """How states are opened and shared with other processes.

    engine: of a file; writer: of such an engine and its file; process_exists: whether a process of this host does;
    still: how long a process without a heartbeat trusts its lease, well before others end it; copied_pages: in one step
    of a copy, between which others may write; patience: how long an outage of a server may last; server_reader and
    server_writer: of a server, with that patience.
    """

    engine: OpenEngine = engine_of
    writer: Callable[[Engine, Path], WriterThread] = WriterThread
    process_exists: Callable[[int], bool] = process_exists
    still: timedelta = timedelta(seconds=20)
    copied_pages: int = 1_000
    patience: timedelta = timedelta(seconds=15)
    server_reader: Callable[[StateServer, timedelta], ServerReader] = _server_reader
    server_writer: Callable[[StateServer, timedelta], GroupWriter] = _server_writer


@dataclass(slots=True)
class Database:
    """The open state, as every repository sees it. `writer` is None if it was opened read-only.

    place: the file, or the schema of a server.

    run: the run that this process holds, 0 for none. holder: this process's token in leases. beat_at: its last
    heartbeat. wave: the wave of that run; work of other waves is neither claimed nor counted. Empty: of all waves.
    tickets: only of a worker process: what it was handed, by asset; see `store.workers`.
    """

    place: Path | StateServer
    clock: Clock
    reader: ReaderThread | ServerReader
    writer: GroupWriter | None
    holder: str
    storage: Storage
    run: int = 0
    beat_at: datetime | None = None
    wave: str = ""
    tickets: dict[str, str] | None = None
    flights: dict[tuple[str, str], asyncio.Event] = field(default_factory=dict)
    account_ids: dict[AccountKey, int] = field(default_factory=dict)  # those that this process has met

    @property
    def server(self) -> StateServer | None:
        """The server; None for a file."""
        return None if isinstance(self.place, Path) else self.place

    @property
    def path(self) -> Path:
        """The file; only if the state is one."""
        assert isinstance(self.place, Path)
        return self.place


class Repository:
    """One subject of the store; all repositories share a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _write(self, job: Job[T]) -> T:
        """Durable when it returns."""
        return await self._writer.run(job)

    def _post(self, job: Job[T]) -> asyncio.Future[T]:
        """Durable once the future has a result, and before everything that is written later."""
        return self._writer.post(job)

    @property
    def _writer(self) -> GroupWriter:
        if self._database.writer is None:
            raise ConfigError(f"the state {self._database.place} cannot be written: it was opened for reading only")
        return self._database.writer

    async def _read(self, job: Job[T]) -> T:
        return await self._database.reader.run(job)

    def _now(self, later: timedelta = timedelta(0)) -> str:
        return stamp(self._database.clock.now() + later)


def pieces(items: Collection[T], size: int = PIECE) -> Iterator[Sequence[T]]:
    """The items in chunks of at most `size`."""
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece


def to_text(data: Json) -> str:
    """JSON as it is stored."""
    return _ENCODER.encode(data) if data or type(data) not in _EMPTY else _EMPTY[type(data)]


def from_text(text: str) -> Json:
    """The inverse of `to_text`."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError):  # what JSON does not have, such as numbers without end
        return json.loads(text)
