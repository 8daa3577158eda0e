"""How many rows the tables have whose rows nothing but a run adds or removes: noted when a run ends, compared when the
next one begins. Where they differ, something else wrote to the state, and assets without links would be created again.

The numbers are of a state at rest: a run forgets them when it begins, and one that was killed leaves none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import Connection, Table, delete, func, select

from dam_sync.model.values import Json
from dam_sync.store.base import Repository, from_text
from dam_sync.store.note_keys import CHANGED_ROWS, ROW_COUNTS
from dam_sync.store.notes import put_note
from dam_sync.store.tables import (
    CONTAINER,
    COUNTERPART,
    DELETION,
    JOURNAL,
    LEDGER,
    LINK,
    META,
    NAME,
    PLACEMENT,
    RELATION,
    RUN,
    TRASHED,
    WORK,
)

T = TypeVar("T")
GROWING = frozenset({LEDGER.name})  # commands between runs add rows, such as corrections: only a loss counts
COUNTED = (LINK, WORK, JOURNAL, TRASHED, DELETION, COUNTERPART, NAME, CONTAINER, PLACEMENT, RELATION, LEDGER)


class RowCountRepository(Repository):
    """What the numbers of rows say about the state."""

    async def changed_rows(self) -> dict[str, tuple[int, int]]:
        """By table, how many rows the last run left and how many are there, where they differ and nobody accepted
        it."""
        return await self._read(lambda c: {**_differing(c), **_noted_changes(c)})

    async def accept_rows(self) -> None:
        """The rows are taken as they are."""
        await self._write(lambda c: c.execute(delete(META).where(META.c.key == CHANGED_ROWS)) and None)


def keep_row_counts(c: Connection) -> None:
    """The state is at rest now."""
    put_note(c, ROW_COUNTS, {"run": _last_run(c), "rows": {table.name: _rows(c, table) for table in COUNTED}})


def recount_rows(c: Connection, change: Callable[[], T]) -> T:
    """Run a change that one of our own commands makes to a state at rest. What differed before still does."""
    sound = _noted(c, ROW_COUNTS) is not None and not _differing(c)
    done = change()
    if sound:
        keep_row_counts(c)
    return done


def compare_row_counts(c: Connection) -> None:
    """Note what differs, until somebody accepts it: the numbers are of no use once a run has begun."""
    if found := _differing(c):
        put_note(c, CHANGED_ROWS, {**found, **_noted_changes(c)})
    c.execute(delete(META).where(META.c.key == ROW_COUNTS))


def _differing(c: Connection) -> dict[str, tuple[int, int]]:
    kept = _noted(c, ROW_COUNTS)
    if kept is None or _is_outdated(kept["run"], _last_run(c)):
        return {}
    return dict(_compared(c, kept["rows"]))


def _compared(c: Connection, kept: dict[str, int]) -> Iterator[tuple[str, tuple[int, int]]]:
    for table in COUNTED:
        if (rows := kept.get(table.name)) is None:
            continue
        found = _rows(c, table)
        if found < rows or (found > rows and table.name not in GROWING):
            yield table.name, (rows, found)


def _is_outdated(kept: list[Json], last: list[Json]) -> bool:
    """Whether an earlier version of this program, which does not know the numbers, ran since."""
    return last[0] > kept[0] or (last[0] == kept[0] and last != kept)


def _last_run(c: Connection) -> list[Json]:
    row = c.execute(select(RUN.c.id, RUN.c.started_at, RUN.c.ended_at).order_by(RUN.c.id.desc()).limit(1)).first()
    return [0, "", ""] if row is None else list(row)


def _noted_changes(c: Connection) -> dict[str, tuple[int, int]]:
    return {table: (before, now) for table, (before, now) in (_noted(c, CHANGED_ROWS) or {}).items()}


def _noted(c: Connection, key: str) -> Json:
    found = c.execute(select(META.c.value).where(META.c.key == key)).scalar()
    return None if found is None else from_text(found)


def _rows(c: Connection, table: Table) -> int:
    return int(c.execute(select(func.count()).select_from(table)).scalar_one())
