"""`map`: suggested, checked, tested and compared mappings, over sockets."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.small import MAPPING, Small, photos, small


def own_mapping(job: Small, mapping: Path) -> None:
    """The job takes this mapping file from now on."""
    text = job.pair.job.read_text(encoding="utf-8")
    lines = [f"mapping: {mapping}" if line.startswith("mapping:") else line for line in text.splitlines()]
    job.pair.job.write_text("\n".join(lines) + "\n", encoding="utf-8")


def changed(folder: Path) -> Path:
    """The job's mapping with another title, another constant and fewer tags."""
    text = MAPPING.read_text(encoding="utf-8")
    path = folder / "changed.yaml"
    path.write_text(text.replace("from: fields.inventory", "from: filename"), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    return path


def test_a_suggestion_is_complete_and_changes_nothing(tmp_path: Path) -> None:
    with small(tmp_path, photos(3)) as job:
        path, before = str(job.pair.job), MAPPING.read_bytes()
        new = tmp_path / "new" / "mapping.yaml"
        found = job.pair.json("map", "suggest", path, "-o", str(new))
        assert found["text"] == new.read_text(encoding="utf-8")
        assert {line["target"] for line in found["lines"]} >= {"title", "description"}
        assert all(0 <= line["score"] <= 1 and line["reason"] for line in found["lines"])
        assert not {line["target"] for line in found["lines"]} & {row["field"] for row in found["unwritten"]}
        again = job.pair.cli("map", "suggest", path, "-o", str(new), check=2)
        assert "exists; nothing was written" in again.stderr
        assert job.pair.cli("map", "suggest", path).stdout == new.read_text(encoding="utf-8")
        assert MAPPING.read_bytes() == before
        assert job.pair.target.assets == []


def test_faults_and_examples_have_their_lines(tmp_path: Path) -> None:
    with small(tmp_path, photos(2)) as job:
        path = str(job.pair.job)
        assert "fits both schemas" in job.pair.cli("map", "check", path).stdout
        mapping = tmp_path / "own.yaml"
        text = MAPPING.read_text(encoding="utf-8").replace("tests:", "x-tests:")
        test = "tests:\n  - given: {id: '7', fields: {title: {texts: {en: Sea}}}}\n    expect: {title: %s}\n"
        own = "".join(line for line in text.splitlines(keepends=True)).partition("x-tests:")[0]
        own_mapping(job, mapping)
        mapping.write_text(own + test % "Sea", encoding="utf-8")
        assert job.pair.json("map", "test", path) == {"ok": True, "examples": 1}
        mapping.write_text(own + test % "Lake", encoding="utf-8")
        told = job.pair.cli("map", "test", path, check=2).stderr
        line = (own + test).splitlines().index("    expect: {title: %s}") + 1
        assert f"own.yaml:{line}:" in told
        mapping.write_text(own.replace("inventory:", "inventry:"), encoding="utf-8")
        assert "inventry" in job.pair.cli("map", "check", path, check=2).stderr


def test_a_changed_mapping_is_compared_without_calls(tmp_path: Path) -> None:
    with small(tmp_path, photos(5)) as job:
        path, other = str(job.pair.job), changed(tmp_path)
        found = job.pair.json("map", "diff", path, str(other), check=3)
        assert (found["assets"], found["changed"], found["whole"]) == (5, 5, True)
        assert [(part["part"], part["changed"]) for part in found["parts"]] == [("fields.inventory", 5)]
        _, before, after = found["parts"][0]["examples"][0]
        assert (json.loads(before), json.loads(after)) == ("MU.00001", "photo-1.jpg")
        job.pair.source.forget_calls()
        job.pair.target.forget_calls()
        assert job.pair.json("map", "diff", path, str(other), check=3) == found
        assert job.pair.json("map", "diff", path, str(MAPPING))["changed"] == 0
        assert (job.pair.source.calls, job.pair.target.calls) == ({}, {})
        kept = next(tmp_path.rglob("*.sample.jsonl"))
        assert kept.stat().st_mode & 0o077 == 0
        kept.write_text("{}\n", encoding="utf-8")
        assert job.pair.json("map", "diff", path, str(other), check=3)["assets"] == 5
        other.write_text(other.read_text(encoding="utf-8") + "\nprofil: 1\n", encoding="utf-8")
        assert "changed.yaml" in job.pair.cli("map", "diff", path, str(other), check=2).stderr
