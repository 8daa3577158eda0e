"""Terms that a draft needs are added together, and each of them is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.context.stages import Concluded
from dam_sync.engine.names.containers import TargetContainers
from dam_sync.engine.names.terms import MOST_RECALLED, TargetTerms
from dam_sync.engine.run.worker import Worker
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.errors import DamSyncError, InvalidValue, NotFound, StillFetching, Transient
from dam_sync.model.outcome import Outcome
from dam_sync.model.shared_target import SharedPart, UnsharedTarget
from dam_sync.model.values import Term
from dam_sync.store.rows import Work
from tests.support.run_double import run_double
from tests.support.state.memory_journal import MemoryJournal


class Target:
    """Takes terms; `fails`: the call of this number does not get through."""

    capabilities = Capabilities(frozenset({Operation.ENSURE_TERM}))

    def __init__(self, fails: int = 0) -> None:
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.fails = fails
        self.refuses = False

    async def ensure_terms(self, vocabulary: str, terms: Sequence[Term]) -> tuple[Term, ...]:
        self.calls.append((vocabulary, tuple(f"{term.parent}>{term.label}" for term in terms)))
        if len(self.calls) == self.fails:
            raise Transient("no response")
        if self.refuses:
            raise InvalidValue("a closed list")
        return tuple(Term(term.label, f"id-{term.label}", term.path, term.parent) for term in terms)


class Told(UnsharedTarget):
    """What other processes are told."""

    def __init__(self) -> None:
        self.told: list[SharedPart] = []

    async def created(self, scope: str, parts: Sequence[SharedPart]) -> None:
        self.told += parts


def terms_of(target: Target, journal: MemoryJournal) -> TargetTerms:
    return TargetTerms(target, journal, ("tags", "tree"))  # type: ignore[arg-type]


FLAT = [("tags", Term(label, path=(label,))) for label in ("Sea", "Wood", "City")]
TREE = [("tree", Term("Nature", path=("Nature",))), ("tree", Term("Sea", path=("Nature", "Sea")))]


async def test_terms_of_one_vocabulary_are_added_by_one_call_and_recorded_each() -> None:
    target, journal = Target(), MemoryJournal()
    terms = terms_of(target, journal)
    await terms.ensure([FLAT[0], *TREE, FLAT[1], FLAT[2]])
    assert target.calls == [
        ("tags", (">Sea", ">Wood", ">City")),
        ("tree", (">Nature",)),
        ("tree", ("id-Nature>Sea",)),
    ]
    assert set(journal.done) == {
        "term:tags:Sea",
        "term:tags:Wood",
        "term:tags:City",
        "term:tree:Nature",
        "term:tree:Nature/Sea",
    }
    known = await terms.known()
    found = known["tree"].by_path(("Nature", "Sea"))
    assert found is not None
    assert found.id == "id-Sea"


async def test_terms_that_are_recorded_are_not_asked_for_again() -> None:
    target, journal = Target(fails=2), MemoryJournal()
    await terms_of(target, journal).ensure(FLAT[:1])
    with pytest.raises(Transient):
        await terms_of(target, journal).ensure(FLAT)
    await terms_of(target, journal).ensure(FLAT)
    assert [labels for _, labels in target.calls] == [(">Sea",), (">Wood", ">City"), (">Wood", ">City")]


ALIKE = [
    ("Arts/Crafts",),
    ("Arts",),
    ("Arts", "Crafts"),
    ("A", "B/C"),
    ("A/B", "C"),
    ("A", "B", "C"),
    ("a:b",),
    ("a\\/b",),
]


async def test_terms_whose_joined_labels_are_the_same_are_created_each() -> None:
    target, journal = Target(), MemoryJournal()
    wanted = [(name, Term(path[-1], path=path)) for name in ("tree", "tree:a") for path in ALIKE]
    made = await TargetTerms(target, journal, ("tree", "tree:a")).ensure(wanted)  # type: ignore[arg-type]
    assert len(journal.done) == len(made) == len(wanted)
    assert {key: term.path for key, term in made.items()} == {(name, term.path): term.path for name, term in wanted}


class Library(Target):
    """Has these terms; listing them is how a killed process's writes are found."""

    capabilities = Capabilities(frozenset({Operation.ENSURE_TERM, Operation.TERMS}))

    def __init__(self, *paths: tuple[str, ...]) -> None:
        super().__init__()
        self.paths = paths

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        for path in self.paths:
            yield Term(path[-1], f"id-{path}", path)


@pytest.mark.parametrize(
    ("there", "recorded"),
    [
        ([("Arts/Crafts",)], {"term:tree:Arts\\/Crafts"}),
        ([("Arts",), ("Arts", "Crafts")], {"term:tree:Arts/Crafts"}),
        ([("Arts/Crafts",), ("Arts",), ("Arts", "Crafts")], set()),
        ([("Arts",)], set()),
    ],
)
async def test_what_an_earlier_release_began_is_the_one_term_that_it_may_mean(
    there: list[tuple[str, ...]], recorded: set[str]
) -> None:
    journal = MemoryJournal()
    await journal.begin(["former term:tree:Arts/Crafts"])
    terms = TargetTerms(Library(*there), journal, ("tree",), recovers=True)  # type: ignore[arg-type]
    await terms.known()
    assert (set(journal.done), journal.open) == (recorded, set())


async def test_a_term_that_was_begun_is_not_taken_for_another_with_the_same_joined_labels() -> None:
    journal = MemoryJournal()
    await journal.begin(["term:tree:Arts/Crafts"])
    terms = TargetTerms(Library(("Arts/Crafts",)), journal, ("tree",), recovers=True)  # type: ignore[arg-type]
    await terms.known()
    assert (journal.done, journal.open) == ({}, {"term:tree:Arts/Crafts"})


