"""Numbered migrations by `user_version`, each in one transaction; the last number is the current version."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dam_sync.model.errors import ConfigError
from dam_sync.store.file.database import raw_of, transaction

if TYPE_CHECKING:
    from sqlalchemy import Connection

APPLICATION_ID = 0x44414D53  # "DAMS": distinguishes our files from other SQLite files

_LABEL = "CASE {row}.state WHEN 'settled' THEN {row}.action ELSE 'open' END"
_OLD, _NEW = _LABEL.format(row="OLD"), _LABEL.format(row="NEW")
_COUNT_NEW = (
    f"INSERT INTO tally (run, label, n) VALUES (NEW.run, {_NEW}, 1) ON CONFLICT (run, label) DO UPDATE SET n = n + 1;"
)

KEPT_ROWS = (
    (
        "ledger_kept",
        "CREATE TRIGGER ledger_kept BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only');"
        " END",
    ),
    (
        "ledger_fixed",
        "CREATE TRIGGER ledger_fixed BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only');"
        " END",
    ),
)
"""Triggers, by name, that keep rows of the ledger as they are; only `Ledger.gc` drops them."""

MIGRATIONS: Mapping[int, Sequence[str]] = {
    1: (
        f"PRAGMA application_id = {APPLICATION_ID}",
        "CREATE TABLE note (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE run (id INTEGER PRIMARY KEY, job TEXT NOT NULL, command TEXT NOT NULL, state TEXT NOT NULL,"
        " started_at TEXT NOT NULL, ended_at TEXT, beat_at TEXT NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL,"
        " pid INTEGER NOT NULL, listed INTEGER NOT NULL DEFAULT 0, unchanged INTEGER NOT NULL DEFAULT 0,"
        " shards_complete BOOLEAN NOT NULL DEFAULT 0, outcome TEXT NOT NULL DEFAULT 'null')",
        "CREATE TABLE shard (seq INTEGER PRIMARY KEY, run INTEGER NOT NULL, id TEXT NOT NULL, params TEXT NOT NULL,"
        " expected INTEGER, cursor TEXT NOT NULL DEFAULT 'null', done BOOLEAN NOT NULL DEFAULT 0, UNIQUE (run, id))",
        "CREATE TABLE work (seq INTEGER PRIMARY KEY, asset TEXT NOT NULL UNIQUE, run INTEGER NOT NULL,"
        " listed_run INTEGER NOT NULL, revision TEXT NOT NULL, changed_at TEXT, deleted BOOLEAN NOT NULL DEFAULT 0,"
        " payload TEXT, state TEXT NOT NULL, due TEXT NOT NULL DEFAULT '', holder TEXT NOT NULL DEFAULT '',"
        " attempt INTEGER NOT NULL DEFAULT 0, again BOOLEAN NOT NULL DEFAULT 0, action TEXT NOT NULL DEFAULT '',"
        " cause TEXT NOT NULL DEFAULT '', operation TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',"
        " hint TEXT NOT NULL DEFAULT '', losses TEXT NOT NULL DEFAULT 'null', evidence TEXT NOT NULL DEFAULT '',"
        " settled_at TEXT)",
        "CREATE INDEX work_open ON work (seq) WHERE state IN ('pending', 'claimed')",
        "CREATE INDEX work_parked ON work (seq) WHERE action = 'parked'",
        "CREATE TABLE link (source TEXT NOT NULL PRIMARY KEY, target TEXT NOT NULL, source_revision TEXT NOT NULL,"
        " source_fingerprint TEXT NOT NULL, draft_fingerprint TEXT NOT NULL, target_revision TEXT NOT NULL,"
        " filename TEXT NOT NULL, evidence TEXT NOT NULL, digests TEXT NOT NULL, size INTEGER, versions TEXT NOT NULL,"
        " draft TEXT NOT NULL, seen_run INTEGER NOT NULL DEFAULT 0)",
        "CREATE INDEX link_target ON link (target)",
        "CREATE TABLE name (folded TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX name_owner ON name (owner)",
        "CREATE TABLE term (vocabulary TEXT NOT NULL, source_key TEXT NOT NULL, target TEXT NOT NULL,"
        " PRIMARY KEY (vocabulary, source_key)) WITHOUT ROWID",
        "CREATE TABLE container (kind TEXT NOT NULL, path TEXT NOT NULL, target TEXT NOT NULL,"
        " PRIMARY KEY (kind, path)) WITHOUT ROWID",
        "CREATE TABLE spot (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, path TEXT NOT NULL, container TEXT NOT NULL,"
        " UNIQUE (kind, path, container))",
        "CREATE TABLE member (asset TEXT NOT NULL, spot INTEGER NOT NULL, PRIMARY KEY (asset, spot)) WITHOUT ROWID",
        "CREATE TABLE placement (spot INTEGER NOT NULL, asset TEXT NOT NULL, adds BOOLEAN NOT NULL,"
        " PRIMARY KEY (spot, asset)) WITHOUT ROWID",
        "CREATE TABLE relation (seq INTEGER PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, other TEXT NOT NULL,"
        " UNIQUE (owner, kind, other))",
        "CREATE TABLE step (scope TEXT NOT NULL, name TEXT NOT NULL, at TEXT NOT NULL, state TEXT NOT NULL,"
        " result TEXT NOT NULL DEFAULT 'null', PRIMARY KEY (scope, name)) WITHOUT ROWID",
        "CREATE TABLE ledger (seq INTEGER PRIMARY KEY, run INTEGER NOT NULL, operation TEXT NOT NULL,"
        " asset TEXT NOT NULL, target TEXT NOT NULL, detail TEXT NOT NULL, at TEXT NOT NULL)",
    ),
    2: (
        "CREATE TABLE tally (run INTEGER NOT NULL, label TEXT NOT NULL, n INTEGER NOT NULL,"
        " PRIMARY KEY (run, label)) WITHOUT ROWID",
        "INSERT INTO tally (run, label, n) SELECT run, CASE state WHEN 'settled' THEN action ELSE 'open' END AS l,"
        " count(*) FROM work GROUP BY run, l",
        f"CREATE TRIGGER work_added AFTER INSERT ON work BEGIN {_COUNT_NEW} END",
        # a row completed by a closed run stays in its count when a later run takes it over
        f"CREATE TRIGGER work_changed AFTER UPDATE OF state, action, run ON work"
        f" WHEN OLD.run <> NEW.run OR {_OLD} <> {_NEW} BEGIN"
        f" UPDATE tally SET n = n - 1 WHERE run = OLD.run AND label = {_OLD}"
        f" AND (OLD.run = NEW.run OR OLD.state <> 'settled'); {_COUNT_NEW} END",
        *(statement for _, statement in KEPT_ROWS),
    ),
    3: (
        "DROP TABLE term",
        "DROP TABLE container",
        "ALTER TABLE link DROP COLUMN target_revision",
        "ALTER TABLE link ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE link ADD COLUMN relations TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE placement ADD COLUMN refused TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE relation ADD COLUMN refused TEXT NOT NULL DEFAULT ''",
    ),
    4: (
        "ALTER TABLE link ADD COLUMN made_at TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX link_unsettled ON link (source, made_at) WHERE made_at <> ''",
        "CREATE TABLE removal (source TEXT NOT NULL PRIMARY KEY, target TEXT NOT NULL, file TEXT NOT NULL,"
        " message TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID",
    ),
    5: ("ALTER TABLE link ADD COLUMN proofs TEXT NOT NULL DEFAULT '{}'",),
    6: (
        "ALTER TABLE ledger ADD COLUMN changes TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE ledger ADD COLUMN calls TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE ledger ADD COLUMN digest TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE ledger ADD COLUMN size INTEGER",
        "ALTER TABLE ledger ADD COLUMN version TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE ledger ADD COLUMN seconds REAL",
    ),
    7: ("ALTER TABLE work ADD COLUMN named TEXT NOT NULL DEFAULT '{}'",),
    8: ("ALTER TABLE work ADD COLUMN passing INTEGER NOT NULL DEFAULT 0",),
    9: (
        "CREATE INDEX work_deleted ON work (asset) WHERE deleted = 1",
        "CREATE TABLE deletion (source TEXT NOT NULL PRIMARY KEY, reason TEXT NOT NULL, since TEXT NOT NULL,"
        " listings INTEGER NOT NULL, run INTEGER NOT NULL, scope TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE trashed (source TEXT NOT NULL PRIMARY KEY, target TEXT NOT NULL, run INTEGER NOT NULL,"
        " at TEXT NOT NULL, link TEXT NOT NULL, retried BOOLEAN NOT NULL DEFAULT 0) WITHOUT ROWID",
        "CREATE INDEX trashed_target ON trashed (target)",
        "CREATE TABLE hint (delivery TEXT NOT NULL PRIMARY KEY, asset TEXT NOT NULL, at TEXT NOT NULL,"
        " state TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX hint_open ON hint (asset) WHERE state IN ('waiting', 'taken')",
        "CREATE INDEX hint_at ON hint (at)",
        "ALTER TABLE link ADD COLUMN kept TEXT NOT NULL DEFAULT '{}'",
        "CREATE TABLE conflict (asset TEXT NOT NULL, path TEXT NOT NULL, written TEXT NOT NULL, source TEXT NOT NULL,"
        " target TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL DEFAULT '', decision TEXT NOT NULL DEFAULT '',"
        " filename TEXT NOT NULL DEFAULT '', PRIMARY KEY (asset, path)) WITHOUT ROWID",
        "ALTER TABLE relation ADD COLUMN adds BOOLEAN NOT NULL DEFAULT 1",
        "ALTER TABLE link ADD COLUMN attached TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE member ADD COLUMN first_read INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE member ADD COLUMN last_read INTEGER NOT NULL DEFAULT 0",
    ),
    10: (
        "CREATE TABLE report (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL,"
        " version TEXT NOT NULL, result TEXT NOT NULL, body BLOB NOT NULL)",
        "CREATE INDEX report_run ON report (run)",
    ),
    11: (
        "ALTER TABLE work ADD COLUMN account TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE work ADD COLUMN digest TEXT NOT NULL DEFAULT ''",
        "CREATE TABLE account_key (id INTEGER PRIMARY KEY, path TEXT NOT NULL, outcome TEXT NOT NULL,"
        " rule TEXT NOT NULL, UNIQUE (path, outcome, rule))",
    ),
    12: (
        "CREATE TABLE correction (asset TEXT NOT NULL, path TEXT NOT NULL, failed TEXT NOT NULL, rule TEXT NOT NULL,"
        " corrected TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (asset, path, failed)) WITHOUT ROWID",
    ),
    13: (
        "CREATE TABLE planned (kind TEXT NOT NULL, name TEXT NOT NULL, revision TEXT NOT NULL, action TEXT NOT NULL,"
        " digest TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID",
    ),
    14: (
        "CREATE TABLE counterpart (part TEXT NOT NULL, scope TEXT NOT NULL, source TEXT NOT NULL,"
        " origin TEXT NOT NULL, place TEXT NOT NULL, target TEXT NOT NULL, wanted TEXT NOT NULL, name TEXT NOT NULL,"
        " former TEXT NOT NULL DEFAULT '[]', mapping TEXT NOT NULL DEFAULT '', run INTEGER NOT NULL DEFAULT 0,"
        " PRIMARY KEY (part, scope, source)) WITHOUT ROWID",
    ),
    15: (
        "CREATE TABLE seen (source TEXT NOT NULL PRIMARY KEY, run INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID",
        "INSERT INTO seen (source, run) SELECT source, seen_run FROM link ORDER BY source",
        "ALTER TABLE link DROP COLUMN seen_run",
        "CREATE TRIGGER link_added AFTER INSERT ON link BEGIN"
        " INSERT INTO seen (source) VALUES (NEW.source) ON CONFLICT DO NOTHING; END",
        "CREATE TRIGGER link_dropped AFTER DELETE ON link BEGIN DELETE FROM seen WHERE source = OLD.source; END",
    ),
    16: ("CREATE INDEX ledger_written ON ledger (run, operation)",),
    17: (
        "ALTER TABLE seen ADD COLUMN revision TEXT NOT NULL DEFAULT ''",
        "UPDATE seen SET revision = coalesce((SELECT source_revision FROM link WHERE link.source = seen.source), '')",
        "DROP TRIGGER link_added",
        "CREATE TRIGGER link_added AFTER INSERT ON link BEGIN"
        " INSERT INTO seen (source, revision) VALUES (NEW.source, NEW.source_revision)"
        " ON CONFLICT (source) DO UPDATE SET revision = excluded.revision; END",
        "CREATE TRIGGER link_revised AFTER UPDATE OF source_revision ON link"
        " WHEN OLD.source_revision <> NEW.source_revision BEGIN"
        " UPDATE seen SET revision = NEW.source_revision WHERE source = NEW.source; END",
    ),
    18: (
        "CREATE TABLE wave (asset TEXT NOT NULL PRIMARY KEY, wave TEXT NOT NULL, revision TEXT NOT NULL,"
        " due BOOLEAN NOT NULL DEFAULT 0) WITHOUT ROWID",
        "CREATE INDEX wave_due ON wave (asset) WHERE due = 1",
    ),
    19: ("CREATE INDEX work_run ON work (run, seq)",),  # what a run reports costs what it did, not what exists
}
VERSION = max(MIGRATIONS)
_STATISTICS = frozenset({("table", "sqlite_stat1"), ("table", "sqlite_stat4")})  # made by ANALYZE
_RULES = re.compile(r"\b(?:CHECK|COLLATE|CONFLICT|GENERATED|REFERENCES)\b", re.IGNORECASE)
_TOLD = 5  # names of unknown objects shown in an error


def version_of(connection: Connection | sqlite3.Connection) -> int:
    """The version of a file; 0 for an empty one."""
    return int(raw_of(connection).execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: Connection | sqlite3.Connection, upto: int = VERSION) -> list[int]:
    """Bring a file from its version to `upto`, one transaction per step; returns the steps taken.

    Safe to repeat, even by two processes at once: each step checks the version again once it holds the file.
    """
    raw, taken = raw_of(connection), []
    for number in range(version_of(raw) + 1, upto + 1):
        with transaction(raw):
            if version_of(raw) >= number:
                continue
            for statement in MIGRATIONS[number]:
                raw.execute(statement)
            raw.execute(f"PRAGMA user_version = {number}")
        taken.append(number)
    return taken


def checked_version(connection: Connection | sqlite3.Connection, path: Path) -> int:
    """The version of a state, read in one transaction. Raises ConfigError for a newer one and for another file."""
    raw = raw_of(connection)
    version = version_of(raw)
    ours = raw.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    empty = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not ours and not empty:
        hint = "correct `state:` in the job file; this file belongs to another program"
        raise ConfigError(f"{path} is not a state of dam-sync", hint=hint)
    if version > VERSION:
        hint = f"install the newer dam-sync; this one writes version {VERSION}"
        raise ConfigError(f"the state {path} was made by a newer dam-sync (version {version})", hint=hint)
    if strange := _strange_objects(raw) if ours and version > 0 else ():
        hint = "restore it with `state JOB import FILE` from an export; this file was changed by another program"
        raise ConfigError(f"the state {path} has unexpected contents: {', '.join(strange)}", hint=hint)
    return version


def _strange_objects(raw: sqlite3.Connection) -> list[str]:
    """Objects in a state that no migration created, or not like this: such a table may be an endless view, such a
    trigger may write anything."""
    found, made = _objects(raw), _made_by(version_of(raw))
    return sorted({name for _, name, *_ in found ^ made})[:_TOLD]


_Object: TypeAlias = tuple[str, str, str, str]


@lru_cache
def _made_by(version: int) -> frozenset[_Object]:
    """The objects of a new file at this version."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as raw:
        migrate(raw, version)
        return _objects(raw)


def _objects(raw: sqlite3.Connection) -> frozenset[_Object]:
    """Kind, name, table and definition of each: columns and rules of a table, columns of an index, text of a
    trigger."""
    rows = raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    own = [row for row in rows if (row[0], row[1]) not in _STATISTICS]
    return frozenset(
        (kind, name, table, _substance(raw, kind, name, table, sql or "")) for kind, name, table, sql in own
    )


def _substance(raw: sqlite3.Connection, kind: str, name: str, table: str, sql: str) -> str:
    match kind:
        case "table":
            described = 'SELECT name, type, "notnull", pk, dflt_value, hidden FROM pragma_table_xinfo(?)'
            columns = raw.execute(described, (name,)).fetchall()
            return f"{columns} {sorted(rule.upper() for rule in _RULES.findall(sql))}"
        case "index":
            known = 'SELECT "unique", partial FROM pragma_index_list(?) WHERE name = ?'
            columns = raw.execute("SELECT cid, name, desc, coll, key FROM pragma_index_xinfo(?)", (name,)).fetchall()
            return f"{raw.execute(known, (table, name)).fetchall()} {columns}"
        case "trigger":
            return " ".join(sql.replace('"', "").split())
    return ""
