"""Jobs that write into one target: what one creates, the others use; a crash at any moment leaves nothing twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import pytest

from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.names.containers import CONTAINERS, TargetContainers
from dam_sync.engine.names.registry import TargetChanged
from dam_sync.engine.names.terms import TERMS, TargetTerms
from dam_sync.model.asset import Placement
from dam_sync.model.counterpart import Counterpart
from dam_sync.model.errors import Transient
from dam_sync.model.shared_target import SharedPart
from dam_sync.model.values import Term, value_to_json
from tests.support.services.shared_target import Board, BoardView, Shelf, Trusting
from tests.support.state.memory_journal import Crash, MemoryJournal

TREE = [("tree", Term("Nature", path=("Nature",))), ("tree", Term("Sea", path=("Nature", "Sea")))]
NEW = [*TREE, ("tree", Term("City", path=("City",)))]
PLACES = [Placement("folder", path) for path in (("Press", "2024"), ("Press", "2025"), ("Archive",))]


class Job:
    """One process of a job, with the journal of its run."""

    def __init__(self, board: Board, shelf: Shelf, name: str, journal: MemoryJournal | None = None) -> None:
        self.journal = journal or MemoryJournal()
        self.service = Trusting(shelf)
        shared = BoardView(board, name)
        given = (self.service, self.journal)
        self.terms = TargetTerms(*given, ("tree",), shared=shared)  # type: ignore[arg-type]
        self.containers = TargetContainers(*given, shared=shared)  # type: ignore[arg-type]

    async def begin(self) -> None:
        """Read what the target has."""
        await self.terms.known()
        await self.containers.known()

    async def move(self) -> None:
        """Create what is missing, drafted again when others were faster."""
        while True:
            try:
                index = (await self.terms.known())["tree"]
                await self.terms.ensure([(name, term) for name, term in NEW if index.by_path(term.path) is None])
                await self.containers.resolve(PLACES)
                return
            except TargetChanged:
                await asyncio.sleep(0)


def duplicates(shelf: Shelf) -> list[tuple[str, ...]]:
    found = Counter([term.path for term in shelf.terms]) + Counter([place.path for place in shelf.containers])
    return [path for path, number in found.items() if number > 1]


async def test_jobs_at_once_create_each_once() -> None:
    board, shelf = Board(), Shelf()
    jobs = [Job(board, shelf, name) for name in ("one", "two", "three")]
    await asyncio.gather(*(job.begin() for job in jobs))
    await asyncio.gather(*(job.move() for job in jobs))
    assert duplicates(shelf) == []
    assert {term.path for term in shelf.terms} == {term.path for _, term in NEW}
    assert {place.path for place in shelf.containers} == {("Press",), *(place.path for place in PLACES)}
    assert [job.service.listings for job in jobs] == [1, 1, 1]  # nobody reads again what it was sent


async def test_jobs_that_share_nothing_would_create_duplicates() -> None:
    shelf = Shelf()
    jobs = [Job(Board(), shelf, name) for name in ("one", "two")]
    await asyncio.gather(*(job.begin() for job in jobs))
    await asyncio.gather(*(job.move() for job in jobs))
    assert duplicates(shelf) != []


async def test_a_crash_at_any_moment_leaves_nothing_twice() -> None:
    moments, crashes = 0, 0
    while True:
        moments += 1
        board, shelf = Board(), Shelf()
        first, second = Job(board, shelf, "one", MemoryJournal(moments)), Job(board, shelf, "two")
        await asyncio.gather(first.begin(), second.begin())
        try:
            await first.move()
        except Crash:
            crashes += 1
        await second.move()
        first.journal.blow_at = None
        again = Job(board, shelf, "one again", first.journal)
        await again.begin()
        await again.move()
        assert duplicates(shelf) == [], f"crash at moment {moments}"
        assert len(shelf.terms) + len(shelf.containers) == len(NEW) + len(PLACES) + 1
        if first.journal.moments < moments:
            break
    assert crashes > 10


async def test_what_a_crash_left_open_is_read_again_once() -> None:
    board, shelf = Board(), Shelf()
    job = Job(board, shelf, "one")
    await job.begin()
    board.open.append((TERMS, SharedPart("tree", ("Nature",)), "gone"))
    board.open.append((TERMS, SharedPart("tree", ("Lake",)), "gone"))
    shelf.terms.append(Term("Nature", "t9", ("Nature",)))  # its call got through
    await job.move()
    assert duplicates(shelf) == []
    assert board.open == []
    assert {term.id for term in shelf.terms if term.label == "Nature"} == {"t9"}


async def test_what_others_created_stays_known_when_a_listing_is_behind() -> None:
    board, shelf = Board(), Shelf()
    sea = Term("Sea", "t1", ("Sea",))
    board.rows.append((TERMS, SharedPart("tree", ("Sea",), value_to_json(sea)), "other"))
    job = Job(board, shelf, "one")
    job.terms.recalled = {"tree": {"key": Term("Wood", "t2")}}
    assert not await job.terms.learn()  # nothing was read yet
    index = (await job.terms.known())["tree"]
    assert index.partial
    index.lacking = True
    assert await job.terms.complete()
    found = (await job.terms.known())["tree"].by_path(("Sea",))
    assert found is not None
    assert found.id == "t1"


async def test_what_was_read_overrides_what_other_jobs_reported_before() -> None:
    board, shelf = Board(), Shelf()
    ocean = Term("Ocean", "t1", ("Ocean",))
    shelf.terms.append(ocean)  # people renamed it since
    shelf.containers.append(Placement("folder", ("Ours",), "c1"))
    told = SharedPart("folder", ("Theirs",), [{"kind": "folder", "path": ["Theirs"], "id": "c1"}])
    board.rows.append((TERMS, SharedPart("tree", ("Sea",), value_to_json(Term("Sea", "t1", ("Sea",)))), "other"))
    board.rows.append(("containers", told, "other"))
    job = Job(board, shelf, "one")
    await job.begin()
    assert not await job.terms.learn()
    assert (await job.terms.known())["tree"].by_path(("Sea",)) is None
    assert await job.containers.known() == {("folder", ("Ours",)): "c1"}


async def test_a_rename_is_followed() -> None:
    board, shelf = Board(), Shelf()
    one, two = Job(board, shelf, "one"), Job(board, shelf, "two")
    await one.begin()
    await one.move()
    await two.begin()
    nature = (await one.terms.known())["tree"].by_path(("Nature",))
    assert nature is not None
    await one.terms.rename("tree", nature, Term("Wild", path=("Wild",)))
    press = one.containers.found("folder", ("Press",))
    await one.containers.rename(Placement("folder", ("Press",), press), ("News",))
    with pytest.raises(TargetChanged):
        await two.terms.ensure([("tree", Term("Lake", path=("Lake",)))])
    index = (await two.terms.known())["tree"]
    below = index.by_path(("Wild", "Sea"))
    assert below is not None
    assert index.by_path(("Nature",)) is None
    assert await two.containers.learn()
    assert two.containers.found("folder", ("News",)) == press
    assert two.containers.found("folder", ("News", "2024"))


async def test_what_another_job_uses_is_not_renamed() -> None:
    board = Board(used={"t1"})
    known = Counterparts(shared=BoardView(board, "one"))
    row = Counterpart("term", "tree", "s1", ("Sea",), "tree", "t1", ("Sea",), ("Sea",))
    assert await known.is_shared(row)
    board.used.clear()
    assert not await known.is_shared(row)


async def test_what_others_created_is_known_though_a_listing_failed_in_between() -> None:
    board, shelf = Board(), Shelf()
    job, other = Job(board, shelf, "one"), Job(board, shelf, "other")
    await asyncio.gather(job.begin(), other.begin())
    await other.containers.resolve([Placement("folder", ("Press",))])
    board.open.append((CONTAINERS, SharedPart("folder", ("Lake",)), "gone"))
    job.service.failing = True
    with pytest.raises(Transient):
        await job.containers.resolve([Placement("folder", ("Archive",))])
    job.service.failing = False
    board.open.clear()  # another process looked for it
    while True:
        with suppress(TargetChanged):
            await job.containers.resolve([Placement("folder", ("Press",))])
            break
    assert duplicates(shelf) == []
