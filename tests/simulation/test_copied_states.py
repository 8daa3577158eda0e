"""A state that is not the only one of its job: used on a second computer, copied, restored beside the first. Nothing is
created twice: whoever comes second stops, and `adopt` gives it the links that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dam_sync.model.errors import SafetyStop, StopRequested
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.sample.cases import only_in_full
from tests.support.services.profiles import FOLDER
from tests.support.virtual.copied_states import add, adopt, copied
from tests.support.virtual.removals import ASSETS, Removals, removing
from tests.support.virtual.state_location import on_postgres

STORES = ("sqlite", "postgres") if EVERYTHING else ("sqlite",)
TARGETS = (*KINDS, FOLDER)
NEW = range(ASSETS + 1, ASSETS + 4)


@pytest.fixture(params=STORES, autouse=True)
def _store(request: pytest.FixtureRequest, databases: None) -> Iterator[None]:
    if request.param == "postgres":
        with on_postgres():
            yield
    else:
        yield


def stopped(world: Removals, **options: object) -> SafetyStop:
    """The run is refused, and nothing was written."""
    before = world.living()
    with pytest.raises(SafetyStop) as told:
        world.run(**options)
    assert world.living() == before
    assert "adopt JOB" in told.value.hint
    return told.value


def ends_alike(world: Removals, there: set[str]) -> None:
    """Links for all that is there, and nothing more to do."""
    world.universe.do(world.universe.settle(world.job, "target"))  # until its index has the files, too
    adopt(world)
    assert world.run().parked == []
    assert set(world.links().values()) == world.living() == there


@pytest.mark.parametrize("kind", TARGETS)
def test_what_another_computer_created_since_is_not_created_again(tmp_path: Path, kind: str) -> None:
    with removing(tmp_path, (FOLDER, kind)) as first:
        second = copied(first, tmp_path / "second")
        for each in (second, first, second):  # nothing new: a copy is looked through once
            assert each.run().operations == {}
        add(first, NEW)
        assert first.run().counts["created"] == len(NEW)
        there = first.living()
        with pytest.raises(SafetyStop, match="with the marker of the source asset"):
            second.plan()
        assert "with the marker of the source asset" in stopped(second).message
        ends_alike(second, there)
        assert first.run().operations == {}


@only_in_full
@pytest.mark.parametrize("kind", TARGETS)
def test_each_of_two_computers_may_be_the_second(tmp_path: Path, kind: str) -> None:
    with removing(tmp_path, (FOLDER, kind)) as first:
        second = copied(first, tmp_path / "second", beside_it=False)
        assert second.run().operations == {}
        for number, (one, other) in zip(NEW, [(second, first), (first, second)] * 2, strict=False):
            add(first, [number])
            assert one.run().counts["created"] == 1
            stopped(other)
            ends_alike(other, one.living())


@pytest.mark.parametrize("kind", TARGETS if EVERYTHING else KINDS[1:2])
def test_many_creates_are_looked_for_by_one_listing(tmp_path: Path, kind: str) -> None:
    """More of them than are asked for one by one: the last were created by another computer."""
    with removing(tmp_path, (FOLDER, kind)) as first:
        second = copied(first, tmp_path / "second")
        assert second.run().operations == {}
        names = add(first, range(100, 140))
        first.run(only=frozenset(names[-3:]))
        before = first.living()
        with pytest.raises(SafetyStop, match="with the marker of the source asset"):
            second.run()
        assert before <= second.living()
        adopt(second)
        second.run()
        assert len(second.living()) == ASSETS + len(names)


@only_in_full
@pytest.mark.parametrize("kind", TARGETS)
def test_an_unfinished_migration_that_goes_on_in_two_places_stops_in_one(tmp_path: Path, kind: str) -> None:
    with removing(tmp_path, (FOLDER, kind)) as first:
        add(first, NEW)
        with pytest.raises(StopRequested):
            first.run(limit=1)
        second = copied(first, tmp_path / "second")
        assert first.run().counts["created"] == len(NEW)
        stopped(second)
        ends_alike(second, first.living())


def test_what_the_operator_accepts_is_created_once_it_was_reported(tmp_path: Path) -> None:
    """Who accepts something else accepts no doubles."""
    with removing(tmp_path, (FOLDER, KINDS[0])) as first:
        second = copied(first, tmp_path / "second")
        second.run()
        add(first, NEW)
        first.run()
        stopped(second, accept_changes=True)
        report = second.run(accept_changes=True)
        assert report.counts["created"] == len(NEW)
        assert len(second.living()) == ASSETS + 2 * len(NEW)


@only_in_full
def test_assets_in_the_trash_of_the_target_are_no_reason_to_stop(tmp_path: Path) -> None:
    """As after a rollback, which trashes what a run created: the next run creates it again."""
    with removing(tmp_path, (FOLDER, KINDS[0])) as world:
        second = copied(world, tmp_path / "second")
        second.run()
        before = world.living()
        add(world, NEW)
        world.run()
        world.remove(sorted(world.living() - before), "target")
        world.wait(1_000)
        assert second.run().counts["created"] == len(NEW)
