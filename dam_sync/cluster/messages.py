"""What a coordinator and its workers tell each other. Dask carries each message as bytes, so that no value of an asset
is shown by its logs or its dashboard; no message contains a secret, and links to files are sealed."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import dam_sync
from dam_sync.engine.context.pulls import NOTHING_FETCHED, Fetched
from dam_sync.engine.context.stages import Concluded, DraftedAsset
from dam_sync.model.counterpart import Counterpart
from dam_sync.model.errors import DamSyncError
from dam_sync.model.outcome import Outcome
from dam_sync.store.server.workers import WorkerProcess

Calls = Mapping[str, Mapping[str, int]]


@cache
def program() -> str:
    """The version of this program, and a digest of its modules: builds that differ may have the same number."""
    root, digest = Path(dam_sync.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes())
    return f"{dam_sync.__version__} (build {digest.hexdigest()[:12]})"


@dataclass(frozen=True, slots=True)
class Joining:
    """A worker shall take part in a run. run: names the run and the process that holds it; open: a function of a
    module, which makes its part with what is `given`; version: see `program`."""

    run: str
    open: Callable[[Any], Awaitable[Participant]]
    given: Any
    version: str


@dataclass(frozen=True, slots=True)
class Order:
    """An asset to write. ticket: see `store.workers`; counterparts: those that the run stored behind the number
    `known`; no_links: see `engine.pulls.Pulls.exhausted`."""

    run: str
    item: DraftedAsset | Concluded
    ticket: str
    known: int = 0
    counterparts: tuple[Counterpart, ...] = ()
    no_links: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """All that a worker spent on the run so far."""

    calls: Calls = field(default_factory=dict)
    bytes: int = 0
    fetched: Fetched = NOTHING_FETCHED  # by the target itself

    @property
    def total(self) -> int:
        """Grows with everything that is spent, so that of two reports of a worker the later one is known."""
        calls = sum(number for side in self.calls.values() for number in side.values())
        return calls + self.bytes + self.fetched.files + self.fetched.sent


@dataclass(frozen=True, slots=True)
class LongestWait:
    """What a worker waits for longest. since, left: seconds, because its monotonic clock is another; left is None if
    nothing bounds the wait; number: of the wait in this worker; by: names its process."""

    what: str
    side: str
    since: float
    left: float | None
    number: int
    by: str


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """What became of a message: a result or an error. left: the worker takes part in the run no more, and everything
    that it had begun is cancelled."""

    result: Outcome | WorkerProcess | LongestWait | int | None = None
    error: DamSyncError | None = None
    spent: Spent = Spent()
    left: bool = False


class Participant(Protocol):
    """The part of one worker process in a run."""

    @property
    def process(self) -> WorkerProcess:
        """Where it is."""

    @property
    def has_left(self) -> bool:
        """Whether it lost the run: nothing of it is under way."""

    def spent(self) -> Spent:
        """All so far."""

    async def write(self, order: Order) -> Outcome:
        """Write one asset. Raises the errors of the services, and WorkerLost."""

    async def end_shared(self) -> None:
        """See `RemoteWriters`."""

    async def sweep(self) -> int:
        """See `RemoteWriters`."""

    async def hurry(self) -> None:
        """The run is to end soon: what may take long is left to the next one."""

    async def close(self) -> None:
        """Leave the run; safe to repeat."""
