"""A power cut: what was acknowledged is there, and nothing in part, wherever the writing of what came after stopped.

The disk is taken to keep all that was flushed, and of what was written since any part, in any order, torn anywhere.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

from dam_sync.model.clock import SystemClock
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.store.base import Storage
from dam_sync.store.file.database import engine_of, raw_of
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import entries

FRAME = 24  # bytes before each page of the log
HEADER = 32  # bytes before the first
SECTOR = 512
LEVELS = {"journal_mode": "wal", "synchronous": 2}  # 2 is FULL
Content = tuple[list[tuple[object, ...]], ...]


@dataclass(frozen=True)
class Disk:
    """File and log as they lay there when a commit was acknowledged, and what the file says."""

    file: bytes
    log: bytes
    says: Content


def content(path: Path) -> Content:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = ("note", "work", "link", "step", "ledger", "shard", "tally")
        return tuple(connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables)


def laid(folder: Path, file: bytes, log: bytes) -> Path:
    """A file and a log, in a folder of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "job.db"
    path.write_bytes(file)
    path.with_name("job.db-wal").write_bytes(log)
    return path


def taken(store: SqlStore, folder: Path) -> Disk:
    file, log = store.path.read_bytes(), store.path.with_name("job.db-wal").read_bytes()
    return Disk(file, log, content(laid(folder, file, log)))


async def disks(folder: Path, commits: int, storage: Storage | None = None) -> list[Disk]:
    """What lay on the disk at each of so many commits."""
    store = await SqlStore.open(folder / "job.db", SystemClock(), storage=storage)
    run = (await store.begin("museum", "run")).id
    found = [taken(store, folder / "look")]
    for number in range(commits):
        name = f"a{number}"
        await store.record(run, Shard("s"), Batch(entries(name), {"page": number}), ())
        found.append(taken(store, folder / "look"))
        (work,) = await store.claim(run, 1, timedelta(minutes=5))
        found.append(taken(store, folder / "look"))
        journal = store.journal(work, run)

        async def create(name: str = name) -> str:
            found.append(taken(store, folder / "look"))  # the intent is on the disk before the call goes out
            return f"t-{name}"

        await journal.run("create", create)
        found.append(taken(store, folder / "look"))
        await store.complete(work, Outcome("created", link=LinkRow(name, f"t-{name}", draft="x" * 2000)))
        found.append(taken(store, folder / "look"))
    await store.close()
    return found


def frames(log: bytes) -> list[int]:
    """Where each frame of the log's own generation ends."""
    page = struct.unpack(">I", log[8:12])[0]
    salt = log[16:24]
    ends = [HEADER]
    while log[ends[-1] + 8 : ends[-1] + 16] == salt and len(log) >= ends[-1] + FRAME + page:
        ends.append(ends[-1] + FRAME + page)
    return ends


def cuts(before: bytes, after: bytes) -> Iterator[bytes]:
    """The log after a power cut while it grew from `before` to `after`."""
    start = frames(before)[-1]
    ends = [end for end in frames(after) if end >= start]
    for here, there in pairwise(ends):
        yield after[:here]
        for torn in (here + 7, here + FRAME + SECTOR, there - 1):
            yield after[:torn]
            yield after[:torn] + bytes(there - torn)  # the length is there, the bytes are not
    for here, there in pairwise(ends[:-1]):  # later frames came first
        yield after[:here] + bytes(there - here) + after[there:]
        yield after[:here] + random.Random(here).randbytes(there - here) + after[there:]


async def test_every_write_waits_until_the_disk_has_it(tmp_path: Path) -> None:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    writer = store._database.writer
    assert writer is not None
    asked = [await writer.run(lambda c, p=pragma: raw_of(c).execute(f"PRAGMA {p}").fetchone()[0]) for pragma in LEVELS]
    assert asked == list(LEVELS.values())
    await store.close()


