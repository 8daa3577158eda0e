"""Durable steps: at most once where that can be known, and never blindly again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.errors import Denied, InvalidValue, SafetyStop, StopRequested, Throttled, Transient, Uncertain
from dam_sync.model.journal import after_write, results_durable
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import OtherCause, ParkCause, ParkReason
from dam_sync.model.ports import Call, Journal
from dam_sync.model.service import Batch, Shard
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.file.database import raw_of
from dam_sync.store.rows import Work
from dam_sync.store.store import SqlStore
from dam_sync.store.undo import IN_TRASH, LINKED, Undone
from tests.support.state.clock_and_rows import SetClock, entries

LEASE = timedelta(minutes=5)


class Calls:
    """A call that counts itself; raises the error it is given."""

    def __init__(self, result: Json = "t1", error: Exception | None = None) -> None:
        self.result, self.error, self.count = result, error, 0

    async def __call__(self) -> Json:
        self.count += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return self.result


async def claimed(store: SqlStore, name: str = "a") -> tuple[int, Work]:
    run = (await store.begin("museum", "run")).id
    await store.record(run, Shard("s"), Batch((Entry(AssetId(name), Revision("1")),), None), ())
    (work,) = await store.claim(run, 1, LEASE)
    return run, work


@pytest.mark.parametrize("result", ["t1", None, {"ticket": [1, 2]}, 0, False])
async def test_a_result_is_recorded_whatever_it_is(store: SqlStore, result: Json) -> None:
    run, work = await claimed(store)
    journal, call = store.journal(work, run), Calls(result)
    assert [await journal.run("s", call), await journal.run("s", call)] == [result, result]
    assert call.count == 1
    assert await journal.get("s") == result


async def test_journal_entries_are_known_until_the_work_is_completed(store: SqlStore) -> None:
    run, work = await claimed(store)
    await store.journal(work, run).run("s", Calls({"ticket": "file_1%"}))
    assert [await store.is_recorded(text) for text in ("file_1%", "file-1", "e_1", "file__")] == [
        True,
        False,
        True,
        False,
    ]
    await store.complete(work, Outcome("created", link=LinkRow(work.asset, "t1")))
    assert not await store.is_recorded("file_1%")


async def test_a_write_that_was_started_is_an_entry_and_one_that_was_refused_is_none(store: SqlStore) -> None:
    run, work = await claimed(store)
    journal = store.journal(work, run)
    with pytest.raises(Denied):
        await journal.run("in 1%: a", Calls(error=Denied("no")))
    assert not await journal.has_entries("in 1%: ")
    with pytest.raises(Transient):
        await journal.run("in 1%: a", Calls(error=Transient("lost")))
    later = store.journal(replace(work, begun=True), run)
    assert [await kept.has_entries("in 1%: ") for kept in (journal, later)] == [True, True]
    assert not await later.has_entries("in 1_: ")


async def test_the_ledger_has_every_recorded_write_under_its_run(store: SqlStore) -> None:
    run, work = await claimed(store)
    await store.journal(work, run).run("create", Calls("t9"))
    await store.run_journal("terms").run("term:sea", Calls({"id": "4"}), idempotent=True)
    rows = await store.ledger(0, 9)
    told = [(row.seq, row.run, row.operation, row.asset, row.target, row.detail) for row in rows]
    assert told == [
        (1, run, "create", "a", "t9", None),
        (2, run, "term:sea", "terms", "", {"id": "4"}),
    ]
    assert await store.ledger_count() == 2
    assert [row.seq for row in await store.ledger(1, 1)] == [2]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_what_a_run_wrote_is_found_by_an_index(store: SqlStore) -> None:
    """Without one, a long ledger is read whole each time."""
    run, work = await claimed(store)
    await store.journal(work, run).run("rename_term:subject:Sea:Ocean", Calls())
    reader, asked = store._database.reader, list[str]()
    await reader.run(lambda c: raw_of(c).set_trace_callback(asked.append))
    assert await store.has_written(run, "rename_term:subject:Sea:Ocean")
    assert not await store.has_written(run, "rename_term:subject:Sea:Lake")
    assert not await store.has_written(run + 1, "rename_term:subject:Sea:Ocean")
    assert await store.writes_of(run) == 1
    statements = [text for text in asked if "ledger" in text]
    plans = await reader.run(
        lambda c: [row[3] for text in statements for row in raw_of(c).execute(f"EXPLAIN QUERY PLAN {text}")]
    )
    assert len(plans) == 4
    assert all("SEARCH ledger USING COVERING INDEX ledger_written (run=?" in plan for plan in plans), plans


@pytest.mark.parametrize("error", [Transient("lost"), RuntimeError("lost"), asyncio.CancelledError()])
async def test_a_lost_response_leaves_the_intent_open(store: SqlStore, error: Exception) -> None:
    run, work = await claimed(store)
    journal, again = store.journal(work, run), Calls("again")
    with pytest.raises(type(error)):
        await journal.run("create", Calls(error=error))
    with pytest.raises(Uncertain) as told:
        await journal.run("create", again)
    assert told.value.asset == "a"
    assert again.count == 0
    assert await journal.get("create") is None


@pytest.mark.parametrize(
    "error", [InvalidValue("no"), Denied("no"), Throttled("slow"), StopRequested("enough"), Uncertain("who knows")]
)
async def test_a_refused_call_may_be_made_again(store: SqlStore, error: Exception) -> None:
    run, work = await claimed(store)
    journal = store.journal(work, run)
    with pytest.raises(type(error)):
        await journal.run("create", Calls(error=error))
    if isinstance(error, Uncertain):
        with pytest.raises(Uncertain):
            await journal.run("create", Calls())
    else:
        assert await journal.run("create", Calls("now")) == "now"


@pytest.mark.parametrize("error", [InvalidValue("no"), Denied("no"), StopRequested("enough")])
async def test_a_refusal_after_the_write_leaves_the_intent_open(store: SqlStore, error: Exception) -> None:
    run, work = await claimed(store)
    journal, again = store.journal(work, run), Calls("again")

    async def written_then_refused() -> Json:
        with after_write():
            raise error

    with pytest.raises(type(error)):
        await journal.run("create", written_then_refused)
    assert await journal.run("create", again, reconcile=Calls("there")) == "there"
    assert again.count == 0


async def test_after_a_lost_response_the_write_is_reconciled_first(store: SqlStore) -> None:
    run, work = await claimed(store)
    journal = store.journal(work, run)
    for name in ("there", "missing", "harmless"):
        with pytest.raises(RuntimeError):
            await journal.run(name, Calls(error=RuntimeError()), reconcile=Calls(None))
    look, call = Calls("t7"), Calls("t8")
    assert await journal.run("there", call, reconcile=look) == "t7"
    assert await journal.run("missing", call, reconcile=Calls(None)) == "t8"
    assert await journal.run("harmless", call, idempotent=True) == "t8"
    assert (look.count, call.count) == (1, 2)
    assert await journal.run("there", call, reconcile=look) == "t7"
    assert look.count == 1


async def test_nothing_is_reconciled_before_the_first_attempt(store: SqlStore) -> None:
    run, work = await claimed(store)
    look = Calls("t7")
    assert await store.journal(work, run).run("create", Calls("t1"), reconcile=look) == "t1"
    assert look.count == 0


async def test_an_old_result_is_forgotten_at_its_time(store: SqlStore, clock: SetClock) -> None:
    run, work = await claimed(store)
    journal, day = store.journal(work, run), timedelta(hours=24)
    assert await journal.run("begin", Calls("one"), ttl=day) == "one"
    clock.skip(86_399)
    assert await journal.run("begin", Calls("two"), ttl=day) == "one"
    clock.skip(2)
    assert await journal.run("begin", Calls("two"), ttl=day) == "two"


async def test_forgetting_takes_names_and_prefixes_of_its_own_work_only(store: SqlStore) -> None:
    run, work = await claimed(store)
    journal, other = store.journal(work, run), store.run_journal("a")
    for name in ("part:1", "part:2", "part_3", "begin"):
        await journal.run(name, Calls(name))
    await other.run("part:1", Calls("kept"))
    await journal.discard("part:*", "begin")
    names = ("part:1", "part:2", "part_3", "begin")
    assert [await journal.get(name) for name in names] == [None, None, "part_3", None]
    assert await other.get("part:1") == "kept"
    await journal.discard("part_*", "never there")
    assert await journal.get("part_3") is None


async def test_two_who_ask_at_once_share_one_call(store: SqlStore) -> None:
    run, work = await claimed(store)
    call = Calls("t1")
    results = await asyncio.gather(*(store.journal(work, run).run("create", call) for _ in range(5)))
    assert (results, call.count) == (["t1"] * 5, 1)


async def test_a_recorded_write_may_contain_others(store: SqlStore) -> None:
    run, work = await claimed(store)
    journal, inner = store.journal(work, run), Calls("file-1")

    async def outer() -> Json:
        await journal.run("create/upload", inner)
        raise RuntimeError("killed here")

    for _ in range(2):
        with pytest.raises(RuntimeError):
            await journal.run("create", outer, idempotent=True)
    assert inner.count == 1


async def test_a_result_is_recorded_though_its_task_is_cancelled(store: SqlStore) -> None:
    run, work = await claimed(store)
    journal, called = store.journal(work, run), asyncio.Event()

    async def call() -> str:
        called.set()
        return "t1"

    task = asyncio.create_task(journal.run("create", call))
    await called.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await journal.run("create", Calls("doubled")) == "t1"


@asynccontextmanager
async def busy_writer(store: SqlStore) -> AsyncIterator[None]:
    """Nothing becomes durable inside."""
    done = threading.Event()
    writer = store._database.writer
    assert writer is not None
    waiting = writer.post(lambda c: done.wait() and None)
    try:
        yield
    finally:
        done.set()
        await waiting


async def begun(journal: Journal, call: Call) -> None:
    await journal.run("next", call)


async def called(journal: Journal, call: Call) -> None:
    await journal.run("next", call, idempotent=True)


async def requested(journal: Journal, call: Call) -> None:
    await results_durable()  # as `http.Client` does
    await call()


@pytest.mark.parametrize("follow", [begun, called, requested])
async def test_a_result_recorded_ahead_is_durable_before_anything_is_called(
    store: SqlStore, follow: Callable[[Journal, Call], Awaitable[None]]
) -> None:
    run, work = await claimed(store)
    store.record_ahead(work)
    journal, call = store.journal(work, run), Calls("t2")
    async with busy_writer(store):
        assert await journal.run("first", Calls("t1"), idempotent=True) == "t1"
        assert await journal.get("first") == "t1"
        following = asyncio.create_task(follow(journal, call))
        for _ in range(9):
            await asyncio.sleep(0)
        assert call.count == 0
    await following
    assert call.count == 1
    assert await store.journal(replace(work, begun=True), run).get("first") == "t1"


async def test_a_result_that_was_not_stored_lets_nothing_follow(store: SqlStore) -> None:
    run, work = await claimed(store)
    results, journal, call = store.record_ahead(work), store.journal(work, run), Calls()

    def refuse(c: Connection) -> None:
        raise SafetyStop("another process has taken over")

    writer = store._database.writer
    assert writer is not None
    writer.guard = refuse
    await journal.run("first", Calls(), idempotent=True)
    for again in (partial(called, journal, call), partial(requested, journal, call), results.durable):
        with pytest.raises(SafetyStop):
            await again()
    assert call.count == 0
    writer.guard = None


async def test_journal_entries_end_with_the_work_but_not_with_parking(store: SqlStore) -> None:
    run, work = await claimed(store)
    await store.journal(work, run).run("create", Calls("t1"))
    await store.complete(work, Outcome("parked", cause=ParkReason.INVALID_VALUE))
    await store.unpark([ParkReason.INVALID_VALUE])
    (work,) = await store.claim(run, 1, LEASE)
    assert await store.journal(work, run).get("create") == "t1"
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1")))
    assert await store.journal(work, run).get("create") is None


async def test_results_recorded_ahead_end_with_the_work(store: SqlStore) -> None:
    run, work = await claimed(store)
    store.record_ahead(work)
    await store.journal(work, run).run("create", Calls("t1"), idempotent=True)
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1")))
    assert not await store.journal(replace(work, begun=True), run).is_begun("create")
    assert [row.operation for row in await store.ledger(0, 9)] == ["create"]


async def test_work_says_whether_an_earlier_attempt_left_journal_entries(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.record(run, Shard("s"), Batch(entries("a", "b"), None), ())
    works = await store.claim(run, 9, LEASE)
    assert [work.begun for work in works] == [False, False]
    await store.journal(works[1], run).run("note: draft 1", Calls("meant"), idempotent=True)
    await store.release(works)
    works = await store.claim(run, 9, LEASE)
    assert [(work.asset, work.begun) for work in works] == [("a", False), ("b", True)]
    await store.complete(works[1], Outcome("created", link=LinkRow("b", "t1")))
    await store.record(run, Shard("s"), Batch(entries("b", revision="r2"), None), ())
    (again,) = await store.claim(run, 9, LEASE)
    assert (again.asset, again.begun) == ("b", False)


async def test_journal_entries_of_a_run_end_with_it(store: SqlStore) -> None:
    run = (await store.begin("museum", "run")).id
    await store.run_journal("terms").run("term:sea", Calls("4"), idempotent=True)
    with pytest.raises(RuntimeError):
        await store.run_journal("terms").run("term:sky", Calls(error=RuntimeError()))
    await store.finish(run, {})
    assert await store.run_journal("terms").get("term:sea") is None
    with pytest.raises(Uncertain):
        await store.run_journal("terms").run("term:sky", Calls("5"))


@pytest.mark.parametrize(
    ("causes", "allowed"), [(None, False), ([OtherCause("Gone")], False), ([ParkReason.UNCERTAIN], True)]
)
async def test_only_the_operators_word_repeats_what_is_uncertain(
    store: SqlStore, causes: list[ParkCause] | None, allowed: bool
) -> None:
    run, work = await claimed(store)
    with pytest.raises(RuntimeError):
        await store.journal(work, run).run("create", Calls(error=RuntimeError()))
    await store.complete(work, Outcome("parked", cause=ParkReason.UNCERTAIN))
    await store.unpark(causes)
    journal = store.journal(work, run)
    if allowed:
        assert await journal.run("create", Calls("t2"), reconcile=Calls(None)) == "t2"
    else:
        with pytest.raises(Uncertain):
            await journal.run("create", Calls("t2"))


class Target:
    """A service that can be asked what it has; its calls go wrong as scripted."""

    def __init__(self) -> None:
        self.made: list[str] = []

    async def look(self) -> Json:
        return self.made[0] if self.made else None

    async def create(self, act: str) -> Json:
        if act == "refused":
            raise InvalidValue("no")
        if act == "lost before":
            raise Transient("lost")
        self.made.append(f"t{len(self.made)}")
        if act == "lost after":
            raise Transient("lost")
        return self.made[-1]


@settings(max_examples=30, deadline=None)
@given(acts=st.lists(st.sampled_from(["works", "lost before", "lost after", "refused"]), max_size=8))
def test_a_create_that_is_reconciled_first_is_never_made_twice(
    tmp_path_factory: pytest.TempPathFactory, acts: list[str]
) -> None:
    """Whatever goes wrong with a create that can be found, the target has it at most once."""
    target = Target()

    async def play() -> None:
        path = tmp_path_factory.mktemp("steps") / "job.db"
        for act in acts:  # each in a process of its own, as far as the file can know
            store = await SqlStore.open(path, SetClock())
            with suppress(InvalidValue, Transient):
                made = await store.run_journal("create").run(
                    "create", partial(target.create, act), reconcile=target.look
                )
                assert [made] == target.made
            await store.close()

    asyncio.run(play())
    assert len(target.made) <= 1


async def test_a_write_that_is_found_done_after_a_crash_is_recorded_with_its_changes(store: SqlStore) -> None:
    """Otherwise a rollback could not undo it."""
    run, work = await claimed(store)
    changed = {"term": [{"label": "Sea"}, {"label": "Ocean"}]}
    with suppress(RuntimeError), recording(WriteRecord("t7", changed)):
        await store.journal(work, run).run("rename", Calls(error=RuntimeError()), reconcile=Calls(None))
    with recording(WriteRecord("t7", changed)):
        assert await store.journal(replace(work, begun=True), run).run("rename", Calls(), reconcile=Calls("t7")) == "t7"
    (row,) = await store.ledger(0, 10)
    assert (row.target, row.changes) == ("t7", changed)


async def test_creates_with_an_unknown_outcome_are_counted(store: SqlStore) -> None:
    run, work = await claimed(store)
    journal = store.journal(work, run)
    for error in (Denied("no"), Transient("the connection broke")):
        with suppress(type(error)):
            await journal.run("create", Calls(error=error), reconcile=Calls(None))
        assert await store.interrupted_creates() == int(isinstance(error, Transient))
    await journal.run("create", Calls("t1"), reconcile=Calls(None))
    assert await store.interrupted_creates() == 0


@pytest.mark.parametrize("fate", [LINKED, IN_TRASH])
async def test_the_journal_of_an_undone_asset_has_its_intents_as_long_as_something_stays(
    store: SqlStore, fate: str
) -> None:
    run, work = await claimed(store)
    first = store.journal(work, run)
    await first.run("draft 1", Calls({"title": "Sea", "files": ["a.jpg"]}), idempotent=True)
    await first.run("update:1", Calls())
    left = Undone("a", "t1", (), fate, LinkRow("a", "t1"), attempt={"draft 1": {"title": "Sea", "files": []}})
    for undone, meant in ((left, {"title": "Sea", "files": []}), (replace(left, attempt={}), None)):
        await store.undone(run, undone)
        journal = store.journal(replace(work, begun=True), run)
        assert await journal.get("draft 1") == meant
        assert not await journal.is_begun("update:1")
