"""The command `conflicts`: both values, decisions by option and by a list, and what the next run makes of them."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import Patch
from dam_sync.model.values import Localized
from tests.support.jobs.library_edits import change_source, retitle_at_target
from tests.support.jobs.small_jobs import Small, hurry, photos, set_right, small


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Small]:
    """Three assets were moved; the titles of the first two changed at both services, and a run parked them."""
    with small(tmp_path, photos(3)) as made:
        made.run()
        for number in (1, 2):
            retitle_at_target(made, number, f"By hand {number}")
            title = Localized({"en": f"At the source {number}"})
            change_source(made.pair.job, source_id(made, number), Patch(fields={"title": title}))
        yield made


def source_id(job: Small, number: int) -> str:
    (found,) = [row["id"] for row in job.pair.source.assets if row["filename"] == f"photo-{number}.jpg"]
    return str(found)


def titles(job: Small) -> list[str]:
    return sorted(row["fields"]["title"] for row in job.pair.target.assets)


def filled(path: Path, decision: str) -> None:
    """Decide the rows that are left."""
    with path.open(encoding="utf-8-sig", newline="") as text:
        rows = list(csv.DictReader(text))
    with path.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "decision": row["decision"] or decision} for row in rows)


def ledger(job: Small) -> list[Any]:
    with closing(sqlite3.connect(job.state)) as connection:
        rows = connection.execute("SELECT detail, changes FROM ledger WHERE operation LIKE 'conflict:%' ORDER BY asset")
        return [tuple(map(json.loads, row)) for row in rows]


def test_both_values_of_a_conflict_are_shown_and_decisions_are_applied_by_the_next_run(
    job: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, report = job.ran("plan", "--json", code=0).data, job.run(code=4).data
    (told,) = report["conflicts"]
    assert told == plan["conflicts"][0]
    assert (told["path"], told["take"], told["by"], told["assets"]) == ("fields.title", "parked", "park", 2)
    assert {row["cause"] for row in report["parked"]} == {"conflict"}
    shown = job.ran("conflicts", code=4)
    shown.says("2 in 2 assets, 0 decided", "fields.title", "By hand 1", "At the source 1", "Picture 1", "conflicts.csv")
    blank = tmp_path / "blank.csv"
    job.ran("conflicts", "-o", str(blank), code=4)
    job.ran("conflicts", "--import", str(blank), code=4).says("decides nothing", "source or target", "`decision`")
    first, second = source_id(job, 1), source_id(job, 2)
    assert job.ran("conflicts", "--take", "SOURCE", "--only", first, "--json", code=0).data["taken"] == 1
    found = job.ran("conflicts", "--json", code=4).data
    assert [row["decision"] for row in found["conflicts"]] == ["source", ""]
    listed = tmp_path / "conflicts.csv"
    job.ran("conflicts", "-o", str(listed), code=4)
    filled(listed, "target")
    job.ran("conflicts", "--import", str(listed), code=0).says("2 decided", "run")
    report = job.run().data
    assert [(row["take"], row["by"], row["examples"]) for row in report["conflicts"]] == [
        ("source", "decision", [first]),
        ("target", "decision", [second]),
    ]
    assert (report["operations"], report["counts"]["parked"]) == ({"update": 1}, 0)
    assert titles(job) == ["At the source 1", "By hand 2", "Picture 3"]
    assert [detail["fields.title"]["take"] for detail, _ in ledger(job)] == ["source", "target"]
    assert [changes["fields.title"][0] for _, changes in ledger(job)] == ["By hand 1", "By hand 2"]
    job.ran("conflicts", code=0).says("there is no open conflict")
    job.ran("verify", "--no-progress", code=0)
    set_right()
    hurry(monkeypatch)  # a repair waits for the index
    assert job.run("--repair").data["operations"] == {}, "a repair leaves what was kept"
    job.ran("conflicts", "--import", str(listed), code=2).says("fields.title", "is not in conflict")


def test_a_list_that_does_not_fit_decides_nothing(job: Small, tmp_path: Path) -> None:
    job.run(code=4)
    listed = tmp_path / "conflicts.csv"
    job.ran("conflicts", "-o", str(listed), code=4)
    filled(listed, "both")
    job.ran("conflicts", "--import", str(listed), code=2).says(
        "conflicts.csv:2: the decision is 'both'", "conflicts.csv:3: the decision is 'both'", "write source or target"
    )
    retitle_at_target(job, 2, "Once more by hand")
    job.ran("errors", "--retry", code=0)
    job.run(code=4)
    job.ran("conflicts", "-o", str(tmp_path / "again.csv"), code=4)
    text = listed.read_text(encoding="utf-8").replace("both", "source")
    listed.write_text(text, encoding="utf-8")
    job.ran("conflicts", "--import", str(listed), code=2).says("changed since the list was written")
    assert job.ran("conflicts", "--json", code=4).data["decided"] == 0
    job.ran("conflicts", "-o", str(listed), code=4)
    filled(listed, "target")
    first = source_id(job, 1)
    only = job.ran("conflicts", "--import", str(listed), "--only", first, "--json", code=0).data
    assert (only["taken"], only["decided"]) == (1, 1)
    assert [row["decision"] for row in job.ran("conflicts", "--json", code=4).data["conflicts"]] == ["target", ""]
    listed.write_text(listed.read_text(encoding="utf-8").replace(first, "gone"), encoding="utf-8")
    job.ran("conflicts", "--import", str(listed), "--only", first, code=2).says(
        f"has no decision for the asset {first}"
    )
    job.ran("conflicts", "--take", "both", code=2).says("--take expects source or target")
    job.ran("conflicts", "--take", "source", "--import", str(listed), code=2).says("exclude each other")
    job.ran("conflicts", "--only", "99", code=2).says("the asset 99 has no open conflict")


def test_another_policy_tries_parked_conflicts_again(job: Small) -> None:
    job.run(code=4)
    text = job.pair.job.read_text(encoding="utf-8")
    job.pair.job.write_text(f"{text}policy: {{conflicts: {{fields: {{title: target}}}}}}\n", encoding="utf-8")
    report = job.run().data
    assert [(row["take"], row["by"], row["assets"]) for row in report["conflicts"]] == [("target", "target", 2)]
    assert report["operations"] == {}
    assert titles(job) == ["By hand 1", "By hand 2", "Picture 3"]
