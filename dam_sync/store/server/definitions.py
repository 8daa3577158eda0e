"""Whether the schema of a state on a server holds what the migrations made, and nothing that does more: a trigger, a
rule, a policy or a view of somebody else may hide rows, remove or repeat them. A file is compared in the same way, see
`store.migrations`.

What only makes reading faster, indexes of plain columns and statistics, is left to who looks after the server.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import lru_cache

from sqlalchemy import Connection

from dam_sync.model.errors import ConfigError
from dam_sync.model.state_server import StateServer
from dam_sync.store import migrations
from dam_sync.store.migrations import VERSION
from dam_sync.store.server.database import raw_of
from dam_sync.store.server.schema import COMMIT_TABLE, FUNCTIONS, NUMBERED, TRIGGERS, VERSION_TABLE

TOLD = 5  # names shown in an error
HINT = (
    "let who looks after the server remove what other programs added there, or restore the state: rename the schema, "
    "and `state JOB import FILE` from an export; without one, rebuild the links with `adopt JOB`"
)
_KINDS: Mapping[str, str] = {
    "TEXT": "text",
    "INTEGER": "bigint",
    "BOOLEAN": "boolean",
    "REAL": "double precision",
    "BLOB": "bytea",
}
_SORTED = {"text"}
_FLAGS: Mapping[str, str] = {"0": "false", "1": "true"}
_BODY = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION (\w+)\(.* LANGUAGE (\w+) .*?\$\$(.*)\$\$", re.DOTALL)
_ROW, _BEFORE, _EVENTS = 1, 2, {"INSERT": 4, "DELETE": 8, "UPDATE": 16}  # bits of `tgtype`

_FOUND = """
WITH ours AS (SELECT oid, relname, relnamespace, relkind, relpersistence, relrowsecurity, relforcerowsecurity,
              relispartition FROM pg_class WHERE relnamespace = %(schema)s::regnamespace)
SELECT 'table', relname::text, concat(relkind, relpersistence, relrowsecurity, relforcerowsecurity, relispartition,
       EXISTS (SELECT FROM pg_inherits WHERE oid IN (inhrelid, inhparent)))
  FROM ours WHERE relkind NOT IN ('i', 'I', 't')
UNION ALL
SELECT 'column', concat(c.relname, '.', a.attname), concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull,
       a.attidentity, a.attgenerated, coalesce((SELECT nspname || '.' || collname FROM pg_collation l
       JOIN pg_namespace n ON n.oid = collnamespace WHERE l.oid = a.attcollation), ''),
       coalesce(pg_get_expr(d.adbin, d.adrelid), ''))
  FROM ours c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
UNION ALL
SELECT 'index', c.relname::text, concat_ws(' ', i.indisunique, i.indpred IS NOT NULL, i.indisvalid,
       (SELECT string_agg(coalesce(a.attname, '()'), ',' ORDER BY k.n) FROM unnest(i.indkey::int2[]) WITH ORDINALITY
       k (num, n) LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.num))
  FROM ours c JOIN pg_index i ON i.indrelid = c.oid
  WHERE i.indisunique OR i.indexprs IS NOT NULL OR (i.indpred IS NOT NULL AND pg_get_expr(i.indpred, c.oid) ~ '\\w\\(')
UNION ALL
SELECT 'trigger', concat(c.relname, '.', t.tgname), concat_ws(' ', f.proname, f.pronamespace = c.relnamespace,
       t.tgenabled, t.tgtype, t.tgqual IS NOT NULL, encode(t.tgargs, 'escape'))
  FROM ours c JOIN pg_trigger t ON t.tgrelid = c.oid JOIN pg_proc f ON f.oid = t.tgfoid WHERE NOT t.tgisinternal
UNION ALL
SELECT 'constraint', k.conname::text, ''
  FROM pg_constraint k JOIN ours c ON c.oid IN (k.conrelid, k.confrelid)
  WHERE k.contype NOT IN ('p', 'u', 'n') AND NOT (k.contype = 'c' AND c.relname = %(commit)s)
UNION ALL
SELECT 'rule', r.rulename::text, '' FROM ours c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.relkind = 'r'
UNION ALL
SELECT 'policy', p.polname::text, '' FROM ours c JOIN pg_policy p ON p.polrelid = c.oid
UNION ALL
SELECT 'function', f.proname::text, concat_ws(' ', l.lanname, f.prosecdef, f.proconfig IS NOT NULL, f.prosrc)
  FROM pg_proc f JOIN pg_language l ON l.oid = f.prolang WHERE f.pronamespace = %(schema)s::regnamespace
