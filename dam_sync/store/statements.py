"""Statements executed for every asset: compiled once, then passed to the driver as text.

Compiling a statement each time takes many times longer than executing it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import ClauseElement, Connection, bindparam, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import Select

if TYPE_CHECKING:
    from dam_sync.store.server.statements import ServerStatement

_DIALECT = sqlite.dialect(paramstyle="named")
_LIST = re.compile(r"SELECT (anon_\d+)\.value \nFROM json_each\(:(\w+)\)")  # see `listed_statement`
_NUL_IN_JSON = "\\u0000"


class PreparedStatement:
    """One statement; its `bindparam`s are passed by name each time.

    columns: of an insert without values, those of each row. Values are passed to the driver unchanged: text, numbers,
    flags, bytes and None. Raises what the driver raises.
    """

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement, self._keys = statement, None if columns is None else list(columns)
        compiled = cast("SQLCompiler", statement.compile(dialect=_DIALECT, column_keys=self._keys))
        self.text = str(compiled)
        self._lists = [name for _, name in _LIST.findall(self.text)]
        self._own: dict[str, Any] = {
            name: bind.value for name, bind in compiled.binds.items() if not bind.required and name in compiled.params
        }
        self._own |= {column.key: cast("Any", column.default).arg for column in compiled.insert_prefetch}
        self._row: Callable[[Iterable[Any]], Any] | None = None

    def run(self, c: Connection, **values: Any) -> int:
        """Execute it; returns the number of changed rows."""
        return int(self._executed(c, values).rowcount)

    def run_all(self, c: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute it for each of these rows, possibly none."""
        raw, whole = c.connection.dbapi_connection, ({**self._own, **row} for row in rows)
        if isinstance(raw, sqlite3.Connection):
            raw.executemany(self.text, whole)
        else:
            self._on_server.run_all(raw, whole)

    def all(self, c: Connection, **values: Any) -> list[Any]:
        """Rows, with their columns as attributes."""
        found = self._executed(c, values)
        return list(map(self._row or self._shaped(found), found))

    def tuples(self, c: Connection, **values: Any) -> list[tuple[Any, ...]]:
        """Rows as plain tuples: a third of the time of `all` where a page has many."""
        return list(self._executed(c, values).fetchall())

    def each(self, c: Connection, **values: Any) -> Iterator[Any]:
        """Rows as plain tuples, one after another."""
        yield from self._executed(c, values)

    def first(self, c: Connection, **values: Any) -> Any:
        """The first row or None."""
        found = self._executed(c, values)
        row = found.fetchone()
        return None if row is None else (self._row or self._shaped(found))(row)

    def value(self, c: Connection, **values: Any) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self._executed(c, values).fetchone()
        return None if row is None else row[0]

    def _executed(self, c: Connection, values: Mapping[str, Any]) -> Any:
        """The cursor of the driver."""
        raw = c.connection.dbapi_connection
        if isinstance(raw, sqlite3.Connection):
            given = {**self._own, **values}
            if any(_NUL_IN_JSON in given[name] for name in self._lists):
                return raw.execute(*self._with_nul(given))
            return raw.execute(self.text, given)
        return self._on_server.execute(raw, {**self._own, **values})

    def _with_nul(self, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The statement and its values for lists with NUL, before which SQLite ends the text of a member: another
        character, which none of them has, is in its place until the list is taken apart."""
        lists = {name: json.loads(given[name]) for name in self._lists}
        used = set().union(*(member for members in lists.values() for member in members))
        kept = next(character for character in map(chr, range(0xE000, 0x10FFFF)) if character not in used)
        texts = {name: json.dumps([each.replace("\0", kept) for each in members]) for name, members in lists.items()}
        text = _LIST.sub(r"SELECT replace(\1.value, :kept_for_nul, char(0)) \nFROM json_each(:\2)", self.text)
        return text, {**given, **texts, "kept_for_nul": kept}

    @cached_property
    def _on_server(self) -> ServerStatement:
        from dam_sync.store.server.statements import ServerStatement  # loads the dialect of PostgreSQL

        return ServerStatement(self._statement, self._keys)

    def _shaped(self, found: Any) -> Callable[[Iterable[Any]], Any]:
        names = [column[0] for column in found.description]
        shape: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
        self._row = make = cast("Callable[[Iterable[Any]], Any]", shape._make)
        return make


def listed_statement(name: str) -> Select[Any]:
    """For `column.in_(…)`: the members of a JSON list passed by that name, so that one statement fits any number."""
    return select(func.json_each(bindparam(name)).table_valued("value").c.value)
