"""Whose name something has at the target, and what follows from it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dam_sync.engine.compare.name_paths import Path, PathRenaming, Trees
from dam_sync.engine.compare.name_verdict import (
    NameAction,
    NameFacts,
    NamePurpose,
    NameVerdict,
    NotRenamed,
    action_of,
    verdict_of,
)
from dam_sync.model.asset import with_new_top
from dam_sync.model.conflict import ConflictPolicy

RUN, REPAIR, ROLLBACK, VERIFY = NamePurpose
SAME, OURS, THEIRS, BOTH = NameVerdict.SAME, NameVerdict.OURS, NameVerdict.THEIRS, NameVerdict.BOTH
LEAVE, RENAME, STAND, OPEN, TELL = NameAction
PARK, SOURCE, TARGET = ConflictPolicy.PARK, ConflictPolicy.SOURCE, ConflictPolicy.TARGET


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        ("Sea Sea Sea", SAME),
        ("Sea Ocean Ocean", SAME),
        ("Sea Ocean Sea", OURS),
        ("Sea Ocean SEA", OURS),
        ("Sea Sea Meer", THEIRS),
        ("Sea Ocean Meer", BOTH),
    ],
)
def test_a_name_is_ours_theirs_or_of_both(names: str, verdict: NameVerdict) -> None:
    """As runs gave it, as it is wanted, and as it is."""
    before, wanted, now = names.split()
    assert verdict_of(before, wanted, now) is verdict


@pytest.mark.parametrize(
    ("purpose", "actions"),
    [
        (RUN, {SAME: LEAVE, OURS: RENAME, THEIRS: LEAVE, BOTH: OPEN}),
        (REPAIR, {SAME: LEAVE, OURS: RENAME, THEIRS: RENAME, BOTH: RENAME}),
        (ROLLBACK, {SAME: LEAVE, OURS: RENAME, THEIRS: LEAVE, BOTH: TELL}),
        (VERIFY, {SAME: LEAVE, OURS: TELL, THEIRS: TELL, BOTH: TELL}),
    ],
)
def test_what_follows_depends_on_who_asks(purpose: NamePurpose, actions: dict[NameVerdict, NameAction]) -> None:
    expected = {each: actions.get(each, TELL) for each in NameVerdict}
    assert {each: action_of(each, purpose) for each in NameVerdict} == expected


@pytest.mark.parametrize("policy", ConflictPolicy)
def test_names_that_both_changed_follow_the_policy_in_a_run_alone(policy: ConflictPolicy) -> None:
    ruled = {SOURCE: RENAME, TARGET: STAND}.get(policy, OPEN)
    asked = [action_of(BOTH, purpose, policy) for purpose in NamePurpose]
    assert asked == [ruled, RENAME, TELL, TELL]


def test_the_first_obstacle_counts() -> None:
    reasons = [NotRenamed.TAKEN, NotRenamed.OTHER_NAME, NotRenamed.SHARED, NotRenamed.FIXED]
    for facts in product((False, True), repeat=4):
        first = next((why for why, is_so in zip(reasons, facts, strict=True) if is_so), None)
        assert NameFacts(*facts).obstacle() is first
    assert {each.verdict for each in NotRenamed} == {*NameVerdict} - {SAME, OURS, THEIRS}


NAMES = some.sampled_from(["A", "B", "C", "a"])
PATHS = some.lists(NAMES, min_size=1, max_size=3).map(tuple)
PLACES = some.dictionaries(PATHS, some.sampled_from("12345"), max_size=4)


def steps(renaming: PathRenaming, now: Path, trees: Trees) -> tuple[Path, list[NameVerdict], bool]:
    """Where it ends, whose names were changed, and whether it was moved: as a run does that nothing stops."""
    found, moved = list[NameVerdict](), False
    while not moved and (step := renaming.step(now, trees)) is not None:
        assert len(found) < 9, "it does not end"
        found.append(step.verdict)
        moved = step.moved
        now, renaming = with_new_top(now, now[: step.depth], step.new), renaming.after(step)
    return now, found, moved


def trees_of(places: dict[Path, str], lives: set[Path]) -> Trees:
    def at(path: Path) -> str:
        return places.get(path, "")

    return Trees(at, lambda path: at(path) or f"at {path}", lives.__contains__)


@given(PATHS, PATHS, PLACES, some.sets(PATHS, max_size=4))
def test_what_nobody_else_renamed_gets_the_wanted_path(
    old: Path, new: Path, places: dict[Path, str], lives: set[Path]
) -> None:
    """Unless a level above with the wanted name is where it is already."""
    trees = trees_of(places, lives)
    now, verdicts, _ = steps(PathRenaming(old, new), old, trees)
    levels = zip(now, new, strict=True)
    others = [depth for depth, (has, wanted) in enumerate(levels, 1) if has != wanted]
    assert all(trees.stands(new[:depth]) == trees.at(now[:depth]) for depth in others)
    assert now[-1] == new[-1]
    assert set(verdicts) <= {OURS}


@given(PATHS, PATHS, PLACES, some.sets(PATHS, max_size=4))
def test_a_run_leaves_what_only_others_renamed(
    before: Path, now: Path, places: dict[Path, str], lives: set[Path]
) -> None:
    assert steps(PathRenaming(before, before), now, trees_of(places, lives)) == (now, [], False)


@given(PATHS, PATHS, PATHS, PLACES, some.sets(PATHS, max_size=4))
def test_no_name_of_others_is_changed_without_saying_so(
    before: Path, wanted: Path, now: Path, places: dict[Path, str], lives: set[Path]
) -> None:
    """A step that takes a name that no run gave is a conflict, in any case of letters."""
    step = PathRenaming(before, wanted).step(now, trees_of(places, lives))
    if step is not None and not step.moved and len(now) == len(before):
        given_by_runs = now[step.depth - 1].casefold() == before[step.depth - 1].casefold()
        assert step.verdict is (OURS if given_by_runs else BOTH)
    if step is not None and len(now) != len(before) and step.moved:
        assert step.verdict is BOTH


@given(PATHS, PATHS, PATHS, PLACES)
def test_a_repair_gives_every_level_its_name_back(
    before: Path, wanted: Path, now: Path, places: dict[Path, str]
) -> None:
    assert steps(PathRenaming(before, wanted, REPAIR), now, trees_of(places, set()))[0] == wanted


@given(PATHS, NAMES, PLACES)
def test_a_rollback_of_a_rename_is_the_rename_back(old: Path, name: str, places: dict[Path, str]) -> None:
    new, trees = (*old[:-1], name), trees_of(places, set())
    now, *_ = steps(PathRenaming(old, new), old, trees)
    assert now == new
    assert steps(PathRenaming(new, old, ROLLBACK), now, trees)[0] == old
