"""The state: what was acknowledged is there after any crash, and nothing is there twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import textwrap
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dam_sync.model.asset import Asset, AssetId, Entry, Placement, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, SafetyStop, StoreBusy, Uncertain
from dam_sync.model.journal import call_again
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import OtherCause, ParkReason
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.model.writes import Membership
from dam_sync.store.credential_store import FileCredentialStore
from dam_sync.store.store import SqlStore
from tests.support.pairs import EVERYTHING
from tests.support.programs import CODE, PIPE, Program

LEASE = timedelta(minutes=5)
SHARD = Shard("all", {"from": 1}, 3)


def entry(name: str, revision: str = "r1", **more: object) -> Entry:
    return Entry(AssetId(name), Revision(revision), datetime(2024, 1, 1, tzinfo=UTC), **more)  # type: ignore[arg-type]


@pytest.fixture
async def store(place: Path | StateServer) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(place, SystemClock())
    yield opened
    await opened.close()


async def filled(store: SqlStore, *names: str) -> int:
    run = await store.begin("job", "run")
    await store.set_shards(run.id, [SHARD], complete=True)
    await store.record(run.id, SHARD, Batch(tuple(entry(name) for name in names), None), ())
    return run.id


async def test_a_new_state_may_be_opened_several_times_at_once(tmp_path: Path) -> None:
    """SQLite refuses some of those that change the kind of log of an empty file at once, without waiting."""
    for number in range(60 if EVERYTHING else 12):
        path = tmp_path / f"{number}.db"
        for opened in await asyncio.gather(*(SqlStore.open(path, SystemClock()) for _ in range(4))):
            await opened.close()


async def test_a_new_state_is_opened_once_another_process_that_opens_it_is_through(tmp_path: Path) -> None:
    """SQLite refuses the change of the kind of log at once while another connection is about to write."""
    path = tmp_path / "job.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    opening = asyncio.create_task(SqlStore.open(path, SystemClock()))
    await asyncio.wait([opening], timeout=0.2)
    other.execute("ROLLBACK")
    other.close()
    opened = await opening
    await opened.close()


async def test_rows_come_back_in_the_order_of_the_listing(store: SqlStore) -> None:
    run = await filled(store, "b", "a", "c")
    works = await store.claim(run, 2, LEASE)
    assert [work.asset for work in works] == ["b", "a"]
    assert [work.asset for work in await store.claim(run, 5, LEASE)] == ["c"]
    assert await store.claim(run, 5, LEASE) == []
    assert await store.open_work(run) == 3


async def test_a_lease_that_ran_out_is_claimable_again(store: SqlStore) -> None:
    run = await filled(store, "a")
    (first,) = await store.claim(run, 1, timedelta(seconds=-1))
    (again,) = await store.claim(run, 1, LEASE)
    assert (first.attempt, again.attempt) == (1, 2)
    await store.release([again])
    (third,) = await store.claim(run, 1, LEASE)
    assert third.attempt == 2


async def test_recording_a_batch_twice_changes_nothing(store: SqlStore) -> None:
    run = await filled(store, "a", "b")
    (work, _) = await store.claim(run, 2, LEASE)
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1", draft={})))
    await store.record(run, SHARD, Batch((entry("a"), entry("b"), entry("b")), {"page": 2}), ())
    tally = await store.tally(run)
    assert (tally["listed"], tally["created"], tally["open"]) == (2, 1, 1)
    (row,) = await store.shards(run)
    assert (row.cursor, row.done, row.shard) == ({"page": 2}, False, SHARD)


async def test_skipped_rows_are_counted_and_not_worked(store: SqlStore) -> None:
    run = await store.begin("job", "run")
    await store.set_shards(run.id, [SHARD], complete=True)
    await store.put_link(LinkRow("a", "t1", draft={}))
    await store.record(run.id, SHARD, Batch((entry("a"), entry("b")), None), {AssetId("a")})
    tally = await store.tally(run.id)
    assert (tally["listed"], tally["unchanged"], tally["open"]) == (2, 1, 1)
    assert await store.gone(run.id, 10) == (0, [])


async def test_a_payload_survives_and_is_dropped_when_its_work_is_completed(store: SqlStore) -> None:
    run = await store.begin("job", "run")
    await store.set_shards(run.id, [SHARD], complete=True)
    asset = Asset(AssetId("a"), Revision("r1"), filename="été.jpg", fields={"title": "Sea"})
    await store.record(run.id, SHARD, Batch((entry("a", asset=asset),), None), ())
    (work,) = await store.claim(run.id, 1, LEASE)
    assert work.payload == asset
    await store.complete(work, Outcome("parked", cause=OtherCause("c"), message="m"))
    assert await store.unpark([OtherCause("c")]) == 1
    (work,) = await store.claim(run.id, 1, LEASE)
    assert work.payload is None


async def test_completing_work_stores_link_placements_and_relations(store: SqlStore) -> None:
    run = await filled(store, "a", "b")
    first, second = await store.claim(run, 2, LEASE)
    place = Placement("category", ("A", "B/C"), "c9")
    link = LinkRow("a", "t1", "r1", filename="a.jpg", digests={"md5": "x"}, size=3, versions=("k1",), draft={"x": [1]})
    await store.complete(
        first,
        Outcome(
            "created", link=link, placements=((place, AssetId("t1"), True),), relations=(("view", AssetId("b"), True),)
        ),
    )
    assert await store.links(["a", "b"]) == {"a": link}
    assert await store.links_by_target(["t1"]) == {"t1": link}
    assert await store.next_placements(100) == (place, ("t1",), ())
    (row,) = await store.next_relations(10)
    assert (row.owner_target, row.other_target) == ("t1", "")
    await store.complete(second, Outcome("created", link=LinkRow("b", "t2", draft={})))
    (row,) = await store.next_relations(10)
    assert (row.owner_target, row.kind, row.other_target) == ("t1", "view", "t2")
    await store.relations_done([row])
    await store.placement_journal(1, place, ["t1"], "place").run("place", call_again)
    assert await store.next_placements(100) is None
    assert await store.next_relations(10) == []
    assert (await store.next_placements(100)) is None
    assert [link.source for link in await store.iter_links("a")] == ["b"]


async def test_parked_assets_are_grouped_by_cause(store: SqlStore) -> None:
    run = await filled(store, "a", "b", "c")
    for work in await store.claim(run, 3, LEASE):
        cause = OtherCause("too long") if work.asset != "c" else ParkReason.GONE
        await store.complete(work, Outcome("parked", cause=cause, message="why", hint="do this", operation="mapping"))
    assert [(str(row.cause), row.count) for row in await store.parked_causes()] == [("too long", 2), ("gone", 1)]
    assert [row.asset for row in await store.parked(limit=1, offset=1)] == ["b"]
    assert await store.actions(["a", "z"]) == {"a": "parked"}
    assert await store.unpark({ParkReason.GONE}) == 1
    assert (await store.tally(run))["parked"] == 2


async def test_a_run_closes_only_when_nothing_is_open(store: SqlStore) -> None:
    run = await filled(store, "a")
    with pytest.raises(SafetyStop, match="1 asset left open"):
        await store.finish(run, {})
    (work,) = await store.claim(run, 1, LEASE)
    await store.complete(work, Outcome("skipped"))
    await store.finish(run, {"created": 0})
    (row,) = await store.runs()
    assert (row.state, row.outcome) == ("done", {"created": 0})


async def test_a_stopped_run_is_resumed_with_its_leases_free(store: SqlStore) -> None:
    run = await filled(store, "a")
    await store.claim(run, 1, LEASE)
    await store.stop(run, "Ctrl-C")
    again = await store.begin("job", "run")
    assert (again.id, again.resumed) == (run, True)
    assert len(await store.claim(run, 1, LEASE)) == 1


async def test_a_second_process_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "job.db"
    program = """
        import asyncio, sys
        from pathlib import Path
        from dam_sync.model.clock import SystemClock
        from dam_sync.store.store import SqlStore
        async def main():
            store = await SqlStore.open(Path(sys.argv[1]), SystemClock())
            await store.begin("job", "run")
            print("begun", flush=True)
            await asyncio.sleep(60)
        asyncio.run(main())
    """
    first = Program(CODE, textwrap.dedent(program), str(path), out=PIPE, err=None)
    assert first.stdout is not None
    try:
        assert first.stdout.readline() == "begun\n"
        second = await SqlStore.open(path, SystemClock())
        with pytest.raises(StoreBusy, match=f"run 1 of this job is active: process {first.pid}"):
            await second.begin("job", "run")
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert (await second.begin("job", "run")).resumed
        await second.close()
    finally:
        first.kill()
        first.wait()
        first.stdout.close()


async def test_a_run_taken_over_stops_the_first_process(place: Path | StateServer) -> None:
    one = await SqlStore.open(place, SystemClock())
    run = await one.begin("job", "run")
    await one.beat(run.id)
    await one.stop(run.id, "lost")
    two = await SqlStore.open(place, SystemClock())
    await two.begin("job", "run")
    with pytest.raises(SafetyStop, match="taken this run over"):
        await one.beat(run.id)
    await one.close()
    await two.close()


async def test_a_recorded_write_is_never_made_again(store: SqlStore) -> None:
    run = await filled(store, "a")
    (work,) = await store.claim(run, 1, LEASE)
    calls: list[str] = []

    async def call() -> str:
        calls.append("called")
        return "t1"

    journal = store.journal(work, run)
    assert [await journal.run("create", call) for _ in range(3)] == ["t1"] * 3
    assert calls == ["called"]
    assert await journal.get("create") == "t1"
    assert [(row.operation, row.asset, row.target) for row in await store.ledger(0, 10)] == [("create", "a", "t1")]
    await journal.discard("cre*")
    assert await journal.get("create") is None


async def test_an_open_intent_is_reconciled_before_it_is_repeated(store: SqlStore) -> None:
    journal = store.run_journal("test")

    async def crash() -> str:
        raise RuntimeError("lost")

    async def found() -> str:
        return "there"

    async def nothing() -> None:
        return None

    async def again() -> str:
        return "made"

    for name in ("x", "y", "z"):
        with pytest.raises(RuntimeError):
            await journal.run(name, crash)
    assert await journal.run("x", crash, reconcile=found) == "there"
    assert await journal.run("y", again, reconcile=nothing) == "made"
    with pytest.raises(Uncertain, match="unknown"):
        await journal.run("z", again)
    assert await journal.run("z", again, idempotent=True) == "made"


async def test_an_old_result_is_forgotten(store: SqlStore) -> None:
    journal = store.run_journal("test")
    numbers = iter(range(9))

    async def count() -> int:
        return next(numbers)

    assert await journal.run("s", count, ttl=timedelta(hours=1)) == 0
    assert await journal.run("s", count, ttl=timedelta(hours=1)) == 0
    assert await journal.run("s", count, ttl=timedelta(seconds=-1)) == 1


async def test_journal_entries_of_completed_work_are_deleted_and_those_of_parked_work_stay(store: SqlStore) -> None:
    run = await filled(store, "a", "b")

    async def call() -> int:
        return 7

    for work in await store.claim(run, 2, LEASE):
        await store.journal(work, run).run("create", call)
        action = "parked" if work.asset == "a" else "created"
        await store.complete(work, Outcome(action))
    assert await store.unpark(None) == 1
    (parked,) = await store.claim(run, 1, LEASE)
    assert (parked.asset, await store.journal(parked, run).get("create")) == ("a", 7)


async def test_names_belong_to_who_asked_first(store: SqlStore) -> None:
    await store.take_names([("sea.jpg", "target:1"), ("sky.jpg", "target:2")])
    await store.take_names([("sea.jpg", "target:9")])
    assert await store.reserve_name("sea.jpg", "7") == "target:1"
    assert await store.reserve_name("land.jpg", "7") is None
    assert await store.reserve_name("land.jpg", "7") is None
    assert await store.reserve_name("land.jpg", "8") == "7"


async def test_members_come_back_by_asset(store: SqlStore) -> None:
    one, two = Placement("category", ("A",), "1"), Placement("collection", ("B",), "2")
    await store.begin_members(1)
    await store.add_members([Membership(one, (AssetId("a"), AssetId("b")))])
    await store.add_members([Membership(two, (AssetId("a"),))])
    await store.add_members([Membership(two, (AssetId("a"),))])
    assert await store.members_of(["a", "b", "c"]) == {}
    await store.end_members()
    assert await store.members_of(["a", "b", "c"]) == {"a": {one, two}, "b": {one}}


async def test_the_members_of_one_container_are_those_of_the_last_whole_reading(store: SqlStore) -> None:
    one, renamed, other = (Placement("collection", (name,), identity) for name, identity in ("A1", "B1", "C2"))
    await store.begin_members(1)
    await store.add_members([Membership(one, (AssetId("b"), AssetId("a"), AssetId("target:a")))])
    await store.add_members([Membership(other, (AssetId("c"),))])
    assert await store.members_in(one, "target:") == ()
    await store.end_members()
    assert await store.members_in(one, "target:") == ("a", "b")
    assert await store.members_in(renamed, "target:") == ("a", "b")
    assert await store.members_in(Placement("collection", ("A",)), "target:") == ("a", "b")
    await store.begin_members(2)
    await store.add_members([Membership(one, (AssetId("d"),))])
    assert await store.members_in(one, "target:") == ("a", "b")
    await store.end_members()
    assert await store.members_in(one, "target:") == ("d",)


async def test_what_is_asked_together_is_committed_together(store: SqlStore) -> None:
    before = store.commits
    await asyncio.gather(*(store.set_meta(f"k{n}", n) for n in range(300)))
    assert store.commits - before <= 20
    assert await store.get_meta("k299") == 299


async def test_one_failing_call_does_not_take_back_another(store: SqlStore) -> None:
    results = await asyncio.gather(
        store.set_meta("good", 1),
        store.finish(await filled(store, "a"), {}),
        store.set_meta("also", 2),
        return_exceptions=True,
    )
    assert isinstance(results[1], SafetyStop)
    assert (await store.get_meta("good"), await store.get_meta("also")) == (1, 2)


async def test_a_kill_leaves_what_was_acknowledged(tmp_path: Path) -> None:
    program = """
        import asyncio, sys
        from pathlib import Path
        from dam_sync.model.clock import SystemClock
        from dam_sync.store.store import SqlStore
        async def main():
            store = await SqlStore.open(Path(sys.argv[1]), SystemClock())
            for number in range(100000):
                await store.set_meta(f"k{number}", number)
                print(number, flush=True)
        asyncio.run(main())
    """
    path = tmp_path / "job.db"
    child = Program(CODE, textwrap.dedent(program), str(path), out=PIPE, err=None)
    assert child.stdout is not None
    last = -1
    for line in child.stdout:
        last = int(line)
        if last >= 50:
            child.kill()
            break
    child.wait()
    child.stdout.close()
    store = await SqlStore.open(path, SystemClock())
    assert [await store.get_meta(f"k{number}") for number in range(last + 1)] == list(range(last + 1))
    await store.close()


async def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = await SqlStore.open(tmp_path / "deep" / "job.db", SystemClock())
    await store.close()
    assert stat.S_IMODE((tmp_path / "deep" / "job.db").stat().st_mode) == 0o600


async def test_a_copy_holds_the_same(store: SqlStore, tmp_path: Path) -> None:
    await filled(store, "a", "b")
    await store.copy_to(tmp_path / "copy.db")
    copy = await SqlStore.open(tmp_path / "copy.db", SystemClock())
    assert (await copy.tally(1))["open"] == 2
    await copy.close()


@pytest.mark.parametrize(
    ("damage", "words"),
    [("garbage", "damaged"), ("newer", "newer dam-sync"), ("url", "must be an SQLite file")],
)
async def test_files_that_cannot_be_used_are_refused_with_a_clear_error(
    tmp_path: Path, damage: str, words: str
) -> None:
    path = tmp_path / "job.db"
    if damage == "garbage":
        path.write_bytes(b"this is not a database at all" * 100)
    elif damage == "newer":
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    else:
        path = Path("postgresql+psycopg://somewhere/db")
    with pytest.raises(ConfigError, match=words):
        await SqlStore.open(path, SystemClock())


async def test_a_read_only_folder_is_refused_with_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "folder-is-a-file"
    path.write_text("x")
    with pytest.raises(ConfigError, match="cannot be written"):
        await SqlStore.open(path / "job.db", SystemClock())


async def test_opened_read_only_it_does_not_write(store: SqlStore) -> None:
    await store.set_meta("k", 1)
    reader = await SqlStore.open(store.place, SystemClock(), read_only=True)
    assert await reader.get_meta("k") == 1
    with pytest.raises(ConfigError, match="cannot be written"):
        await reader.set_meta("k", 2)
    await reader.close()


async def test_show_counts_rows(store: SqlStore) -> None:
    await filled(store, "a")
    shown = await store.show()
    assert shown["rows"]["work"] == 1
    assert shown["bytes"] > 0


async def test_the_credential_store_is_durable_and_private(tmp_path: Path) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    assert await credentials.load("x") is None
    await credentials.save("x", "wrt_demo_1")
    await credentials.save("y", "other")
    assert await FileCredentialStore(tmp_path / "job.vault").load("x") == "wrt_demo_1"
    assert stat.S_IMODE(os.stat(tmp_path / "job.vault").st_mode) == 0o600
    (tmp_path / "job.vault").write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        await credentials.load("x")
