"""`run --repair` beside the usual: policies, conflicts, crashes, files without digests, and plain text in languages."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from dam_sync.aio.polling import LOOK_SECONDS
from dam_sync.api.jobs import run_job
from dam_sync.emulators import emulated_kinds
from dam_sync.model.asset import Asset, Patch
from dam_sync.model.errors import StopRequested
from dam_sync.model.run_options import Progress, StopToken
from tests.support.pairs import EVERYTHING
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.fuse import AFTER, CALL, COMMIT, Fuse, Point
from tests.support.virtual.rollback_process import RunProcess, assets_of, differing
from tests.support.virtual.target_edits import (
    ATTACHMENTS,
    BY_HAND,
    DATES,
    GROUPS,
    RELATIONS,
    REPLACED,
    TAGS,
    TERMS,
    Edit,
    Hand,
    field,
    memberships,
    status,
    tags,
)
from tests.support.virtual.two_tenants import ACCEPTED, REOPENS, scene

KINDS = {kind[0]: kind for kind in emulated_kinds()}
NOTE = Edit("text changed", "fields.note", field("note", BY_HAND))
HIDDEN = Edit("status changed", "status", status("archived"), hides=True)


def paths(found: dict[str, set[str]]) -> set[str]:
    """All that was reported."""
    return {path for some in found.values() for path in some}


@pytest.mark.parametrize(
    ("kind", "edits", "left"),
    [
        ("a", (TERMS[0], *memberships("label")[:1]), set()),
        ("b", (TERMS[0], TAGS[0], GROUPS[0], *memberships("collection")[:1]), set()),
        ("e", (TERMS[0], TAGS[0], GROUPS[0], *memberships("category")[:1]), set()),
        ("b", (RELATIONS[0], ATTACHMENTS[0]), {"extras: relations", "extras: attachments"}),  # no call takes these away
    ],
)
def test_where_nobody_may_add_additions_are_differences_and_are_taken_away(
    tmp_path: Path, kind: str, edits: tuple[Edit, ...], left: set[str]
) -> None:
    with scene(tmp_path, KINDS[kind], edits, extras="fail", exposure=REOPENS) as made:
        made.edit()
        verdict = made.verify()
        assert (verdict["clean"], verdict["different"], verdict["extra"]) == (False, len(edits), len(edits))
        assert len(made.run(repair=True).repaired) == len(edits) - len(left)
        assert paths(made.found(made.verify())) == left


def test_additions_are_not_reported_where_the_policy_ignores_them(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["b"], (TAGS[0], ATTACHMENTS[0]), extras="ignore", exposure=REOPENS) as made:
        made.edit()
        verdict = made.verify()
        assert (verdict["clean"], verdict["extra"], made.found(verdict)) == (True, 0, {})


@pytest.mark.parametrize(
    ("kind", "edits"),
    [("a", (HIDDEN, NOTE)), ("b", (GROUPS[1], TAGS[1])), ("c", (DATES[0], TAGS[1])), ("e", (GROUPS[1], TAGS[1]))],
)
def test_what_was_hidden_by_hand_is_not_shown_again_unless_the_job_accepts_it(
    tmp_path: Path, kind: str, edits: tuple[Edit, ...]
) -> None:
    with scene(tmp_path, KINDS[kind], edits, exposure=ACCEPTED) as made:
        made.edit()
        first = made.run(repair=True)
        hidden = [edit for edit in edits if edit.hides]
        (told,) = [row for row in first.exposure if row["rule"] == "reopened_by_repair"]
        assert (told["fate"], told["assets"]) == ("left closed", len(hidden))
        assert made.found(made.verify()).keys() == {edit.name for edit in hidden}
        made.policy(exposure=REOPENS)
        assert made.run(repair=True).operations["repair"] == len(hidden)
        assert made.verify()["clean"]


@pytest.mark.parametrize("policy", ["park", "overwrite"])
def test_a_part_that_changed_at_source_and_target_is_a_conflict(tmp_path: Path, policy: str) -> None:
    with scene(tmp_path, KINDS["c"], (NOTE, TAGS[1]), conflicts=policy, exposure=REOPENS) as made:
        made.edit()
        made.change_source(lambda hand, asset: hand.service.update(asset.id, Patch(fields={"note": "at the source"})))
        report = made.run(repair=True)
        if policy == "park":
            (parked,) = report.parked
            assert (parked["cause"], parked["count"]) == ("conflict", 1)
            assert "fields.note" in parked["example"]
            assert made.found(made.verify()).keys() == {NOTE.name}
        else:
            assert report.parked == []
            assert made.verify()["clean"]


def test_a_status_or_name_that_changed_at_source_and_target_is_a_conflict_in_any_run(tmp_path: Path) -> None:
    renamed = Edit("renamed", "filename", lambda hand, asset: _rename(hand, asset, "by hand.jpg"))
    with scene(tmp_path, KINDS["c"], (renamed,), exposure=REOPENS) as made:
        made.edit()
        made.change_source(lambda hand, asset: _rename(hand, asset, "at the source.jpg"), every=False)
        (parked,) = made.run(full=True).parked
        assert parked["cause"] == "conflict"
        assert "filename" in parked["example"]


@pytest.mark.parametrize("kept_before", [True, False])
def test_a_file_that_is_restored_keeps_the_name_that_stands_at_the_target(tmp_path: Path, kept_before: bool) -> None:
    """By the policy, in a run before or in the repair itself; a new version brings its own name."""
    renamed = Edit("renamed", "filename", lambda hand, asset: _rename(hand, asset, "by hand.jpg"))
    with scene(tmp_path, KINDS["c"], (renamed,), conflicts="target", exposure=REOPENS) as made:
        made.edit()
        made.change_source(lambda hand, asset: _rename(hand, asset, "at the source.jpg"), every=False)
        if kept_before:
            assert made.run(full=True).parked == []
        made.change_target(_replace_renamed)
        assert made.run(repair=True).repaired == {"file": 1}
        (row,) = [row for row in made.target.assets if row["id"] in made.edited]
        assert (row["filename"], row["versions"][-1]["size"]) == ("by hand.jpg", 901)
        assert made.verify()["clean"]
        assert made.run(repair=True).operations == {}


async def _replace_renamed(hand: Hand, asset: Asset) -> None:
    if asset.filename == "by hand.jpg":
        await hand.service.replace(asset.id, Bytes(asset.filename, b"theirs" * 40, known=True), MemoryJournal())


async def _rename(hand: Hand, asset: Asset, name: str) -> None:
    await hand.service.update(asset.id, Patch(filename=name))


async def same_size(hand: Hand, asset: Asset) -> None:
    """Another file of as many bytes."""
    size = asset.versions[-1].size or 0
    await hand.service.replace(asset.id, Bytes(asset.filename, b"x" * size, known=True), MemoryJournal())


@pytest.mark.parametrize("kind", ["c", "e"])
def test_a_file_of_the_same_size_comes_back_once_a_verification_found_it(tmp_path: Path, kind: str) -> None:
    edit = Edit("file of the same size", "file.digest", same_size)
    with scene(tmp_path, KINDS[kind], (edit,), exposure=REOPENS) as made:
        made.edit()
        assert made.run(repair=True).repaired == {}, "neither service publishes a digest"
        verdict = made.verify()
        assert "differences: file.digest" in paths(made.found(verdict))
        assert verdict["files"]["file"]["V0"] == 1
        assert made.run(repair=True).repaired == {"file": 1}
        assert made.verify()["clean"]


PARTS = (0.6, 0.8, 0.97) if EVERYTHING else (0.8,)  # of the commits and calls of a repair, once it has begun to write


@pytest.mark.parametrize("kind", ["a", "b"])
def test_a_repair_that_was_killed_is_resumed_by_the_next_run(tmp_path: Path, kind: str) -> None:
    edits = (NOTE, TERMS[1], REPLACED, ATTACHMENTS[1], RELATIONS[1]) if kind == "a" else (*TAGS[1:], REPLACED)
    points: list[Point | None] = [None]
    for number, point in enumerate(points):
        folder = tmp_path / str(number)
        folder.mkdir()
        with scene(folder, KINDS[kind], edits, exposure=REOPENS) as made:
            made.edit()
            fuse = made.universe.live(made.job, Fuse(point), repair=True)
            assert fuse.blown == (point is not None)
            if point is None:
                points += [
                    Point(each, AFTER, int(fuse.counts[each] * part)) for part in PARTS for each in (COMMIT, CALL)
                ]
            made.run()
            left = {path for path in paths(made.found(made.verify())) if path.startswith("differences")}
            assert left == set(), f"{point}: {left}"
            versions = [len(row["versions"]) for row in made.target.assets]
            assert max(versions) == 4, f"{point}: two of ours, one by hand, ours again"


def test_what_the_source_dropped_goes_and_what_others_added_stays(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["b"], (TAGS[0],), exposure=REOPENS) as made:
        made.edit()
        made.change_source(lambda hand, asset: hand.service.update(asset.id, Patch(tags_remove=frozenset({"sea"}))))
        made.run(repair=True)
        (edited,) = made.edited
        (row,) = [row for row in made.target.assets if row["id"] == edited]
        assert sorted(row["tags"]) == ["handmade", "harbour"]
        assert paths(made.found(made.verify())) == {"extras: tags"}


def test_a_repair_and_a_plan_of_one_asset_look_at_that_one_alone(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["e"], (TAGS[1], TAGS[2]), exposure=REOPENS) as made:
        made.edit()
        first, second = made.edited
        only = frozenset({made.source_of(first)})
        assert made.plan(repair=True, only=only).repaired == {"tags": 1}
        assert made.run(repair=True, only=only).repaired == {"tags": 1}
        left = {target for _, target, _ in made.verify()["differences"]}
        assert left == {second}


def test_a_usual_run_does_not_repair(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["e"], (TAGS[1],), exposure=REOPENS) as made:
        made.edit()
        assert made.run(full=True).operations == {}
        assert not made.verify()["clean"]


def test_older_versions_written_before_are_no_additions_where_only_the_current_one_travels(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["b"], (), versions="all", exposure=REOPENS) as made:
        made.policy(versions="current", exposure=REOPENS)
        verdict = made.verify()
        assert (verdict["clean"], verdict["extra"]) == (True, 0)
        assert made.run(repair=True).operations == {}


def test_a_repair_that_waits_for_the_index_of_the_target_can_be_stopped(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["d"], (NOTE,)) as made:
        clock, token, progress = made.universe.clock, StopToken(), Progress()

        async def stopping() -> None:
            await run_job(made.job, made.universe.options())
            began = clock.now()
            options = made.universe.options(repair=True, stop_token=token, progress=progress)
            running = asyncio.ensure_future(run_job(made.job, options))
            while not (running.done() or progress.phase.startswith("waiting up to")):
                await clock.sleep(0.1)
            token.stop("stopped by hand")
            with pytest.raises(StopRequested, match="stopped by hand"):
                await running
            assert clock.now() - began < timedelta(seconds=2 * LOOK_SECONDS)

        made.universe.do(stopping())


@pytest.mark.parametrize("kind", ["b", "d", "e"])
def test_a_version_that_the_source_added_is_no_loss_of_the_one_before(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, KINDS[kind], (REPLACED,), exposure=REOPENS) as made:
        made.edit_originals()
        made.universe.do(made.settle("source"))
        report = made.run(repair=True)
        assert report.operations["version"] == 1
        assert [row for row in report.losses if row["rule"] == "not repaired"] == []
        assert made.verify()["clean"]


@pytest.mark.parametrize("kind", ["b_documents", "c_brandlibrary", "e_profiles"])
def test_what_a_killed_update_wrote_is_no_addition_of_others_for_a_repair(tmp_path: Path, kind: str) -> None:
    """The source took its edit back before the repair: nothing of the attempt stays."""
    edits = (Edit("tag swapped", "tags", tags(add="handmade", drop="sea")),)
    for name in ("reference", "crashed"):
        (tmp_path / name).mkdir()
    with scene(tmp_path / "reference", kind, edits, exposure=REOPENS) as job:
        job.edit("source")
        last = [point for point in RunProcess(job).live().points() if (point.kind, point.when) == (CALL, AFTER)][-1]
    with scene(tmp_path / "crashed", kind, edits, exposure=REOPENS) as job:
        before = assets_of(job.target)
        job.edit("source")
        assert job.universe.live(job.job, Fuse(last), full=True).blown
        assert [*differing(before, assets_of(job.target))] != []
        back = Patch(tags_add=frozenset({"sea"}), tags_remove=frozenset({"handmade"}))
        job.change_source(lambda hand, asset: hand.service.update(asset.id, back), every=False)
        job.run(full=True, repair=True)
        assert [*differing(before, assets_of(job.target))] == []
        assert (job.verify()["clean"], job.verify()["extra"]) == (True, 0)
