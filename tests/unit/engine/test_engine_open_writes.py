"""What a killed run was about to change of memberships and relations is known until it is undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.api.abandoned_rollbacks import listed_writes
from dam_sync.engine.decide.patches import changes_of_members
from dam_sync.engine.rollback.rollback import Rollback
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Placement, Relation, Revision
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import InvalidValue
from dam_sync.model.journal import call_again, note_fact
from dam_sync.model.limits import Limits
from dam_sync.model.link import LinkRow
from dam_sync.model.shared_target import UnsharedTarget
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.rollbacks import rollback_command
from dam_sync.store.runs import PLACES, RELATES
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.shared_engine import SHARED

ABLE = Capabilities(frozenset({Operation.MEMBERS, Operation.RELATE, Operation.UNRELATE}))


@dataclass
class Target:
    """refused: assets of which nothing is changed."""

    capabilities: Capabilities = ABLE
    limits: Limits = field(default_factory=lambda: Limits(member_batch=10))
    related: dict[AssetId, set[Relation]] = field(default_factory=dict)
    placed: list[tuple[str, Sequence[str], Sequence[str]]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    async def fetch(self, asset: AssetId) -> Asset:
        return Asset(asset, Revision("1"), relations=frozenset(self.related.get(asset, ())))

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        self._refuse({*add, *remove})
        self.placed.append((container.id, tuple(add), tuple(remove)))

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        self._refuse({asset})
        self.related.setdefault(asset, set()).add(relation)

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        self._refuse({asset})
        self.related[asset].remove(relation)

    async def sweep(self, recorded: Any) -> int:
        return 0

    def _refuse(self, assets: set[AssetId]) -> None:
        if assets & self.refused:
            raise InvalidValue("locked", code="locked")


@dataclass
class Killed:
    """Run 1, which was killed while it changed memberships and relations of linked assets."""

    store: SqlStore
    target: Target = field(default_factory=Target)

    async def placing(self, container: str, add: Sequence[str], remove: Sequence[str] = ()) -> None:
        """It was about to make these members of a container, or not."""
        name = journal_names.placing(f"place:folder:/{container}:{add}{remove}")
        meant: Any = {"container": container, "add": [*add], "remove": [*remove]}
        await note_fact(self.store.run_journal(f"{PLACES}1"), name, meant)

    async def relating(self, owner: str, other: str, *, adds: bool = True) -> None:
        """It was about to write a relation, or to remove one; the target did so."""
        name = journal_names.relation(owner, "view", other, adds=adds)
        journal = self.store.run_journal(f"{RELATES}1")

        async def call() -> Json:
            raise ConnectionError

        with pytest.raises(ConnectionError):
            await journal.run(name, call, reconcile=call_again)
        related = self.target.related.setdefault(AssetId(f"t-{owner}"), set())
        (related.add if adds else related.discard)(Relation("view", AssetId(f"t-{other}")))

    async def wrote(self, target: str, name: str, changes: Any) -> None:
        """It changed this, and has the response."""
        with recording(WriteRecord(target, changes)):
            await self.store.run_journal("1").run(name, _nothing, idempotent=True)

    async def roll_back(self) -> tuple[Counter[str], set[str]]:
        """What was undone, and the assets of which something stays."""
        context: Any = run_double(
            **{"store": self.store, "target": self.target, "writers": 1, "workers": None},
            stop=SimpleNamespace(reason=""),
            target_schema=SimpleNamespace(naming=None),
            tallies=SimpleNamespace(orphans_aborted=0, partial_creates_trashed=0),
            options=SimpleNamespace(only=()),
            shared=UnsharedTarget(),
            enter=_nothing,
        )
        run = await self.store.begin("job", rollback_command(1))
        async with listed_writes(self.store, 1) as listed:
            undoing = Rollback(context, listed, whole=False)
            await undoing.execute()
            left = {target for _, _, target in listed.obstacles()}
        await self.store.close_interrupted(1, run.id)
        await self.store.finish(run.id, {}, listed=False)
        return undoing.counts, left


async def _nothing(*_: Any) -> Json:
    return None


@pytest.fixture
async def killed(tmp_path: Path) -> AsyncIterator[Killed]:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    await store.begin("job", "run")
    for asset in "abc":
        await store.put_link(LinkRow(asset, f"t-{asset}"))
    yield Killed(store)
    await store.close()


async def test_memberships_that_the_target_keeps_are_undone_by_the_next_rollback(killed: Killed) -> None:
    await killed.placing("c-1", ["t-a", "t-b"])
    await killed.placing("c-2", ["t-c"])
    killed.target.refused = {"t-b"}
    assert await killed.roll_back() == ({"memberships returned": 2}, {"t-b"})
    assert killed.target.placed == [("c-1", (), ("t-a",)), ("c-2", (), ("t-c",))]
    killed.target.placed.clear()
    assert await killed.roll_back() == ({}, {"t-b"})
    killed.target.refused = set()
    assert await killed.roll_back() == ({"memberships returned": 1}, set())
    assert killed.target.placed == [("c-1", (), ("t-b",))]
    assert await killed.roll_back() == ({}, set())


async def test_relations_that_the_target_keeps_are_undone_by_the_next_rollback(killed: Killed) -> None:
    """Also if another of the same run is undone already."""
    await killed.relating("a", "b")
    await killed.relating("b", "c")
    await killed.relating("c", "a", adds=False)
    killed.target.refused = {"t-b"}
    assert await killed.roll_back() == ({"relations removed": 1, "relations written again": 1}, {"t-b"})
    assert await killed.roll_back() == ({}, {"t-b"})
    killed.target.refused = set()
    assert await killed.roll_back() == ({"relations removed": 1}, set())
    assert killed.target.related == {"t-a": set(), "t-b": set(), "t-c": {Relation("view", AssetId("t-a"))}}
    assert await killed.roll_back() == ({}, set())


async def test_what_it_was_about_to_change_came_after_what_it_changed(killed: Killed) -> None:
    """A membership and a relation that it made, and then may have taken back; and the other way round."""
    await killed.wrote("c-1", journal_names.place("folder", ("c-1",), "1"), changes_of_members([AssetId("t-a")], []))
    await killed.placing("c-1", [], ["t-a"])
    for owner, other, adds in (("a", "b", True), ("b", "c", False)):
        there = {"kind": "view", "target": f"t-{other}"}
        name = journal_names.relation(owner, "view", other, adds=adds)
        await killed.wrote(f"t-{owner}", name, {"relation": [None, there] if adds else [there, None]})
        await killed.relating(owner, other, adds=not adds)
    await killed.roll_back()
    assert killed.target.placed == [("c-1", (), ("t-a",))]
    assert killed.target.related == {"t-a": set(), "t-b": {Relation("view", AssetId("t-c"))}}