class Shelves:
    """Has two containers, and gives them other names."""

    capabilities = Capabilities(frozenset({Operation.CONTAINERS, Operation.ENSURE_CONTAINER}))

    async def containers(self) -> AsyncIterator[Placement]:
        for path, identity in ((("Theirs",), "c1"), (("Press",), "c2"), (("Theirs", "2024"), "c3")):
            yield Placement("folder", path, identity)

    async def ensure_container(self, kind: str, path: tuple[str, ...], parent: str) -> Placement:
        return Placement(kind, path, f"new in {parent}")

    async def rename_container(self, container: Placement, path: tuple[str, ...], parent: str | None) -> Placement:
        return Placement("folder", path, container.id)


async def test_what_others_renamed_is_still_found_when_something_else_gets_another_name() -> None:
    containers = TargetContainers(Shelves(), MemoryJournal())  # type: ignore[arg-type]
    await containers.known()
    containers.call("folder", ("Ours",), "c1")
    await containers.rename(Placement("folder", ("Press",), "c2"), ("News",))
    ours = await containers.resolve([Placement("folder", ("Ours",))])
    assert [place.id for place in ours] == ["c1"]


async def test_what_is_below_one_that_others_renamed_is_found_and_made_there() -> None:
    containers = TargetContainers(Shelves(), MemoryJournal())  # type: ignore[arg-type]
    await containers.known()
    containers.stand_ins["folder", ("Ours",)] = "c1"
    made = await containers.resolve([Placement("folder", ("Ours", year)) for year in ("2024", "2025")])
    assert {place.path: place.id for place in made} == {("Ours", "2024"): "c3", ("Ours", "2025"): "new in c1"}
    ours = await containers.resolve([Placement("folder", ("Ours",))])
    assert [place.id for place in ours] == ["c1"]


async def test_other_processes_learn_that_what_was_refused_does_not_exist() -> None:
    """No other process waits for it then."""
    target, journal, shared = Target(), MemoryJournal(), Told()
    terms = TargetTerms(target, journal, ("tags",), shared=shared)  # type: ignore[arg-type]
    target.refuses = True
    with pytest.raises(InvalidValue):
        await terms.ensure(FLAT[:1])
    assert [(part.path, part.value) for part in shared.told] == [(("Sea",), None)]
    shared.told.clear()
    with pytest.raises(InvalidValue):  # of several, some may have been added
        await terms.ensure(FLAT)
    assert shared.told == []


async def test_terms_are_recalled_unless_they_are_in_doubt_or_too_many() -> None:
    terms = terms_of(Target(), MemoryJournal())
    terms.recalled = {"tags": {label: Term(label, label) for label in ("Sea", "Wood")}, "tree": {"Oak": Term("Oak")}}
    assert terms.met().keys() == {"tags", "tree"}
    terms.recalled = {**terms.recalled, "tags": dict.fromkeys(map(str, range(MOST_RECALLED)), Term("Sea"))}
    assert terms.met().keys() == {"tags", "tree"}
    terms.recalled = {**terms.recalled, "tags": {**terms.recalled["tags"], "one more": Term("Wood")}}
    assert terms.met().keys() == {"tree"}
    terms.doubted = True
    assert terms.met() == {}


GONE, REASON = NotFound("no such asset"), NotFound("it is no longer at the target")


async def reason_of(error: DamSyncError, *_: object) -> DamSyncError:
    """Another one if the asset itself is gone."""
    return REASON if error is GONE else error


@pytest.mark.parametrize(
    ("error", "doubted"),
    [
        (InvalidValue("no such term"), True),
        (Transient("no response"), True),
        (StillFetching("wait"), False),
        (NotFound("no such term"), True),
        (GONE, False),
    ],
    ids=["refused", "no response", "to be continued", "something is not found", "the asset is not found"],
)
async def test_recalled_terms_are_in_doubt_after_a_write_that_was_refused(error: DamSyncError, doubted: bool) -> None:
    """One of them may be gone."""

    async def refuse(_: object) -> None:
        raise error

    worker: Any = object.__new__(Worker)
    worker.terms, worker.writer = terms_of(Target(), MemoryJournal()), SimpleNamespace(outcome=refuse)
    worker.missing = SimpleNamespace(while_writing=reason_of)
    failed = await worker.write(Concluded(Work(1, AssetId("a"), ""), Outcome("skipped")))
    assert (failed.error, worker.terms.doubted) == (await reason_of(error), doubted)


@pytest.mark.parametrize("placed", [False, True])
async def test_containers_are_read_on_first_use_and_only_if_the_mapping_writes_placements(placed: bool) -> None:
    plan = SimpleNamespace(placements=[("folder", "folder")] if placed else [])
    read: list[str] = []

    class Folders:
        capabilities = Capabilities(frozenset({Operation.CONTAINERS}))

        async def containers(self) -> AsyncIterator[Placement]:
            read.append("containers")
            yield Placement("folder", ("Press",), "c1")

    worker: Any = object.__new__(Worker)
    worker.containers, worker.terms = TargetContainers(Folders(), MemoryJournal()), terms_of(Target(), MemoryJournal())  # type: ignore[arg-type]
    worker.context, worker.compared = run_double(crosswalk=SimpleNamespace(plan=plan), planned=None), True
    for _ in range(2):
        await worker._know_target()
        assert await worker._containers() == ({("folder", ("Press",)): "c1"} if placed else {})
    assert read == ["containers"] * placed
