"""Bulk memberships: each is written, whatever others have its name, and again when it is wanted again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.run.second_pass import write_memberships
from dam_sync.model.asset import AssetId, Entry, Placement, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.limits import Limits
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.service import Batch, Shard
from dam_sync.store.rows import Run
from dam_sync.store.store import SqlStore
from tests.support.state.shared_engine import SHARED

OLD, NEW = (Placement("folder", ("Press",), each) for each in ("c-1", "c-2"))


@dataclass
class Desk:
    """As much of a run's context as memberships look at."""

    store: SqlStore
    run: Run
    limits: Limits = field(default_factory=Limits)
    hinted: bool = True
    placed: list[tuple[str, Sequence[AssetId], Sequence[AssetId]]] = field(default_factory=list)

    @property
    def options(self) -> Desk:
        return self

    @property
    def target(self) -> Desk:
        return self

    def refuse_stopped(self) -> None:
        """It is not asked to stop."""

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        self.placed.append((container.id, tuple(add), tuple(remove)))

    async def write(self, revision: int, *placements: tuple[Placement, Any, bool]) -> None:
        """The asset is written again, with these memberships, and they are."""
        shard = Shard(f"s{revision}")
        await self.store.record(self.run.id, shard, Batch((Entry(AssetId("a"), Revision(str(revision))),), None), ())
        (work,) = await self.store.claim(self.run.id, 1, timedelta(minutes=1))
        await self.store.complete(work, Outcome("updated", link=LinkRow("a", "t1"), placements=placements))
        await write_memberships(cast(RunContext, self))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    yield Desk(store, await store.begin("job", "run"))
    await store.close()


async def test_two_containers_of_one_name_get_the_same_assets(desk: Desk) -> None:
    await desk.write(1, (OLD, AssetId("t1"), True), (NEW, AssetId("t1"), True))
    assert desk.placed == [("c-1", ("t1",), ()), ("c-2", ("t1",), ())]


async def test_what_was_added_and_removed_in_one_run_is_added_again(desk: Desk) -> None:
    for revision, adds in enumerate((True, False, True)):
        await desk.write(revision, (OLD, AssetId("t1"), adds))
    assert desk.placed == [("c-1", ("t1",), ()), ("c-1", (), ("t1",)), ("c-1", ("t1",), ())]
