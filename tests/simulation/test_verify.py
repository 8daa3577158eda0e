"""What `verify` reports, of a target that has lost a part of an asset and of a source that went on."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.api.jobs import run_job, verify_job
from dam_sync.model.asset import Asset, AssetId, Patch
from dam_sync.model.errors import ConfigError, StopRequested
from dam_sync.model.service import Batch, Cursor, Shard
from dam_sync.services.b_documents.service import DocumentsService
from dam_sync.services.d_templates.facts import LAG
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.source_edits import RENAMES
from tests.support.virtual.state_location import ask
from tests.support.virtual.target_edits import ATTACHMENTS, EDITS, TAGS, member, tags
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, scene
from tests.support.virtual.universe import LAGS, job_of

KINDS = "e_profiles", "b_documents"
UNFINISHED = "work WHERE state <> 'settled'"
LOST: dict[str, tuple[str, Callable[[Asset], Asset]]] = {
    "nothing": ("", lambda asset: asset),
    "its attachments": ("attachments", lambda asset: replace(asset, attachments=())),
    "a version": ("versions", lambda asset: replace(asset, versions=asset.versions[-1:])),
    "the file": ("file", lambda asset: replace(asset, versions=())),
}


def losing(lose: Callable[[Asset], Asset]) -> type[DocumentsService]:
    """A target of which every asset has lost something."""

    class Losing(DocumentsService):
        async def fetch(self, asset: AssetId) -> Asset:
            return lose(await super().fetch(asset))

        async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
            async for batch in super().crawl(shard, cursor):
                listed = (replace(entry, asset=entry.asset and lose(entry.asset)) for entry in batch.entries)
                yield replace(batch, entries=tuple(listed))

    return Losing


@pytest.mark.parametrize("level", ["fields", "digest", "bytes"])
@pytest.mark.parametrize(("path", "lose"), list(LOST.values()), ids=list(LOST))
def test_what_is_missing_is_reported(tmp_path: Path, path: str, lose: Callable[[Asset], Asset], level: str) -> None:
    with Simulation(tmp_path, KINDS, SEED).moving() as move:
        move.live()
        options = move.universe.options()
        assert options.connectors is not None
        target = replace(options.connectors[KINDS[1]], service=lambda: losing(lose))
        options = replace(options, connectors={**options.connectors, KINDS[1]: target})
        verdict = move.universe.do(verify_job(move.job, options, level, "100%")).verdict
    assert {found["path"] for _, _, found in verdict["differences"]} == ({path} if path else set())
    assert verdict["clean"] == (not path)


def test_a_value_that_parks_its_asset_is_no_proof_of_equality(tmp_path: Path) -> None:
    """It fitted once; what the target holds now is not what the source says."""
    with Simulation(tmp_path, KINDS, SEED).moving() as move:
        move.live()
        mapping = move.job.with_name("mapping.yaml")
        short = r"\1, pipe: [{truncate: {max: 1, on_cut: park}}]}"
        mapping.write_text(re.sub(r'("lib:title": {[^}]*)}', short, mapping.read_text("utf-8")), encoding="utf-8")
        options = move.universe.options(accept_changes=True)
        verdict = move.universe.do(verify_job(move.job, options, "fields", "100%")).verdict
    assert not verdict["clean"]
    assert verdict["different"] == verdict["checked"]
    assert {found["path"] for _, _, found in verdict["differences"]} == {"fields.lib:title"}


def test_an_operator_who_wants_an_end_is_heeded(tmp_path: Path) -> None:
    with Simulation(tmp_path, KINDS, SEED).moving() as move:
        move.live()
        options = move.universe.options()
        options.stop("enough")
        with pytest.raises(StopRequested, match="enough"):
            move.universe.do(verify_job(move.job, options, "fields", "100%"))


def test_an_asset_that_never_was_is_not_remembered(tmp_path: Path) -> None:
    with Simulation(tmp_path, KINDS, SEED).moving() as move:
        move.live()
        with pytest.raises(ConfigError, match="the source has no asset 8803x"):
            move.universe.live(move.job, only=frozenset({"8803x"}))
        report = move.universe.do(run_job(move.job, move.universe.options()))
    assert report.parked == []


def test_plain_text_written_to_a_field_of_several_languages_is_compared_as_it_was_written(tmp_path: Path) -> None:
    with Simulation(tmp_path, ("c_brandlibrary", "a_hypermedia"), SEED).moving() as move:
        mapping = move.job.with_name("mapping.yaml")
        plain = re.sub(r"(?m)^  title: .*$", "  title: {from: [fields.title, filename]}", mapping.read_text("utf-8"))
        mapping.write_text(plain, encoding="utf-8")
        move.live()
        titles = [row["fields"]["title"] for row in move.target.assets if row["status"] != "trash"]
        assert titles
        assert all(set(title["texts"]) == {"en"} for title in titles)
        verdict = move.universe.do(verify_job(move.job, move.universe.options(), "fields", "100%")).verdict
    assert (verdict["equal"], verdict["differences"]) == (len(titles), [])


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("b_documents", "GET /api/v1/id/{docId}"),
        ("c_brandlibrary", "GET /api/v4/assets/{id}/attachments"),
        ("d_templates", "GET /v1/asset/{id}/version"),
        ("e_profiles", "GET /v2/assets/{id}"),
    ],
)
def test_an_asset_that_its_listing_carried_is_not_read_again(tmp_path: Path, kind: str, read: str) -> None:
    with Simulation(tmp_path, (kind, kind), SEED).moving() as move:
        move.live()
        move.universe.do(move.universe.clock.sleep(LAGS))
        report = move.universe.do(verify_job(move.job, move.universe.options(), "fields", "100%"))
    assert report.verdict["equal"] == report.verdict["checked"] > 0
    assert report.source.calls.get(read, 0) == 0


def test_memberships_that_an_unfinished_run_has_not_written_are_not_waited_for(tmp_path: Path) -> None:
    with Simulation(tmp_path, ("a_hypermedia", "d_templates"), SEED).moving() as move:
        fuse = Fuse(until=lambda: bool(move.target.assets) and _only_memberships_are_left(move))
        move.universe.live(move.job, fuse)
        assert fuse.blown
        clock, began = move.universe.clock, move.universe.clock.monotonic()
        report = move.universe.do(verify_job(move.job, move.universe.options(), "fields", "100%"))
        took = clock.monotonic() - began
    assert {found["path"] for _, _, found in report.verdict["differences"]} == {"placements"}
    assert report.verdict["different"] == report.verdict["checked"] > 0
    assert took < LAG.total_seconds() / 2
    assert not [note for note in report.notes if "compared again" in note]


def _only_memberships_are_left(move: Move) -> bool:
    left, waiting = (ask(move.job, f"SELECT count(*) FROM {rows}")[0][0] for rows in (UNFINISHED, "placement"))
    return bool(waiting) and not left


@pytest.mark.parametrize("kind", ["a_hypermedia", "b_documents"])
def test_attachments_that_no_run_has_written_yet_are_missing(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, ATTACHMENTS, **ACCEPTED) as job:
        job.edit("source")
        before = lacking(job)
        job.run(full=True)
        after = lacking(job)
    assert (before, after) == ({"attachment added", "attachment swapped"}, set())


def lacking(job: TwoTenants) -> set[str]:
    """Edits whose assets lack an attachment at the target."""
    return {name for name, found in job.found(job.verify()).items() if "differences: attachments" in found}


def test_bytes_of_an_asset_that_will_be_compared_again_are_not_downloaded_yet(tmp_path: Path) -> None:
    """The target publishes no digests, and right after a run its index may be behind."""
    with scene(tmp_path, "e_profiles", TAGS[1:2], **ACCEPTED) as job:
        universe, asked = job.universe, (job_of(job.job), job.universe.options(), "digest", "100%")
        universe.live(job.job, full=True)
        job.change_source(tags(add="late"))
        universe.live(job.job, full=True)
        universe.do(edited_now(job))
        right_away = universe.do(verify_job(*asked))
        universe.do(job.settle())
        later = universe.do(verify_job(*asked))
    assert any("compared again" in note for note in right_away.notes)
    assert (right_away.verdict["different"], later.verdict["different"]) == (1, 1)
    every = sum(file["size"] for row in job.target.assets for file in row["versions"])
    assert right_away.verdict["bytes"] == later.verdict["bytes"] == every


async def edited_now(job: TwoTenants) -> None:
    """One asset of the target loses a tag."""
    async with job.service() as service:
        await service.schema()
        await service.update(AssetId(job.target.assets[0]["id"]), Patch(tags_remove=frozenset({"sea"})))


def test_a_name_that_others_gave_is_no_difference_where_the_target_keeps_its_own_value(tmp_path: Path) -> None:
    swapped = next(edit for edit in EDITS["d_templates"] if edit.name == "term swapped")
    with scene(tmp_path, "d_templates", [swapped], conflicts="target", exposure=REOPENS) as job:
        job.edit()
        job.edit_source({swapped.name: member("subject", drop=0)})
        assert [row["take"] for row in job.run(full=True).conflicts] == ["target"]
        _, rename_term = RENAMES["d_templates"]
        rename_term(job.target.app.state, "City", "Stadt")
        job.universe.do(job.settle())
        verdict = job.verify()
    found = [target for _, target, difference in verdict["differences"] if difference["path"].startswith("fields.")]
    assert len(found) == len(job.target.assets) - 1
    assert not job.edited.keys() & {*found}
