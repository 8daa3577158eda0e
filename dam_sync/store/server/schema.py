"""The tables of a state on PostgreSQL, made by the same migrations as those of a file.

The statements of `MIGRATIONS` are translated: types, defaults of flags, and what only SQLite knows. What cannot be
translated, the triggers, is written for PostgreSQL here, by name. Texts sort by their code points, as in SQLite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection

from dam_sync.model.errors import ConfigError
from dam_sync.model.state_server import StateServer
from dam_sync.store.migrations import MIGRATIONS, VERSION
from dam_sync.store.server.database import raw_of

OLDEST_SERVER = 140000  # the first one that waits until a connection has ended
VERSION_TABLE = "store_version"
COMMIT_TABLE = "store_commit"
TOKENS = 100  # of the last commits; more than other processes make during an outage
_TYPES: Sequence[tuple[str, str]] = (
    (r" WITHOUT ROWID$", ""),
    (r"\bTEXT\b", 'TEXT COLLATE "C"'),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bBLOB\b", "BYTEA"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"\bBOOLEAN NOT NULL DEFAULT 0\b", "BOOLEAN NOT NULL DEFAULT FALSE"),
    (r"\bBOOLEAN NOT NULL DEFAULT 1\b", "BOOLEAN NOT NULL DEFAULT TRUE"),
    (r"\bWHERE (\w+) = 1$", r"WHERE \1"),  # a flag
)
NUMBERED = re.compile(r"CREATE TABLE (\w+) \((\w+) INTEGER PRIMARY KEY,")
_LABEL = "CASE {row}.state WHEN 'settled' THEN {row}.action ELSE 'open' END"
_OLD, _NEW = _LABEL.format(row="OLD"), _LABEL.format(row="NEW")
_COUNT_NEW = (
    f"INSERT INTO tally AS t (run, label, n) VALUES (NEW.run, {_NEW}, 1)"
    " ON CONFLICT (run, label) DO UPDATE SET n = t.n + 1;"
)

# The JSON functions of SQLite that statements use; a NUL in JSON becomes what stands for it in texts.
FUNCTIONS = (
    "CREATE FUNCTION json_of(given TEXT) RETURNS JSONB IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN"
    r" RETURN CASE WHEN strpos(given, '\u0000') = 0 THEN given::jsonb"
    r" ELSE regexp_replace(given, '(?<!\\)((?:\\\\)*)\\u0000', E'\\1\uFDD0', 'g')::jsonb END; END $$",
    # in PL/pgSQL: PostgreSQL 18 cannot plan some statements once it has put the body in the place of the call
    "CREATE FUNCTION json_each(given TEXT) RETURNS TABLE (value TEXT) IMMUTABLE ROWS 500 LANGUAGE plpgsql AS $$"
    " BEGIN IF jsonb_typeof(json_of(given)) = 'array' THEN RETURN QUERY SELECT jsonb_array_elements_text("
    " json_of(given)); END IF; END $$",
    "CREATE FUNCTION json_extract(given TEXT, path TEXT) RETURNS TEXT IMMUTABLE LANGUAGE sql AS"
    ' $$ SELECT (json_of(given) ->> substr(path, 3)) COLLATE "C" $$',
    "CREATE FUNCTION json_type(given TEXT) RETURNS TEXT IMMUTABLE LANGUAGE sql AS"
    " $$ SELECT jsonb_typeof(json_of(given)) $$",
    # as in SQLite, a new number is the highest one plus one; only one process writes at a time
    "CREATE FUNCTION next_number() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE last BIGINT; BEGIN"
    " IF (to_jsonb(NEW) ->> TG_ARGV[0]) IS NULL THEN"
    " EXECUTE format('SELECT coalesce(max(%I), 0) FROM %I.%I', TG_ARGV[0], TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO last;"
    " NEW := jsonb_populate_record(NEW, jsonb_build_object(TG_ARGV[0], last + 1));"
    " END IF; RETURN NEW; END $$",
)


def _trigger(name: str, when: str, table: str, body: str, condition: str = "") -> tuple[str, ...]:
    result = "OLD" if when.startswith("BEFORE DELETE") else "NEW"
    only = f" WHEN ({condition})" if condition else ""
    return (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {body} RETURN {result}; END $$",
        f"CREATE TRIGGER {name} {when} ON {table} FOR EACH ROW{only} EXECUTE FUNCTION {name}()",
    )


_FIXED = "RAISE EXCEPTION 'the ledger is append-only';"
TRIGGERS: Mapping[str, tuple[str, ...]] = {
    "work_added": _trigger("work_added", "AFTER INSERT", "work", _COUNT_NEW),
    "work_changed": _trigger(
        "work_changed",
        "AFTER UPDATE OF state, action, run",
        "work",
        f"UPDATE tally SET n = n - 1 WHERE run = OLD.run AND label = {_OLD}"
        f" AND (OLD.run = NEW.run OR OLD.state <> 'settled'); {_COUNT_NEW}",
        f"OLD.run <> NEW.run OR {_OLD} <> {_NEW}",
    ),
    "ledger_kept": _trigger("ledger_kept", "BEFORE DELETE", "ledger", _FIXED),
    "ledger_fixed": _trigger("ledger_fixed", "BEFORE UPDATE", "ledger", _FIXED),
    "link_added": _trigger(
        "link_added",
        "AFTER INSERT",
        "link",
        "INSERT INTO seen (source, revision) VALUES (NEW.source, NEW.source_revision)"
        " ON CONFLICT (source) DO UPDATE SET revision = excluded.revision;",
    ),
    "link_dropped": _trigger("link_dropped", "AFTER DELETE", "link", "DELETE FROM seen WHERE source = OLD.source;"),
    "link_revised": _trigger(
        "link_revised",
        "AFTER UPDATE OF source_revision",
        "link",
        "UPDATE seen SET revision = NEW.source_revision WHERE source = NEW.source;",
        "OLD.source_revision <> NEW.source_revision",
    ),
}
"""For each trigger of a file, in its last form, what makes it here."""


def version_of(connection: Connection, server: StateServer) -> int:
    """The version of the schema; 0 if it is missing or empty. Raises ConfigError if it is not ours."""
    raw = raw_of(connection)
    tables = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (server.schema,)).fetchall()
    if not tables:
        return 0
    if (VERSION_TABLE,) not in tables:
        hint = "rename the job, or remove that schema; it belongs to another program"
        raise ConfigError(f"{server} is not a state of dam-sync", hint=hint)
    row = raw.execute(f"SELECT version FROM {_named(server, VERSION_TABLE)}".encode()).fetchone()
    return int(row[0]) if row else 0


def check_server(connection: Connection, server: StateServer) -> None:
    """Raises ConfigError for a server that cannot hold a state."""
    raw = raw_of(connection)
    encoding = raw.info.parameter_status("server_encoding")
    if raw.info.server_version < OLDEST_SERVER:
        found = raw.info.server_version // 10_000
        raise ConfigError(
            f"the state {server} needs PostgreSQL 14 or newer, and the server is version {found}",
            hint="upgrade the server, or name another one, or a file, in `state:` of the job file",
        )
    if encoding != "UTF8":
        hint = "create the database with ENCODING 'UTF8'"
        raise ConfigError(f"the state {server} is in a database with the encoding {encoding}", hint=hint)


def migrate(connection: Connection, server: StateServer, upto: int = VERSION) -> None:
    """Bring the schema to a version, within a writing transaction."""
    raw = raw_of(connection)
    now = version_of(connection, server)
    if now == 0:
        raw.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(server.schema)))
        for statement in FUNCTIONS:
            raw.execute(statement.encode())
        raw.execute(f"CREATE TABLE {VERSION_TABLE} (version BIGINT NOT NULL)")
        raw.execute(f"INSERT INTO {VERSION_TABLE} VALUES (0)")
    columns = "one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), tokens TEXT NOT NULL"
    raw.execute(f"CREATE TABLE IF NOT EXISTS {COMMIT_TABLE} ({columns}) WITH (fillfactor = 50)")
    for number in range(now + 1, upto + 1):
        for original in MIGRATIONS[number]:
            for statement in translated_statement(original):
                raw.execute(statement.encode())
        raw.execute(f"UPDATE {VERSION_TABLE} SET version = {number}")


def has_commits(connection: Connection, server: StateServer) -> bool:
    """Whether there is what `commit` writes to: earlier versions of this program did without."""
    there = "SELECT to_regclass(%s) IS NOT NULL"
    return raw_of(connection).execute(there, (_named(server, COMMIT_TABLE),)).fetchone() == (True,)


def _named(server: StateServer, table: str) -> str:
    """The table of this schema, also in a session that a pooler set up for another."""
    return f'"{server.schema}".{table}'


def commit(token: str) -> str:
    """The statements that end a transaction and leave its token, of letters and digits, in one request."""
    kept = f"left(excluded.tokens || ' ' || {COMMIT_TABLE}.tokens, {TOKENS * (len(token) + 1)})"
    added = f"INSERT INTO {COMMIT_TABLE} (tokens) VALUES ('{token}') ON CONFLICT (one) DO UPDATE SET tokens = {kept}"
    return f"{added}; COMMIT"


def committed(raw: psycopg.Connection[Any], token: str) -> bool:
    """Whether the transaction with this token is in the database. Only in a transaction of the only writer: the one
    that is asked for has ended by then."""
    row = raw.execute(f"SELECT tokens FROM {COMMIT_TABLE}").fetchone()
    return row is not None and token in row[0].split()


def translated_statement(statement: str) -> Iterator[str]:
    """What a statement of a migration is on PostgreSQL; several, or none for one that only a file needs."""
    words = statement.split()
    match words[:2]:
        case ["PRAGMA", _]:
            return
        case ["CREATE", "TRIGGER"]:
            if words[2] not in TRIGGERS:
                raise LookupError(f"the trigger {words[2]} needs its form for PostgreSQL in `TRIGGERS`")
            yield from TRIGGERS[words[2]]
        case ["DROP", "TRIGGER"]:
            yield f"DROP TRIGGER {words[2]} ON {words[2].partition('_')[0]}"
        case _:
            numbered = NUMBERED.match(statement)
            for pattern, instead in _TYPES:
                statement = re.sub(pattern, instead, statement)
            yield statement
            if numbered is not None:
                table, column = numbered.groups()
                yield (
                    f"CREATE TRIGGER {table}_number BEFORE INSERT ON {table} FOR EACH ROW"
                    f" EXECUTE FUNCTION next_number('{column}')"
                )


def size_of(connection: Connection, server: StateServer) -> int:
    """Bytes of the tables and indexes of the schema."""
    summed = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
    where = "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"
    row = raw_of(connection).execute(f"{summed} {where}", (server.schema,)).fetchone()
    return int(row[0]) if row else 0


def triggers(connection: Connection) -> list[tuple[str, str]]:
    """Our triggers, and the tables that they belong to."""
    chosen = (
        "SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace ORDER BY 1"
    )
    return [(str(name), str(table)) for name, table in raw_of(connection).execute(chosen)]
