"""One note of the state, written within a transaction of the caller."""

from __future__ import annotations

from sqlalchemy import Connection

from dam_sync.model.values import Json
from dam_sync.store.base import to_text
from dam_sync.store.note_keys import IMPORTED
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import META
from dam_sync.store.upsert import upsert

_NEW = upsert(META)
_PUT = PreparedStatement(
    _NEW.on_conflict_do_update(index_elements=["key"], set_={"value": _NEW.excluded.value}), ("key", "value")
)


def put_note(connection: Connection, key: str, value: Json) -> None:
    """Store it, replacing the previous value."""
    _PUT.run(connection, key=key, value=to_text(value))


def note_import(connection: Connection) -> None:
    """The state, or a copy of it, may be older than the last write: the next run looks for what it does not know."""
    put_note(connection, IMPORTED, True)
