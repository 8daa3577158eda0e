"""The queue: in order, one at a time, never lost; also against a simple model."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dam_sync.model.asset import AssetId, Entry, Placement, Revision
from dam_sync.model.errors import Rejected, StoreBusy
from dam_sync.model.journal import call_again
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import OtherCause, ParkReason, SkipReason
from dam_sync.model.service import Batch, Shard
from dam_sync.model.state_server import StateServer
from dam_sync.store.rows import CauseRow, HeldBackRow, Work
from dam_sync.store.store import SqlStore
from tests.support.sample.property_examples import examples
from tests.support.state.clock_and_rows import SetClock

SHARD = Shard("all")
LEASE = timedelta(minutes=5)


def entry(name: str, revision: str = "r1") -> Entry:
    return Entry(AssetId(name), Revision(revision))


async def listed(store: SqlStore, *names: str) -> int:
    run = (await store.begin("job", "run")).id
    await store.record(run, SHARD, Batch(tuple(entry(name) for name in names), None), ())
    return run


async def test_retried_work_waits_its_time_and_keeps_its_attempts(store: SqlStore, clock: SetClock) -> None:
    run = await listed(store, "a", "b")
    first, second = await store.claim(run, 2, LEASE)
    await store.retry(first, 30)
    assert await store.claim(run, 9, LEASE) == []
    clock.skip(31)
    (again,) = await store.claim(run, 9, LEASE)
    assert (again.asset, again.attempt) == ("a", 2)
    await store.extend([second], timedelta(hours=1))
    clock.skip(60 * 30)
    assert [work.asset for work in await store.claim(run, 9, LEASE)] == ["a"]


async def test_what_is_in_hand_is_not_claimed_again_though_its_lease_ran_out(store: SqlStore, clock: SetClock) -> None:
    """A computer that slept wakes up with every lease at its end, and in the middle of its work."""
    run = await listed(store, "a", "b")
    (work,) = await store.claim(run, 1, LEASE)
    clock.skip(60 * 60)
    assert [each.asset for each in await store.claim(run, 9, LEASE, {work.asset: work})] == ["b"]
    await store.complete(work, Outcome("skipped"))


async def test_completing_work_twice_counts_once(store: SqlStore) -> None:
    run = await listed(store, "a")
    (work,) = await store.claim(run, 1, LEASE)
    place = Placement("category", ("A",), "1")
    outcome = Outcome("created", link=LinkRow("a", "t1"), placements=((place, AssetId("t1"), True),))
    await store.complete(work, outcome)
    await store.placement_journal(1, place, ["t1"], "place").run("place", call_again)
    await store.complete(work, outcome)
    assert (await store.tally(run))["created"] == 1
    assert await store.next_placements(10) is None


async def test_work_that_passed_to_another_claim_is_not_completed_by_the_first(
    place: Path | StateServer, clock: SetClock
) -> None:
    one = await SqlStore.open(place, clock)
    two = await SqlStore.open(place, clock)
    run = await listed(one, "a")
    (mine,) = await two.claim(run, 1, LEASE)
    with pytest.raises(StoreBusy, match="another process"):
        await one.complete(mine, Outcome("created", link=LinkRow("a", "t1")))
    assert await one.links(["a"]) == {}
    await two.complete(mine, Outcome("skipped"))
    await one.close()
    await two.close()


async def test_an_asset_listed_again_while_it_is_claimed_is_claimed_again(store: SqlStore) -> None:
    run = await listed(store, "a")
    (work,) = await store.claim(run, 1, LEASE)
    await store.record(run, Shard("second"), Batch((entry("a", "r2"),), None), ())
    assert await store.claim(run, 1, LEASE) == []
    await store.complete(work, Outcome("created", link=LinkRow("a", "t1", "r1")))
    assert await store.open_work(run) == 1
    assert (await store.links(["a"]))[AssetId("a")].source_revision == "r1"
    (again,) = await store.claim(run, 1, LEASE)
    assert (again.revision, again.attempt) == ("r2", 1)
    await store.complete(again, Outcome("updated", link=LinkRow("a", "t1", "r2")))
    tally = await store.tally(run)
    assert (tally["listed"], tally["created"], tally["updated"], tally["open"]) == (1, 1, 0, 0)


async def test_a_later_run_leaves_the_counts_of_a_closed_one(store: SqlStore) -> None:
    run = await listed(store, "a", "b")
    first, second = await store.claim(run, 2, LEASE)
    await store.complete(first, Outcome("created", link=LinkRow("a", "t1")))
    await store.complete(second, Outcome("parked", cause=OtherCause("x")))
    await store.finish(run, {})
    assert await store.unpark(None) == 1
    assert (await store.tally(run))["open"] == 1
    later = await listed(store, "a")
    assert later != run
    for work in await store.claim(later, 9, LEASE):
        await store.complete(work, Outcome("updated"))
    old, new = await store.tally(run), await store.tally(later)
    assert (old["created"], old["parked"], old["open"]) == (1, 0, 0)
    assert (new["listed"], new["updated"], new["open"]) == (1, 2, 0)
    assert set((await store.actions(["a", "b"])).values()) == {"updated"}


async def test_the_example_of_a_cause_is_one_asset_with_its_own_message(store: SqlStore) -> None:
    """Ids at the source may have a colon, and characters that come before it."""
    run = await listed(store, "a!", "a: b", "a")
    for work in await store.claim(run, 9, LEASE):
        message = {"a": "z: last", "a!": "m", "a: b": "k"}[work.asset]
        await store.complete(work, Outcome("parked", cause=ParkReason.GONE, message=message, hint="h", operation="o"))
    (found,) = await store.parked_causes()
    assert (found.count, found.asset, found.message, found.example) == (3, "a", "z: last", "a: z: last")


async def test_causes_come_with_their_numbers_and_losses_survive(store: SqlStore) -> None:
    run = await listed(store, *"abcd")
    for work in await store.claim(run, 9, LEASE):
        cause = ParkReason.GONE if work.asset == "d" else OtherCause("long")
        await store.complete(
            work, Outcome("parked", cause=cause, message="m", hint="h", operation="o", losses=[{"p": 1}])
        )
    assert await store.parked_causes() == [
        CauseRow(OtherCause("long"), "o", "h", 3, "a", "m"),
        CauseRow(ParkReason.GONE, "o", "h", 1, "d", "m"),
    ]
    assert [row.asset for row in await store.parked(limit=9, cause=ParkReason.GONE)] == ["d"]
    assert [row.asset for row in await store.parked(limit=2, offset=1)] == ["b", "c"]
    assert await store.actions(["a", "nobody"]) == {"a": "parked"}


class QueueMachine(RuleBasedStateMachine):
    """Any order of listing, claiming, waiting, giving back, settling and losing the process."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = SetClock()
        self.store = self.do(SqlStore.open(Path(self.folder.name) / "job.db", self.clock))
        self.run = self.do(self.store.begin("job", "run")).id
        self.rows: dict[str, str] = {}  # asset -> open or its action
        self.revisions: dict[str, str] = {}
        self.held: dict[str, tuple[Work, datetime]] = {}
        self.again: set[str] = set()

    def do(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(call)

    @rule(names=st.lists(st.sampled_from("abcdef"), max_size=4), revision=st.sampled_from(["r1", "r2"]))
    def list_some(self, names: list[str], revision: str) -> None:
        batch = Batch(tuple(entry(name, revision) for name in names), None)
        self.do(self.store.record(self.run, SHARD, batch, ()))
        for name in names:
            if self.revisions.get(name) == revision:
                continue
            self.revisions[name] = revision
            self.rows[name] = "open"
            if name in self.held:
                self.again.add(name)

    @rule(at_most=st.integers(0, 4))
    def claim(self, at_most: int) -> None:
        works = self.do(self.store.claim(self.run, at_most, LEASE))
        assert [work.seq for work in works] == sorted(work.seq for work in works)
        for work in works:
            assert self.rows[work.asset] == "open"
            assert work.asset not in self.held or self.held[work.asset][1] <= self.clock.now(), "given out twice"
            assert work.revision == self.revisions[work.asset]
            self.held[work.asset] = (work, self.clock.now() + LEASE)
            self.again.discard(work.asset)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), action=st.sampled_from(["created", "parked", "skipped"]))
    def settle(self, data: st.DataObject, action: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.held)))
        work, _ = self.held.pop(name)
        self.do(self.store.complete(work, Outcome(action)))
        if name in self.again:
            self.again.discard(name)
        else:
            self.rows[name] = action

    @precondition(lambda self: self.held)
    @rule(data=st.data(), later=st.booleans())
    def give_back(self, data: st.DataObject, later: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.held)))
        work, _ = self.held.pop(name)
        self.again.discard(name)
        self.do(self.store.retry(work, 0) if later else self.store.release([work]))

    @rule(minutes=st.sampled_from([1, 6]))
    def wait(self, minutes: int) -> None:
        self.clock.skip(60 * minutes)

    @rule()
    def unpark(self) -> None:
        parked = [name for name, state in self.rows.items() if state == "parked"]
        assert self.do(self.store.unpark(None)) == len(parked)
        self.rows |= dict.fromkeys(parked, "open")

    @rule()
    def lose_the_process(self) -> None:
        """Abandoned silently; the next one takes over what was held."""
        self.clock.skip(60 * 1)
        left = self.store
        self.store = self.do(SqlStore.open(left.path, self.clock))
        run = self.do(self.store.begin("job", "run"))
        assert (run.id, run.resumed) == (self.run, True)
        self.do(left.close())
        self.held.clear()
        self.again.clear()

    @invariant()
    def counts_agree(self) -> None:
        tally = self.do(self.store.tally(self.run))
        for label in ("open", "created", "parked", "skipped"):
            assert tally[label] == sum(state == label for state in self.rows.values()), label
        assert tally["listed"] == len(self.rows)
        assert self.do(self.store.open_work(self.run)) == tally["open"]

    def teardown(self) -> None:
        self.do(self.store.close())
        self.loop.close()
        self.folder.cleanup()


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(
    max_examples=examples(25), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


async def test_what_was_noted_under_a_path_is_counted_by_rule_with_the_first_assets(store: SqlStore) -> None:
    run = await listed(store, "a", "b", "c", "d", "e")
    noted = [{"path": "exposure", "rule": "groups_widened", "detail": "staff"}, {"path": "status", "rule": "not held"}]
    ends = [("parked", noted), ("parked", noted), ("parked", noted[1:]), ("created", noted), ("created", noted[1:])]
    for work, (action, losses) in zip(await store.claim(run, 9, LEASE), ends, strict=True):
        await store.complete(work, Outcome(action, cause=OtherCause("some"), losses=losses))
    assert await store.losses_of("exposure", run, 1) == [
        ("groups_widened", False, 1, ["d"]),
        ("groups_widened", True, 2, ["a"]),
    ]
    assert await store.losses_of("exposure", run + 1, 3) == [("groups_widened", True, 2, ["a", "b"])]


async def test_what_is_held_back_is_counted_by_remedy_and_groups(store: SqlStore) -> None:
    run = await listed(store, "a", "b", "c", "d", "e")

    def aside(*groups: str, closes: int = 1) -> list[dict[str, Any]]:
        advice = {"remedies": ["map them, “é”", "or not"], "closes": closes, "groups": list(groups)}
        return [{"path": "exposure", "rule": "groups_widened", **advice}]

    former = [{"path": "exposure", "rule": "expiry_dropped", "detail": "of an earlier release"}]
    ends = [("parked", aside("x", "é")), ("parked", aside("x", "é")), ("parked", aside(closes=0)), ("parked", former)]
    for work, (action, losses) in zip(await store.claim(run, 9, LEASE), [*ends, ("created", aside())], strict=True):
        await store.complete(work, Outcome(action, cause=OtherCause("some"), losses=losses))
    found = await store.held_back("exposure", 9)
    first = HeldBackRow("groups_widened", ["map them, “é”", "or not"], ["x", "é"], True, 2)
    others = HeldBackRow("expiry_dropped", [], [], False, 1), replace(first, groups=[], closes=False, assets=1)
    assert found[0] == first
    assert {each.rule: each for each in found[1:]} == {each.rule: each for each in others}
    assert await store.held_back("exposure", 1) == [first]
    assert await store.held_back("tags", 9) == []


async def test_assets_that_are_not_selected_are_counted_by_condition(store: SqlStore) -> None:
    run = await listed(store, "a", "b", "c", "d")
    causes = {"a": "not selected: where", "b": "not selected: status", "c": "not selected: where", "d": "gone"}
    for work in await store.claim(run, 9, LEASE):
        told = causes[work.asset]
        cause = SkipReason.NOT_SELECTED if work.asset != "d" else SkipReason.GONE
        await store.complete(work, Outcome("skipped", cause=cause, message=told))
    assert await store.left_out(run) == {"where": 2, "status": 1}
    assert await store.left_out(run + 1) == {}


async def test_what_an_earlier_release_parked_is_found_by_its_cause_of_today(store: SqlStore) -> None:
    run = await listed(store, "a", "b", "c")
    former = OtherCause("removed by the service as a duplicate")  # as such a state has it
    for work in await store.claim(run, 9, LEASE):
        cause = {"a": former, "b": ParkReason.GONE_WHILE_NEW, "c": ParkReason.GONE}[work.asset]
        await store.complete(work, Outcome("parked", cause=cause, message="m"))
    assert {row.cause for row in await store.parked_causes()} == {ParkReason.GONE_WHILE_NEW, ParkReason.GONE}
    assert [row.asset for row in await store.parked(limit=9, cause=ParkReason.GONE_WHILE_NEW)] == ["a", "b"]
    assert await store.unpark([ParkReason.GONE_WHILE_NEW]) == 2
    assert [row.cause for row in await store.parked(limit=9)] == [ParkReason.GONE]


async def test_a_service_that_says_deleted_or_conflict_means_nothing_of_ours(store: SqlStore) -> None:
    """What it refuses with such a code is parked, and neither in the trash of the source nor open to a decision."""
    run = await listed(store, "a", "b")
    codes = {"a": "deleted", "b": "conflict"}
    for work in await store.claim(run, 9, LEASE):
        error = Rejected("refused", code=codes[work.asset])
        await store.complete(work, Outcome("parked", cause=error.cause, message="m"))
    assert await store.left_out_assets("", 9) == []
    assert await store.retry_causes({ParkReason.CONFLICT}) == 0
    assert [row.cause for row in await store.parked(limit=9)] == [ParkReason.REJECTED] * 2
