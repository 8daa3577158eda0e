"""Copies all rows of a state into another database, and proves that both have the same."""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select
from sqlmodel import SQLModel

from dam_sync.model.errors import IntegrityError

ROWS = 1_000  # in one statement
WHOLE = 1 << 128


def copy_rows(source: Connection, target: Connection) -> None:
    """Replace all rows of the target, within transactions of both. Raises IntegrityError if they differ afterwards."""
    for table in SQLModel.metadata.sorted_tables:
        target.execute(delete(table))
        for rows in _pages(source, table):
            target.execute(insert(table).inline(), [dict(row) for row in rows])
        there, here = digest_of(source, table), digest_of(target, table)
        if there != here:
            raise IntegrityError(
                f"the copy of the table {table.name} differs: {there[0]:,} rows were read, and {here[0]:,} are there",
                hint="repeat the command; if it happens again, report it",
            )


def digest_of(connection: Connection, table: Table) -> tuple[int, str]:
    """The number of rows and a digest of their values, whatever their order."""
    number, total = 0, 0
    for rows in _pages(connection, table):
        for row in rows:
            number += 1
            total += int.from_bytes(hashlib.sha256(repr(tuple(row.values())).encode("utf-8")).digest()[:16], "big")
    return number, f"{total % WHOLE:032x}"


def _pages(connection: Connection, table: Table) -> Any:
    streamed = connection.execute(select(table), execution_options={"yield_per": ROWS})
    return streamed.mappings().partitions()