async def test_what_was_acknowledged_is_there_wherever_the_next_commit_is_cut(tmp_path: Path) -> None:
    found = await disks(tmp_path, 1)
    tried = whole = 0
    for before, after in pairwise(found):
        assert before.says != after.says
        assert after.file == before.file, "the log alone grows"
        for log in cuts(before.log, after.log):
            assert content(laid(tmp_path / "cut", before.file, log)) == before.says
            tried += 1
        whole += content(laid(tmp_path / "cut", before.file, after.log)) == after.says
    assert tried > 100
    assert whole == len(found) - 1


async def test_what_was_acknowledged_is_there_when_the_log_was_being_moved_into_the_file(tmp_path: Path) -> None:
    """Every page of the file that is in the log may be torn: the log is not restarted before the file is flushed."""
    found = await disks(tmp_path, 2)
    last = found[-1]
    page = struct.unpack(">I", last.log[8:12])[0]
    for seed in range(5):
        rng, file = random.Random(seed), bytearray(last.file)
        for end in frames(last.log)[1:]:
            number = struct.unpack(">I", last.log[end - page - FRAME :][:4])[0]
            start = (number - 1) * page
            file += bytes(max(0, start + page - len(file)))
            if rng.random() < 0.7:
                at = start + SECTOR * rng.randrange(page // SECTOR)
                file[at : start + page] = rng.randbytes(start + page - at)
        assert content(laid(tmp_path / "torn", bytes(file), last.log)) == last.says


async def test_a_restarted_log_does_not_restore_what_its_rest_still_holds(
    tmp_path: Path,
) -> None:
    found = await disks(tmp_path, 4, Storage(engine=partial(engine_of, wal_pages=12)))
    begun = [number for number in range(1, len(found)) if found[number].log[16:24] != found[number - 1].log[16:24]]
    assert begun, "the log was never restarted"
    for number in begun:
        before, after = found[number - 1], found[number]
        for log in _restarts(before.log, after.log):
            assert content(laid(tmp_path / "cut", after.file, log)) in (before.says, after.says)
        assert content(laid(tmp_path / "cut", after.file, after.log)) == after.says


def _restarts(before: bytes, after: bytes) -> Iterator[bytes]:
    """The log while its first frames are written over; the file has had all of it before."""
    ends: Sequence[int] = frames(after)
    for end in ends:
        for torn in (end, end + 7, end + FRAME + SECTOR):
            yield after[:torn] + before[torn:]


async def test_a_copy_of_the_file_alone_lacks_the_newest(tmp_path: Path) -> None:
    """Why a copy is made by the tool: the file of a state in use is not the state."""
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    await store.set_meta("newest", 1)
    shutil.copy(store.path, tmp_path / "plain.db")
    await store.copy_to(tmp_path / "whole.db")
    await store.close()
    with (
        closing(sqlite3.connect(tmp_path / "plain.db")) as plain,
        closing(sqlite3.connect(tmp_path / "whole.db")) as whole,
    ):
        assert whole.execute("SELECT value FROM note").fetchall() == [("1",)]
        assert plain.execute("SELECT count(*) FROM note WHERE key = 'newest'").fetchone() == (0,)


async def test_a_copy_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    """Both notes of a pair are written in one commit, again and again while the copy goes on page by page."""
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=Storage(copied_pages=3))
    await store.set_meta("filling", "x" * 400_000)
    writer = store._database.writer
    assert writer is not None

    async def write() -> None:
        for number in range(100):
            both = f"INSERT OR REPLACE INTO note VALUES ('a', '{number}'), ('z', '{number}')"
            await writer.run(lambda c, sql=both: c.exec_driver_sql(sql) and None)

    await asyncio.gather(write(), store.copy_to(tmp_path / "copy.db"))
    await store.close()
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        values = {value for (value,) in copy.execute("SELECT value FROM note WHERE key IN ('a', 'z')")}
        assert len(values) <= 1
