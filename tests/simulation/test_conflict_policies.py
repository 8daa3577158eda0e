"""Values that change at both services between two runs: each kind of edit, at each target, under each policy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.conflicts import ConflictRequest, job_conflicts
from dam_sync.emulators import profile_of
from dam_sync.engine.decide.conflicts import WIDER
from dam_sync.model.asset import Asset, Patch
from dam_sync.model.errors import ConfigError
from dam_sync.model.values import Localized
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.fuse import AFTER, CALL, COMMIT, Fuse, Point
from tests.support.virtual.target_edits import (
    BY_HAND,
    EDITS,
    LATER,
    REPLACED,
    TAGS,
    Change,
    Edit,
    Hand,
    field,
    library,
    member,
    renamed,
    rights,
    tags,
)
from tests.support.virtual.two_tenants import ACCEPTED, REOPENS, TwoTenants, moved, scene

POLICIES = ("park", "source", "target", "newest", "merge")
OURS = "at the source"
A, B, C, D, E = KINDS
NOTE = Edit("text changed", "fields.note", field("note", BY_HAND))


async def _renamed(hand: Hand, asset: Asset) -> None:
    await hand.service.update(asset.id, Patch(filename="renamed at the source.jpg"))


async def _replaced_in_size(hand: Hand, asset: Asset) -> None:
    await hand.service.replace(asset.id, Bytes(asset.filename, b"sruo" * 777, known=True), MemoryJournal())


async def _replaced(hand: Hand, asset: Asset) -> None:
    await hand.service.replace(asset.id, Bytes(asset.filename, b"ours" * 777, known=True), MemoryJournal())


SOURCE_EDITS: Mapping[str, Change] = {
    "text changed": field("note", OURS),
    "value of a custom field changed": field("note", OURS),
    "dropdown changed": field("note", OURS),
    "a language changed": field("title", Localized({"en": OURS, "fr": "Image"})),
    "value of a list swapped": member("keywords", add=OURS),
    "number changed": field("rating", 14),
    "term removed": member("subject", drop=1),
    "file renamed": _renamed,
    "expiry changed": rights(expires_at=datetime(2040, 1, 1, tzinfo=UTC)),
    "file replaced": _replaced,
}
"""By the name of an edit at the target: another change of the same value at the source."""
MERGED = {"value of a list swapped", "term removed", "a language changed"}
VALUES = {"file replaced": "file", "expiry changed": "expiry", "file renamed": "filename"}


def both(kind: str) -> tuple[Edit, ...]:
    """What is edited at this target and at the source."""
    return tuple(edit for edit in EDITS[kind] if edit.name in SOURCE_EDITS)


def value_of(kind: str, edit: Edit) -> str:
    """The value in conflict, by its path."""
    return VALUES.get(edit.name, edit.path.format(profile_of(kind).prefix))


def listed(made: TwoTenants, asked: ConflictRequest | None = None) -> dict[str, Any]:
    """The command `conflicts`."""
    return made.universe.do(job_conflicts(made.job, asked, made.universe.clock, made.universe.storage))


def results(report: Any) -> dict[str, str]:
    """Of the conflicts in a report: the result, by value."""
    return {row["path"]: row["take"] for row in report.conflicts}


def held(made: TwoTenants) -> dict[str, Any]:
    """What the edited assets are at the target."""
    return {row["id"]: row for row in made.target.assets if row["id"] in made.edited}


CASES = [(kind, policy) for kind in KINDS for policy in POLICIES]
SAMPLE = CASES if EVERYTHING else [(kind, POLICIES[number]) for number, kind in enumerate(KINDS)]


@pytest.mark.parametrize(("kind", "policy"), SAMPLE, ids=[f"{kind[0]}-{policy}" for kind, policy in SAMPLE])
def test_every_conflict_is_resolved_by_the_policy(tmp_path: Path, kind: str, policy: str) -> None:
    edits = both(kind)
    with scene(tmp_path, kind, edits, conflicts=policy, exposure=REOPENS) as made:
        made.edit()
        made.edit_source(SOURCE_EDITS)
        before = held(made)
        plan = made.plan(full=True)
        report = made.run(full=True)
        assert (report.operations, report.conflicts) == (plan.operations, plan.conflicts)
        clash = {value_of(kind, edit) for edit in edits}
        assert results(report).keys() == clash
        lists = {value_of(kind, edit) for edit in edits if edit.name in MERGED}
        expected = {"park": "parked", "newest": "source", "merge": "parked"}.get(policy, policy)
        merged = {path for path, take in results(report).items() if take == "merged"}
        assert merged <= lists
        assert results(report) == dict.fromkeys(clash, expected) | dict.fromkeys(merged, "merged")
        parked = sum(row["count"] for row in report.parked)
        assert parked == (len(clash - merged) if expected == "parked" else 0)
        after = held(made)
        for target, edit in made.edited.items():
            if results(report).get(value_of(kind, edit)) in ("parked", "target"):
                assert after[target]["versions"] == before[target]["versions"], edit.name
                assert after[target]["fields"] == before[target]["fields"], edit.name
        if expected == "parked":
            return
        again = made.run(full=True)
        assert (again.operations, again.conflicts) == ({}, [])
        left = made.found(made.verify())
        assert {path for some in left.values() for path in some if path.startswith("differences")} == set(), left
        assert made.run(repair=True).operations == {}, "a repair leaves what was kept"


@pytest.mark.parametrize("kind", KINDS if EVERYTHING else [C], ids=lambda kind: kind[0])
def test_a_decision_is_applied_by_the_next_run(tmp_path: Path, kind: str) -> None:
    edits = both(kind)
    with scene(tmp_path, kind, edits, exposure=REOPENS) as made:
        made.edit()
        made.edit_source(SOURCE_EDITS)
        made.run()
        found = listed(made)
        assert found["count"] == len(edits)
        assert all(row["source"] != row["target"] for row in found["conflicts"])
        first, *rest = sorted({row["asset"] for row in found["conflicts"]})
        listed(made, ConflictRequest("target", frozenset({first})))
        asked = ConflictRequest("source", frozenset(rest))
        decided = listed(made, asked)
        assert decided["decided"] == len(rest)
        plan, report = made.plan(), made.run()
        assert (report.operations, report.conflicts) == (plan.operations, plan.conflicts)
        assert {row["by"] for row in report.conflicts} == {"decision"}
        assert sorted(row["take"] for row in report.conflicts) == [*["source"] * len(rest), "target"]
        assert report.parked == []
        assert listed(made)["count"] == 0
        assert made.verify()["different"] == 0


def test_a_decision_that_would_show_an_asset_to_more_people_is_not_taken_and_asked_for_again(tmp_path: Path) -> None:
    """The list showed it as decided, with the result `parked`, and every run tried it again."""
    longer = Edit("expiry", "expiry", rights(expires_at=datetime(2041, 1, 1, tzinfo=UTC)))
    with scene(tmp_path, C, (longer,), exposure=REOPENS) as made:
        made.edit()
        made.edit_source({longer.name: rights(expires_at=datetime(2031, 1, 1, tzinfo=UTC))})
        assert results(made.run()) == {"expiry": "parked"}
        assert listed(made, ConflictRequest("target"))["decided"] == 1
        assert results(made.run()) == {"expiry": "parked"}
        found = listed(made)
        (row,) = found["conflicts"]
        assert (found["decided"], row["decision"], row["why"]) == (0, "", WIDER)
        listed(made, ConflictRequest("source"))
        assert results(made.run()) == {"expiry": "source"}


def test_a_decision_lapses_if_source_or_target_changes_again(tmp_path: Path) -> None:
    with scene(tmp_path, C, (NOTE,), exposure=REOPENS) as made:
        made.edit()
        made.edit_source({NOTE.name: field("note", OURS)})
        made.run()
        listed(made, ConflictRequest("source"))
        made.edited.clear()
        made.edits = (Edit(NOTE.name, NOTE.path, field("note", "once more by hand")),)
        made.edit()
        assert [row["take"] for row in made.run().conflicts] == ["parked"]
        (row,) = listed(made)["conflicts"]
        assert (row["target"], row["decision"]) == ("once more by hand", "")


def test_an_override_conflicts_again_once_the_source_changes_it_again(tmp_path: Path) -> None:
    with scene(tmp_path, C, (NOTE,), conflicts={"fields": {"note": "target"}}, exposure=REOPENS) as made:
        made.edit()
        for number in range(2):
            made.edit_source({NOTE.name: field("note", f"{OURS} {number}")})
            assert results(made.run()) == {"fields.note": "target"}
        made.policy(conflicts="park", exposure=REOPENS)
        made.edit_source({NOTE.name: field("note", f"{OURS} again")})
        assert results(made.run()) == {"fields.note": "parked"}
        made.policy(conflicts="source", exposure=REOPENS)
        assert results(made.run()) == {"fields.note": "source"}, "another policy tries it again"
        assert made.verify()["clean"]
        made.policy(conflicts={"fields": {"nots": "target"}}, exposure=REOPENS)
        with pytest.raises(ConfigError, match="does not write a field nots"):
            made.run()


@pytest.mark.parametrize("kind", [C, E], ids=["c", "e"])
def test_a_new_version_keeps_the_file_name_of_the_target(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (REPLACED,), exposure=REOPENS) as made:
        made.edits = (Edit(REPLACED.name, "filename", renamed),)
        made.edit()
        made.edit_source({REPLACED.name: _replaced})
        assert made.run().operations == {"version": 1}
        (row,) = held(made).values()
        assert row["filename"] == "renamed by hand.jpg"


@pytest.mark.parametrize("kind", KINDS if EVERYTHING else [C, E], ids=lambda kind: kind[0])
def test_two_files_of_one_size_are_a_conflict(tmp_path: Path, kind: str) -> None:
    """An image without compression keeps its size when it is edited."""
    with scene(tmp_path, kind, (REPLACED,), exposure=REOPENS) as made:
        made.edits = (Edit(REPLACED.name, REPLACED.path, _replaced_in_size),)
        made.edit()
        made.edit_source({REPLACED.name: _replaced})
        assert results(made.run()) == {"file": "parked"}


def test_tags_are_merged_and_nothing_is_read_for_them(tmp_path: Path) -> None:
    with scene(tmp_path, C, (TAGS[2],), exposure=REOPENS) as made:
        made.edit()
        made.edit_source({TAGS[2].name: tags(add=OURS, drop="harbour")})
        assert made.run().conflicts == []
        (row,) = held(made).values()
        assert sorted(row["tags"]) == [OURS, "handmade"]


MOMENTS = [(each, part) for part in (0.3, 0.6, 0.8, 0.97) for each in (COMMIT, CALL)] if EVERYTHING else [(CALL, 0.8)]


@pytest.mark.parametrize(("kind", "policy"), [(A, "newest")] if not EVERYTHING else [(A, "newest"), (C, "target")])
def test_a_killed_run_resolves_conflicts_as_it_would_have(tmp_path: Path, kind: str, policy: str) -> None:
    edits = (NOTE, REPLACED)
    points: list[Point | None] = [None]
    states: list[Any] = []
    for number, point in enumerate(points):
        folder = tmp_path / str(number)
        folder.mkdir()
        with scene(folder, kind, edits, conflicts=policy, exposure=REOPENS) as made:
            made.edit()
            made.edit_source(SOURCE_EDITS)
            fuse = made.universe.live(made.job, Fuse(point))
            assert fuse.blown == (point is not None)
            if point is None:
                points += [Point(each, AFTER, int(fuse.counts[each] * part)) for each, part in MOMENTS]
            made.run()
            rows = [made.target.assets[0]["fields"]["note"], *(len(row["versions"]) for row in made.target.assets)]
            states.append(rows)
            assert states[0] == rows, f"{point}: {rows}"


def test_a_release_date_that_our_own_update_made_is_nobodys_change(tmp_path: Path) -> None:
    """Service E gives an asset a release date whenever it is written without one. With the value of the target kept, an
    embargo of the source would not arrive, and the asset would stay visible."""
    with moved(tmp_path, (B, E), library(4), exposure=ACCEPTED) as job:
        for release in (None, LATER):
            job.universe.do(job.universe.clock.sleep(7200))
            job.edits = (Edit("release changed", "release", rights(release_at=release)),)
            job.edit_originals()
            report = job.run(full=True)
            assert (report.parked, report.counts["updated"]) == ([], 1)
        assert job.verify()["clean"]
        assert sum(row["rights"]["release_at"] == "2060-01-01T00:00:00Z" for row in job.target.assets) == 1
