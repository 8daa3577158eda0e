"""What `verify` says of many differences: groups with a cause, every one in a CSV, and what a sample supports."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from dam_sync.engine.verification.overwritten import EMBEDDED, MANY, UNCERTAIN
from dam_sync.engine.verification.verify import FEW
from dam_sync.model.asset import Patch
from dam_sync.model.values import Localized
from tests.support.jobs.library_edits import change_source, retitle_at_target
from tests.support.jobs.small_jobs import Small, hurry, photo, photos, small

CAMERA = "Taken with a camera on {} May"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def with_metadata(folder: Path, number: int) -> dict[str, Any]:
    """A picture whose file says another title than the source."""
    name = f"photo-{number}.jpg"
    title = CAMERA.format(number).replace("&", "&amp;")
    packet = f"<x:xmpmeta><dc:title><rdf:li xml:lang='x-default'>{title}</rdf:li></dc:title></x:xmpmeta>"
    (folder / name).write_bytes(b"\xff\xd8\xff\xe1" + packet.encode() + bytes(200 + number))
    return {**photo(number), "versions": [{"name": name, "file": name}]}


def verdict_of(job: Small, *options: str, code: int = 3) -> Any:
    return job.ran("verify", "--json", "--no-progress", *options, code=code).data["verdict"]


def test_a_target_that_read_the_files_is_recognized(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    with small(tmp_path, [with_metadata(files, number) for number in range(1, 6)], files=files) as job:
        job.run()
        for number in range(1, 5):
            retitle_at_target(job, number, CAMERA.format(number))
        table, page = tmp_path / "found.csv", tmp_path / "found.html"
        words = ("4 of all 5 assets differ at the level fields", "fields.title other value 4", EMBEDDED, "turn off")
        job.ran("verify", "--no-progress", "--level", "fields", "--csv", str(table), "--html", str(page), code=3).says(
            *words
        )
        assert EMBEDDED in page.read_text("utf-8")
        with table.open(newline="", encoding="utf-8-sig") as text:
            rows = list(csv.DictReader(text))
        assert sorted((row["where"], row["expected"], row["found"]) for row in rows) == [
            ("fields.title", f"Picture {number}", CAMERA.format(number)) for number in range(1, 5)
        ]
        assert {(row["kind"], row["pattern"]) for row in rows} == {("difference", "other value")}
        for number in (1, 2):
            retitle_at_target(job, number, f"Written by a person: {number}")
        (group,) = verdict_of(job, "--level", "fields")["groups"]
        assert (group["path"], group["pattern"], group["number"]) == ("fields.title", "other value", 4)
        assert (len(group["examples"]), group["cause"]) == (3, "")


def test_edits_by_people_soon_after_a_run_are_not_called_the_work_of_the_target(tmp_path: Path) -> None:
    with small(tmp_path, photos(MANY + 2)) as job:
        job.run()
        for number in range(1, MANY + 1):
            retitle_at_target(job, number, f"IMG_{number:04d}")
        (group,) = verdict_of(job, "--level", "fields")["groups"]
        assert group["number"] == MANY
        assert "in the first 512 KB of 0 of 3 files" in group["cause"]
        assert group["cause"].endswith(UNCERTAIN)
        assert "nobody" not in group["cause"]
        assert "overwritten by `run JOB --repair`" in group["remedy"]
        told = job.ran("verify", "--no-progress", "--level", "fields", code=3)
        told.says(UNCERTAIN, f"next: dam-sync plan {job.pair.job} --repair")
        assert "next: dam-sync run" not in told.text, "people see first what a repair would overwrite"
        planned = job.ran("plan", "--repair", "--no-progress", code=0)
        planned.says("people may have edited it", f"next: dam-sync run {job.pair.job} --repair")
        part = verdict_of(job, "--level", "fields", "--sample", "50%")
        compared, differ = part["checked"], part["different"]
        assert 0 < differ <= compared < MANY + 2
        assert f"{differ} of {compared} sampled of {MANY + 2} assets" in part["statement"]
        assert "with 95 % confidence at most" in part["statement"]


def test_differences_soon_after_a_run_are_looked_at_again_at_a_bounded_cost(tmp_path: Path) -> None:
    number, lag = 25, 60  # by the clock on the wall hardly any of these seconds pass
    with small(tmp_path, photos(number), options=f"version_policy: file_only, index_lag: {lag}") as job:
        job.run()
        for each in range(1, number + 1):
            retitle_at_target(job, each, f"By hand {each}")
        verified = job.ran("verify", "--json", "--no-progress", "--level", "fields", code=3).data
    assert verified["verdict"]["different"] == number
    fetched = verified["target"]["calls"]["GET /v2/assets/{id}"]
    assert fetched <= number + 8 * FEW, "a few are asked again until the index cannot be behind, then all of them"
    (note,) = [note for note in verified["notes"] if "compared again" in note]
    assert f"{number} assets differed at first" in note
    assert "0 agreed then" in note
    assert verified["target"]["calls"]["GET /v2/collections"] < 10, "no container differs: they are listed once"


def test_a_verification_does_not_wait_for_an_open_conflict(tmp_path: Path) -> None:
    with small(tmp_path, photos(3), options="version_policy: file_only, index_lag: 20") as job:
        job.run()
        (first,) = [row["id"] for row in job.pair.source.assets if row["filename"] == "photo-1.jpg"]
        retitle_at_target(job, 1, "By hand")
        change_source(job.pair.job, first, Patch(fields={"title": Localized({"en": "At the source"})}))
        job.run("--full", code=4)
        verified = job.ran("verify", "--json", "--no-progress", "--level", "digest", code=3).data
        assert (verified["verdict"]["different"], verified["verdict"]["equal"]) == (1, 2)
        assert sum(verified["verdict"]["evidence"].values()) == 3, "its file is compared, too"
        assert not [note for note in verified["notes"] if "compared again" in note]