"""


def refuse_strange_objects(connection: Connection, server: StateServer) -> None:
    """Raises ConfigError for a schema of this version that is not what the migrations made."""
    given = {"schema": f'"{server.schema}"', "commit": COMMIT_TABLE}
    found = {(str(kind), str(name), str(what)) for kind, name, what in raw_of(connection).execute(_FOUND, given)}
    strange = sorted({f"{kind} {name}" for kind, name, _ in found ^ _made() if not _is_optional(kind, name, found)})
    if strange:
        told = ", ".join(strange[:TOLD]) + (f" and {len(strange) - TOLD:,} more" if len(strange) > TOLD else "")
        raise ConfigError(f"the state {server} has unexpected contents: {told}", hint=HINT)


def _is_optional(kind: str, name: str, found: set[tuple[str, str, str]]) -> bool:
    """What earlier versions of this program did without: see `schema.has_commits`."""
    there = any(each[:2] == ("table", COMMIT_TABLE) for each in found)
    return not there and kind in ("table", "column", "index") and name.partition(".")[0] == COMMIT_TABLE


@lru_cache
def _made() -> frozenset[tuple[str, str, str]]:
    """What the migrations make, as `_FOUND` describes it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrations.migrate(raw, VERSION)
        return frozenset((*_tables(raw), *_own_tables(), *_triggers(raw), *_functions()))


def _tables(raw: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    for (table,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        yield _table(table)
        keys = []
        for _, name, kind, required, default, key in raw.execute(f'PRAGMA table_info("{table}")').fetchall():
            yield _column(table, name, _KINDS[kind], default, required=bool(required or key))
            keys += [(key, name)] if key else []
        yield _unique(table, [name for _, name in sorted(keys)])
        for _, index, unique, origin, _ in raw.execute(f'PRAGMA index_list("{table}")').fetchall():
            if unique and origin != "pk":
                columns = raw.execute(f'PRAGMA index_info("{index}")').fetchall()
                yield _unique(table, [column[2] for column in columns])


def _own_tables() -> Iterator[tuple[str, str, str]]:
    """Those that only a server has."""
    yield _table(VERSION_TABLE)
    yield _column(VERSION_TABLE, "version", "bigint", None, required=True)
    yield _table(COMMIT_TABLE)
    yield _column(COMMIT_TABLE, "one", "boolean", "true", required=True)
    yield _column(COMMIT_TABLE, "tokens", "text", None, required=True, collation="pg_catalog.default")
    yield _unique(COMMIT_TABLE, ["one"])


def _table(name: str) -> tuple[str, str, str]:
    return "table", name, "rpffff"


def _column(
    table: str, name: str, kind: str, default: str | None, *, required: bool, collation: str = "pg_catalog.C"
) -> tuple[str, str, str]:
    sorting, given = collation if kind in _SORTED else "", _default(kind, default)
    return "column", f"{table}.{name}", f"{kind} {'t' if required else 'f'}   {sorting} {given}"


def _default(kind: str, default: str | None) -> str:
    if default is None:
        return ""
    return {"text": f"{default}::text", "boolean": _FLAGS.get(default, default)}.get(kind, default)


def _unique(table: str, columns: list[str]) -> tuple[str, str, str]:
    return "index", table, f"t f t {','.join(columns)}"


def _triggers(raw: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    for name, table in raw.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        made = TRIGGERS[name][-1].split()
        bits = _ROW + (_BEFORE if "BEFORE" in made else 0) + sum(bit for event, bit in _EVENTS.items() if event in made)
        has_condition = "t" if "WHEN" in made else "f"
        yield "trigger", f"{table}.{name}", f"{name} t O {bits} {has_condition} "
    for table, column in _numbered():
        bits = _ROW + _BEFORE + _EVENTS["INSERT"]
        yield "trigger", f"{table}.{table}_number", f"next_number t O {bits} f {column}\\000"


def _numbered() -> Iterator[tuple[str, str]]:
    """Tables whose rows get numbers, and the columns."""
    for statements in migrations.MIGRATIONS.values():
        for statement in statements:
            if (found := NUMBERED.match(statement)) is not None:
                yield found[1], found[2]


def _functions() -> Iterator[tuple[str, str, str]]:
    for statement in (*FUNCTIONS, *(made[0] for made in TRIGGERS.values())):
        found = _BODY.match(statement)
        assert found is not None
        name, language, body = found.groups()
        yield "function", name, f"{language} f f {body}"
