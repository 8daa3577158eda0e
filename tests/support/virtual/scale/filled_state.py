"""Rows of the state as the operations of a run leave them, inserted without these: for states so large that making each
row by its operation takes hours. What is measured is measured with the operations, on a state that was filled."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dam_sync.model.state_server import StateServer
from tests.support.virtual.scale.generated_source import FOLDER, TAGGED
from tests.support.virtual.scale.renumbered import Numbered

OWNERS: Final = {"work": "asset", "link": "source", "name": "owner", "ledger": "asset"}
"""Tables with rows of assets, and the column that says whose; `seen` and `tally` are kept by triggers."""
PIECE: Final = 5_000  # assets in one transaction
APART: Final = "\x1f"
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A row of one asset, for any: its texts in one piece, and its other values."""

    table: str
    columns: tuple[str, ...]
    texts: Callable[[int], str]
    places: tuple[int, ...]  # of the texts
    values: Row

    def row(self, number: int) -> Row:
        """Of the asset of this number."""
        values = list(self.values)
        for place, text in zip(self.places, self.texts(number).split(APART), strict=True):
            values[place] = text
        if self.table == "work":
            values[self.columns.index("seq")] = number
        return tuple(values)


class Filler:
    """Adds assets to a state, as those of ten that are in it already."""

    def __init__(self, place: Path | StateServer, first: int, run: int) -> None:
        """first: the number of the first of these ten; run: that listed and wrote them."""
        self._first, self._run = first, run
        self._tables = FileTables(place) if isinstance(place, Path) else ServerTables(place)
        with self._tables.connected():
            self._spot = self._tables.rows("spot", "id", str((first - 1) // FOLDER + 1))[0]
            self._patterns = [self._of(number) for number in range(first, first + TAGGED)]

    def fill(self, first: int, last: int) -> None:
        """With the assets of these numbers, listed and written, whose memberships are not written yet."""
        with self._tables.connected():
            self._tables.insert(("spot", tuple(self._spot)), self._spots(first, last))
            for begin in range(first, last + 1, PIECE):
                self._piece(range(begin, min(last + 1, begin + PIECE)))

    def _piece(self, numbers: Sequence[int]) -> None:
        rows: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
        for number in numbers:
            for pattern in self._patterns[(number - self._first) % TAGGED]:
                rows.setdefault((pattern.table, pattern.columns), []).append(pattern.row(number))
        target = next(columns.index("target") for table, columns in rows if table == "link")
        links = next(found for (table, _), found in rows.items() if table == "link")
        placed = [
            ((number - 1) // FOLDER + 1, link[target], True, "") for number, link in zip(numbers, links, strict=True)
        ]
        rows["placement", ("spot", "asset", "adds", "refused")] = placed
        for into, found in rows.items():
            self._tables.insert(into, found)
        self._tables.change("UPDATE seen SET run = {} WHERE source = {}", ((self._run, str(n)) for n in numbers))

    def _spots(self, first: int, last: int) -> Iterator[Row]:
        values = self._spot
        group = int(values["id"]) - 1
        for k in range((first + FOLDER - 2) // FOLDER, (last - 1) // FOLDER + 1):
            yield k + 1, values["kind"], values["path"].replace(str(group), str(k)), f"{k:08x}{values['container'][8:]}"

    def _of(self, number: int) -> list[Pattern]:
        group = (number - 1) // FOLDER
        container = self._spot["container"]
        named = {f"Folder {group}": lambda k: f"Folder {k}", container: lambda k: f"{k:08x}{container[8:]}"}
        numbered = Numbered(number, named, FOLDER)
        found = []
        for table, owner in OWNERS.items():
            for row in self._tables.rows(table, owner, str(number)):
                kept = {name: value for name, value in row.items() if (table, name) != ("ledger", "seq")}
                found.append(_pattern(table, kept, numbered))
        return found


def _pattern(table: str, row: dict[str, Any], numbered: Numbered) -> Pattern:
    places = tuple(place for place, value in enumerate(row.values()) if isinstance(value, str))
    values = tuple(row.values())
    texts = numbered.maker(APART.join(values[place] for place in places))
    assert texts is not None
    return Pattern(table, tuple(row), texts, places, values)


class FileTables:
    """Of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw: sqlite3.Connection

    @contextmanager
    def connected(self) -> Iterator[None]:
        """One connection."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as self._raw:
            self._raw.row_factory = sqlite3.Row
            self._raw.execute("PRAGMA synchronous = OFF")
            yield

    def rows(self, table: str, column: str, value: str) -> list[dict[str, Any]]:
        """Of a table, by the value of a column."""
        return [
            dict(row) for row in self._raw.execute(f"SELECT * FROM {table} WHERE {column} = ? ORDER BY 1", (value,))
        ]

    def insert(self, into: tuple[str, tuple[str, ...]], rows: Iterable[Row]) -> None:
        """Add rows to a table."""
        table, columns = into
        self._raw.execute("BEGIN")
        marks = ", ".join("?" * len(columns))
        self._raw.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
        self._raw.execute("COMMIT")

    def change(self, statement: str, rows: Iterable[Row]) -> None:
        """Execute a statement for each of these; `{}` stands for a value."""
        self._raw.execute("BEGIN")
        self._raw.executemany(statement.replace("{}", "?"), rows)
        self._raw.execute("COMMIT")


class ServerTables:
    """Of a schema of a server."""

    def __init__(self, server: StateServer) -> None:
        self._server = server
        self._raw: Any

    @contextmanager
    def connected(self) -> Iterator[None]:
        """One connection."""
        import psycopg

        server = self._server
        with psycopg.connect(host=server.host, dbname=server.database, user=server.user, autocommit=True) as self._raw:
            self._raw.execute(f'SET search_path TO "{server.schema}", pg_catalog')
            yield

    def rows(self, table: str, column: str, value: str) -> list[dict[str, Any]]:
        """Of a table, by the value of a column."""
        from psycopg.rows import dict_row

        with self._raw.cursor(row_factory=dict_row) as cursor:
            chosen = f"SELECT * FROM {table} WHERE {column}::text = %s ORDER BY 1"
            return list(cursor.execute(chosen.encode(), (value,)))

    def insert(self, into: tuple[str, tuple[str, ...]], rows: Iterable[Row]) -> None:
        """Add rows to a table."""
        table, columns = into
        with (
            self._raw.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()) as to,
        ):
            for row in rows:
                to.write_row(row)
        if "id" in columns:
            self._raw.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}".encode())

    def change(self, statement: str, rows: Iterable[Row]) -> None:
        """Execute a statement for each of these; `{}` stands for a value."""
        with self._raw.transaction(), self._raw.cursor() as cursor:
            cursor.executemany(statement.replace("{}", "%s").encode(), rows)
