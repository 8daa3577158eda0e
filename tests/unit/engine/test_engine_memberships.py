"""Second pass: bulk memberships and relations are written, whatever others have their name, and again when they are
wanted again; what that takes of commits, and what is durable before a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.read.members import TARGET, read_members
from dam_sync.engine.run.second_pass import unwritten_relations, write_memberships, write_relations
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Entry, Placement, Relation, Revision
from dam_sync.model.capabilities import Capabilities, Feature, MembershipWrite, Operation
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import InvalidValue
from dam_sync.model.journal import call_again
from dam_sync.model.limits import Limits
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.model.writes import Membership
from dam_sync.store.refused import circle_of
from dam_sync.store.rows import Run
from dam_sync.store.runs import RELATES
from dam_sync.store.store import SqlStore
from dam_sync.store.undo import OpenMemberships
from tests.support.run_double import run_double
from tests.support.state.shared_engine import SHARED

OLD, NEW = (Placement("folder", ("Press",), each) for each in ("c-1", "c-2"))


@dataclass
class Desk:
    """As much of a run's context as the second pass looks at. noted: what was durable of memberships at each call;
    refused: an asset that is added to nothing; circles: whether relations may lead in one."""

    store: SqlStore
    run: Run
    limits: Limits = field(default_factory=Limits)
    hinted: bool = True
    placed: list[tuple[str, Sequence[AssetId], Sequence[AssetId]]] = field(default_factory=list)
    noted: list[list[OpenMemberships]] = field(default_factory=list)
    related: list[tuple[bool, str, str]] = field(default_factory=list)
    refused: str = ""
    circles: bool = True
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def context(self) -> RunContext:
        asked = SimpleNamespace(hinted=self.hinted)
        facts = {"store": self.store, "run": self.run, "options": asked, "refuse_stopped": self.refuse_stopped}
        return cast(RunContext, run_double(target=self, **facts))

    def refuse_stopped(self) -> None:
        """It is not asked to stop."""

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        self.noted.append(await self.store.open_memberships(self.run.id))
        if self.refused in add:
            raise InvalidValue("no room")
        self.placed.append((container.id, tuple(add), tuple(remove)))

    @property
    def capabilities(self) -> Desk:
        return self

    def __contains__(self, operation: Operation) -> bool:
        return True

    def writes(self, feature: Feature) -> bool:
        return self.circles or feature is not Feature.CYCLES

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        self.related.append((True, asset, relation.target))

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        self.related.append((False, asset, relation.target))

    async def write(self, *placements: tuple[Placement, Any, bool]) -> None:
        """The asset is written again, with these memberships, and they are."""
        await self.queue(*placements)
        await write_memberships(self.context)

    async def queue(
        self,
        *placements: tuple[Placement, Any, bool],
        relations: Sequence[tuple[str, AssetId, bool]] = (),
        owner: str = "a",
    ) -> None:
        """An asset is written, and these memberships and relations of it wait."""
        number = next(self.numbers)
        shard = Shard(f"s{number}")
        await self.store.record(self.run.id, shard, Batch((Entry(AssetId(owner), Revision(str(number))),), None), ())
        (work,) = await self.store.claim(self.run.id, 1, timedelta(minutes=1))
        outcome = Outcome(
            "updated", link=LinkRow(owner, f"t-{owner}"), placements=placements, relations=tuple(relations)
        )
        await self.store.complete(work, outcome)

    async def link(self, *assets: str) -> None:
        """These assets exist at the target."""
        for asset in assets:
            await self.store.put_link(LinkRow(asset, f"t-{asset}"))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    yield Desk(store, await store.begin("job", "run"))
    await store.close()


async def test_two_containers_of_one_name_get_the_same_assets(desk: Desk) -> None:
    await desk.write((OLD, AssetId("t1"), True), (NEW, AssetId("t1"), True))
    assert desk.placed == [("c-1", ("t1",), ()), ("c-2", ("t1",), ())]


async def test_what_was_added_and_removed_in_one_run_is_added_again(desk: Desk) -> None:
    for adds in (True, False, True):
        await desk.write((OLD, AssetId("t1"), adds))
    assert desk.placed == [("c-1", ("t1",), ()), ("c-1", (), ("t1",)), ("c-1", ("t1",), ())]


async def test_a_change_of_members_is_two_commits_a_call(desk: Desk) -> None:
    """What is about to be changed, and what was changed."""
    desk.limits = Limits(member_batch=10)
    rows = [
        (Placement("folder", (f"{n}",), f"c-{n}"), AssetId(f"t{asset}"), True) for n in (1, 2) for asset in range(25)
    ]
    await desk.queue(*rows)
    before = desk.store.commits
    await write_memberships(desk.context)
    assert [len(add) for _, add, _ in desk.placed] == [10, 10, 5] * 2
    assert desk.store.commits - before == 2 * len(desk.placed)


async def test_what_is_about_to_be_changed_is_durable_before_the_call(desk: Desk) -> None:
    await desk.write((OLD, AssetId("t1"), True), (NEW, AssetId("t2"), True))
    assert desk.noted == [
        [OpenMemberships("c-1", ("t1",), ())],
        [OpenMemberships("c-2", ("t2",), ())],
    ]
    assert await desk.store.open_memberships(desk.run.id) == []


async def test_one_asset_that_is_refused_leaves_no_note_and_does_not_block_the_others(desk: Desk) -> None:
    desk.limits, desk.refused = Limits(member_batch=10), "t2"
    await desk.write(*((OLD, AssetId(f"t{number}"), True) for number in range(4)))
    assert sorted(asset for _, add, _ in desk.placed for asset in add) == ["t0", "t1", "t3"]
    assert await desk.store.open_memberships(desk.run.id) == []
    assert [row.cause for row in await desk.store.refused_causes()] == ["membership refused"]


async def test_a_relation_is_two_commits_a_call(desk: Desk) -> None:
    """Its intent, and its result with the end of what waited; so is one that is removed."""
    for adds in (True, False):
        await desk.link("a", "b", "c")
        await desk.queue(relations=[("view", AssetId(other), adds) for other in ("b", "c")])
        before = desk.store.commits
        await write_relations(desk.context.target, desk.context.state, desk.context.stopping)
        assert desk.store.commits - before == 2 * len(desk.related)
        assert desk.related == [(adds, "t-a", other) for other in ("t-b", "t-c")]
        assert await desk.store.next_relations(9, adds=adds) == []
        desk.related.clear()


async def test_a_relation_that_was_removed_in_this_run_is_written_again(desk: Desk) -> None:
    await desk.link("a", "b")
    for adds in (True, False, True):
        await desk.queue(relations=[("view", AssetId("b"), adds)])
        await write_relations(desk.context.target, desk.context.state, desk.context.stopping)
    assert [adds for adds, _, _ in desk.related] == [True, False, True]


async def test_a_relation_that_is_recorded_and_still_waits_is_completed_without_a_call(desk: Desk) -> None:
    """An earlier release was killed between the two."""
    await desk.link("a", "b")
    await desk.queue(relations=[("view", AssetId("b"), True)])
    name = journal_names.relation("a", "view", "b")
    await desk.store.run_journal(f"{RELATES}{desk.run.id}").run(name, call_again)
    await write_relations(desk.context.target, desk.context.state, desk.context.stopping)
    assert desk.related == []
    assert await desk.store.next_relations(9) == []


async def test_what_was_refused_is_tried_again_once_in_a_run_and_not_in_one_of_named_assets(desk: Desk) -> None:
    desk.refused, desk.hinted = "t1", False
    await desk.write((OLD, AssetId("t1"), True))
    await write_memberships(desk.context)
    assert len(desk.noted) == 1, "the run that was refused does not ask again"
    await desk.store.finish(desk.run.id, {})
    desk.run = await desk.store.begin("job", "run")
    desk.hinted, desk.refused = True, ""
    await write_memberships(desk.context)
    assert desk.placed == []
    desk.hinted = False
    for _ in range(2):
        await write_memberships(desk.context)
    assert desk.placed == [("c-1", ("t1",), ())]


@pytest.mark.parametrize("circles", [True, False])
async def test_a_relation_that_would_close_a_circle_is_not_written_where_the_target_refuses_that(
    desk: Desk, circles: bool
) -> None:
    """It would be one refused call in every run."""
    desk.circles = circles
    await desk.link("a", "b")
    await desk.queue(relations=[("view", AssetId("b"), True)])
    await write_relations(desk.context.target, desk.context.state, desk.context.stopping)
    await desk.store.put_link(LinkRow("a", "t-a", relations=(("view", "b"),)))
    await desk.queue(relations=[("view", AssetId("a"), True)], owner="b")
    await write_relations(desk.context.target, desk.context.state, desk.context.stopping)
    assert desk.related == [(True, "t-a", "t-b"), *([(True, "t-b", "t-a")] if circles else [])]
    told = await unwritten_relations(desk.context.state.store)
    assert told == ([] if circles else [(circle_of("view"), 1)])


IN_BULK = MembershipWrite.IN_BULK


@pytest.mark.parametrize(
    ("written", "about", "asked"),
    [
        (["folder"], {}, "all"),
        (["label"], {}, ""),
        ([], {}, ""),
        (["folder"], {"members": False}, ""),
        (["folder"], {"due": ["t1"]}, ""),
        (["folder"], {"due": ["t1"], "by_asset": True}, "t1"),
        (["folder"], {"due": ["t1"], "full": True}, "all"),
        (["folder"], {"due": ["t1"], "reads_target": True}, "all"),
    ],
    ids=[
        "all are read",
        "of a kind that the assets carry",
        "without placements in the mapping",
        "where nobody lists members",
        "a delta would have to read all",
        "a delta reads those of some assets",
        "a full run",
        "a run that compares the target",
    ],
)
async def test_which_memberships_of_the_target_are_read(
    desk: Desk, written: list[str], about: dict[str, Any], asked: str
) -> None:
    calls: list[str] = []

    async def found(assets: Sequence[AssetId] = ()) -> AsyncIterator[Membership]:
        calls.append(" ".join(assets) or "all")
        yield Membership(OLD, (AssetId("t1"), AssetId("t2")))

    async def enter(phase: str) -> None:
        """Nobody looks."""

    operations = frozenset({Operation.MEMBERS} if about.get("members", True) else ())
    able = Capabilities(operations, memberships={"folder": IN_BULK}, members_by_asset=about.get("by_asset", False))
    context: Any = run_double(
        target=SimpleNamespace(capabilities=able, members=found, members_of=found),
        crosswalk=SimpleNamespace(plan=SimpleNamespace(placements=[("album", kind) for kind in written])),
        options=SimpleNamespace(full=about.get("full", False)),
        reads_target=about.get("reads_target", False),
        store=desk.store,
        enter=enter,
    )
    await read_members(
        context.target, context.mapping.crosswalk, context.state.store, context.task, context.phases, about.get("due")
    )
    assert calls == ([asked] if asked else [])
    known = await desk.store.members_of([AssetId(f"{TARGET}t1"), AssetId(f"{TARGET}t2")])
    assert len(known) == {"": 0, "all": 1 if "due" in about else 2, "t1": 1}[asked]
