"""Whether a state file has values that dam-sync never stores. They are not looked for before they are read, because a
state may have millions of rows, but once an error says that something is wrong, and before an import."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary

from dam_sync.model.errors import ConfigError
from dam_sync.model.values import Json
from dam_sync.store.base import from_text
from dam_sync.store.file.database import read_connection, translate_errors
from dam_sync.store.tables import TABLES, instant

_STORED = {Integer: "'integer'", Boolean: "'integer'", LargeBinary: "'blob'", Float: "'real', 'integer'"}
_HINT = "restore it with `state JOB import FILE` from an export; without one, rebuild the links with `adopt`"


def refuse_damaged(path: Path, named: Path) -> None:
    """Raises ConfigError for a file that SQLite finds damaged. Reads all of it. named: the file as people know it."""
    with translate_errors(named), closing(read_connection(path)) as raw:
        found = str(raw.execute("PRAGMA integrity_check(1)").fetchone()[0])
    if found != "ok":
        raise ConfigError(f"the state {named} is damaged ({found})", hint=_HINT)


def refuse_strange_values(path: Path, named: Path) -> None:
    """Raises ConfigError for a file with values that dam-sync never stores. named: see `refuse_damaged`."""
    if where := strange_value(path):
        raise ConfigError(f"the state {named} has values in {where} that dam-sync did not store", hint=_HINT)


def strange_value(path: Path) -> str:
    """Table and column of a value that dam-sync never stores; empty if there is none, or the file cannot be read."""
    try:
        with closing(read_connection(path)) as raw:
            return next(_strange(raw), "")
    except (sqlite3.Error, OSError):
        return ""


def _strange(raw: sqlite3.Connection) -> Iterator[str]:
    for key, shape in _SHAPES.items():
        raw.create_function(_name(key), 1, shape, deterministic=True)
    for table in TABLES:
        for column in table.columns:
            chosen = f'SELECT 1 FROM "{table.name}" WHERE NOT ({_test(column)}) LIMIT 1'
            if raw.execute(chosen).fetchone():
                yield f"{table.name}.{column.name}"


def _test(column: Column[Any]) -> str:
    """What holds for each value of a column, in SQL."""
    name, key = f'"{column.name}"', f"{column.table.name}.{column.name}"
    kinds = next((kinds for kind, kinds in _STORED.items() if isinstance(column.type, kind)), "'text'")
    test = f"typeof({name}) IN ({kinds})"
    if key in _SHAPES:
        test += f" AND {_name(key)}({name})"
    return f"{name} IS NULL OR {test}" if column.nullable else test


def _name(key: str) -> str:
    return "fits_" + key.replace(".", "_")


def _json(fits: Callable[[Json], bool]) -> Callable[[str], bool]:
    """For a column that holds JSON of this shape."""

    def test(text: str) -> bool:
        try:
            return fits(from_text(text))
        except (ValueError, RecursionError):
            return False

    return test


def _time(text: str) -> bool:
    try:
        return instant(text).tzinfo is not None
    except ValueError:
        return False


def _time_or_none(text: str) -> bool:
    return not text or _time(text)


def _texts(data: Json) -> bool:
    return isinstance(data, list) and all(isinstance(each, str) for each in data)


def _pairs(data: Json) -> bool:
    return isinstance(data, list) and all(_texts(each) and len(each) == 2 for each in data)


def _numbers(data: Json) -> bool:
    """Of keys and how often each was counted."""
    return isinstance(data, list) and len(data) % 2 == 0 and all(isinstance(each, int) for each in data)


_ANY = _json(lambda data: True)
_OBJECT = _json(lambda data: isinstance(data, dict))
_OBJECT_OR_NULL = _json(lambda data: data is None or isinstance(data, dict))
_LIST_OR_NULL = _json(lambda data: data is None or isinstance(data, list))
_TEXTS, _TEXTS_OR_NULL = _json(_texts), _json(lambda data: data is None or _texts(data))

_SHAPES: Mapping[str, Callable[[str], bool]] = {
    **dict.fromkeys(
        ("note.value", "run.outcome", "shard.params", "shard.cursor", "step.result", "ledger.detail"), _ANY
    ),
    **dict.fromkeys(("conflict.written", "conflict.source", "conflict.target"), _ANY),
    **dict.fromkeys(("work.payload", "work.named", "ledger.changes", "ledger.calls", "trashed.link"), _OBJECT),
    **dict.fromkeys(("link.digests", "link.proofs", "link.kept", "link.attached"), _OBJECT),
    "link.draft": _OBJECT_OR_NULL,
    "work.losses": _LIST_OR_NULL,
    **dict.fromkeys(("link.versions", "link.attachments", "spot.path"), _TEXTS),
    **dict.fromkeys((f"counterpart.{name}" for name in ("origin", "wanted", "name", "former")), _TEXTS),
    "correction.corrected": _TEXTS_OR_NULL,
    "link.relations": _json(_pairs),
    "work.account": _json(_numbers),
    **dict.fromkeys(("run.started_at", "run.ended_at", "run.beat_at", "deletion.since"), _time),
    **dict.fromkeys((f"{name}.at" for name in ("removal", "trashed", "step", "ledger", "hint", "report")), _time),
    "correction.at": _time,
    "link.made_at": _time_or_none,
}
