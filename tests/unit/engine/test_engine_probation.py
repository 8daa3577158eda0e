"""Target assets that their service may still remove: how long they are watched, and what is stored of those removed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.probation import PARKED, refuse_removed, removed_before, watch_probation
from dam_sync.model.asset import Asset, AssetId, Placement, Revision
from dam_sync.model.errors import NotFound
from dam_sync.model.limits import Limits, Pace
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.run_options import Progress
from dam_sync.model.service import Batch, Service, Shard
from dam_sync.model.service_time import RunTime
from dam_sync.store.rows import Removal
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.clock_and_rows import SetClock, entries
from tests.support.state.shared_engine import SHARED

WINDOW = timedelta(minutes=15)
LEASE = timedelta(minutes=5)
SAME = {"md5": "0f"}
Opened = tuple[SqlStore, SetClock]


@dataclass
class Target:
    """A service that reports what is missing, and counts how often it is asked."""

    limits: Limits
    gone: set[str] = field(default_factory=set)
    asked: list[Sequence[AssetId]] = field(default_factory=list)
    probed: int = 0

    async def missing(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
        self.asked.append(assets)
        return frozenset(each for each in assets if each in self.gone)

    async def probe(self) -> None:
        self.probed += 1


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    clock = SetClock()
    store = await SqlStore.open(tmp_path / "job.db", clock, storage=SHARED)
    yield store, clock
    await store.close()


def session_of(store: SqlStore, clock: SetClock, *gone: str, window: timedelta = WINDOW) -> tuple[RunContext, Target]:
    target = Target(Limits(page=10, pace=Pace(), dedup_window=window), set(gone))

    async def enter(phase: str) -> None:
        pass

    parts = {"store": store, "clock": clock, "time": RunTime(clock), "target": target}
    made = run_double(**parts, progress=Progress(), enter=enter)
    return cast("RunContext", made), target


async def made(store: SqlStore, clock: SetClock, *names: str, run: int = 0) -> int:
    """Created in one run, as `t-NAME`; those whose name begins alike have the same bytes."""
    number = run or (await store.begin("job", "run")).id
    await store.set_shards(number, [Shard("all")], complete=True)
    await store.record(number, Shard("all"), Batch(entries(*names), None), ())
    for work in await store.claim(number, 100, LEASE):
        link = LinkRow(
            work.asset,
            f"t-{work.asset}",
            versions=("k1",),
            digests=SAME | {"first": work.asset[0]},
            made_at=clock.now(),
        )
        await store.complete(work, Outcome("created", link=link))
    return number


async def test_new_assets_are_watched_until_their_probation_is_over_and_not_longer(opened: Opened) -> None:
    store, clock = opened
    await made(store, clock, "a", "b")
    session, target = session_of(store, clock)
    assert await watch_probation(session.target, session.state.store, session.phases, due=True) == []
    assert target.asked == [], "nothing is sure yet, so nothing is asked"
    assert await watch_probation(session.target, session.state.store, session.phases) == []
    assert (await store.on_probation()).number == 2, "there now, and not for sure there later"
    clock.skip(WINDOW.total_seconds())
    assert await watch_probation(session.target, session.state.store, session.phases, due=True) == []
    assert (await store.on_probation()).number == 0
    asked = len(target.asked)
    assert await watch_probation(session.target, session.state.store, session.phases) == []
    assert len(target.asked) == asked


async def test_a_removed_duplicate_is_parked_with_its_twin_and_counted_in_the_run(opened: Opened) -> None:
    store, clock = opened
    run = await made(store, clock, "a1", "a2", "b1")
    session, target = session_of(store, clock, "t-a2")
    (removal,) = await watch_probation(session.target, session.state.store, session.phases, run=run)
    assert (removal.source, removal.file) == ("a2", "k1")
    assert "a1 has the same file, and exists as t-a1" in removal.message
    assert target.probed == 1, "what a credential does not see any more is not missing"
    (parked,) = await store.parked(limit=9)
    assert (parked.asset, parked.cause) == ("a2", ParkReason.GONE_WHILE_NEW)
    assert set(await store.links(["a1", "a2", "b1"])) == {"a1", "b1"}
    tally = await store.tally(run)
    assert (tally["created"], tally["parked"]) == (2, 1)
    assert await watch_probation(session.target, session.state.store, session.phases, run=run) == []


async def test_a_removed_asset_is_created_again_only_with_another_file_or_when_a_person_says_so(opened: Opened) -> None:
    store, clock = opened
    await made(store, clock, "a")
    session, _ = session_of(store, clock, "t-a")
    await watch_probation(session.target, session.state.store, session.phases)
    asset = Asset(AssetId("a"), Revision("r2"))
    outcome = await removed_before(session.state.store, asset, "k1")
    assert outcome is not None
    assert (outcome.action, outcome.cause) == ("parked", ParkReason.GONE_WHILE_NEW)
    assert outcome.message
    assert await removed_before(session.state.store, asset, "k2") is None
    assert await store.unpark([ParkReason.GONE_WHILE_NEW]) == 1
    assert await removed_before(session.state.store, asset, "k1") is None


async def test_what_was_made_again_is_no_removed_one_any_more(opened: Opened) -> None:
    store, clock = opened
    run = await made(store, clock, "a")
    session, _ = session_of(store, clock, "t-a")
    await watch_probation(session.target, session.state.store, session.phases)
    await store.unpark([ParkReason.GONE_WHILE_NEW])
    (work,) = await store.claim(run, 9, LEASE)
    await store.removed([Removal("a", "t-a", "k1", "again")], PARKED)
    await store.complete(work, Outcome("created", link=LinkRow("a", "t-a9")))
    assert await store.removals(["a"]) == {}


async def test_open_work_stays_open_and_memberships_of_a_removed_duplicate_end(opened: Opened) -> None:
    store, clock = opened
    run = await made(store, clock, "a")
    await store.record(run, Shard("again"), Batch(entries("a", revision="r2"), None), ())
    (work,) = await store.claim(run, 9, LEASE)
    placed = ((Placement("collection", ("Best",), "c"), AssetId("t-a"), True),)
    await store.complete(work, Outcome("updated", link=LinkRow("a", "t-a", made_at=clock.now()), placements=placed))
    await store.record(run, Shard("third"), Batch(entries("a", revision="r3"), None), ())
    session, _ = session_of(store, clock, "t-a")
    assert len(await watch_probation(session.target, session.state.store, session.phases, run=run)) == 1
    assert await store.next_placements(9) is None
    assert (await store.tally(run))["open"] == 1


async def test_an_asset_removed_before_it_is_complete_is_refused_as_removed(opened: Opened) -> None:
    store, clock = opened
    session, _ = session_of(store, clock, "t-a")
    with pytest.raises(NotFound) as gone:
        await refuse_removed(session.target, session.state.store, AssetId("a"), AssetId("t-a"), "k1")
    assert gone.value.cause == ParkReason.GONE_WHILE_NEW
    assert list(await store.removals(["a"])) == ["a"]
    await refuse_removed(session.target, session.state.store, AssetId("b"), AssetId("t-b"), "k1")
    calm, target = session_of(store, clock, "t-a", window=timedelta(0))
    await refuse_removed(calm.target, calm.state.store, AssetId("a"), AssetId("t-a"), "k1")
    assert target.asked == [], "a service that removes nothing is not asked"


async def test_a_service_without_a_cheaper_call_is_asked_for_each_asset() -> None:
    class Plain:
        """Has one, lost one, and one lies in the trash."""

        is_trashed = Service.is_trashed

        async def fetch(self, asset: AssetId) -> Any:
            if asset == "lost":
                raise NotFound("not there")
            return Asset(asset, Revision("r"), status="trash" if asset == "binned" else "published")

    ids = [AssetId(name) for name in ("there", "lost", "binned")]
    plain = cast("Service", Plain())
    assert await Service.missing(plain, ids, SetClock().now()) == {"lost", "binned"}
