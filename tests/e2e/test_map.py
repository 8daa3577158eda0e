"""`map`: suggested, checked, tested and compared mappings, over sockets."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.support.jobs.small_jobs import MAPPING, Small, photo, photos, small
from tests.support.jobs.tenants import Command, alone


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


def test_a_suggestion_is_complete_and_changes_nothing(tmp_path: Path, command: Command) -> None:
    with small(tmp_path, photos(3), command=command) as job:
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


def test_diagnostics_and_examples_have_their_lines(tmp_path: Path, command: Command) -> None:
    with small(tmp_path, photos(2), command=command) as job:
        path = str(job.pair.job)
        assert "fits both schemas" in alone("map", "check", path).stdout
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


def test_a_changed_mapping_is_compared_without_calls(tmp_path: Path, command: Command) -> None:
    with small(tmp_path, photos(5), command=command) as job:
        path, other = str(job.pair.job), changed(tmp_path)
        found = job.pair.json("map", "diff", path, str(other), check=3)
        assert (found["assets"], found["changed"], found["whole"]) == (5, 5, True)
        assert [(part["part"], part["changed"]) for part in found["parts"]] == [("fields.inventory", 5)]
        _, before, after = found["parts"][0]["examples"][0]
        assert (before, after) == ("MU.00001", "photo-1.jpg")
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


PINNED = "country: {source: country, target: country, match: [pin], unmatched: park, pins: country.pins.csv}"


def test_a_librarian_decides_about_terms(tmp_path: Path, command: Command) -> None:
    with small(tmp_path, [photo(1, country="France"), photo(2, country="France"), photo(3)], command=command) as job:
        path, mapping, sheet = str(job.pair.job), tmp_path / "own.yaml", tmp_path / "terms.csv"
        text = MAPPING.read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if line.startswith("  country: {source"))
        mapping.write_text(text.replace(line.strip(), PINNED), encoding="utf-8")
        pins = tmp_path / "country.pins.csv"
        pins.write_text("source,target\nSpain,Spain\n", encoding="utf-8")
        own_mapping(job, mapping)
        counts = job.pair.json("map", "sheet", path, "-o", str(sheet))
        rows = read(sheet)
        assert counts["pin"] == 1
        assert counts["not found"] == len(rows) - 1
        assert (rows[0]["vocabulary"], rows[0]["source"], rows[0]["assets"]) == ("country", "France", "2")
        france = next(row for row in rows if row["source"] == "France")
        assert france["candidates"].startswith("“France” 1.00")
        write(sheet, [{**row, "decision": "Atlantis" if row is france else ""} for row in rows])
        told = job.pair.cli("map", "sheet", path, "--import", str(sheet), check=2).stderr
        assert f"terms.csv:{rows.index(france) + 2}: the target's country has no term 'Atlantis'" in told
        assert pins.read_text(encoding="utf-8") == "source,target\nSpain,Spain\n"
        write(sheet, [{**row, "decision": "Worldwide" if row is france else ""} for row in rows])
        assert job.pair.json("map", "sheet", path, "--import", str(sheet)) == {str(pins): 1}
        assert read(pins) == [{"source": "Spain", "target": "Spain"}, {"source": "France", "target": "Worldwide"}]
        assert job.pair.json("map", "sheet", path, "-o", str(sheet))["pin"] == 2
        job.run()
        assert json.dumps(job.pair.target.assets).count('"Worldwide"') == 2


def test_a_decision_needs_no_file_of_pins(tmp_path: Path, command: Command) -> None:
    with small(tmp_path, [photo(1, country="France")], command=command) as job:
        path, sheet = str(job.pair.job), tmp_path / "terms.csv"
        wrote = job.pair.cli("map", "sheet", path, "-o", str(sheet))
        assert f"next: dam-sync map sheet {path} --import {sheet}" in wrote.stderr
        write(sheet, [{**row, "decision": "Worldwide" if row["source"] == "France" else ""} for row in read(sheet)])
        empty = tmp_path / "empty.csv"
        write(empty, [{**row, "decision": ""} for row in read(sheet)])
        none = job.pair.cli("map", "sheet", path, "--import", str(empty)).stderr
        assert f"next: dam-sync map sheet {path} --import {empty}" in none, "decisions are still to be written"
        done = job.pair.cli("map", "sheet", path, "--import", str(sheet))
        pins = tmp_path / "country.pins.csv"
        assert f"1 pin added or changed in {pins}" in done.stdout
        assert read(pins) == [{"source": "France", "target": "Worldwide"}]
        assert "country: {…, match: [pin, exact, casefold], pins: country.pins.csv}" in done.stderr
        again = job.pair.cli("map", "sheet", path, "--import", str(sheet), check=2).stderr
        assert "does not name" in again, "the decisions of a file that nobody reads are not overwritten"
        sheet.write_text(sheet.read_text(encoding="utf-8") + "Worldwide\n", encoding="utf-8")
        assert "fewer cells" in job.pair.cli("map", "sheet", path, "--import", str(sheet), check=2).stderr


def test_a_sheet_says_when_the_services_were_read_and_reads_them_again(tmp_path: Path, command: Command) -> None:
    with small(tmp_path, [photo(1, country="France")], command=command) as job:
        path, sheet = str(job.pair.job), tmp_path / "terms.csv"
        assert "`--refresh` reads them again" in job.pair.cli("map", "sheet", path, "-o", str(sheet)).stdout
        (kept,) = tmp_path.rglob("*.sample.jsonl")
        kept.write_text(kept.read_text(encoding="utf-8").replace("Worldwide", "Elsewhere"), encoding="utf-8")
        write(sheet, [{**row, "decision": "Worldwide" if row["source"] == "France" else ""} for row in read(sheet)])
        refused = job.pair.cli("map", "sheet", path, "--import", str(sheet), check=2).stderr
        assert "has no term 'Worldwide'" in refused
        assert "when the target was read, add --refresh" in refused
        done = job.pair.cli("map", "sheet", path, "--import", str(sheet), "--refresh")
        assert "1 pin added or changed" in done.stdout


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
