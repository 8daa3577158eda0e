"""A virtual world: emulated tenants, a job between them, and lives of a process that may end at any moment."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pytest
from ruamel.yaml import YAML
from sqlalchemy import Engine

from dam_sync.api.jobs import run_job
from dam_sync.config.job import GivenMapping, JobConfig, job_of_code
from dam_sync.emulators import application_of
from dam_sync.emulators.kit.app import Application
from dam_sync.emulators.kit.catalogue import Catalogue, catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.http.dispatch import RequestDispatcher
from dam_sync.mapping.document import mapping_of_file
from dam_sync.model.limits import Limits
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.state_server import StateServer
from dam_sync.services import discover
from dam_sync.store.base import Storage
from tests.support.jobs.open_service import opened_service
from tests.support.services.profiles import FOLDER
from tests.support.services.small_limits import limited
from tests.support.state.shared_engine import shared_engine
from tests.support.virtual.clock import VirtualClock
from tests.support.virtual.folder_world import FolderState, connectors
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.loop import VirtualLoop
from tests.support.virtual.store_writer import VirtualWriter
from tests.support.virtual.wire import Network, VirtualTransport

if TYPE_CHECKING:
    from tests.support.virtual.server_writer import VirtualServerReader, VirtualServerWriter

FUSE: ContextVar[Fuse] = ContextVar("FUSE")  # of the process that this code runs in
_WHOLE = Fuse()
LAGS = 900.0  # seconds after which every index has what was written
CALLS = 20_000  # after which a run is said to be endless
PORT = 20_000  # of the first origin; nothing listens there
_JOBS: dict[tuple[Path, str, str], JobConfig] = {}

T = TypeVar("T")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tenant:
    """One emulated service, or a folder, in a virtual world."""

    kind: str
    url: str
    app: Application
    folder: Path  # of the files it stores

    @property
    def assets(self) -> list[Row]:
        """The ground truth, the trash too."""
        return list(self.app.state.dump())


class Universe:
    """A context manager: inside, the product's clock, sockets and threads are those of this world. calls: after which
    a run is said to be endless."""

    def __init__(self, seed: int = 0, network: type[Network] = Network, port: int = PORT, calls: int = CALLS) -> None:
        self.seed, self.port = seed, port
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop, seed)
        self.network = network(self.clock, seed)
        self.network.weather.most = calls
        self.limits: Mapping[str, Limits | None] = {}
        self.storage = Storage(
            shared_engine,
            _writer,
            process_exists=lambda pid: False,
            server_reader=self._server_reader,
            server_writer=self._server_writer,
        )
        self.accepts = False  # whether operators accept a clock that is wrong, say
        self.cuts: dict[int, str] = {}  # connections that a server ends: by the number of the commit, and when
        self._connections: list[VirtualServerReader | VirtualServerWriter] = []
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        asyncio.set_event_loop(self.loop)
        self._patch.setattr(RequestDispatcher, "exchange", _standing_still(RequestDispatcher.exchange))
        self._patch.setattr(os, "fsync", lambda descriptor: None)  # no power is cut here
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()
        self.end_connections()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        self.loop.close()

    def tenant(self, kind: str, records: Sequence[Row] | Catalogue, **options: Any) -> Tenant:
        """Serve a tenant of this kind."""
        number = self.port + 2 * len(self.network.hosts)
        world = Environment(seed=self.seed * 1_000 + number, clock=self.clock)
        objects = ObjectStore(world)
        app: Application = application_of(kind)(world, Faults(), objects, options)
        app.state.load(records if isinstance(records, Catalogue) else catalogue_of(list(records)), None)
        return Tenant(kind, self.network.serve(app, number), app, objects.folder)

    def folder(self, path: Path, records: Sequence[Row]) -> Tenant:
        """A folder with these records, empty without."""
        state: Any = FolderState(path, records, self.clock)
        return Tenant(FOLDER, path.as_uri(), state, path)

    def options(self, fuse: Fuse = _WHOLE, **options: Any) -> RunOptions:
        """The options of a process of this world."""
        options = {"accept_changes": True, **options} if self.accepts else options
        return RunOptions(
            **options,
            clock=self.clock,
            transport=VirtualTransport(self.network, fuse),
            connectors=limited(self.limits, connectors(fuse)),
            storage=self.storage,
        )

    def service(self, job: Path, role: str, *, read_only: bool = False) -> AbstractAsyncContextManager[Service]:
        """The source or the target of a job, for somebody who works there."""
        return opened_service(job, role, self.options(), read_only=read_only)

    async def settle(self, job: Path, *roles: str) -> None:
        """Let every index catch up; emulators continue what they process when they are called."""
        for _ in range(2):
            await self.clock.sleep(LAGS)
            for role in roles:
                async with self.service(job, role):
                    pass

    async def process(self, job: Path, fuse: Fuse, **options: Any) -> Any:
        """One process that runs the job behind a fuse of its own; the report. To be made a task of its own."""
        FUSE.set(fuse)
        return await run_job(job_of(job), self.options(fuse, **options))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result, however many days it takes."""
        return self.loop.run_until_complete(work)

    def live(self, job: Path, fuse: Fuse | None = None, **options: Any) -> Fuse:
        """One process that runs the job behind `fuse`, killed when it blows; that fuse. Raises what stopped the run
        otherwise."""
        return self.live_through(lambda fuse: self.process(job, fuse, **options), fuse)

    def live_through(self, process: Callable[[Fuse], Coroutine[Any, Any, Any]], fuse: Fuse | None = None) -> Fuse:
        """As `live`, with any work of a process."""
        fuse = fuse or Fuse()
        try:
            self.do(process(fuse))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            if not fuse.blown:
                raise
            self.end_connections(fuse)
        self.do(self.network.calm())
        return fuse

    def end_connections(self, fuse: Fuse | None = None) -> None:
        """Those of a process that is gone, or all."""
        for each in [each for each in self._connections if fuse is None or each.fuse is fuse]:
            self._connections.remove(each)
            each.end()

    def _server_reader(self, server: StateServer, patience: timedelta) -> VirtualServerReader:
        from tests.support.virtual.server_writer import VirtualServerReader  # needs the driver

        made = VirtualServerReader(server, patience, FUSE.get(_WHOLE))
        self._connections.append(made)
        return made

    def _server_writer(self, server: StateServer, patience: timedelta) -> VirtualServerWriter:
        from tests.support.virtual.server_writer import VirtualServerWriter

        made = VirtualServerWriter(server, patience, FUSE.get(_WHOLE), self.cuts)
        self._connections.append(made)
        return made


def _standing_still(exchange: Any) -> Any:
    """A call is not begun, and its right to write not asked for, while its process stands still."""

    async def exchanged(self: Any, *arguments: Any) -> Any:
        await FUSE.get(_WHOLE).awake()
        return await exchange(self, *arguments)

    return exchanged


def job_of(path: Path) -> JobConfig:
    """The job and its mapping, which are read once as long as they are the same."""
    mapping = path.with_name("mapping.yaml")
    key = path, path.read_text(encoding="utf-8"), mapping.read_text(encoding="utf-8")
    if key not in _JOBS:
        given = GivenMapping(mapping_of_file(mapping), path.parent)
        _JOBS[key] = job_of_code(YAML(typ="safe").load(path), path.parent, discover(), given)
    return _JOBS[key]


def _writer(engine: Engine, path: Path) -> VirtualWriter:
    return VirtualWriter(engine, path, FUSE.get(_WHOLE))
