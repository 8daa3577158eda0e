"""Where the jobs of virtual worlds keep their state: in a file, or with `DAM_SYNC_STORE=postgres` on a server, each job
in a database of its own, which is dropped after its test.

A job file is in the folder `jobs`, beside which is the folder `state`, for either store.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from dam_sync.config.state_url import state_url
from dam_sync.model.state_server import StateServer
from tests.support.state.postgres import execute, started

OPEN: Final = Path("/dev/fd")  # the files and sockets a process has open, by number
POSTGRES: Final = "postgres"
SOCKET: Final = ".s.PGSQL."
COPY: Final = "_copy"
PATIENCE: Final = timedelta(0)  # the server is there
SWITCH: Final = "DAM_SYNC_STORE"


@dataclass
class Chosen:
    """The store of jobs that are written from now on, and the databases that were made for them, by job file."""

    store: str = field(default_factory=lambda: os.environ.get(SWITCH, "sqlite"))
    databases: dict[Path, str] = field(default_factory=dict)
    made: int = 0


CHOSEN: Final = Chosen()
assert CHOSEN.store in ("sqlite", POSTGRES), f"{SWITCH} is sqlite or postgres"


@contextmanager
def on_postgres() -> Iterator[None]:
    """Jobs that are written within it keep their state on a server. Skips the test where none can be started."""
    before, CHOSEN.store = CHOSEN.store, POSTGRES
    try:
        started()
        yield
    finally:
        CHOSEN.store = before


def job_in(folder: Path) -> Path:
    """The path of the job file of a folder, whose own folder is there."""
    path = folder / "jobs" / "job.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def beside(job: Path) -> Path:
    """The folder of the state file, or of what is kept beside a state on a server: the spool, rotated credentials."""
    return job.parent.parent / "state"


def state_for(job: Path) -> str:
    """The `state` of a new job file."""
    if CHOSEN.store != POSTGRES:
        return str(beside(job) / "job.db")
    if job not in CHOSEN.databases:
        CHOSEN.made += 1
        name = f"sim_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{os.getpid()}_{CHOSEN.made}"
        execute(started(), f'CREATE DATABASE "{name}"')
        CHOSEN.databases[job] = name
    return _url(CHOSEN.databases[job])


def forget(job: Path) -> None:
    """As if the job had never run."""
    shutil.rmtree(beside(job), ignore_errors=True)
    if job.exists() and isinstance(place := place_of(job), StateServer):
        execute(place, f'DROP SCHEMA IF EXISTS "{place.schema}" CASCADE')


def drop_all() -> None:
    """Drop the databases of this process."""
    for name in CHOSEN.databases.values():
        for each in (name, f"{name}{COPY}"):
            execute(started(), f'DROP DATABASE IF EXISTS "{each}" WITH (FORCE)')
    CHOSEN.databases.clear()


def place_of(job: Path) -> Path | StateServer:
    """The state of a job file: a file, or a schema of a server."""
    state, name = _state_and_name(job.read_text(encoding="utf-8"))
    url = state_url(state)
    return Path(state) if url is None else url.server(name, job.parent)


@cache
def _state_and_name(text: str) -> tuple[str, str]:
    found = YAML(typ="safe").load(text)
    return found["state"], found["name"]


def is_there(job: Path) -> bool:
    """Whether the job has a state."""
    place = place_of(job)
    if isinstance(place, Path):
        return place.exists()
    return _has_schema(place, place.schema)


def ask(job: Path, question: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of the state of a job, with `?` in place of each value."""
    place = place_of(job)
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as connection:
            return connection.execute(question, values).fetchall()
    return _on_server(place, question, values)


def change(job: Path, statement: str, *values: Any) -> None:
    """Change the state of a job behind its back, with `?` in place of each value."""
    place = place_of(job)
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute(statement, values)
    else:
        _on_server(place, statement, values)


