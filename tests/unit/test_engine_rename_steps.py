"""Which levels of a path were renamed, and whether something was moved."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from dam_sync.engine.rename_steps import Path, Step, next_step
from dam_sync.model.asset import with_new_top


def way(old: str, new: str, there: Collection[str] = (), alive: Collection[str] = ()) -> list[str]:
    """The steps, one after another, `>>` for a move."""
    at, goal, told = path(old), path(new), list[str]()
    target, source = [path(each) for each in there], [path(each) for each in alive]
    while at != goal:
        step: Step = next_step(at, goal, lambda one: one in target, lambda one: one in source)
        told.append(f"{'/'.join(step.old)} {'>>' if step.moved else '>'} {'/'.join(step.new)}")
        at = with_new_top(at, step.old, step.new)
        assert len(told) < 9
    return told


def path(text: str) -> Path:
    return tuple(text.split("/"))


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
def test_a_level_above_that_is_gone_from_the_source_was_renamed(old: str, new: str, steps: list[str]) -> None:
    assert way(old, new) == steps


def test_a_level_above_that_the_source_still_has_was_left_for_another() -> None:
    assert way("A/x", "B/x", alive=["A"]) == ["A/x >> B/x"]


def test_a_level_above_that_the_target_has_already_is_another() -> None:
    assert way("A/x", "B/x", there=["B"]) == ["A/x >> B/x"]


def test_what_is_alive_itself_is_renamed_all_the_same() -> None:
    """A new one may have the old name."""
    assert way("A/x", "A/y", alive=["A", "A/x"]) == ["A/x > A/y"]
