"""Rights on the database of a state: those that are missing are all named, with the statements that grant them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from psycopg import OperationalError, errors

from dam_sync.model.clock import SYSTEM_CLOCK
from dam_sync.model.errors import ConfigError, DamSyncError, SafetyStop, StoreUnreachable
from dam_sync.model.state_server import StateServer
from dam_sync.store.base import Storage
from dam_sync.store.server.database import connect_async, explained, session
from dam_sync.store.server.shared_schema import SCHEMA, open_shared
from dam_sync.store.server.store import exists, refuse_unwritable
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock
from tests.support.state.postgres import execute, started

JOB = "dam_sync_test"
OF_THE_SERVER = {
    "set_config(text, text, boolean)": "text",
    "pg_advisory_xact_lock(bigint)": "void",
    "to_regclass(text)": "regclass",
}


@pytest.fixture
def limited(database: StateServer) -> StateServer:
    """The database, for a user who may connect to it and no more."""
    user = f"Op {SYSTEM_CLOCK.token()[:8]}"  # has to be quoted
    execute(started(), f'CREATE ROLE "{user}" LOGIN', f"REVOKE ALL ON DATABASE {database.database} FROM PUBLIC")
    execute(started(), f'GRANT CONNECT ON DATABASE {database.database} TO "{user}"')
    return replace(database, user=user, schema=JOB)


async def made(database: StateServer, clock: SetClock) -> None:
    """Another user made both schemas."""
    await (await SqlStore.open(replace(database, schema=JOB), clock)).close()
    link, _ = open_shared(replace(database, schema=SCHEMA), Storage().patience)
    link.close()


def granted(limited: StateServer, database: StateServer) -> list[str]:
    """Execute what the hint says until nothing is missing; the statements."""
    with pytest.raises(ConfigError, match="lacks rights for the state") as refused:
        refuse_unwritable(limited, (JOB, SCHEMA))
    grants = refused.value.hint.partition("execute: ")[2]
    execute(database, grants)
    refuse_unwritable(limited, (JOB, SCHEMA))
    return [each.strip().replace(f'"{limited.user}"', "USER") for each in grants.split(";") if each]


async def test_the_error_for_a_user_who_may_create_no_schema_has_the_statement(
    limited: StateServer, database: StateServer, clock: SetClock
) -> None:
    with pytest.raises(ConfigError, match=f"CREATE on the database {database.database}"):
        await SqlStore.open(limited, clock)
    assert granted(limited, database) == [f'GRANT CREATE ON DATABASE "{database.database}" TO USER']
    await (await SqlStore.open(limited, clock)).close()


async def test_the_error_for_a_user_of_schemas_that_another_made_has_every_statement(
    limited: StateServer, database: StateServer, clock: SetClock
) -> None:
    await made(database, clock)
    for opening in (exists, lambda server: refuse_unwritable(server, (JOB,))):
        with pytest.raises(ConfigError, match=f"USAGE on the schema {JOB}"):
            opening(limited)
    with pytest.raises(ConfigError, match=f"USAGE on the schema {SCHEMA}") as refused:
        open_shared(replace(limited, schema=SCHEMA), Storage().patience)
    assert f'GRANT USAGE ON SCHEMA "{SCHEMA}" TO "{limited.user}";' in refused.value.hint
    assert granted(limited, database) == [
        f'GRANT USAGE ON SCHEMA "{JOB}" TO USER',
        f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{JOB}" TO USER',
        f'GRANT USAGE ON SCHEMA "{SCHEMA}" TO USER',
        f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{SCHEMA}" TO USER',
    ]
    store = await SqlStore.open(limited, clock)
    run = await store.begin("museum", "run")
    await store.finish(run.id, None, listed=False)
    await store.close()
    open_shared(replace(limited, schema=SCHEMA), Storage().patience)[0].close()


async def test_a_user_who_only_reads_needs_no_more_than_that(
    limited: StateServer, database: StateServer, clock: SetClock
) -> None:
    await made(database, clock)
    user = f'"{limited.user}"'
    execute(database, f"GRANT USAGE ON SCHEMA {JOB} TO {user}", f"GRANT SELECT ON ALL TABLES IN SCHEMA {JOB} TO {user}")
    await (await SqlStore.open(limited, clock, read_only=True)).close()
    with pytest.raises(ConfigError, match=f"INSERT, UPDATE, DELETE on [0-9]+ tables of the schema {JOB}"):
        await SqlStore.open(limited, clock)


def test_an_empty_schema_needs_the_right_to_fill_it(limited: StateServer, database: StateServer) -> None:
    execute(database, f'CREATE SCHEMA "{JOB}"', f'GRANT CREATE ON DATABASE {database.database} TO "{limited.user}"')
    assert granted(limited, database) == [
        f'GRANT USAGE ON SCHEMA "{JOB}" TO USER',
        f'GRANT CREATE ON SCHEMA "{JOB}" TO USER',
    ]


def test_a_read_only_database_is_distinguished_from_missing_rights(limited: StateServer) -> None:
    execute(started(), f'ALTER ROLE "{limited.user}" SET default_transaction_read_only = on')
    with pytest.raises(ConfigError, match="takes no writes") as refused:
        refuse_unwritable(limited, (JOB,))
    assert "name the primary server" in refused.value.hint


@pytest.mark.parametrize(("part", "hint"), [("user", 'CREATE ROLE "none"'), ("database", 'CREATE DATABASE "none"')])
def test_a_name_that_the_server_does_not_know_is_no_outage(limited: StateServer, part: str, hint: str) -> None:
    with pytest.raises(ConfigError, match='"none" does not exist') as refused:
        exists(replace(limited, user="none") if part == "user" else replace(limited, database="none"))
    assert hint in refused.value.hint


def test_a_server_that_is_full_is_an_outage_with_its_own_hint(limited: StateServer) -> None:
    execute(started(), f'ALTER ROLE "{limited.user}" CONNECTION LIMIT 0')
    with pytest.raises(StoreUnreachable, match="too many connections") as refused:
        exists(limited)
    assert "CONNECTION LIMIT" in refused.value.hint


def test_a_wrong_password_is_named_and_not_shown(limited: StateServer) -> None:
    secret = replace(limited, password="hush-hush-1")
    why = f'connection failed: FATAL:  password authentication failed for user "Op" ({secret.password})'
    error = explained(OperationalError(why), secret)
    assert isinstance(error, ConfigError)
    assert "the password in `state:`" in error.hint
    assert secret.password not in str(error) + error.hint


@pytest.mark.parametrize(
    ("statement", "why", "hint"),
    [
        (
            "REVOKE CONNECT ON DATABASE {database} FROM {user}",
            "permission denied for database",
            "GRANT CONNECT ON DATABASE",
        ),
        ("ALTER ROLE {user} NOLOGIN", "is not permitted to log in", 'ALTER ROLE "Op'),
    ],
)
def test_a_user_who_may_not_connect_is_no_outage(limited: StateServer, statement: str, why: str, hint: str) -> None:
    execute(started(), statement.format(database=limited.database, user=f'"{limited.user}"'))
    with pytest.raises(ConfigError, match=why) as refused:
        exists(limited)
    assert hint in refused.value.hint


async def test_timeouts_of_the_role_end_no_session_that_holds_a_lock(limited: StateServer) -> None:
    """The locks of a run and of `watch` are those of a session."""
    names = ("statement_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout")
    execute(started(), *(f'ALTER ROLE "{limited.user}" SET {name} = 1000' for name in names))
    with session(limited) as one:
        assert [one.execute(f"SHOW {name}".encode()).fetchone() for name in names] == [("0",)] * 3
    other = await connect_async(limited)
    assert [await (await other.execute(f"SHOW {name}".encode())).fetchone() for name in names] == [("0",)] * 3
    await other.close()


LOOK = "user, password and database"


@pytest.mark.parametrize(
    ("why", "kind", "hint"),
    [
        # such a connection fails until the job file or the server is changed
        pytest.param(
            "server does not support SSL, but SSL was required", ConfigError, "`?sslmode=disable`", id="no TLS"
        ),
        pytest.param(
            'server certificate for "db" does not match host name "127.0.0.1"',
            ConfigError,
            "the host in `state:`",
            id="certificate of another host",
        ),
        pytest.param(
            "SSL error: certificate verify failed", ConfigError, "sslrootcert=FILE", id="certificate not verified"
        ),
        # there is no code in it, so a server that is starting cannot be told from a wrong password
        pytest.param(
            "FATAL:  Passwort-Authentifizierung für Benutzer »Op« fehlgeschlagen",
            StoreUnreachable,
            LOOK,
            id="in German",
        ),
        pytest.param("ВАЖНО:  роль «Op» не существует", StoreUnreachable, LOOK, id="in Russian"),
    ],
)
def test_a_refused_connection_is_explained(limited: StateServer, why: str, kind: type[DamSyncError], hint: str) -> None:
    reached = f'connection failed: connection to server at "127.0.0.1", port 5432 failed: {why}'
    error = explained(OperationalError(reached), limited)
    assert isinstance(error, kind)
    assert hint in error.hint


@pytest.mark.parametrize("why", ["Connection refused", "FATAL:  the database system is starting up"])
def test_an_outage_asks_for_a_look_at_server_and_network(limited: StateServer, why: str) -> None:
    reached = f'connection failed: connection to server at "127.0.0.1", port 5432 failed: {why}'
    error = explained(OperationalError(reached), limited)
    assert isinstance(error, StoreUnreachable)
    assert error.hint.startswith("check the server and the network")


@pytest.mark.parametrize(
    "error",
    [
        errors.DuplicatePreparedStatement('prepared statement "_pg3_0" already exists'),
        errors.InvalidSqlStatementName('prepared statement "_pg3_0" does not exist'),
        errors.ProtocolViolation('bind message supplies 0 parameters, but prepared statement "_pg3_0" requires 19'),
    ],
)
def test_statements_of_another_session_show_a_pooler_that_shares_sessions(
    limited: StateServer, error: errors.Error
) -> None:
    found = explained(error, limited)
    assert isinstance(found, SafetyStop)
    assert "session mode" in found.hint


@pytest.mark.parametrize("why", ["query_wait_timeout", "server conn crashed?"])
def test_an_outage_that_a_pooler_reports_is_an_outage(limited: StateServer, why: str) -> None:
    assert isinstance(explained(errors.ProtocolViolation(why), limited), StoreUnreachable)


async def test_functions_that_the_owner_of_a_schema_made_are_refused_and_not_executed(
    database: StateServer, clock: SetClock
) -> None:
    """They would be executed with the rights of every user who opens the state, in place of those of the server."""
    caught = "AS $$ BEGIN RAISE EXCEPTION 'caught %', current_user; END $$ LANGUAGE plpgsql"
    for schema in (JOB, SCHEMA):
        functions = [f"CREATE FUNCTION {schema}.{name} RETURNS {kind} {caught}" for name, kind in OF_THE_SERVER.items()]
        execute(database, f"CREATE SCHEMA {schema}", *functions)
    with pytest.raises(ConfigError, match="unexpected contents: function pg_advisory_xact_lock"):
        await made(database, clock)
