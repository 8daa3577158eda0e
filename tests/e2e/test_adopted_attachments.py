"""Attachments of assets that were at the target already: what it lacks is added, what is another file is reported."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.jobs import run_job, verify_job
from tests.support.jobs import small_jobs
from tests.support.jobs.folder_jobs import InFolder

FIELDS = [{"record": "field", "key": "key", "kind": "text"}]
MAPPING = """version: 1
marker: none
fields:
  key: {from: fields.key}
unmapped: ignore
"""
Files = Mapping[str, str]  # text by name


def folder(path: Path, identity: str, file: str, attachments: Files) -> InFolder:
    """A folder with one asset."""

    def stored(number: str, name: str, text: str) -> dict[str, Any]:
        place = path / "data" / "files" / identity / number / name
        place.parent.mkdir(parents=True)
        place.write_text(text, encoding="utf-8")
        return {"file": f"{identity}/{number}/{name}", "name": name}

    asset = {"record": "asset", "id": identity, "filename": "sea.jpg", "fields": {"key": "s1"}}
    asset["versions"] = [stored("v1", "sea.jpg", file)]
    asset["attachments"] = [stored(f"a{number}", *one) for number, one in enumerate(attachments.items(), 1)]
    rows = "".join(f"{json.dumps(row)}\n" for row in (*FIELDS, asset))
    (path / "data" / "catalogue.jsonl").write_text(rows, encoding="utf-8")
    return InFolder(path)


def adopted(tmp_path: Path, ours: Files, theirs: Files, file: str = "sea") -> tuple[Path, InFolder, dict[str, Any]]:
    """The job, its target and the report of the adoption. file: text of the file at the target."""
    folder(tmp_path / "from", "s1", "sea", ours)
    there = folder(tmp_path / "to", "t1", file, theirs)
    (tmp_path / "m.yaml").write_text(MAPPING, encoding="utf-8")
    job = tmp_path / "job.yaml"
    sides = "".join(
        f"{side}: {{kind: folder, options: {{path: {path}}}}}\n"
        for side, path in (("source", "from"), ("target", "to"))
    )
    job.write_text(f"version: 1\nname: adopted\n{sides}mapping: m.yaml\nstate: job.db\n", encoding="utf-8")
    report = asyncio.run(adopt_job(job, small_jobs.options(), Adoption(by_field="key"))).as_json()
    assert report["counts"]["linked by field"] == 1
    return job, there, report


def attached(there: InFolder) -> list[tuple[str, str]]:
    (row,) = there.assets
    return sorted((file["name"], there.bytes_of(file).decode()) for file in row["attachments"])


def differing(report: Mapping[str, Any]) -> Sequence[str]:
    return [note for note in report["notes"] if "from what a run would write" in note]


def test_an_attachment_that_the_target_lacks_is_reported_and_the_next_run_adds_it(tmp_path: Path) -> None:
    job, there, report = adopted(tmp_path, {"a.txt": "one", "b.txt": "two"}, {"b.txt": "two"})
    (note,) = differing(report)
    assert "adds missing attachments" in note
    run = asyncio.run(run_job(job, small_jobs.options())).as_json()
    assert (run["parked"], run["conflicts"], run["counts"]["updated"]) == ([], [], 1)
    assert attached(there) == [("a.txt", "one"), ("b.txt", "two")]
    again = asyncio.run(run_job(job, small_jobs.options())).as_json()
    assert again["counts"]["updated"] == 0


def test_equal_attachments_are_not_sent_again(tmp_path: Path) -> None:
    files = {"a.txt": "one", "b.txt": "two"}
    job, there, report = adopted(tmp_path, files, {**files, "theirs.txt": "three"})
    assert not differing(report)
    run = asyncio.run(run_job(job, small_jobs.options())).as_json()
    assert run["counts"]["updated"] == 0
    assert attached(there) == sorted({**files, "theirs.txt": "three"}.items())


def test_another_file_of_that_name_is_reported_and_left_to_a_repair(tmp_path: Path) -> None:
    theirs = "another text"
    job, there, report = adopted(tmp_path, {"a.txt": "one"}, {"a.txt": theirs})
    assert differing(report)
    asyncio.run(run_job(job, small_jobs.options()))
    assert attached(there) == [("a.txt", theirs)]
    asyncio.run(run_job(job, small_jobs.options(repair=True)))
    assert attached(there) == sorted([("a.txt", "one"), ("a.txt", theirs)])


def test_another_file_of_the_asset_is_reported(tmp_path: Path) -> None:
    _, _, report = adopted(tmp_path, {}, {}, file="by others")
    assert differing(report)


def test_files_of_one_size_without_a_digest_are_not_called_equal(tmp_path: Path) -> None:
    job, there, report = adopted(tmp_path, {"a.txt": "one"}, {"a.txt": "two"})
    (note,) = [note for note in report["notes"] if "no digest to compare" in note]
    assert "`verify JOB --level bytes`" in note
    asyncio.run(run_job(job, small_jobs.options()))
    assert attached(there) == [("a.txt", "two")]
    assert not asyncio.run(verify_job(job, small_jobs.options(), "bytes", "100%")).verdict["clean"]
