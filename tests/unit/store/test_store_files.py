"""State files: made, migrated, copied, and refused in words when they cannot be used."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, inspect
from sqlmodel import SQLModel

from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, DamSyncError, DiskFull, StoreBusy
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.store.base import Storage
from dam_sync.store.file.database import engine_of, explain_error, path_of
from dam_sync.store.migrations import VERSION, migrate, version_of
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock, entries

LEASE = timedelta(minutes=5)


def at_version(path: Path, version: int) -> None:
    """A file as an older program made it, with one open, one parked and one created asset."""
    engine = engine_of(path)
    with engine.connect() as c:
        migrate(c, version)
        c.exec_driver_sql(
            "INSERT INTO run (id, job, command, state, started_at, beat_at, owner, host, pid, listed) VALUES"
            " (1, 'museum', 'run', 'stopped', '2026-01-01T00:00:00Z',"
            " '2026-01-01T00:00:00Z', '', '', 0, 3)"
        )
        c.exec_driver_sql(
            "INSERT INTO work (asset, run, listed_run, revision, state, action) VALUES ('a', 1, 1, 'r', 'pending', ''),"
            " ('b', 1, 1, 'r', 'settled', 'parked'), ('c', 1, 1, 'r', 'settled', 'created')"
        )
    engine.dispose()


async def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "job.db"
    at_version(path, 1)
    store = await SqlStore.open(path, SystemClock())
    run = await store.begin("museum", "run")
    tally = await store.tally(run.id)
    assert (tally["listed"], tally["open"], tally["parked"], tally["created"]) == (3, 1, 1, 1)
    assert await store.unpark(None) == 1
    assert (await store.tally(run.id))["open"] == 2
    assert (await store.show())["format"] == VERSION
    await store.close()


async def test_reading_an_older_file_brings_it_up_to_date_first(tmp_path: Path) -> None:
    at_version(tmp_path / "job.db", 1)
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), read_only=True)
    assert (await store.tally(1))["created"] == 1
    await store.close()


async def test_a_file_is_not_migrated_under_an_older_program_at_work(tmp_path: Path) -> None:
    path, clock = tmp_path / "job.db", SetClock()
    at_version(path, 1)
    with sqlite3.connect(path) as raw:
        raw.execute(
            "UPDATE run SET state = 'running', beat_at = '2026-03-01T12:00:00.000000Z', host = 'x', pid = 7,"
            " owner = 'y'"
        )
    raw.close()
    with pytest.raises(StoreBusy, match="process 7 on x"):
        await SqlStore.open(path, clock)
    clock.skip(60)
    await (await SqlStore.open(path, clock)).close()


async def test_the_revisions_of_older_links_are_known(tmp_path: Path) -> None:
    path = tmp_path / "job.db"
    engine = engine_of(path)
    with engine.connect() as c:
        migrate(c, 14)
        columns = "source, target, source_revision, source_fingerprint, draft_fingerprint, filename, evidence, digests"
        for name in ("a", "b"):
            values = f"'{name}', 't', 'r{name}', '', '', '', '', '{{}}', '[]', '{{}}'"
            c.exec_driver_sql(f"INSERT INTO link ({columns}, versions, draft) VALUES ({values})")
    engine.dispose()
    store = await SqlStore.open(path, SystemClock())
    assert await store.revisions(["a", "b", "c"]) == {"a": "ra", "b": "rb"}
    await store.close()


def test_a_migration_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    engine = engine_of(tmp_path / "job.db")
    with engine.connect() as c:
        assert migrate(c, 1) == [1]
        c.exec_driver_sql("CREATE TRIGGER ledger_fixed AFTER DELETE ON note BEGIN SELECT 1; END")  # its last statement
        with pytest.raises(Exception, match="already exists"):
            migrate(c, 2)
        assert version_of(c) == 1
        assert not inspect(engine).has_table("tally")
    engine.dispose()


AFFINITY = {"VARCHAR": "TEXT", "FLOAT": "REAL"}  # SQLite stores both spellings in the same way


def schema_of(connection: Connection) -> dict[str, Any]:
    """Columns, indexes and unique constraints of every table, as the database reports them."""
    found, seen = {}, inspect(connection)
    for table in seen.get_table_names():
        columns = {
            row["name"]: (
                AFFINITY.get(str(row["type"]), str(row["type"])),
                row["nullable"] and not row["primary_key"],
                row["primary_key"],
            )
            for row in seen.get_columns(table)
        }
        indexes = {row["name"]: (row["column_names"], row["unique"]) for row in seen.get_indexes(table)}
        found[table] = columns, indexes, [row["column_names"] for row in seen.get_unique_constraints(table)]
    return found


def test_the_migrations_make_the_tables_that_the_models_describe(tmp_path: Path) -> None:
    migrated, described = engine_of(tmp_path / "job.db"), engine_of(tmp_path / "described.db")
    with migrated.connect() as c, described.connect() as other:
        assert migrate(c) == list(range(1, VERSION + 1))
        assert migrate(c) == []
        SQLModel.metadata.create_all(other)
        assert schema_of(c) == schema_of(other)
    migrated.dispose()
    described.dispose()


def test_the_queue_is_read_by_its_indexes(tmp_path: Path) -> None:
    """What is complete costs nothing when the next work is looked for."""
    engine = engine_of(tmp_path / "job.db")
    with engine.connect() as c:
        migrate(c)
        for where, index in (
            ("state IN ('pending', 'claimed') AND due <= ?", "work_open"),
            ("action = 'parked'", "work_parked"),
        ):
            plan = c.exec_driver_sql(
                f"EXPLAIN QUERY PLAN SELECT * FROM work WHERE {where} ORDER BY seq LIMIT 5", ("x",) * where.count("?")
            ).all()
            assert index in plan[0].detail
            assert len(plan) == 1, "no sorting"
    engine.dispose()


@pytest.mark.parametrize(
    ("where", "path"),
    [
        ("sqlite:///state/job.db", "state/job.db"),
        ("sqlite:////srv/job.db", "/srv/job.db"),
        (Path("sqlite:///state/job.db"), "state/job.db"),
        ("state/job.db", "state/job.db"),
        (Path("/srv/a:b/job.db"), "/srv/a:b/job.db"),
    ],
)
def test_urls_of_files(where: Path | str, path: str) -> None:
    assert path_of(where) == Path(path)


@pytest.mark.parametrize("where", ["postgresql+psycopg://host/db", Path("mysql://host/db")])
def test_other_databases_are_not_in_this_release(where: Path | str) -> None:
    with pytest.raises(ConfigError, match="must be an SQLite file") as told:
        path_of(where)
    assert told.value.exit_code == 2


async def test_files_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE photo (x)")
    raw.close()
    path.chmod(0o644)
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(ConfigError, match="is not a state of dam-sync"):
            await SqlStore.open(path, SystemClock(), read_only=read_only)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (before, 0o644)


async def test_a_file_that_is_no_database_may_be_another_one_than_intended(tmp_path: Path) -> None:
    path = tmp_path / "museum.yaml"
    path.write_text("version: 1\n" * 100, encoding="utf-8")
    path.chmod(0o644)
    for read_only in (True, False):
        with pytest.raises(ConfigError, match="not a state of dam-sync") as refused:
            await SqlStore.open(path, SystemClock(), read_only=read_only)
        assert refused.value.hint.startswith("name another file")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644  # others may need it: it is theirs, or the system's


async def test_a_damaged_page_is_reported_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "job.db"
    store = await SqlStore.open(path, SystemClock())
    for number in range(200):
        await store.put_link(LinkRow(f"s{number}", "t", draft="x" * 500))
    await store.close()
    data = bytearray(path.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    path.write_bytes(data)

    async def use() -> None:
        store = await SqlStore.open(path, SystemClock())
        try:
            await store.iter_links(at_most=500)
        finally:
            await store.close()

    with pytest.raises(ConfigError, match="damaged") as told:
        await use()
    assert "backup" in told.value.hint


async def test_a_file_somebody_keeps_is_busy_not_broken(tmp_path: Path) -> None:
    storage = Storage(engine=partial(engine_of, busy_seconds=0.1))
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=storage)
    hog = sqlite3.connect(store.path, isolation_level=None)
    hog.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="another process holds the state") as told:
        await store.set_meta("k", 1)
    assert told.value.exit_code == 5
    assert await store.get_meta("k") is None
    hog.execute("ROLLBACK")
    hog.close()
    await store.set_meta("k", 2)
    assert await store.get_meta("k") == 2
    await store.close()


async def test_a_full_disk_is_reported_and_leaves_the_state_whole(tmp_path: Path) -> None:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    await store.set_meta("before", 1)
    writer = store._database.writer
    assert writer is not None
    await writer.run(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 60") and None)
    with pytest.raises(DiskFull, match="no space left") as told:
        await store.set_meta("large", "x" * 1_000_000)
    assert "free some space" in told.value.hint
    await store.set_meta("small", 2)
    assert [await store.get_meta(key) for key in ("before", "large", "small")] == [1, None, 2]
    await store.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), DiskFull),
        (OSError(errno.EDQUOT, "Quota exceeded"), DiskFull),
        (PermissionError(errno.EACCES, "Permission denied"), ConfigError),
        (sqlite3.OperationalError("something else"), ConfigError),
    ],
)
def test_every_error_has_a_meaning(error: Exception, kind: type[DamSyncError]) -> None:
    told = explain_error(error, Path("job.db"))
    assert type(told) is kind
    assert told.hint
    assert "job.db" in told.message


async def test_a_read_only_file_and_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no state"):
        await SqlStore.open(tmp_path / "none.db", SystemClock(), read_only=True)
    assert not (tmp_path / "none.db").exists()


@contextmanager
def nobody() -> Iterator[None]:
    """Rights do not bind the superuser, so the test steps down where it is one."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


