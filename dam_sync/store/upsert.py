"""Inserts that replace or keep an existing row, in the form that SQLite and PostgreSQL share."""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import Table
from sqlalchemy.dialects.sqlite import Insert


class Upsert(Insert):
    """An insert of SQLite whose conflict clause the compiler of PostgreSQL takes too; the dialect of PostgreSQL is
    loaded only for a state that is there."""

    inherit_cache = True

    def on_conflict_do_update(self, *args: Any, **given: Any) -> Self:
        """See SQLAlchemy."""
        return self._shared(super().on_conflict_do_update(*args, **given))

    def on_conflict_do_nothing(self, *args: Any, **given: Any) -> Self:
        """See SQLAlchemy."""
        return self._shared(super().on_conflict_do_nothing(*args, **given))

    def _shared(self, made: Self) -> Self:
        clause: Any = made._post_values_clause
        clause.constraint_target = None  # PostgreSQL could name a constraint in place of columns
        return made


def upsert(table: Table) -> Upsert:
    """An insert into a table, to be completed by `on_conflict_do_update` or `on_conflict_do_nothing`."""
    return Upsert(table)
