"""A state of any size, made by the operations that a real run made for a few assets, with nothing else around them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from dam_sync.engine.context.run_context import LEASE
from dam_sync.engine.run.second_pass import write_memberships
from dam_sync.model.asset import AssetId, Entry
from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.outcome import Outcome
from dam_sync.model.ports import Journal
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Json
from dam_sync.model.write_record import recording
from dam_sync.store.base import Storage
from dam_sync.store.rows import Run, Work
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.virtual.group_commit_writer import GroupedWriter
from tests.support.virtual.scale.generated_source import FOLDER, PAGE, TAGGED, asset_of
from tests.support.virtual.scale.large_move import large
from tests.support.virtual.scale.renumbered import Made, Numbered
from tests.support.virtual.scale.store_calls import Calls, JournalEntry, Script

FIRST = 1_001  # of the assets whose scripts are recorded; in the middle of a library, and no number of anything else
CLAIMED = 64  # as a run that writes 16 assets at once
MEMBERS = 100  # of a container, written by one call
PIECE = 20 * CLAIMED  # assets between two looks at the clock


@dataclass(frozen=True, slots=True)
class RealRun:
    """A run of all of the product in virtual time: what it asked of its state, what it does for each of ten assets in
    turn, and the state itself."""

    calls: Calls
    scripts: Sequence[Script]
    state: Path
    cpu: float


@dataclass(frozen=True, slots=True)
class Made10:
    """A script for any number: its file name, its journal entries, its outcome."""

    filename: Made
    entries: Made
    outcome: Made


def real_run(folder: Path, size: int) -> RealRun:
    """Of so many assets, more than 1,010."""
    calls = Calls(frozenset(str(number) for number in range(FIRST, FIRST + TAGGED)))
    with large(folder, size) as it:
        it.writer = calls.writer()
        seen = it.run()
        assert (seen.report.counts["created"], seen.report.parked) == (size, [])
        scripts = [calls.script_of(str(number)) for number in range(FIRST, FIRST + TAGGED)]
        return RealRun(calls, scripts, it.job.parent / "state" / "job.db", seen.cpu)


@dataclass(slots=True)
class Spent:
    """Seconds of the processor that the state took, and for how many assets. elsewhere: of a server so far."""

    elsewhere: Callable[[], float] = lambda: 0.0
    seconds: float = 0.0
    assets: int = 0

    @contextmanager
    def spending(self) -> Iterator[None]:
        """The block is the state's."""
        before = time.process_time() + self.elsewhere()
        yield
        self.seconds += time.process_time() + self.elsewhere() - before

    @property
    def ms(self) -> float:
        """For an asset."""
        return 1000 * self.seconds / max(1, self.assets)


@dataclass(slots=True)
class Replay:
    """The state of a run that lists and writes one asset after another."""

    store: SqlStore
    makers: Sequence[Made10]
    spent: Spent
    run: Run
    listed: int = 0
    written: int = 0
    shard: Shard = field(default_factory=lambda: Shard("all"))

    @classmethod
    async def open(cls, place: Path | StateServer, real: RealRun, spent: Spent, calls: Calls | None = None) -> Self:
        """An empty state. calls: counts what is asked of a state in a file."""
        storage = Storage(writer=calls.writer() if calls else GroupedWriter)
        store = await SqlStore.open(place, SYSTEM_CLOCK, storage=storage)
        makers = [_made(number, script) for number, script in enumerate(real.scripts, FIRST)]
        run = await store.begin("large", "run")
        await store.set_shards(run.id, [Shard("all")], complete=True)
        return cls(store, makers, spent, run)

    async def up_to(self, size: int) -> None:
        """List and write until there are so many assets, and write their memberships."""
        while self.listed < size:
            await self._list(min(size, self.listed + PAGE))
        while self.written < size:
            await self._write()
        with self.spent.spending():
            await write_memberships(self._context())

    async def unchanged(self, pages: int) -> Spent:
        """What a later listing of assets costs that did not change: a page of them from each part of the library."""
        spent = Spent(self.spent.elsewhere)
        for first in range(1, self.written - PAGE, max(PAGE, self.written // pages)):
            entries = tuple(map(_entry, range(first, first + PAGE)))
            assets = [entry.id for entry in entries]
            with spent.spending():
                known = await self.store.revisions(assets)
                await self.store.record(self.run.id, self.shard, Batch(entries, {}), frozenset(known))
            spent.assets += len(known)
        return spent

    async def _list(self, last: int) -> None:
        entries = tuple(map(_entry, range(self.listed + 1, last + 1)))
        with self.spent.spending():
            await self.store.revisions([entry.id for entry in entries])
            await self.store.record(self.run.id, self.shard, Batch(entries, {"next": last}), frozenset())
        self.listed = last

    async def _write(self) -> None:
        with self.spent.spending():
            works = await self.store.claim(self.run.id, CLAIMED, LEASE)
            await self.store.links([work.asset for work in works])
        made = [(work, *self._script(int(work.asset))) for work in works]
        with self.spent.spending():
            await asyncio.gather(*(self._one(*each) for each in made))
        self.written += len(works)
        self.spent.assets += len(works)

    def _script(self, number: int) -> tuple[str, Sequence[JournalEntry], Outcome]:
        made = self.makers[(number - FIRST) % TAGGED]
        return made.filename(number), made.entries(number), made.outcome(number)

    async def _one(self, work: Work, filename: str, entries: Sequence[JournalEntry], outcome: Outcome) -> None:
        await self.store.reserve_name(filename, work.asset)
        journal = self.store.journal(work, self.run.id)
        for entry in entries:
            await _journaled(journal, entry)
        await self.store.complete(work, outcome)

    def _context(self) -> Any:
        """As much of a run's context as the second pass looks at."""

        class Anything:
            hinted, limits, member_batch = True, property(lambda self: self), MEMBERS

            async def place(self, *given: object) -> None:
                """The target does it."""

        def refuse_stopped() -> None:
            """Nobody stops it."""

        facts = {"store": self.store, "run": self.run, "refuse_stopped": refuse_stopped}
        return run_double(options=Anything(), target=Anything(), **facts)


async def _journaled(journal: Journal, entry: JournalEntry) -> None:
    async def call() -> Json:
        for each in entry.inner:
            await _journaled(journal, each)
        return entry.result

    record = entry.record
    fresh = None if record is None else replace(record, calls=record.calls.copy(), step="")
    with nullcontext() if fresh is None else recording(fresh):
        await journal.run(entry.name, call, idempotent=not entry.intended)


def _entry(number: int) -> Entry:
    asset = asset_of(number)
    return Entry(AssetId(asset.id), asset.revision, asset.changed_at, asset)


def _made(number: int, script: Script) -> Made10:
    """The script for any number; a container gets as many assets as in the real run."""
    ((placement, _, _),) = script.outcome.placements
    group = (number - 1) // FOLDER
    named = {f"Folder {group}": lambda other: f"Folder {other}", placement.id: lambda k: f"{k:08x}{placement.id[8:]}"}
    made = Numbered(number, named, FOLDER)
    filename, entries, outcome = map(made.maker, (script.filename, script.entries, script.outcome))
    assert filename is not None
    assert entries is not None
    assert outcome is not None
    return Made10(filename, entries, outcome)