def _on_server(server: StateServer, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    from dam_sync.store.server.database import connect, raw_of

    with closing(connect(server)) as connection:
        done = raw_of(connection).execute(statement.replace("%", "%%").replace("?", "%s").encode(), values)
        return done.fetchall() if done.description else []


def _url(database: str) -> str:
    server = started()
    return f"postgresql+psycopg://{server.user}@/{database}?host={server.host}"


# -- a state for a child process -------------------------------------------------------------------------------------


def put_aside(job: Path) -> Path | None:
    """For a child process: a copy of a state on a server, which the job file leads to from now on. Its other name for
    `bring_back`, None for a file, of which there is a copy already."""
    place = place_of(job)
    if isinstance(place, Path):
        _forget_place(place)
        return None
    copy_state(place, replace(place, database=f"{place.database}{COPY}"))
    aside = job.with_name(f"{job.name}-aside")
    job.rename(aside)
    text = aside.read_text(encoding="utf-8")
    job.write_text(text.replace(f"/{place.database}?", f"/{place.database}{COPY}?"), encoding="utf-8")
    return aside


def _forget_place(copy: Path) -> None:
    """A copied file is not a restored state: its job continues."""
    copy.with_name(f"{copy.name}.opened").unlink(missing_ok=True)
    if copy.exists():
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute("DELETE FROM note WHERE key = 'place'")


def bring_back(job: Path, aside: Path | None) -> None:
    """The job file of before `put_aside`."""
    if aside is not None:
        aside.replace(job)


def copy_state(here: StateServer, there: StateServer) -> None:
    """The same rows in another database, which is made where it is missing: those of the job, and what jobs share."""
    import psycopg

    from dam_sync.store.note_keys import PLACE
    from dam_sync.store.server.database import connect, writing
    from dam_sync.store.server.schema import migrate
    from dam_sync.store.server.shared_schema import SCHEMA, open_shared

    if not execute(here, f"SELECT 1 FROM pg_database WHERE datname = '{there.database}'"):
        execute(here, f'CREATE DATABASE "{there.database}"')
    if not _has_schema(there, there.schema):
        with closing(connect(there)) as connection, writing(connection, there):
            migrate(connection, there)
    schemas = {here.schema: there.schema}
    if _has_schema(here, SCHEMA):
        open_shared(replace(there, schema=SCHEMA), PATIENCE)[0].close()  # made where it is missing
        schemas[SCHEMA] = SCHEMA
    else:
        execute(there, f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    with (
        psycopg.connect(host=here.host, dbname=here.database, user=here.user, autocommit=True) as mine,
        psycopg.connect(host=there.host, dbname=there.database, user=there.user) as other,
    ):
        other.execute("SET LOCAL session_replication_role = replica")
        for schema, copied_to in schemas.items():
            _copy_rows(mine, schema, other, copied_to)
        # it is not a restored state: its job continues
        other.execute(f'DELETE FROM "{there.schema}".note WHERE key = %s'.encode(), (PLACE,))


def _has_schema(server: StateServer, name: str) -> bool:
    return bool(execute(server, f"SELECT 1 FROM pg_namespace WHERE nspname = '{name}'"))


def _copy_rows(mine: Any, schema: str, other: Any, copied_to: str) -> None:
    """From one connection to another, in place of what was there."""
    for name in _filled(other, copied_to):
        other.execute(f'DELETE FROM "{copied_to}".{name}'.encode())
    for name in _filled(mine, schema):
        with (
            mine.cursor().copy(f'COPY "{schema}".{name} TO STDOUT'.encode()) as rows,
            other.cursor().copy(f'COPY "{copied_to}".{name} FROM STDIN'.encode()) as copied,
        ):
            for block in rows:
                copied.write(block)


def _filled(connection: Any, schema: str) -> list[str]:
    """The tables with rows."""
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    looks = " UNION ALL ".join(
        f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{schema}\".{name})" for (name,) in tables
    )
    return [name for (name,) in connection.execute(looks.encode())] if looks else []


def cut_off() -> None:
    """In a child process: connections that it shares with its parent are dead, and closing them is sent to nobody."""
    dead, other = socket.socketpair()
    other.close()
    for number in map(int, os.listdir(OPEN)):
        if number != dead.fileno() and _leads_to_server(number):
            os.dup2(dead.fileno(), number, inheritable=False)


def _leads_to_server(number: int) -> bool:
    with suppress(OSError), socket.socket(fileno=os.dup(number)) as found:
        return found.family == socket.AF_UNIX and SOCKET in str(found.getpeername())
    return False
