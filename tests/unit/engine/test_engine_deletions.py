"""When an asset counts as deleted at the source: nothing but complete listings in a row, or the trash, proves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.run.deletions import LISTINGS, Listing, deletion_of, is_due
from dam_sync.model.deletion_policy import DeletionPolicy, policy_of
from dam_sync.store.rows import IN_TRASH, UNLISTED, Deletion, Sighting

START = datetime(2026, 3, 1, tzinfo=UTC)
GRACE = timedelta(days=7)
POLICY = DeletionPolicy(GRACE, share=0.05)


def listing(run: int, *, complete: bool = True, scope: str = "same") -> Listing:
    return Listing(run, START + timedelta(days=run), complete, scope)


def sighting(known: Deletion | None = None, *, seen: int = 0, in_trash: bool = False) -> Sighting:
    return Sighting("s", "t", seen, in_trash, known)


def after(*listings: Listing) -> Deletion | None:
    """What is known of an asset that none of them has."""
    known = None
    for each in listings:
        known = deletion_of(sighting(known), each)
    return known


def test_one_complete_listing_is_not_enough() -> None:
    known = after(listing(1))
    assert known == Deletion("s", "t", UNLISTED, listing(1).at, 1, 1, "same")
    assert not is_due(known, POLICY, START + 10 * GRACE, 1)


def test_two_in_a_row_prove_it_once_the_grace_is_over() -> None:
    known = after(listing(1), listing(2))
    assert known is not None
    assert (known.listings, known.since) == (2, listing(1).at)
    assert not is_due(known, POLICY, known.since + GRACE - timedelta(seconds=1), 2)
    assert is_due(known, POLICY, known.since + GRACE, 2)


def test_a_run_that_did_not_list_everything_removes_nothing_that_is_not_in_the_trash() -> None:
    known = after(listing(1), listing(2), listing(3, complete=False))
    assert known is not None
    assert not is_due(known, POLICY, START + 10 * GRACE, 3)


def test_the_same_listing_counts_once() -> None:
    assert after(listing(1), listing(1), listing(1)) == after(listing(1))


def test_a_listing_of_another_scope_begins_again() -> None:
    known = after(listing(1), listing(2, scope="other"))
    assert known is not None
    assert (known.listings, known.since, known.scope) == (1, listing(2).at, "other")


@pytest.mark.parametrize("complete", [True, False])
def test_what_is_listed_again_exists(complete: bool) -> None:
    known = after(listing(1), listing(2))
    assert deletion_of(sighting(known, seen=3), listing(3, complete=complete)) is None


def test_what_is_in_the_trash_is_due_after_its_grace_and_what_leaves_it_exists() -> None:
    known = deletion_of(sighting(seen=1, in_trash=True), listing(1, complete=False))
    assert known is not None
    assert (known.reason, known.since) == (IN_TRASH, listing(1).at)
    assert is_due(known, POLICY, known.since + GRACE, 9)
    assert deletion_of(sighting(known, seen=2), listing(2, complete=False)) is None
    assert deletion_of(sighting(known, seen=1), listing(2, complete=False)) is None


def test_what_was_missing_and_is_then_found_in_the_trash_keeps_its_date() -> None:
    known = after(listing(1))
    found = deletion_of(sighting(known, seen=2, in_trash=True), listing(2))
    assert found is not None
    assert (found.reason, found.since) == (IN_TRASH, listing(1).at)


def test_what_was_to_be_removed_and_is_marked_so_is_not_taken_for_the_trash() -> None:
    known = after(listing(1), listing(2))
    found = deletion_of(sighting(known, in_trash=True), listing(3))
    assert found is not None
    assert (found.reason, found.listings) == (UNLISTED, 3)


@pytest.mark.parametrize(
    ("deletes", "most", "made"),
    [
        ("none", "5%", None),
        ("trash", "5%", DeletionPolicy(GRACE, share=0.05)),
        ("trash", "2.5 %", DeletionPolicy(GRACE, share=0.025)),
        ("trash", 10, DeletionPolicy(GRACE, number=10)),
    ],
)
def test_the_policy_as_it_is_written(deletes: str, most: int | str, made: DeletionPolicy | None) -> None:
    assert policy_of(deletes, most, GRACE) == made


@pytest.mark.parametrize(
    ("policy", "removed", "linked", "allowed"),
    [
        (DeletionPolicy(GRACE, share=0.05), 5, 100, True),
        (DeletionPolicy(GRACE, share=0.05), 6, 100, False),
        (DeletionPolicy(GRACE, share=0.05), 1, 10, False),
        (DeletionPolicy(GRACE, number=3), 3, 3, True),
        (DeletionPolicy(GRACE, number=3), 4, 1000, False),
        (DeletionPolicy(GRACE, number=0), 1, 1000, False),
    ],
)
def test_no_run_removes_more_than_the_limit(policy: DeletionPolicy, removed: int, linked: int, allowed: bool) -> None:
    assert policy.allows(removed, linked) is allowed


# -- properties --------------------------------------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["missing", "listed", "in trash", "incomplete", "other scope"]),
        st.integers(min_value=1, max_value=9),
    ),
    max_size=12,
)


def told(events: Sequence[tuple[str, int]]) -> tuple[Deletion | None, list[str], datetime]:
    """What is known after runs in which the asset was so, days after each other."""
    known, seen, at, trashed = None, 0, START, False
    for run, (event, days) in enumerate(events, 1):
        at += timedelta(days=days)
        seen = run if event in ("listed", "in trash") else seen
        trashed = event == "in trash" or (trashed and event != "listed")
        complete = event not in ("incomplete",)
        scope = "other" if event == "other scope" else "same"
        known = deletion_of(Sighting("s", "t", seen, trashed, known), Listing(run, at, complete, scope))
    return known, [event for event, _ in events], at


@given(EVENTS)
def test_nothing_is_due_without_its_proof(events: list[tuple[str, int]]) -> None:
    known, names, at = told(events)
    if known is None or not is_due(known, POLICY, at, len(names)):
        return
    assert at - known.since >= GRACE
    since = max((place for place, name in enumerate(names) if name == "listed"), default=-1) + 1
    proven = names[since:]
    missing = [name for name in proven if name != "incomplete"]
    assert "in trash" in proven or missing[-LISTINGS:] in (["missing"] * 2, ["other scope"] * 2)


@given(EVENTS)
def test_what_was_listed_last_is_never_known_as_deleted(events: list[tuple[str, int]]) -> None:
    known, _, _ = told([*events, ("listed", 1)])
    assert known is None


@given(EVENTS)
def test_to_look_at_the_same_listing_again_changes_nothing(events: list[tuple[str, int]]) -> None:
    known, names, at = told(events)
    if known is not None and names[-1] not in ("listed", "other scope"):
        seen = max((run for run, name in enumerate(names, 1) if name in ("listed", "in trash")), default=0)
        trashed = known.reason == IN_TRASH
        same = Listing(len(names), at, names[-1] != "incomplete", "same")
        assert deletion_of(Sighting("s", "t", seen, trashed, known), same) == replace(known)
