"""What people change at a source: the next run brings it to the target, or, where no listing shows it, one of as many
runs as the rotation has parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dam_sync.emulators import profile_of
from dam_sync.model.asset import Asset
from dam_sync.model.capabilities import Operation
from dam_sync.model.loss_rules import LossRule
from dam_sync.report.report import Report
from dam_sync.services import discover
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.sample.cases import only_in_full
from tests.support.virtual.fuse import AFTER, BEFORE, CALL, COMMIT, Fuse, Point
from tests.support.virtual.source_edits import MORE, OCEAN, OURS, PURGES, RENAMED, RENAMES, SEA, UNSEEN, edits_of
from tests.support.virtual.target_edits import (
    BY_HAND,
    EDITS,
    FIELDS_OF_A,
    GROUPS,
    TAGS,
    TERMS,
    Edit,
    Hand,
    field,
    memberships,
    renamed,
)
from tests.support.virtual.two_tenants import ACCEPTED, REOPENS, TwoTenants, scene

PARTS = 3
KILLED_AT = (4, 9, 15, 22, 30, 40)  # commits of a run
PART_OF = {"release": "rights", "expiry": "rights", "groups": "rights", "file.size": "file"}


def missed(made: TwoTenants) -> set[str]:
    """Names of the edits that did not arrive, but for those that the target cannot take."""
    found = made.found(made.verify())
    able = discover()[made.target.kind].capabilities
    stays = {"attachments"} if Operation.DETACH not in able else set()
    stays |= {"relations"} if Operation.UNRELATE not in able else set()
    return set(found) - {edit.name for edit in made.edits if edit.lost or (edit.path in stays and not edit.extra)}


def sample(kinds: Iterable[str], one: str) -> Any:
    """All services, or only one for `make test`."""
    chosen = [kind for kind in kinds if EVERYTHING or kind[0] == one]
    return pytest.mark.parametrize("kind", chosen, ids=[kind[0] for kind in chosen])


def drifted(edit: Edit, kind: str) -> str:
    """The part that the rotation reports as changed."""
    return PART_OF.get(edit.path, edit.path.format(profile_of(kind).prefix))


def fixed(report: Report) -> set[str]:
    """Kinds of containers of which a run reported that its target cannot change their members."""
    return {loss["path"].partition(".")[2] for loss in report.losses if loss["rule"] == "fixed"}


@sample(KINDS, "d")
def test_a_change_arrives_with_the_next_run_or_with_the_rotation(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, edits_of(kind), exposure=ACCEPTED) as made:
        made.edit("source")
        made.run()
        assert missed(made) == UNSEEN.get(kind, set())
        made.policy(exposure=ACCEPTED, rotation=PARTS)
        told = set()
        for _ in range(PARTS):
            report = made.run()
            told |= fixed(report)
            assert report.parked == []
        assert missed(made) == set()
        assert kind[0] != "c" or told == {"collection"}


@sample(RENAMES, "e")
def test_a_container_and_a_term_with_other_names_arrive_with_the_rotation(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED, rotation=2) as made:
        before = made.names()
        for rename in RENAMES[kind]:
            rename(made.source.app.state)
        did = Counter[str]()
        for _ in range(2):
            plan, report = made.plan(), made.run()
            assert plan.operations == report.operations
            assert 0 <= plan.target.total_calls - report.target.total_calls <= 1
            did.update(report.operations)
        assert missed(made) == set()
        after = made.names()
        changed = {(before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}
        if kind == "e_profiles":  # a word of a list has no id: another word is another term
            assert did == {"rename_container": 1, "term": 1, "update": len(made.source.assets)}
            assert changed == {(f"/{OURS}", f"/{RENAMED}"), (None, OCEAN)}
        else:
            assert did.keys() == {"rename_container", "rename_term"}, "an asset was written, or something new was made"
            assert changed == {(f"/{OURS}", f"/{RENAMED}"), (SEA, OCEAN)}


def test_a_container_that_was_renamed_at_the_target_gets_its_name_back_by_repair(tmp_path: Path) -> None:
    with scene(tmp_path, "b_documents", (), exposure=ACCEPTED, rotation=1, drift="repair") as made:
        for number in range(2):
            RENAMES["b_documents"][0](made.target.app.state, OURS, f"{OURS} {number}")
            report = made.run()
            assert (report.parked, report.operations) == ([], {"rename_container": 2})
            assert made.verify()["clean"]


@sample(PURGES, "c")
def test_an_asset_that_was_purged_is_missing_after_the_rotation(tmp_path: Path, kind: str) -> None:
    """Its memberships may show it earlier. The policy of deletions then removes it."""
    deletions = {"deletes": "trash", "max_deletes": 1, "grace": "0s"}
    with scene(tmp_path, kind, (), exposure=ACCEPTED, rotation=2, **deletions) as made:
        one = made.source.assets[1]["id"]
        twin = made.target_of(one)
        PURGES[kind](made.source.app.state, one)
        reports = [made.run() for _ in range(PARTS)]
        notes = [note for report in reports for note in report.notes]
        assert len([note for note in notes if f"({one}), 1 of them since the last run" in note]) == 1, notes
        assert all(report.parked == [] for report in reports)
        assert sum(report.counts.get("removed", 0) for report in reports) == 1
        assert {row["id"] for row in made.target.assets if row["status"] != "trash"}.isdisjoint({twin})


@sample(KINDS, "b")
def test_what_was_changed_at_the_target_is_reported_or_restored_by_the_rotation(tmp_path: Path, kind: str) -> None:
    edits = [edit for edit in EDITS[kind][:: len(EDITS[kind]) // 6] if not edit.lost]
    with scene(tmp_path, kind, edits, exposure=REOPENS, rotation=2) as made:
        made.edit()
        reports = [made.run(), made.run()]
        assert [report.operations for report in reports] == [{}, {}]
        lost = [loss for report in reports for loss in report.losses]
        told = {loss["path"] for loss in lost if loss["rule"] == LossRule.CHANGED_AT_TARGET}
        assert told == {drifted(edit, kind) for edit in edits if not edit.extra}
        made.policy(exposure=REOPENS, rotation=2, drift="repair")
        plan = made.plan()
        report = made.run()
        assert (report.operations, report.repaired) == (plan.operations, plan.repaired)
        made.run()
        found = made.found(made.verify())
        assert {name for name, paths in found.items() if any(one.startswith("differences") for one in paths)} == set()
        assert [made.run().operations, made.run().operations] == [{}, {}]


CHANGED_TOO = [
    ("b", TAGS[1], TERMS[2], "tags"),
    ("b", GROUPS[1], TAGS[2], "rights"),
    ("e", TERMS[1], TAGS[2], "fields.subject"),
    ("e", memberships("category")[1], TERMS[2], "placements"),
    ("a", FIELDS_OF_A[0], memberships("label")[0], "fields.note"),
]


@pytest.mark.parametrize(
    ("kind", "theirs", "ours", "path"), CHANGED_TOO, ids=[f"{k} {t.name}" for k, t, *_ in CHANGED_TOO]
)
def test_what_others_changed_of_an_asset_that_changed_at_the_source_is_reported_too(
    tmp_path: Path, kind: str, theirs: Edit, ours: Edit, path: str
) -> None:
    """It stays, and what changed at the source arrives."""
    with scene(tmp_path, {each[0]: each for each in KINDS}[kind], (theirs,), exposure=REOPENS, rotation=1) as made:
        made.edit()
        made.edits = (ours,)
        made.edit("source")
        report = made.run()
        assert report.counts["updated"] == 1
        told = [loss["path"] for loss in report.losses if loss["rule"] == LossRule.CHANGED_AT_TARGET]
        assert [each.replace(profile_of(made.target.kind).prefix, "") for each in told] == [path]
        again = made.run()
        told = [loss["path"] for loss in again.losses if loss["rule"] == LossRule.CHANGED_AT_TARGET]
        assert (again.operations, len(told)) == ({}, 1)


@pytest.mark.parametrize("drift", ["tell", "repair"] if EVERYTHING else ["repair"])
def test_what_no_call_can_change_is_reported_and_not_repaired_again_and_again(tmp_path: Path, drift: str) -> None:
    with scene(tmp_path, "c_brandlibrary", MORE["c_brandlibrary"], exposure=ACCEPTED, rotation=1, drift=drift) as made:
        made.edit("source")
        reports = [made.run() for _ in range(PARTS)]
        assert [report.operations for report in reports[1:]] == [{}, {}]
        rules = {loss["rule"] for report in reports for loss in report.losses if loss["path"].startswith("placements")}
        assert rules == {"fixed"}


@pytest.mark.parametrize("back", range(1, 7) if EVERYTHING else [1])
def test_a_killed_repair_is_reported_with_all_that_it_restored(tmp_path: Path, back: int) -> None:
    async def edited(hand: Hand, asset: Asset) -> None:
        for name in ("note", "mail"):
            await field(name, BY_HAND)(hand, asset)
        await renamed(hand, asset)

    changed = (Edit("edited", "fields", edited),)
    policy: dict[str, Any] = {"exposure": REOPENS, "rotation": 1, "drift": "repair"}
    with scene(tmp_path, "c_brandlibrary", changed, **policy) as made:
        made.edit()
        calls = made.universe.live(made.job).counts[CALL]
        made.edit()
        assert made.universe.live(made.job, Fuse(Point(CALL, AFTER, calls - back))).blown
        assert made.run().repaired.keys() >= {"fields.note", "fields.mail", "filename"}


@only_in_full
@sample(KINDS, "e")
def test_a_run_that_was_killed_again_and_again_compares_as_much(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, edits_of(kind), exposure=ACCEPTED, rotation=1) as made:
        made.edit("source")
        for when in (BEFORE, AFTER):
            for moment in KILLED_AT:
                made.universe.live(made.job, Fuse(Point(COMMIT, when, moment)))
        report = made.run()
        assert report.parked == []
        assert missed(made) == set()
        made.run()
        assert made.run().operations == {}
