"""Rows that something else takes from a state at rest, or adds to it, are missed when the next run begins."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dam_sync.model.link import LinkRow
from dam_sync.store.rows import CorrectionRow
from dam_sync.store.store import SqlStore
from dam_sync.store.tables import stamp
from tests.support.state.clock_and_rows import SetClock, changed


def linked(source: str) -> LinkRow:
    """A link of this asset."""
    texts = {"source_revision": "1", "source_fingerprint": "", "draft_fingerprint": "", "filename": source}
    return LinkRow(source, f"t-{source}", **texts, evidence="V1", digests={}, size=1, versions=(), draft=None)


async def at_rest(store: SqlStore, number: int = 3) -> None:
    """After a run that moved so many assets."""
    run = await store.begin("job", "run")
    for each in range(number):
        await store.put_link(linked(f"s{each}"))
        await store.reserve_name(f"n{each}", f"s{each}")
    await store.finish(run.id, None, listed=False)


async def test_nothing_is_missed_after_runs_that_end_in_any_way(store: SqlStore) -> None:
    await at_rest(store)
    assert await store.changed_rows() == {}
    for end in ("finish", "stop", "withdraw"):
        run = await store.begin("job", end)
        await store.put_link(linked(end))
        await (store.finish(run.id, None, listed=False) if end == "finish" else getattr(store, end)(run.id, "why"))
        assert await store.changed_rows() == {}


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM link", {"link": (3, 0)}),
        ("DELETE FROM link WHERE source = 's1'", {"link": (3, 2)}),
        ("DELETE FROM name", {"name": (3, 0)}),
        ("INSERT INTO step (scope, name, at, state) VALUES ('asset:s1', 'create', '', 'intent')", {"step": (0, 1)}),
    ],
)
async def test_what_something_else_changed_is_missed_until_it_is_accepted(
    store: SqlStore, statement: str, found: dict[str, tuple[int, int]]
) -> None:
    await at_rest(store)
    await changed(store, statement)
    assert await store.changed_rows() == found
    for _ in range(2):  # a run that is refused does not accept it
        run = await store.begin("job", "run")
        assert await store.changed_rows() == found
        await store.withdraw(run.id, "refused")
    await store.accept_rows()
    assert await store.changed_rows() == {}


async def test_what_a_run_changes_before_it_is_killed_is_not_missed(store: SqlStore) -> None:
    await at_rest(store)
    await store.begin("job", "run")
    await store.put_link(linked("new"))
    assert await store.changed_rows() == {}
    await store.begin("job", "other")
    assert await store.changed_rows() == {}


async def test_a_run_of_an_earlier_version_leaves_no_numbers_to_compare(store: SqlStore) -> None:
    """It neither compares nor keeps them."""
    await at_rest(store)
    columns = "id, job, command, state, owner, host, pid, started_at, beat_at, ended_at"
    values = "7, 'job', 'run', 'done', '', '', 0, '2026-01-02', '2026-01-02', '2026-01-02'"
    await changed(store, f"INSERT INTO run ({columns}) VALUES ({values})")
    await changed(store, "DELETE FROM link WHERE source = 's1'")
    assert await store.changed_rows() == {}


async def test_a_run_that_vanished_hides_nothing(store: SqlStore) -> None:
    await at_rest(store)
    for table in ("run", "link"):
        await changed(store, f"DELETE FROM {table}")
    assert (await store.changed_rows())["link"] == (3, 0)


async def test_a_state_that_has_no_numbers_is_taken_as_it_is(store: SqlStore) -> None:
    """Of 85764ad1, or of a run that was killed."""
    await store.put_link(linked("s1"))
    await changed(store, "DELETE FROM link")
    assert await store.changed_rows() == {}


async def test_what_our_own_commands_change_between_runs_is_not_missed(store: SqlStore, clock: SetClock) -> None:
    await at_rest(store)
    await store.put_corrections([CorrectionRow("s1", "fields.a", "x", "date", ("1999",))])
    assert await store.changed_rows() == {}
    await changed(store, "DELETE FROM name")
    await store.gc(stamp(clock.now() + timedelta(days=1)))
    assert await store.changed_rows() == {"name": (3, 0)}, "what something else changed before is still missed"


async def test_old_rows_of_the_ledger_are_removed_by_our_own_command_alone(store: SqlStore, clock: SetClock) -> None:
    await at_rest(store)
    await store.put_corrections([CorrectionRow("s1", "fields.a", "x", "date", ("1999",))])
    run = await store.begin("job", "run")
    await store.finish(run.id, None, listed=False)
    assert await store.gc(stamp(clock.now() + timedelta(days=1))) == 1
    assert await store.changed_rows() == {}
