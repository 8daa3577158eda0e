"""Reads and writes: many callers share a commit, each gets its own result, a kill loses nothing acknowledged."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.store.file.threads import WriterThread
from dam_sync.store.store import SqlStore
from tests.support.programs import CODE, PIPE, Program
from tests.support.state.clock_and_rows import SetClock, entries

LEASE = timedelta(minutes=5)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(tmp_path / "job.db", SystemClock())
    yield opened
    await opened.close()


def writer_of(store: SqlStore) -> WriterThread:
    writer = store._database.writer
    assert writer is not None
    return writer


async def test_what_waits_together_is_committed_together(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    names = [f"a{number}" for number in range(600)]
    await store.record(run, Shard("s"), Batch(entries(*names), None), ())
    works = await store.claim(run, 600, LEASE)
    before = store.commits
    await asyncio.gather(*(store.complete(w, Outcome("created", link=LinkRow(w.asset, w.asset))) for w in works))
    assert store.commits - before <= 20
    assert (await store.tally(run))["created"] == await store.link_count() == 600


async def test_one_failing_job_is_undone_alone(store: SqlStore) -> None:
    def half(c: Connection) -> None:
        c.exec_driver_sql("INSERT INTO note VALUES ('half', '1')")
        raise ValueError("no")

    writer = writer_of(store)
    results = await asyncio.gather(
        store.set_meta("before", 1), writer.run(half), store.set_meta("after", 2), return_exceptions=True
    )
    assert isinstance(results[1], ValueError)
    assert [await store.get_meta(key) for key in ("before", "half", "after")] == [1, None, 2]


async def test_a_group_that_cannot_be_committed_fails_as_a_whole_and_the_next_goes_on(store: SqlStore) -> None:
    def ended(c: Connection) -> None:
        raw = c.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.execute("ROLLBACK")
        raise sqlite3.OperationalError("gone")

    began, free = threading.Event(), threading.Event()

    def held(c: Connection) -> bool:
        began.set()
        return free.wait(60)

    busy = asyncio.create_task(writer_of(store).run(held))
    assert await asyncio.to_thread(began.wait, 60)  # what is handed in from here on waits for one commit
    group = [
        asyncio.create_task(job)
        for job in (store.set_meta("first", 1), writer_of(store).run(ended), store.set_meta("second", 2))
    ]
    await asyncio.sleep(0)
    free.set()
    results = await asyncio.gather(*group, return_exceptions=True)
    assert await busy
    assert [type(result) for result in results] == [ConfigError] * 3
    assert len({id(result) for result in results}) == 3
    assert [await store.get_meta(key) for key in ("first", "second")] == [None, None]
    await store.set_meta("first", 3)
    assert await store.get_meta("first") == 3


async def test_a_cancelled_caller_leaves_a_whole_job(store: SqlStore) -> None:
    task = asyncio.create_task(store.set_meta("k", 1))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.get_meta("k") == 1


async def test_what_fails_after_its_caller_was_cancelled_is_not_shouted_by_the_loop(
    store: SqlStore, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(connection: Connection) -> None:
        raise ConfigError("no space left")

    writer = store._database.writer
    assert writer is not None
    task = asyncio.create_task(writer.run(refuse))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    await store.set_meta("k", 1)  # the lane has let go of what went before
    gc.collect()
    assert caplog.records == []


async def test_a_closed_store_refuses(store: SqlStore) -> None:
    await store.close()
    with pytest.raises(RuntimeError, match="closed"):
        await store.set_meta("k", 1)


async def test_a_store_that_was_never_closed_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    clock = SetClock()
    lost = await SqlStore.open(tmp_path / "job.db", clock)
    run = (await lost.begin("museum", "run")).id
    await lost.record(run, Shard("s"), Batch(entries("a", "b"), {"page": 2}), ())
    first, _ = await lost.claim(run, 2, LEASE)
    await lost.complete(first, Outcome("created", link=LinkRow("a", "t1")))
    clock.skip(31)
    store = await SqlStore.open(tmp_path / "job.db", clock)
    again = await store.begin("museum", "run")
    assert (again.id, again.resumed) == (run, True)
    assert [row.cursor for row in await store.shards(run)] == [{"page": 2}]
    (work,) = await store.claim(run, 9, LEASE)
    assert (work.asset, work.attempt) == ("b", 2)
    await store.close()
    await lost.close()


CHILD = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from dam_sync.model.asset import AssetId, Entry, Placement, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.service import Batch, Shard
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.store.store import SqlStore

async def create(name, made):
    made.write(name + "\\n")
    made.flush()
    return "t-" + name

async def deal(store, run, work, made):
    await store.journal(work, run).run("create", lambda: create(work.asset, made))
    place = Placement("category", ("A",), "1")
    link = LinkRow(work.asset, "t-" + work.asset)
    await store.complete(work, Outcome("created", link=link, placements=((place, AssetId(work.asset), True),)))
    print(work.asset, flush=True)

async def main():
    store = await SqlStore.open(Path(sys.argv[1]), SystemClock())
    run = (await store.begin("museum", "run")).id
    made = open(sys.argv[2], "a")
    for page in range(1_000):
        rows = tuple(Entry(AssetId(f"{page}-{n}"), Revision("r")) for n in range(20))
        await store.record(run, Shard("s"), Batch(rows, {"page": page}), ())
        works = await store.claim(run, 20, timedelta(minutes=5))
        await asyncio.gather(*(deal(store, run, work, made) for work in works))

asyncio.run(main())
"""


