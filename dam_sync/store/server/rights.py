"""The rights that a user needs on the schemas of a database, and the statements that grant those which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql
from sqlalchemy import Connection

from dam_sync.model.errors import ConfigError
from dam_sync.model.state_server import StateServer
from dam_sync.model.wording import such_as
from dam_sync.store.server.database import raw_of

READING, WRITING = ("SELECT",), ("SELECT", "INSERT", "UPDATE", "DELETE")
SHOWN = 3  # tables named
_SCHEMA = "SELECT oid FROM pg_namespace WHERE nspname = %s"
_LACKING = (
    "SELECT c.relname, array_agg(r.name ORDER BY r.nr) FROM pg_class c, unnest(%s::text[]) WITH ORDINALITY r (name, nr)"
    " WHERE c.relnamespace = %s AND c.relkind = 'r' AND NOT has_table_privilege(c.oid, r.name)"
    " GROUP BY c.relname ORDER BY c.relname"
)
_IS_EMPTY = "SELECT NOT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = %s AND relkind = 'r')"


@dataclass(frozen=True, slots=True)
class MissingRight:
    """What the user may not do, and the statement that permits it."""

    right: str
    grant: str


def refuse_missing_rights(
    connection: Connection, server: StateServer, *, write: bool, schemas: Sequence[str] = ()
) -> None:
    """Raises ConfigError that names every right which the user lacks, and the statements that grant them. schemas: to
    look at; that of the server by default."""
    raw = raw_of(connection)
    if write:
        _refuse_read_only(raw, server)
    missing = missing_rights(connection, schemas or (server.schema,), write=write)
    if missing:
        user = _one(raw, "SELECT current_user")
        raise ConfigError(
            f"the user {user} lacks rights for the state {server}: {named(missing)}", hint=hint_of(missing)
        )


def missing_rights(connection: Connection, schemas: Sequence[str], *, write: bool) -> list[MissingRight]:
    """What the user lacks on these schemas."""
    raw = raw_of(connection)
    return [one for schema in schemas for one in _missing(raw, schema, write=write)]


def named(missing: Iterable[MissingRight]) -> str:
    """For a message."""
    return "; ".join(dict.fromkeys(one.right for one in missing))


def hint_of(missing: Iterable[MissingRight]) -> str:
    """The statements that permit it, to be copied."""
    grants = " ".join(dict.fromkeys(f"{one.grant};" for one in missing))
    return f"let the owner of the database, or of the schema, execute: {grants}"


def _refuse_read_only(raw: Any, server: StateServer) -> None:
    if raw.execute("SELECT current_setting('transaction_read_only')").fetchone() == ("on",):
        hint = "name the primary server in `state:`; for several hosts, `?target_session_attrs=read-write` finds it"
        raise ConfigError(f"the server of the state {server} takes no writes: it is a standby, or read-only", hint=hint)


def _missing(raw: Any, schema: str, *, write: bool) -> Iterator[MissingRight]:
    """One that does not exist yet has to be created, one without tables is filled."""
    found = raw.execute(_SCHEMA, (schema,)).fetchone()
    if found is None:
        if write and not _is(raw, "has_database_privilege(current_database(), 'CREATE')"):
            database = _one(raw, "SELECT current_database()")
            yield MissingRight(f"CREATE on the database {database}", _grant(raw, "CREATE ON DATABASE {}", database))
        return
    if not _is(raw, "has_schema_privilege(%s::oid, 'USAGE')", found[0]):
        yield MissingRight(f"USAGE on the schema {schema}", _grant(raw, "USAGE ON SCHEMA {}", schema))
    if (
        write
        and _is(raw, f"({_IS_EMPTY})", found[0])
        and not _is(raw, "has_schema_privilege(%s::oid, 'CREATE')", found[0])
    ):
        yield MissingRight(f"CREATE on the schema {schema}", _grant(raw, "CREATE ON SCHEMA {}", schema))
    rights = WRITING if write else READING
    lacking = raw.execute(_LACKING, (list(rights), found[0])).fetchall()
    if lacking:
        names = [right for right in rights if any(right in each for _, each in lacking)]
        tables = such_as([table for table, _ in lacking[:SHOWN]], len(lacking))
        grant = _grant(raw, f"{', '.join(names)} ON ALL TABLES IN SCHEMA {{}}", schema)
        yield MissingRight(f"{', '.join(names)} on {len(lacking)} tables of the schema {schema}{tables}", grant)


def _is(raw: Any, condition: str, *given: Any) -> bool:
    return bool(_one(raw, f"SELECT {condition}", *given))


def _one(raw: Any, statement: str, *given: Any) -> Any:
    return raw.execute(statement, given).fetchone()[0]


def _grant(raw: Any, what: str, name: str) -> str:
    """A statement that can be copied as it is."""
    names = sql.Identifier(name), sql.Identifier(_one(raw, "SELECT current_user"))
    return str(sql.SQL(f"GRANT {what} TO {{}}").format(*names).as_string(raw))