async def test_a_file_where_nothing_can_be_written_can_still_be_read() -> None:
    """Not even SQLite's helper files can be made beside it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "job.db"
        store = await SqlStore.open(path, SystemClock())
        await store.set_meta("k", 1)
        await store.close()
        assert sorted(file.name for file in folder.iterdir()) == ["job.db", "job.db.opened"]
        path.chmod(0o444)
        folder.chmod(0o555)
        with nobody():
            reader = await SqlStore.open(path, SystemClock(), read_only=True)
            assert await reader.get_meta("k") == 1
            with pytest.raises(ConfigError, match="opened for reading only"):
                await reader.set_meta("k", 2)
            await reader.close()
            with pytest.raises(ConfigError, match="cannot be written") as told:
                await SqlStore.open(path, SystemClock())
            assert "may read and write" in told.value.hint
            with pytest.raises(ConfigError, match="cannot be written"):
                await SqlStore.open(folder / "new" / "job.db", SystemClock())
        folder.chmod(0o755)


async def test_file_and_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "job.db"
    tmp_path.chmod(0o755)
    store = await SqlStore.open(path, SystemClock())
    await store.set_meta("k", 1)
    for part in (path, path.with_name("job.db-wal"), path.with_name("job.db-shm")):
        assert stat.S_IMODE(part.stat().st_mode) == 0o600, part
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await store.close()
    path.chmod(0o644)
    store = await SqlStore.open(path, SystemClock())
    await store.set_meta("k", 2)
    for part in (path, path.with_name("job.db-wal"), path.with_name("job.db-shm")):
        assert stat.S_IMODE(part.stat().st_mode) == 0o600, part
    await store.close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


async def test_a_copy_is_whole_free_and_apart(tmp_path: Path) -> None:
    clock = SetClock()
    store = await SqlStore.open(tmp_path / "job.db", clock)
    run = await store.begin("museum", "run")
    await store.record(run.id, Shard("s"), Batch(entries("a", "b"), {"page": 2}), ())
    await store.claim(run.id, 1, LEASE)
    await store.copy_to(tmp_path / "copy.db")
    with pytest.raises(ConfigError, match="already exists"):
        await store.copy_to(tmp_path / "copy.db")
    copy = await SqlStore.open(tmp_path / "copy.db", clock)
    again = await copy.begin("museum", "run")
    assert (again.id, again.resumed) == (run.id, True)
    for work in await copy.claim(run.id, 9, LEASE):
        assert work.attempt == 1
        await copy.complete(work, Outcome("created"))
    assert (await copy.tally(run.id))["created"] == 2
    assert (await store.tally(run.id))["open"] == 2
    await store.beat(run.id)
    await copy.close()
    await store.close()


async def test_show_reports_everything_at_a_glance(tmp_path: Path) -> None:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock())
    run = await store.begin("museum", "run")
    await store.record(run.id, Shard("s"), Batch(entries("a"), None), ())
    await store.set_meta("watermark", "2026-03-01T12:00:00Z")
    shown = await store.show()
    assert (shown["open"], shown["rows"]["work"], shown["watermark"]) == (1, 1, "2026-03-01T12:00:00Z")
    assert shown["last_run"]["state"] == "running"
    assert shown["bytes"] > 4096
    assert shown["file"] == str(tmp_path / "job.db")
    await store.close()


async def test_a_folder_instead_of_a_state_is_named(tmp_path: Path) -> None:
    for read_only in (False, True):
        with pytest.raises(ConfigError, match="is a folder, not a file") as refused:
            await SqlStore.open(tmp_path, SetClock(), read_only=read_only)
        assert str(tmp_path / "job.db") in refused.value.hint
