"""The schema that all jobs of a database share: its version, its migrations, and who is refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Column, MetaData, create_engine
from sqlalchemy.dialects import postgresql

from dam_sync.model.errors import ConfigError, SafetyStop, StoreBusy
from dam_sync.model.state_server import StateServer
from dam_sync.store.server.database import raw_of, reading
from dam_sync.store.server.shared_schema import (
    KEY_TABLE,
    MIGRATIONS,
    SCHEMA,
    SHARED,
    VERSION_TABLE,
    Migrations,
    _version,
    made_by,
    open_shared,
)
from dam_sync.store.server.threads import ServerConnection
from tests.support.state.postgres import execute

NEWER = {**MIGRATIONS, max(MIGRATIONS) + 1: ("ALTER TABLE target_job ADD COLUMN since TEXT",)}
AT_WORK = f"INSERT INTO {SCHEMA}.participant VALUES ('c', 'p', extract(epoch FROM clock_timestamp()) - %s, 1)"


@pytest.fixture
def server(database: StateServer) -> StateServer:
    """Its place in a database of its own."""
    return replace(database, schema=SCHEMA)


def key_of(server: StateServer, migrations: Migrations = MIGRATIONS) -> bytes:
    link, key = open_shared(server, timedelta(seconds=1), migrations)
    link.close()
    return key


def version_of(server: StateServer) -> int:
    ((found,),) = execute(server, f"SELECT version FROM {SCHEMA}.{VERSION_TABLE}")
    return int(found)


def described(column: Column[Any]) -> tuple[str, bool | None]:
    return column.type.compile(dialect=postgresql.dialect()), column.nullable  # type: ignore[no-untyped-call]


def test_a_new_one_has_what_is_described(server: StateServer) -> None:
    key = key_of(server)
    engine = create_engine(f"postgresql+psycopg://postgres@/{server.database}?host={server.host}")
    found = MetaData()
    found.reflect(engine, schema=SCHEMA)
    engine.dispose()
    tables = {table.name: table for table in found.sorted_tables}
    assert tables.keys() - {KEY_TABLE, VERSION_TABLE} == SHARED.tables.keys()
    for table in SHARED.sorted_tables:
        there = tables[table.name]
        assert [column.name for column in there.primary_key] == [column.name for column in table.primary_key]
        assert {index.name for index in there.indexes} == {index.name for index in table.indexes}
        for name, column in table.columns.items():
            assert described(there.columns[name]) == described(column), f"{table.name}.{name}"
        assert there.columns.keys() == table.columns.keys()
    assert version_of(server) == max(MIGRATIONS)
    assert key_of(server) == key


def test_processes_may_create_the_schema_at_once(server: StateServer) -> None:
    """The second one has begun to look for it when the first one is done."""
    link = ServerConnection(server, timedelta(seconds=1))
    try:
        with reading(link.connection, server):
            key = key_of(server)
            assert _version(raw_of(link.connection), server, MIGRATIONS) == 0
        assert made_by(link, server) == key
    finally:
        link.close()


def test_a_schema_that_a_newer_release_made_is_refused_with_a_clear_error(server: StateServer) -> None:
    key = key_of(server, NEWER)
    assert version_of(server) == max(NEWER)
    with pytest.raises(ConfigError, match="was made by a newer dam-sync") as refused:
        key_of(server)
    assert refused.value.exit_code == 2
    assert "install the newer dam-sync" in refused.value.hint
    assert key_of(server, NEWER) == key


def test_an_older_one_is_migrated_once_nobody_uses_it(server: StateServer) -> None:
    key = key_of(server)
    execute(server, AT_WORK.replace("%s", "5"))
    with pytest.raises(StoreBusy, match="jobs of an older dam-sync") as refused:
        key_of(server, NEWER)
    assert "wait until they are done" in refused.value.hint
    assert version_of(server) == max(MIGRATIONS)
    assert key_of(server) == key, "they go on"
    execute(server, f"UPDATE {SCHEMA}.participant SET seen = seen - 600")
    assert key_of(server, NEWER) == key
    assert version_of(server) == max(NEWER)
    assert execute(server, f"SELECT since FROM {SCHEMA}.target_job") == []


def test_one_of_a_release_without_versions_keeps_what_it_has(server: StateServer) -> None:
    key = key_of(server)
    execute(server, AT_WORK.replace("%s", "5"), f"DROP TABLE {SCHEMA}.{VERSION_TABLE}", f"DROP TABLE {SCHEMA}.secret")
    assert key_of(server) == key
    assert version_of(server) == max(MIGRATIONS)
    assert execute(server, f"SELECT credential FROM {SCHEMA}.participant") == [("c",)]
    assert execute(server, f"SELECT 1 FROM {SCHEMA}.secret") == []


def test_a_migration_that_fails_leaves_it_as_it_was(server: StateServer) -> None:
    key_of(server)
    broken = {**MIGRATIONS, max(MIGRATIONS) + 1: ("ALTER TABLE target_job ADD COLUMN since TEXT", "nonsense")}
    with pytest.raises(ConfigError):
        key_of(server, broken)
    assert version_of(server) == max(MIGRATIONS)
    key_of(server)


@pytest.mark.parametrize("made", [False, True], ids=["missing", "there"])
def test_a_session_set_up_for_another_schema_is_refused_with_a_clear_error(server: StateServer, made: bool) -> None:
    """As two processes that begin at once may get through a pooler in transaction mode."""
    if made:
        key_of(server)
    link = ServerConnection(server, timedelta(seconds=1))
    raw_of(link.connection).execute("SET search_path TO pg_catalog")
    with pytest.raises(SafetyStop, match="pooler that shares sessions") as refused:
        made_by(link, server)
    assert "session mode" in refused.value.hint
    link.close()
    assert made or execute(server, f"SELECT 1 FROM pg_tables WHERE schemaname = '{SCHEMA}'") == []
