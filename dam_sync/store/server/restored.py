"""Whether the state on a server was restored from a backup, which may be older than the last write.

What restores a schema or a database makes its tables again, and the server gives them new numbers: each state keeps the
numbers of its own database and of a table that no migration makes again. Where they differ, the state is treated as
one that was imported: the next run looks for what it does not know before it writes.
"""

from __future__ import annotations

from sqlalchemy import Connection

from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Json
from dam_sync.store.base import from_text
from dam_sync.store.note_keys import PLACE
from dam_sync.store.notes import note_import, put_note
from dam_sync.store.server.database import raw_of, writing
from dam_sync.store.server.schema import VERSION_TABLE
from dam_sync.store.tables import META

_NUMBERS = "SELECT oid || '/' || %s::regclass::oid FROM pg_database WHERE datname = current_database()"


def note_place(connection: Connection, server: StateServer) -> None:
    """Notice a restore before anything is written. Safe to repeat."""
    if _noted(connection, server) == _place(connection, server):
        return
    with writing(connection, server):
        if is_restored(connection, server):
            note_import(connection)
        put_note(connection, PLACE, _place(connection, server))


def is_restored(connection: Connection, server: StateServer) -> bool:
    """Whether the state was restored since it was last opened to be written."""
    noted = _noted(connection, server)
    return noted is not None and noted != _place(connection, server)


def _place(connection: Connection, server: StateServer) -> str:
    row = raw_of(connection).execute(_NUMBERS, (f'"{server.schema}".{VERSION_TABLE}',)).fetchone()
    return "" if row is None else str(row[0])


def _noted(connection: Connection, server: StateServer) -> Json:
    chosen = f'SELECT value FROM "{server.schema}".{META.name} WHERE key = %s'
    row = raw_of(connection).execute(chosen.encode(), (PLACE,)).fetchone()
    return None if row is None else from_text(str(row[0]))
