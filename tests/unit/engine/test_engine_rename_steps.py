"""Which levels of a path were renamed, and whether something was moved."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from dam_sync.engine.compare.name_paths import Level, Path, PathRenaming, Trees
from dam_sync.engine.compare.name_verdict import NameVerdict
from dam_sync.model.asset import with_new_top


def way(old: str, new: str, there: Collection[str] = (), alive: Collection[str] = ()) -> list[str]:
    """The steps, one after another, `>>` for a move."""
    at, names, steps = path(old), PathRenaming(path(old), path(new)), list[str]()
    trees = Trees(lambda one: text(one) if text(one) in there else "", text, lambda one: text(one) in alive)
    while step := names.step(at, trees):
        steps.append(f"{text(at[: step.depth])} {'>>' if step.moved else '>'} {text(step.new)}")
        at, names = with_new_top(at, at[: step.depth], step.new), names.after(step)
        assert len(steps) < 9
    return steps


def path(joined: str) -> Path:
    return tuple(joined.split("/"))


def text(one: Path) -> str:
    return "/".join(one)


@pytest.mark.parametrize(
    ("old", "new", "steps"),
    [
        ("A", "B", ["A > B"]),
        ("A/x", "A/y", ["A/x > A/y"]),
        ("A/x", "B/x", ["A > B"]),
        ("A/x", "B/y", ["A > B", "B/x > B/y"]),
        ("A/M/x", "B/N/x", ["A > B", "B/M > B/N"]),
        ("A", "B/A", ["A >> B/A"]),
        ("A/x", "x", ["A/x >> x"]),
        ("A/M/x", "A/x", ["A/M/x >> A/x"]),
    ],
)
def test_a_level_above_that_left_the_source_was_renamed(old: str, new: str, steps: list[str]) -> None:
    assert way(old, new) == steps


@pytest.mark.parametrize(
    ("new", "there", "alive", "steps"),
    [
        pytest.param("B/x", [], ["A"], ["A/x >> B/x"], id="level above is still in the source"),
        pytest.param("B/x", ["B"], [], ["A/x >> B/x"], id="level above is in the target already"),
        pytest.param("A/y", [], ["A", "A/x"], ["A/x > A/y"], id="a new one may have the old name"),
    ],
)
def test_a_level_that_exists_under_its_old_or_new_name(
    new: str, there: list[str], alive: list[str], steps: list[str]
) -> None:
    assert way("A/x", new, there=there, alive=alive) == steps


@pytest.mark.parametrize(
    ("given", "wanted", "now", "step"),
    [
        ("A/x", "A/y", "A/x", Level(2, ("A", "y"))),
        ("A/x", "A/y", "B/x", Level(2, ("A", "y"))),
        ("A/x", "A/y", "A/z", Level(2, ("A", "y"), verdict=NameVerdict.BOTH)),
        ("A/x", "A/y", "A/y", None),
        ("A/x", "B/x", "A/x", Level(1, ("B",))),
        ("A/x", "B/x", "C/x", Level(1, ("B",), verdict=NameVerdict.BOTH)),
        ("A/x", "B/x", "B/x", None),
        ("A/x", "A/x", "C/z", None),
        ("A/x", "x", "A/x", Level(2, ("x",), moved=True)),
        ("A/x", "x", "A/z", Level(2, ("x",), moved=True, verdict=NameVerdict.BOTH)),
        ("A/x", "B/x", "x", Level(1, ("B", "x"), moved=True, verdict=NameVerdict.BOTH)),
        ("A/x", "A/y", "x", Level(1, ("A", "y"))),
        ("A/x", "A/x", "x", None),
    ],
)
def test_a_name_is_of_others_if_no_run_gave_it(given: str, wanted: str, now: str, step: Level | None) -> None:
    trees = Trees(lambda _: "", text, lambda _: False)
    assert PathRenaming(path(given), path(wanted)).step(path(now), trees) == step


@pytest.mark.parametrize(
    ("there", "alive", "step"),
    [
        ({}, (), Level(1, ("B",))),
        ({"B": "b"}, (), Level(2, ("B", "x"), moved=True)),
        ({}, ("A",), Level(2, ("B", "x"), moved=True)),
        ({"B": "A"}, (), None),
    ],
)
def test_a_level_above_that_exists_or_is_in_use_was_left(
    there: dict[str, str], alive: Collection[str], step: Level | None
) -> None:
    trees = Trees(lambda one: there.get(text(one), ""), text, lambda one: text(one) in alive)
    assert PathRenaming(path("A/x"), path("B/x")).step(path("A/x"), trees) == step
