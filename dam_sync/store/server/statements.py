"""Prepared statements on PostgreSQL: the same statements as on SQLite, compiled for its driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql.psycopg import dialect

_DIALECT: Any = dialect()  # type: ignore[no-untyped-call]


class ServerStatement:
    """The text of one statement; see `PreparedStatement`."""

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None) -> None:
        compiled: Any = statement.compile(dialect=_DIALECT, column_keys=None if columns is None else list(columns))
        self._text = str(compiled)

    def execute(self, raw: Any, values: Mapping[str, Any]) -> Any:
        """The cursor of the driver."""
        return raw.execute(self._text, values)

    def run_all(self, raw: Any, rows: Iterable[Mapping[str, Any]]) -> None:
        """Execute it for each of these rows, in one round trip."""
        with raw.cursor() as cursor:
            cursor.executemany(self._text, rows)
