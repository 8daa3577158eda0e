"""A server that crashes while a commit is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import Connection

from dam_sync.store.server.threads import TOKEN_LETTERS
from dam_sync.store.store import SqlStore
from tests.support.state.clock_and_rows import SetClock
from tests.support.state.postgres import CuttingProxy, OwnServer, emptied, execute, own_server

BUSY = [f"SELECT set_config('a.b', pg_current_xact_id()::text, false), {number}" for number in range(50)]


async def test_a_state_of_an_earlier_version_gets_what_commits_leave_their_tokens_in(clock: SetClock) -> None:
    server = emptied("dam_sync_commits")
    await (await SqlStore.open(server, clock)).close()
    execute(server, "DROP TABLE store_commit")
    store = await SqlStore.open(server, clock)
    await store.set_meta("k", 1)
    await store.close()
    assert execute(server, "SELECT length(tokens) FROM store_commit") == [(TOKEN_LETTERS,)]


@pytest.fixture
def crashing() -> Iterator[OwnServer]:
    """A server that this test may kill."""
    with own_server() as made:
        yield made


async def test_a_commit_that_a_crash_took_back_is_not_taken_for_that_of_another_process(
    crashing: OwnServer, clock: SetClock
) -> None:
    """After a crash the server gives the numbers of lost transactions to others."""
    execute(crashing.state, "ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()")
    with closing(CuttingProxy(crashing.state)) as proxy:
        store = await SqlStore.open(proxy.server, clock)
        await store.set_meta("before", 1)
        called: list[int] = []

        def job(c: Connection) -> int:
            called.append(1)
            c.exec_driver_sql("INSERT INTO note VALUES ('n', '7')")
            return len(called)

        writer = store._database.writer
        assert writer is not None
        proxy.cut_at(b"COMMIT", forwarded=False, refusing=True)
        writing = asyncio.ensure_future(writer.run(job))
        await asyncio.to_thread(proxy.cut.wait)
        crashing.crash()
        crashing.start()
        execute(crashing.state, *BUSY)
        proxy.admit()
        assert await writing == 2
        assert await store.get_meta("n") == 7
        await store.close()
