"""`errors`: the list of failed values, filled in and read back, is applied by the next run, kept, and removable."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs.small_jobs import Small, hurry, photo, photos, small

LONG = "=" + "y" * 2_000  # as a cell, the beginning of a formula


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    """One asset was moved, two are parked for a credit line that is too long."""
    hurry(monkeypatch)
    with small(tmp_path, [*photos(1), photo(2, credit=LONG), photo(3, credit=f"{LONG}y")]) as made:
        made.run(code=4)
        yield made


def listed(job: Small, path: Path) -> list[dict[str, str]]:
    job.ran("errors", "--csv", str(path), code=0).says("errors.csv")
    with path.open(newline="", encoding="utf-8-sig") as text:
        return list(csv.DictReader(text))


def fill(path: Path, change: Callable[[dict[str, str]], None]) -> None:
    with path.open(newline="", encoding="utf-8-sig") as text:
        rows = list(csv.DictReader(text))
    for row in rows:
        change(row)
    with path.open("w", newline="", encoding="utf-8") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def credits_of(job: Small) -> dict[str, Any]:
    return {row["filename"]: row["fields"].get("credit") for row in job.pair.target.assets}


def corrections(job: Small) -> Any:
    return job.ran("errors", "--corrections", "--json", code=0).data["corrections"]


def test_corrected_values_are_applied_listed_and_removed(job: Small, tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    rows = listed(job, path)
    assert [(row["field"], row["value"], row["corrected"]) for row in rows] == [
        ("fields.credit", f"'{LONG}", ""),
        ("fields.credit", f"'{LONG}y", ""),
    ]
    fill(path, lambda row: row.update(corrected="Gift" if row["filename"] == "photo-2.jpg" else LONG))
    done = job.ran("errors", "--import", str(path), "--json", code=0).data
    assert done == {"corrections": 2, "assets": 2, "retried": 2, "new": 2}
    assert job.ran("plan", "--json", "--no-progress", code=0).data["counts"]["created"] == 1
    report = job.run(code=4).data
    assert (report["counts"]["created"], report["counts"]["parked"]) == (1, 1)
    assert any("2 values corrected by hand stand in place" in note for note in report["notes"])
    assert credits_of(job) == {"photo-1.jpg": None, "photo-2.jpg": "Gift"}

    (left,) = listed(job, path)  # it did not fit either, and is shown as it was given
    assert (left["filename"], left["corrected"]) == ("photo-3.jpg", f"'{LONG}")
    fill(path, lambda row: row.update(corrected="Loan"))
    job.ran("errors", "--import", str(path), code=0).says(
        "1 corrected value of 1 asset is stored; 1 parked asset will be", "next: dam-sync run"
    )
    job.ran("errors", "--import", str(path), code=0).says(
        "1 corrected value of 1 asset was stored before; none of these assets is parked", "next: dam-sync run"
    )
    job.run()
    assert credits_of(job)["photo-3.jpg"] == "Loan"
    assert job.ran("verify", "--json", "--no-progress", code=0).data["verdict"]["clean"]
    assert job.run("--full").data["operations"] == {}

    assert job.ran("status", "--json", code=0).data["now"]["values corrected by hand"] == 2
    job.ran("errors", "--corrections", code=0).says("Values corrected by hand: 2", "fields.credit", "Loan")
    story = job.ran("explain", left["asset"], "--json", code=0).data
    assert [(row["value"], row["corrected"]) for row in story["corrections"]] == [("fields.credit", "Loan")]
    assert ledger(job) == [[None, ["Gift"]], [None, [LONG]], [[LONG], ["Loan"]]]

    job.ran("errors", "--forget", left["asset"], code=0).says("1 corrected values are removed", "--only")
    assert [row["asset"] for row in corrections(job)] == [row["asset"] for row in rows if row != left][:1]
    assert ledger(job)[3:] == [[["Loan"], None]]
    job.run("--only", left["asset"], code=4)
    assert credits_of(job)["photo-3.jpg"] == "Loan", "what is at the target stays"
    (row,) = job.parked()
    assert row["asset"] == left["asset"]


def ledger(job: Small) -> list[Any]:
    """Values before and after, of every row about corrections."""
    query = "SELECT changes FROM ledger WHERE operation = 'correction:fields.credit' ORDER BY seq"
    with closing(sqlite3.connect(job.state)) as connection:
        return [json.loads(text)["fields.credit"] for (text,) in connection.execute(query)]


FAULTS = {
    "asset": ("nope", "the state knows no asset 'nope' of the source"),
    "field": ("fields.credits", "the mapping has no line 'fields.credits'; did you mean fields.credit?"),
    "value": ("another", "'another' is not the value of fields.credit"),
}


def test_every_error_in_a_list_is_named_and_nothing_is_stored(job: Small, tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    for column, (wrong, message) in FAULTS.items():
        listed(job, path)
        fill(path, lambda row, column=column, wrong=wrong: row.update({column: wrong, "corrected": "Gift"}))  # type: ignore[misc]
        job.ran("errors", "--import", str(path), code=2).says(f"{path.name}:2: {message}", f"{path.name}:3: ")
    listed(job, path)
    job.ran("errors", "--import", str(path), code=0).says("0 corrected values")
    path.write_text("asset,value\n1,2\n", encoding="utf-8")
    job.ran("errors", "--import", str(path), code=2).says("errors.csv:1: missing column field, corrected")
    assert corrections(job) == []
    assert job.ran("errors", "--json", code=0).data["count"] == 2, "both are still parked"
    job.ran("errors", "--forget", "nope", code=2).says("the asset nope has no corrected value")
    job.ran("errors", "--forget", "nope", "--corrections", code=2).says("exclude each other")


def test_a_field_rule_without_a_value_gets_the_corrected_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that a service refused, too: any line of the mapping can be given, for any asset."""
    hurry(monkeypatch)
    required = ("pipe: [strip_html, trim]}", "pipe: [strip_html, trim], required: true}")
    with small(tmp_path, [photo(1, credit="Gift"), photo(2)], mapping=[required]) as job:
        job.run(code=4)
        path = tmp_path / "errors.csv"
        (row,) = listed(job, path)
        assert (row["field"], row["value"]) == ("fields.credit", "")
        fill(path, lambda row: row.update(corrected="Unknown"))
        job.ran("errors", "--import", str(path), code=0)
        job.run()
        assert credits_of(job) == {"photo-1.jpg": "Gift", "photo-2.jpg": "Unknown"}
        text = path.read_text(encoding="utf-8").replace("fields.credit", "fields.title").replace("Unknown", "Harbour")
        path.write_text(text, encoding="utf-8")
        job.ran("errors", "--import", str(path), code=0).says("none of these assets is parked")
        job.run("--only", row["asset"])
        titles = {row["filename"]: row["fields"]["title"] for row in job.pair.target.assets}
        assert titles == {"photo-1.jpg": "Picture 1", "photo-2.jpg": "Harbour"}
