"""What only a state on a server has: lost connections, poolers, its migrations, copies from and to files."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, inspect
from sqlmodel import SQLModel

from dam_sync.model.asset import AssetId, Entry, Placement, Revision
from dam_sync.model.errors import ConfigError, DamSyncError, IntegrityError, SafetyStop, StoreBusy, StoreUnreachable
from dam_sync.model.link import LinkRow
from dam_sync.model.outage import Outage, show_outage
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import OtherCause
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.store import upsert as upsert
from dam_sync.store.base import Storage, to_text
from dam_sync.store.migrations import VERSION
from dam_sync.store.note_keys import IMPORTED
from dam_sync.store.server.database import raw_of
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock
from tests.support.state.postgres import LINE, CuttingProxy, emptied, execute

HASTY = Storage(patience=timedelta(seconds=0.5))
LEASE = timedelta(minutes=5)


@pytest.fixture
def server() -> StateServer:
    """An empty state, or none yet."""
    return emptied("dam_sync_contract")


@pytest.fixture
def proxy(server: StateServer) -> Iterator[CuttingProxy]:
    """In front of the server."""
    with closing(CuttingProxy(server)) as made:
        yield made


def schema_of(connection: Connection, schema: str | None = None) -> dict[str, object]:
    """Columns and indexes of the tables of a state."""
    seen, found = inspect(connection), {}
    for table in SQLModel.metadata.tables:
        columns = {row["name"]: bool(row["nullable"]) for row in seen.get_columns(table, schema)}
        unique = sorted(tuple(row["column_names"]) for row in seen.get_unique_constraints(table, schema))
        names = {row["name"] for row in seen.get_indexes(table, schema) if not row.get("duplicates_constraint")}
        found[table] = columns, seen.get_pk_constraint(table, schema)["constrained_columns"], unique, names
    return found


async def test_the_migrations_make_the_tables_that_the_models_describe(server: StateServer, clock: SetClock) -> None:
    store = await SqlStore.open(server, clock)
    try:
        here = await store._database.reader.run(lambda c: schema_of(c, server.schema))
        assert (await store.show())["format"] == VERSION
    finally:
        await store.close()
    described: Engine = create_engine("sqlite://")
    with described.connect() as other:
        SQLModel.metadata.create_all(other)
        assert here == schema_of(other)
    described.dispose()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "CREATE TABLE x (a TEXT NOT NULL PRIMARY KEY, n INTEGER, b BOOLEAN NOT NULL DEFAULT 0) WITHOUT ROWID",
            ['CREATE TABLE x (a TEXT COLLATE "C" NOT NULL PRIMARY KEY, n BIGINT, b BOOLEAN NOT NULL DEFAULT FALSE)'],
        ),
        ("CREATE INDEX x_due ON x (a) WHERE due = 1", ["CREATE INDEX x_due ON x (a) WHERE due"]),
        ("PRAGMA application_id = 1", []),
    ],
)
def test_a_migration_of_a_file_is_translated(statement: str, expected: list[str]) -> None:
    from dam_sync.store.server.schema import translated_statement

    assert list(translated_statement(statement)) == expected


def test_a_trigger_without_its_form_for_the_server_is_noticed() -> None:
    from dam_sync.store.server.schema import translated_statement

    with pytest.raises(LookupError, match="the trigger x_added needs its form"):
        list(translated_statement("CREATE TRIGGER x_added AFTER INSERT ON x BEGIN SELECT 1; END"))


def test_only_one_module_of_the_store_knows_the_inserts_of_sqlite() -> None:
    """Others would fail on a server, where their tests may not look."""
    folder = Path(upsert.__file__).parent
    found = [path.name for path in folder.glob("*.py") if "sqlalchemy.dialects.sqlite" in path.read_text("utf-8")]
    assert found == ["upsert.py"]


async def test_a_new_schema_may_be_opened_several_times_at_once(server: StateServer, clock: SetClock) -> None:
    new = replace(server, schema=f"{server.schema}_new")
    try:
        for opened in await asyncio.gather(*(SqlStore.open(new, clock) for _ in range(4))):
            await opened.close()
    finally:
        execute(server, f'DROP SCHEMA "{new.schema}" CASCADE')


async def test_a_schema_of_another_program_or_a_newer_one_is_refused(server: StateServer, clock: SetClock) -> None:
    other = replace(server, schema=f"{server.schema}_other")
    execute(server, f'CREATE SCHEMA "{other.schema}"', f'CREATE TABLE "{other.schema}".theirs (id INTEGER)')
    try:
        with pytest.raises(ConfigError, match="is not a state of dam-sync"):
            await SqlStore.open(other, clock)
        execute(other, "CREATE TABLE store_version (version BIGINT)", "INSERT INTO store_version VALUES (999)")
        with pytest.raises(ConfigError, match="made by a newer dam-sync"):
            await SqlStore.open(other, clock)
    finally:
        execute(server, f'DROP SCHEMA "{other.schema}" CASCADE')
    with pytest.raises(ConfigError, match="there is no state at"):
        await SqlStore.open(other, clock, read_only=True)


@pytest.mark.parametrize("read_only", [True, False])
async def test_the_state_of_a_run_of_an_older_release_is_not_migrated(
    server: StateServer, clock: SetClock, read_only: bool
) -> None:
    store = await SqlStore.open(server, clock)
    await store.begin("museum", "run")
    execute(server, f"UPDATE store_version SET version = {VERSION - 1}")
    with pytest.raises(StoreBusy, match="which an older dam-sync made") as refused:
        await SqlStore.open(server, clock, read_only=read_only)
    assert f"process {os.getpid()} on" in str(refused.value)
    assert "wait until that process is done" in refused.value.hint, "a command that only reads resumes nothing"
    execute(server, f"UPDATE store_version SET version = {VERSION}")
    await store.close()


async def test_a_job_whose_connection_ends_within_it_is_done_once(server: StateServer, clock: SetClock) -> None:
    store = await SqlStore.open(server, clock)
    called: list[int] = []

    def ending(c: Connection) -> None:
        c.exec_driver_sql("INSERT INTO note VALUES ('a', '1')")
        called.append(1)
        if len(called) == 1:
            c.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    writer = store._database.writer
    assert writer is not None
    await asyncio.gather(store.set_meta("before", 1), writer.run(ending), store.set_meta("after", 2))
    assert [await store.get_meta(key) for key in ("before", "a", "after")] == [1, 1, 2]
    assert len(called) == 2
    await store.close()


def counting() -> tuple[list[int], Callable[[Connection], int]]:
    """A write that adds one to the note `n`, and what notes each of its calls."""
    called: list[int] = []

    def count(c: Connection) -> int:
        called.append(1)
        c.exec_driver_sql("INSERT INTO note VALUES ('n', '0') ON CONFLICT DO NOTHING")
        c.exec_driver_sql("UPDATE note SET value = (value::int + 1)::text WHERE key = 'n'")
        return len(called)

    return called, count


@pytest.mark.parametrize("forwarded", [True, False], ids=["committed", "not committed"])
async def test_after_a_commit_without_a_response_the_server_is_asked(
    proxy: CuttingProxy, clock: SetClock, forwarded: bool
) -> None:
    store = await SqlStore.open(proxy.server, clock)
    called, count = counting()
    writer = store._database.writer
    assert writer is not None
    proxy.cut_at(b"COMMIT", forwarded=forwarded)
    assert await writer.run(count) == len(called) == (1 if forwarded else 2)
    assert proxy.cuts == 1
    assert await store.get_meta("n") == 1
    await store.close()


@pytest.mark.parametrize("forwarded", [True, False], ids=["committed", "not committed"])
@pytest.mark.parametrize("at", [b"pg_try_advisory_lock", b"pg_terminate_backend"], ids=["lock", "former session"])
async def test_the_server_is_asked_also_if_the_next_connection_is_lost_at_once(
    proxy: CuttingProxy, clock: SetClock, at: bytes, forwarded: bool
) -> None:
    store = await SqlStore.open(proxy.server, clock)
    await store.begin("museum", "run")
    called, count = counting()
    writer = store._database.writer
    assert writer is not None
    proxy.cut_at(b"COMMIT", forwarded=forwarded, then=at)
    assert await writer.run(count) == len(called) == (1 if forwarded else 2)
    assert proxy.cuts == 2
    assert await store.get_meta("n") == 1
    await store.close()


async def test_nothing_is_written_after_a_commit_of_which_the_outcome_stays_unknown(
    proxy: CuttingProxy, clock: SetClock
) -> None:
    store = await SqlStore.open(proxy.server, clock)
    await store.set_meta("k", 1)
    execute(proxy.direct, "ALTER TABLE store_commit RENAME TO away")
    proxy.cut_at(b"COMMIT", forwarded=False)
    try:
        for value in (2, 3):
            with pytest.raises(DamSyncError, match="store_commit"):
                await store.set_meta("k", value)
    finally:
        execute(proxy.direct, "ALTER TABLE away RENAME TO store_commit")
    with pytest.raises(DamSyncError, match="store_commit"):
        await store.set_meta("k", 4)
    assert await store.get_meta("k") == 1
    await store.close()


async def test_a_run_is_still_held_after_a_lost_connection(proxy: CuttingProxy, clock: SetClock) -> None:
    store = await SqlStore.open(proxy.server, clock)
    run = await store.begin("museum", "run")
    proxy.cut_at(LINE, forwarded=False)
    await store.beat(run.id)
    assert proxy.cuts == 1
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid IN (SELECT pid FROM pg_stat_activity"
    assert execute(proxy.direct, f"{held} WHERE application_name LIKE 'dam-sync {os.getpid()} %')") == [(1,)]
    await store.finish(run.id, None, listed=False)
    assert execute(proxy.direct, f"{held} WHERE application_name LIKE 'dam-sync {os.getpid()} %')") == [(0,)]
    await store.close()


async def test_a_server_that_stays_away_ends_every_call_with_one_error(proxy: CuttingProxy, clock: SetClock) -> None:
    store = await SqlStore.open(proxy.server, clock, storage=HASTY)
    await store.set_meta("k", 1)
    proxy.refuse()
    for call in (store.set_meta("k", 2), store.get_meta("k"), store.set_meta("k", 3)):
        with pytest.raises(StoreUnreachable, match="cannot be reached") as raised:
            await call
        assert raised.value.exit_code == 5
    await store.close()


def until_on(outage: Outage) -> None:
    while not outage.is_on:
        time.sleep(0.01)


async def test_all_connections_of_a_run_wait_out_one_outage(proxy: CuttingProxy, clock: SetClock) -> None:
    """Not each of them its own, one after another: the run would end long after the outage was too long."""
    outage = Outage()
    show_outage(outage)
    patient = Storage(patience=timedelta(seconds=2))
    store = await SqlStore.open(proxy.server, clock, storage=patient)
    await store.set_meta("k", 1)
    proxy.refuse()
    began = time.monotonic()
    waiting = asyncio.ensure_future(store.set_meta("k", 2))
    await asyncio.to_thread(until_on, outage)
    with pytest.raises(StoreUnreachable):
        await waiting
    assert time.monotonic() - began >= 2
    assert not outage.is_on
    assert outage.since is not None
    again = time.monotonic()
    with pytest.raises(StoreUnreachable):
        await store.get_meta("k")
    assert outage.since + 2 <= again + 1, "the reader does not wait for as long again"
    await store.close()


async def test_an_outage_ends_with_the_first_connection(proxy: CuttingProxy, clock: SetClock) -> None:
    outage = Outage()
    show_outage(outage)
    store = await SqlStore.open(proxy.server, clock)
    await store.set_meta("k", 1)
    proxy.refuse()
    waiting = asyncio.ensure_future(store.set_meta("k", 2))
    await asyncio.to_thread(until_on, outage)
    proxy.admit()
    await waiting
    assert (outage.is_on, outage.since) == (False, None)
    assert await store.get_meta("k") == 2
    await store.close()


async def test_an_outage_while_a_state_is_opened_is_waited_out(proxy: CuttingProxy, clock: SetClock) -> None:
    outage = Outage()
    show_outage(outage)
    proxy.refuse()
    opening = asyncio.ensure_future(SqlStore.open(proxy.server, clock))
    await asyncio.to_thread(until_on, outage)
    proxy.admit()
    store = await opening
    await store.set_meta("k", 1)
    assert (outage.is_on, outage.since) == (False, None)
    await store.close()
    proxy.refuse()
    with pytest.raises(StoreUnreachable):  # it is not waited for longer than later outages are
        await SqlStore.open(proxy.server, clock, storage=HASTY)
    outage.since = None
    with pytest.raises(StoreUnreachable):  # what only reads can be asked again
        await SqlStore.open(proxy.server, clock, read_only=True)
    assert outage.since is None


async def test_a_password_is_in_no_message(server: StateServer, clock: SetClock) -> None:
    away = replace(server, host="/nowhere", user="me", password="wrt_very_secret")
    with pytest.raises(StoreUnreachable) as raised:
        await SqlStore.open(away, clock)
    told = (str(raised.value), repr(raised.value), raised.value.hint, str(away), repr(away))
    assert [text for text in told if "wrt_very_secret" in text] == []
    assert "me@/nowhere" in str(raised.value)
    unknown = replace(server, database="nothing")
    with pytest.raises(ConfigError, match='database "nothing" does not exist'):
        await SqlStore.open(unknown, clock)


async def test_a_session_that_changes_between_transactions_is_refused(server: StateServer, clock: SetClock) -> None:
    store = await SqlStore.open(server, clock)
    writer = store._database.writer
    writer._link.session += 1  # type: ignore[union-attr]
    with pytest.raises(SafetyStop, match="pooler that shares sessions"):
        await store.set_meta("k", 1)
    await store.close()


@pytest.mark.parametrize("side", ["reader", "writer"])
async def test_a_session_set_up_for_another_state_is_neither_read_nor_written(
    server: StateServer, clock: SetClock, side: str
) -> None:
    """A pooler may give the session of another process, which has tables of the same names in its search path."""
    store = await SqlStore.open(server, clock)
    await store.set_meta("k", 1)
    link = getattr(store._database, side)._link
    raw_of(link.connection).execute("SET search_path TO pg_catalog")
    with pytest.raises(SafetyStop, match="pooler that shares sessions"):
        await (store.get_meta("k") if side == "reader" else store.set_meta("k", 2))
    await store.close()


async def filled(place: Path | StateServer, clock: SetClock) -> SqlStore:
    """A state with something in most tables."""
    store = await SqlStore.open(place, clock)
    run = await store.begin("museum", "run")
    shard = Shard("s", {"page": 1}, 2)
    await store.set_shards(run.id, [shard], complete=True)
    names = ("a", "é\0b", "c", "d")
    await store.record(run.id, shard, Batch(tuple(Entry(AssetId(n), Revision("1")) for n in names), None), ())
    one, two, *_ = await store.claim(run.id, 3, LEASE)
    place_of = Placement("folder", ("Press",), "9")
    link = LinkRow("a", "t1", size=20 << 30, draft={"title": "x\0y \\u0000"}, digests={"md5": "0"})
    await store.complete(one, Outcome("created", link=link, placements=((place_of, AssetId("t1"), True),)))
    await store.complete(
        two, Outcome("parked", cause=OtherCause("c"), message="m", losses=[{"path": "p", "rule": "r"}])
    )
    await store.reserve_name("a.jpg", "a")
    await store.set_meta("watermark", {"at": 1.5})
    return store


async def test_a_state_moves_between_file_and_server_without_a_difference(
    server: StateServer, clock: SetClock, tmp_path: Path
) -> None:
    from dam_sync.store.server.store import restore

    store = await filled(tmp_path / "one.db", clock)
    await store.copy_to(tmp_path / "two.db")
    before = (
        (await store.show())["rows"],
        await store.losses(1),
        await store.links(["a"]),
        await store.actions(["é\0b"]),
    )
    await store.close()
    restore(server, tmp_path / "two.db", clock, Storage())
    moved = await SqlStore.open(server, clock)
    assert ((await moved.show())["rows"], await moved.losses(1), await moved.links(["a"])) == before[:3]
    assert await moved.actions(["é\0b"]) == before[3]
    assert (await moved.begin("museum", "run")).resumed
    (left,) = await moved.claim(1, 1, LEASE)
    assert (await moved.tally(1))["open"] == 2
    await moved.complete(left, Outcome("skipped"))
    assert (await moved.tally(1))["skipped"] == 1
    await moved.copy_to(tmp_path / "three.db")
    await moved.close()
    back = await SqlStore.open(tmp_path / "three.db", clock)
    assert (await back.links(["a"]), await back.tally(1)) == (before[2], await moved_tally(server, clock))
    await back.close()


async def test_a_state_that_was_restored_from_a_backup_is_taken_for_an_import(
    server: StateServer, clock: SetClock, tmp_path: Path
) -> None:
    """Its tables were made again. It may be older than the last write, so that the next run looks for more."""
    store = await filled(server, clock)
    await store.close()
    again = await SqlStore.open(server, clock)
    assert await again.get_meta(IMPORTED) is None
    await again.close()
    execute(server, "CREATE TABLE restored AS TABLE store_version", "DROP TABLE store_version")
    execute(server, "ALTER TABLE restored ALTER COLUMN version SET NOT NULL")
    execute(server, "ALTER TABLE restored RENAME TO store_version")
    read = await SqlStore.open(server, clock, read_only=True)
    await read.copy_to(tmp_path / "copy.db")
    assert await read.get_meta(IMPORTED) is None
    await read.close()
    copied = await SqlStore.open(tmp_path / "copy.db", clock)
    assert await copied.get_meta(IMPORTED) is True, "a plan stops as a run would"
    await copied.close()
    for known in (True, False):
        restored = await SqlStore.open(server, clock)
        assert await restored.get_meta(IMPORTED) is known
        await restored.set_meta(IMPORTED, False)
        await restored.close()


async def moved_tally(server: StateServer, clock: SetClock) -> object:
    """The counts of the first run on the server."""
    store = await SqlStore.open(server, clock, read_only=True)
    try:
        return await store.tally(1)
    finally:
        await store.close()


class Meddling(SetClock):
    """The first look at the time is when somebody changes the schema: after it was compared."""

    def __init__(self, server: StateServer, statement: str) -> None:
        super().__init__()
        self._server, self._statement = server, statement

    def now(self) -> datetime:
        statement, self._statement = self._statement, "SELECT 1"
        execute(self._server, statement)
        return super().now()


async def test_a_copy_that_differs_changes_nothing(server: StateServer, clock: SetClock, tmp_path: Path) -> None:
    from dam_sync.store.server.store import restore

    old = await SqlStore.open(server, clock)
    await old.set_meta("old", 1)
    await old.close()
    store = await SqlStore.open(tmp_path / "one.db", clock)
    await store.reserve_name("a.jpg", "x")
    await store.close()
    meddling = Meddling(server, "CREATE RULE changing AS ON INSERT TO name DO ALSO UPDATE name SET owner = 'y'")
    with pytest.raises(IntegrityError, match="the copy of the table name differs"):
        restore(server, tmp_path / "one.db", meddling, Storage())
    execute(server, "DROP RULE changing ON name")
    again = await SqlStore.open(server, clock)
    assert await again.get_meta("old") == 1
    await again.close()


STRANGE = (
    "\0",
    "\ufdd0",
    "\ufdd1",
    "\ufdd1\ufdd2",
    "\ufdd1\ufdd3",
    "\ufdd0\0",
    "a\0\ufdd1\0\ufdd0",
    "\\u0000",
    "\ufdd2\ufdd3",
)


async def test_every_text_comes_back_as_it_was(server: StateServer, clock: SetClock, tmp_path: Path) -> None:
    """Those with NUL, which the server cannot keep, and those with what is kept in its place."""
    from dam_sync.store.server.store import restore

    store = await SqlStore.open(server, clock)
    for number, text in enumerate(STRANGE):
        await store.reserve_name(text, f"owner {number}")
        await store.set_meta(f"note {text}", {text: text})
    assert [await store.get_meta(f"note {text}") for text in STRANGE] == [{text: text} for text in STRANGE]
    writer = store._database.writer
    assert writer is not None
    read = await writer.run(lambda c: c.exec_driver_sql("SELECT folded, owner FROM name").fetchall())
    assert sorted(read) == sorted((text, f"owner {number}") for number, text in enumerate(STRANGE))
    extracted = "SELECT json_extract(value, '$.x') FROM (VALUES (%s)) AS given (value)"
    for text in STRANGE:
        given = to_text({"x": text})
        (found,) = await writer.run(lambda c, given=given: c.exec_driver_sql(extracted, (given,)).fetchall())
        assert found[0] == text
    await store.copy_to(tmp_path / "copy.db")
    await store.close()
    restore(server, tmp_path / "copy.db", clock, Storage())