@pytest.mark.parametrize("after", [30, 170])
async def test_a_kill_in_the_middle_keeps_what_was_acknowledged_and_doubles_nothing(tmp_path: Path, after: int) -> None:
    path, made = tmp_path / "job.db", tmp_path / "made.txt"
    child = Program(CODE, CHILD, str(path), str(made), out=PIPE, err=None)
    assert child.stdout is not None
    settled = [line.strip() for line, _ in zip(child.stdout, range(after), strict=False)]
    child.kill()
    settled += child.stdout.read().splitlines()[:-1]  # the last line may be torn
    child.wait()
    child.stdout.close()
    store = await SqlStore.open(path, SystemClock())
    run = await store.begin("museum", "run")
    assert run.resumed
    links = await store.links(settled)
    assert len(links) == len(settled) >= after
    tally = await store.tally(run.id)
    assert tally["created"] == await store.link_count()
    assert tally["listed"] == tally["created"] + tally["open"] == 20 * (1 + await last_page(store, run.id))
    pending = await store.next_placements(100_000)
    assert pending is not None
    assert set(pending[1]) == {link.source for link in await store.iter_links(at_most=100_000)}
    await assert_every_create_is_known(store, run.id, made.read_text().split())
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    await store.close()


async def last_page(store: SqlStore, run: int) -> int:
    (shard,) = await store.shards(run)
    assert shard.cursor is not None
    return int(shard.cursor["page"])


async def assert_every_create_is_known(store: SqlStore, run: int, made: list[str]) -> None:
    """Whatever was sent before the kill is linked, recorded, or an open intent: nobody would send it again blindly."""
    known = await store.links(made)
    works = {work.asset: work for work in await store.claim(run, 1_000, LEASE)}
    for name in made:
        if name not in known:
            raw = sqlite3.connect(store.path)
            found = raw.execute("SELECT state FROM step WHERE scope = ?", (f"asset:{name}",)).fetchall()
            raw.close()
            assert found in ([("intent",)], [("done",)])
            assert name in works
    assert len(made) == len(set(made))


async def test_a_job_whose_caller_was_stopped_logs_nothing(store: SqlStore, caplog: pytest.LogCaptureFixture) -> None:
    def fails(c: Connection) -> None:
        raise ValueError("the disk is full")

    posted = writer_of(store).post(fails)
    await asyncio.wait([posted])
    del posted
    await store.set_meta("next", 1)  # the writer keeps the last group of jobs
    gc.collect()
    await asyncio.sleep(0)
    assert "never retrieved" not in caplog.text
    with pytest.raises(ValueError, match="full"):
        await writer_of(store).post(fails)


async def test_a_job_that_waits_for_room_is_refused_when_the_store_is_closed(store: SqlStore) -> None:
    """Nobody would complete it any more."""
    writer = store._database.writer
    assert writer is not None
    writer._room = asyncio.Semaphore(0)
    waiting = asyncio.ensure_future(store.set_meta("late", 1))
    await asyncio.sleep(0)
    await store.close()
    writer._room.release()
    with pytest.raises(RuntimeError, match="closed"):
        async with asyncio.timeout(5):
            await waiting
