"""The state of ten million assets: rows, bytes and seconds of the processor for an asset stay what they are.

A whole run of so many takes hours (`test_million.py`). Here the operations that a real run makes on its state for each
asset are recorded, and made for any number of assets, with nothing else around them: `tests.support.virtual`,
`store_calls` and `replayed_state`. Each run of this test compares them with those of a real run.

- `DAM_SYNC_ASSETS=10000000`: how many; 100,000 without.
- `DAM_SYNC_STORE=postgres`: the state on a server that the test starts.
- `DAM_SYNC_CHECKED=2000`: assets of the real run; 100,000 where a million or more are asked for, which takes minutes.
- `DAM_SYNC_EVERY=1`: every asset by its operations. Without, only the last hundredth before each mark is made by them
  and measured; the assets before it are inserted as the rows that the operations leave, which no test compares.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from dam_sync.model.state_server import StateServer
from dam_sync.store.status_facts import status_facts_of
from tests.support.measuring.printed_table import show
from tests.support.state.postgres import OwnServer, execute
from tests.support.virtual.scale.filled_state import Filler
from tests.support.virtual.scale.large_move import resident
from tests.support.virtual.scale.replayed_state import FIRST, RealRun, Replay, Spent, real_run
from tests.support.virtual.scale.store_calls import Calls

SIZE = int(os.environ.get("DAM_SYNC_ASSETS", "100000"))
EVERY = os.environ.get("DAM_SYNC_EVERY") == "1"
ON_SERVER = os.environ.get("DAM_SYNC_STORE") == "postgres"
CHECKED = int(os.environ.get("DAM_SYNC_CHECKED", 100_000 if SIZE >= 1_000_000 else 2_000))  # assets of the real run
START = 1_100  # assets made by operations before the first mark, among them those that the others are made like
LEAST = 1_000  # made by operations before each mark
MARKS = sorted({max(START + LEAST, SIZE // part) for part in (100, 10, 2, 1)})
TABLES = ("work", "link", "seen", "name", "spot", "ledger", "step", "placement", "tally")
PAGES = 40
NOT_BY_ASSET = frozenset({"Runs.beat", "Meta.set_meta", "WorkQueue.claim", "account_pairs"})
"""Operations that are called as time passes, or until every account key was met; a replay, for which no time passes,
claims less often."""
ALIKE = 0.01  # of the calls, and of the bytes: a real run also notes what it did itself
MOST_GROWTH = 1.5  # of the CPU for an asset, from the first mark to the last
MOST_BYTES = 1.2
MOST_MEMORY = 100_000_000
MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """At a mark. rows, bytes: for an asset, of those that were made by operations last; ms: of CPU, the same; delta:
    ms for an asset that a later run lists unchanged; status: seconds of CPU; memory: of this process."""

    assets: int
    rows: float
    bytes: float
    ms: float
    delta: float
    status: float
    memory: int
    whole: int


class Place:
    """Where the state is, and what can be seen of it from outside."""

    def __init__(self, place: Path | StateServer, server: OwnServer | None) -> None:
        self.place, self._server = place, server

    @property
    def bytes(self) -> int:
        """Of all tables and indexes."""
        if isinstance(self.place, StateServer):
            summed = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c WHERE relkind = 'r'"
            return int(self._asked(f"{summed} AND relnamespace = '{self.place.schema}'::regnamespace"))
        return int(self._asked("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))

    @property
    def rows(self) -> int:
        """Of the tables that have rows of assets."""
        return sum(int(self._asked(f"SELECT count(*) FROM {table}")) for table in TABLES)

    def cpu(self) -> float:
        """Seconds that the server took so far."""
        return 0.0 if self._server is None else self._server.cpu()

    def status(self) -> float:
        """Seconds of CPU that `status` takes for the state."""
        before = time.process_time() + self.cpu()
        if isinstance(self.place, StateServer):
            self._asked("SELECT count(*) FROM link")  # the one of its statements that reads many rows
        else:
            assert status_facts_of(self.place) is not None
        return time.process_time() + self.cpu() - before

    def _asked(self, statement: str) -> Any:
        if isinstance(self.place, StateServer):
            return execute(self.place, statement)[0][0]
        with closing(sqlite3.connect(self.place)) as raw:
            return raw.execute(statement).fetchone()[0]


@pytest.fixture
def place(tmp_path: Path) -> Any:
    """An empty state."""
    if not ON_SERVER:
        yield Place(tmp_path / "job.db", None)
        return
    server = OwnServer(tmp_path / "server")
    yield Place(server.state, server)
    server.stop()


@pytest.mark.bench
def test_rows_bytes_and_seconds_for_an_asset_stay_the_same(tmp_path: Path, place: Place) -> None:
    real_folder = tmp_path / "real"
    real_folder.mkdir()
    real = real_run(real_folder, CHECKED)
    same_operations(real, asyncio.run(replayed(tmp_path / "replayed.db", real)))
    readings = asyncio.run(grown(place, real))
    told(real, readings)
    first, last = readings[0], readings[-1]
    assert abs(last.rows / first.rows - 1) <= ALIKE
    assert last.bytes <= MOST_BYTES * first.bytes
    assert last.ms <= MOST_GROWTH * first.ms
    assert last.memory - first.memory <= MOST_MEMORY


async def replayed(path: Path, real: RealRun) -> tuple[Calls, Path]:
    """The operations of the real run, made again for as many assets."""
    calls = Calls()
    replay = await Replay.open(path, real, Spent(), calls)
    await replay.up_to(CHECKED)
    await replay.store.close()
    return calls, path


def same_operations(real: RealRun, found: tuple[Calls, Path]) -> None:
    """As many calls of each operation, rows and bytes."""
    calls, path = found
    for name in real.calls.numbers.keys() | calls.numbers.keys():
        wanted, number = real.calls.numbers[name], calls.numbers[name]
        if max(wanted, number) > CHECKED / 200 and name not in NOT_BY_ASSET:
            assert abs(wanted - number) <= ALIKE * max(wanted, number), (name, wanted, number)
    ours, theirs = rows_of(path), rows_of(real.state)
    assert {table: ours[table] for table in ("work", "link", "seen", "name", "spot")} == {
        table: theirs[table] for table in ("work", "link", "seen", "name", "spot")
    }
    assert abs(ours["ledger"] / theirs["ledger"] - 1) <= ALIKE
    assert abs(Place(path, None).bytes / Place(real.state, None).bytes - 1) <= 5 * ALIKE


def rows_of(path: Path) -> Counter[str]:
    """Of each table."""
    with closing(sqlite3.connect(path)) as raw:
        return Counter({table: raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES})


async def grown(place: Place, real: RealRun) -> list[Reading]:
    """The readings at the marks of a state that grows."""
    spent, readings = Spent(place.cpu), list[Reading]()
    replay = await Replay.open(place.place, real, spent)
    await replay.up_to(START)
    fill: Callable[[int], None] = _filling(place, replay)
    for mark in MARKS:
        window = mark if EVERY else max(LEAST, SIZE // 100)
        if mark - window > replay.written:
            fill(mark - window)
            await replay.up_to(replay.written)
        readings.append(await _reading(place, replay, mark))
        sys.stdout.write(f"{readings[-1]}\n")  # a large state takes long
        sys.stdout.flush()
    await replay.store.close()
    return readings


def _filling(place: Place, replay: Replay) -> Callable[[int], None]:
    def fill(upto: int) -> None:
        Filler(place.place, FIRST, replay.run.id).fill(replay.written + 1, upto)
        replay.listed = replay.written = upto

    return fill


async def _reading(place: Place, replay: Replay, mark: int) -> Reading:
    spent, made = replay.spent, mark - replay.written
    rows, size = place.rows, place.bytes
    spent.seconds, spent.assets = 0.0, 0
    await replay.up_to(mark)
    rows, grown = place.rows - rows, place.bytes - size
    delta = await replay.unchanged(PAGES)
    return Reading(mark, rows / made, grown / made, spent.ms, delta.ms, place.status(), resident(), place.bytes)


def told(real: RealRun, readings: list[Reading]) -> None:
    """Print what was measured."""
    names = [f"{reading.assets:,}" for reading in readings]
    lines: list[tuple[str, Callable[[Reading], float]]] = [
        ("rows for an asset", lambda each: each.rows),
        ("bytes for an asset", lambda each: each.bytes),
        ("ms of CPU for an asset", lambda each: each.ms),
        ("ms of CPU for an asset that did not change", lambda each: each.delta),
        ("seconds of CPU, status", lambda each: each.status),
        ("MB of the state", lambda each: each.whole / MB),
        ("MB of this process", lambda each: each.memory / MB),
    ]
    rows = [(name, *(round(read(each), 3) for each in readings)) for name, read in lines]
    blank = [""] * (len(readings) - 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows.append((f"ms of CPU for an asset, a whole run of {CHECKED:,}", 1000 * real.cpu / CHECKED, *blank))
    rows.append(("MB of this process at most", peak / MB, *blank))
    last = readings[-1]
    rows.append(("calculated for 100,000,000: GB", last.bytes * 1e8 / 1e9, *blank))
    rows.append(("calculated for 100,000,000: hours of CPU for the state", last.ms * 1e5 / 3600, *blank))
    kept = "PostgreSQL" if ON_SERVER else "SQLite"
    how = "every one by its operations" if EVERY else "the last hundredth before each mark by operations"
    show(f"The state of {SIZE:,} assets on {kept}, {how}", ("", *names), rows)
