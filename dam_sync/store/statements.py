"""Statements executed for every asset: compiled once, then passed to the driver as text.

Compiling a statement each time takes many times longer than executing it.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import ClauseElement, Connection, bindparam, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import Select

from dam_sync.store.sqlite import raw_of

_DIALECT = sqlite.dialect(paramstyle="named")


class PreparedStatement:
    """One statement; its `bindparam`s are passed by name each time.

    columns: of an insert without values, those of each row. Values are passed to the driver unchanged: text, numbers,
    flags, bytes and None. Raises what the driver raises.
    """

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        keys = None if columns is None else list(columns)
        compiled = cast("SQLCompiler", statement.compile(dialect=_DIALECT, column_keys=keys))
        self.text = str(compiled)
        self._own: dict[str, Any] = {
            name: bind.value for name, bind in compiled.binds.items() if not bind.required and name in compiled.params
        }
        self._own |= {column.key: cast("Any", column.default).arg for column in compiled.insert_prefetch}
        self._row: Callable[[Iterable[Any]], Any] | None = None

    def run(self, c: Connection, **values: Any) -> int:
        """Execute it; returns the number of changed rows."""
        return raw_of(c).execute(self.text, {**self._own, **values}).rowcount

    def run_all(self, c: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute it for each of these rows, possibly none."""
        raw_of(c).executemany(self.text, ({**self._own, **row} for row in rows))

    def all(self, c: Connection, **values: Any) -> list[Any]:
        """Rows, with their columns as attributes."""
        found = raw_of(c).execute(self.text, {**self._own, **values})
        return list(map(self._row or self._shaped(found), found))

    def tuples(self, c: Connection, **values: Any) -> list[tuple[Any, ...]]:
        """Rows as plain tuples: a third of the time of `all` where a page has many."""
        return raw_of(c).execute(self.text, {**self._own, **values}).fetchall()

    def first(self, c: Connection, **values: Any) -> Any:
        """The first row or None."""
        found = raw_of(c).execute(self.text, {**self._own, **values})
        row = found.fetchone()
        return None if row is None else (self._row or self._shaped(found))(row)

    def value(self, c: Connection, **values: Any) -> Any:
        """The first column of the first row; None if there is no row."""
        row = raw_of(c).execute(self.text, {**self._own, **values}).fetchone()
        return None if row is None else row[0]

    def _shaped(self, found: sqlite3.Cursor) -> Callable[[Iterable[Any]], Any]:
        names = [column[0] for column in found.description]
        shape: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
        self._row = make = cast("Callable[[Iterable[Any]], Any]", shape._make)
        return make


def listed_statement(name: str) -> Select[Any]:
    """For `column.in_(…)`: the members of a JSON list passed by that name, so that one statement fits any number."""
    return select(func.json_each(bindparam(name)).table_valued("value").c.value)
