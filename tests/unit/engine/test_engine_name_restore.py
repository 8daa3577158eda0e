"""Which terms and containers get their former name back from a rollback, which do not, and what is remembered of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.compare.name_verdict import NotRenamed
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.names.restore import LOST, REASONS, UNABLE, NameRestorer
from dam_sync.model.asset import Placement, with_new_top
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.clock import SystemClock
from dam_sync.model.counterpart import CONTAINER, TERM, Counterpart
from dam_sync.model.errors import InvalidValue
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.shared_target import UnsharedTarget
from dam_sync.model.values import Json, Term, value_to_json
from dam_sync.store.note_keys import MET_TERMS
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.shared_engine import SHARED

ABLE = Capabilities(
    frozenset({Operation.TERMS, Operation.RENAME_TERM, Operation.CONTAINERS, Operation.RENAME_CONTAINER})
)
Names = tuple[str, ...]


@dataclass
class Target:
    """Folders by id, and terms of one list; a renamed term gets the id of its name if `worded`."""

    folders: dict[str, Names]
    words: dict[str, Term] = field(default_factory=dict)
    capabilities: Capabilities = ABLE
    fails: Exception | None = None
    worded: bool = False
    calls: list[str] = field(default_factory=list)

    async def containers(self) -> AsyncIterator[Placement]:
        for identity, path in list(self.folders.items()):
            yield Placement("folder", path, identity)

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        for term in list(self.words.values()):
            yield term

    async def rename_container(self, container: Placement, path: Names, parent: str | None = None) -> Placement:
        if self.fails is not None:
            raise self.fails
        self.calls.append(f"{container.text} > {'/'.join(path)}{'' if parent is None else f' in {parent}'}")
        moved = {key: with_new_top(each, container.path, path) for key, each in self.folders.items()}
        self.folders = {**moved, container.id: path}
        return Placement("folder", path, container.id)

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        self.calls.append(f"{term.label} > {renamed.label}")
        identity = renamed.label if self.worded else term.id
        made = replace(self.words.pop(term.id), label=renamed.label, path=(*term.path[:-1], renamed.label), id=identity)
        self.words[made.id] = made
        return made


@dataclass
class Shared(UnsharedTarget):
    """Another job uses these."""

    used: frozenset[str] = frozenset()

    async def is_used_elsewhere(self, part: str, place: str, target: str) -> bool:
        return target in self.used


@dataclass
class Rollback:
    """Of run 2, which renamed one thing."""

    store: SqlStore
    target: Target
    row: LedgerRow
    known: Sequence[Counterpart] = ()
    used: frozenset[str] = frozenset()
    reasons: list[str] = field(default_factory=list)

    async def undo(self, *, again: bool = False) -> list[Counterpart]:
        """What is remembered then."""
        if not again:
            await self.store.keep_counterparts(self.known)
        self.reasons = []
        context: Any = run_double(
            store=self.store,
            target=self.target,
            target_schema=SimpleNamespace(naming=None),
            shared=Shared(self.used),
            counterparts=await Counterparts.load(self.store, dry=True),
        )
        listed: Any = SimpleNamespace(run=2, renames=lambda: [self.row], add_obstacles=self._keep)
        restorer = NameRestorer(context.target, context.state.store, listed)
        assert await restorer.undo(self.row) is (self.reasons == [])
        return await self.store.counterparts()

    def _keep(self, found: Sequence[Any], name: str, target: str) -> None:
        self.reasons += [one.reason for one in found]


def folder_row(old: str, new: str, identity: str = "c1") -> LedgerRow:
    sides = [{"kind": "folder", "path": text.split("/")} for text in (old, new)]
    return LedgerRow(
        7, 2, f"rename_container:folder:/{old}:/{new}", "", identity, None, "", changes={"container": sides}
    )


def term_row(old: Term, new: Term, detail: Json = None) -> LedgerRow:
    sides = [value_to_json(old), value_to_json(new)]
    name = f"rename_term:topics:{'/'.join(old.path)}:{new.label}"
    return LedgerRow(7, 2, name, "", new.id, detail, "", changes={"term": sides})


def folder_known(source: str, target: str, path: str) -> Counterpart:
    names = tuple(path.split("/"))
    return Counterpart(CONTAINER, "album", source, names, "folder", target, names, names, mapping="m", run=2)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    yield store
    await store.close()


NEWS = {"c1": ("News",), "c2": ("News", "2024")}


async def test_runs_gave_a_container_its_former_name_then_and_all_below_it(store: SqlStore) -> None:
    known = [folder_known("a", "c1", "News"), folder_known("b", "c2", "News/2024"), folder_known("x", "c9", "News")]
    undoing = Rollback(store, Target(dict(NEWS)), folder_row("Press", "News"), known)
    rows = {row.source: row for row in await undoing.undo()}
    assert (undoing.target.calls, undoing.reasons) == (["/News > Press"], [])
    for source, path in (("a", ("Press",)), ("b", ("Press", "2024")), ("x", ("News",))):
        assert (rows[source].name, rows[source].wanted, rows[source].origin) == (path,) * 3
    assert [row.run for row in rows.values()] == [0, 0, 2]


async def test_runs_gave_a_container_its_former_parent_then(store: SqlStore) -> None:
    there = {"c0": ("Old",), "c3": ("New",), "c1": ("New", "Press"), "c2": ("New", "Press", "2024")}
    known = [folder_known("a", "c1", "New/Press"), folder_known("b", "c2", "New/Press/2024")]
    undoing = Rollback(store, Target(there), folder_row("Old/Press", "New/Press"), known)
    rows = {row.source: row for row in await undoing.undo()}
    for source, path in (("a", ("Old", "Press")), ("b", ("Old", "Press", "2024"))):
        assert (rows[source].name, rows[source].wanted, rows[source].run) == (path, path, 0)


@pytest.mark.parametrize(
    ("row", "there", "calls", "reason"),
    [
        pytest.param(("Press", "News"), {"c1": ("NEWS",)}, ["/NEWS > Press"], "", id="in another case of letters"),
        pytest.param(("Press", "News"), {"c1": ("Press",)}, [], "", id="that has it already"),
        pytest.param(("Press", "News"), {}, [], LOST, id="that is gone"),
        pytest.param(("Press", "News"), {"c1": ("Theirs",)}, [], REASONS[NotRenamed.BOTH], id="that others renamed"),
        pytest.param(
            ("Press", "News"), {"c1": ("News",), "c3": ("Press",)}, [], REASONS[NotRenamed.TAKEN], id="taken by another"
        ),
        pytest.param(
            ("All/Press", "All/News"),
            {"c0": ("Theirs",), "c1": ("Theirs", "News")},
            ["/Theirs/News > Theirs/Press"],
            "",
            id="below one that others renamed",
        ),
        pytest.param(
            ("Old/Press", "New/Press"),
            {"c0": ("Old",), "c3": ("New",), "c1": ("New", "Press")},
            ["/New/Press > Old/Press in c0"],
            "",
            id="that was moved",
        ),
        pytest.param(
            ("Press", "New/Press"), {"c1": ("New", "Press")}, ["/New/Press > Press in "], "", id="from the top"
        ),
        pytest.param(
            ("Old/Press", "New/Press"), {"c3": ("New",), "c1": ("New", "Press")}, [], LOST, id="below one that is gone"
        ),
        pytest.param(
            ("Old/Press", "New/Press"),
            {"c0": ("Old",), "c3": ("New",), "c4": ("More",), "c1": ("More", "Press")},
            [],
            REASONS[NotRenamed.BOTH],
            id="that others moved on",
        ),
    ],
)
async def test_a_container_gets_its_former_name(
    store: SqlStore, row: tuple[str, str], there: dict[str, Names], calls: list[str], reason: str
) -> None:
    undoing = Rollback(store, Target(there), folder_row(*row))
    await undoing.undo()
    assert (undoing.target.calls, undoing.reasons) == (calls, [reason] if reason else [])


async def test_what_keeps_its_name_is_remembered_by_it(store: SqlStore) -> None:
    known = [folder_known("a", "c1", "News")]
    undoing = Rollback(store, Target({"c1": ("News",)}), folder_row("Press", "News"), known, frozenset({"c1"}))
    assert await undoing.undo() == known
    assert (undoing.target.calls, undoing.reasons) == ([], [REASONS[NotRenamed.SHARED]])
    undoing.used, undoing.target.fails = frozenset(), InvalidValue("no", code="closed")
    assert await undoing.undo(again=True) == known
    assert undoing.reasons == ["refused by the target: closed"]
    undoing.target.capabilities = ABLE.without(Operation.RENAME_CONTAINER)
    assert await undoing.undo(again=True) == known
    assert undoing.reasons == [UNABLE]


SEA, OCEAN = Term("Sea", "t1", ("Nature", "Sea")), Term("Ocean", "t1", ("Nature", "Ocean"))
NATURE = Term("Nature", "t0", ("Nature",))


def term_known(source: str, term: Term, former: Names = ()) -> Counterpart:
    return Counterpart(TERM, "subject", source, term.path, "topics", term.id, term.path, term.path, former, "m", 2)


async def test_runs_gave_a_term_its_former_name_then(store: SqlStore) -> None:
    await store.set_meta(MET_TERMS, {"terms": {"topics": {"7": value_to_json(OCEAN), "8": value_to_json(NATURE)}}})
    known = [term_known("7", OCEAN), term_known("8", NATURE)]
    undoing = Rollback(store, Target({}, {"t0": NATURE, "t1": OCEAN}), term_row(SEA, OCEAN), known)
    assert await undoing.undo() == [replace(term_known("7", SEA), run=0), known[1]]
    assert (undoing.target.calls, undoing.reasons) == (["Ocean > Sea"], [])
    assert (await store.get_meta(MET_TERMS))["terms"]["topics"].keys() == {"8"}


async def test_a_level_above_that_got_its_former_name_is_remembered_with_all_below_it(store: SqlStore) -> None:
    wild = replace(NATURE, label="Wild", path=("Wild",))
    below = replace(SEA, path=("Wild", "Sea"))
    known = [term_known("7", below), term_known("8", wild)]
    undoing = Rollback(store, Target({}, {"t0": wild, "t1": below}), term_row(NATURE, wild), known)
    assert await undoing.undo() == [replace(term_known("7", SEA), run=0), replace(term_known("8", NATURE), run=0)]


async def test_a_term_that_gets_another_id_with_its_name_is_the_same(store: SqlStore) -> None:
    sea, ocean = Term("Sea", "Sea", ("Sea",)), Term("Ocean", "Ocean", ("Ocean",))
    target = Target({}, {"Ocean": ocean}, worded=True)
    undoing = Rollback(store, target, term_row(sea, ocean), [term_known("7", ocean, ("Sea",))])
    (row,) = await undoing.undo()
    assert (row.target, row.former, row.name) == ("Sea", ("Ocean",), ("Sea",))


@pytest.mark.parametrize("done", [True, False], ids=["recorded by an earlier release", "begun"])
async def test_a_killed_rollback_is_completed(store: SqlStore, done: bool) -> None:
    """A part of a name may be visible only after a second call."""
    journal, name = store.run_journal("undo:2"), "undo rename_term:7"
    await journal.begin([name])
    target = Target({}, {"t1": SEA})
    undoing = Rollback(store, target, term_row(SEA, OCEAN), [term_known("7", OCEAN)])
    if done:

        async def give() -> Json:
            return True

        await journal.run(name, give, reconcile=give)
        target.words = {"t1": OCEAN}  # its listing is behind
    assert await undoing.undo() == [replace(term_known("7", SEA), run=0)]
    assert (target.calls, undoing.reasons) == ([] if done else ["Ocean > Sea"], [])
