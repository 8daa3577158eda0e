"""A job file whose `state:` names that of another job: `status` says so, and `run` gives one line for each reason."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import Small, hurry, photos, small


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    hurry(monkeypatch)
    with small(tmp_path, photos(2)) as made:
        made.run()
        yield made


def test_status_names_the_tenants_and_the_job_that_wrote_the_state(desk: Small) -> None:
    before = desk.ran("status", "--json", code=0).data
    assert {"source", "target"} <= set(before["now"])
    assert "notes" not in before
    name = before["job"]
    desk.edit(f"name: {name}", "name: another")
    desk.ran("status", code=0).says(f"was written by a job called {name}, and this one is called another", "`state:`")
    assert desk.ran("status", "--json", code=0).data["written by"] == name
    (row,) = [row for row in desk.ran("check", "--json", code=0).data["findings"] if "called" in row["message"]]
    assert (row["mark"], row["subject"]) == ("WARN", "state")
    assert f"was written by a job called {name}, and this one is called another" in row["message"]
    desk.edit("name: another", f"name: {name}")
    assert not [row for row in desk.ran("check", "--json", code=0).data["findings"] if "called" in row["message"]]


def test_what_reads_or_writes_the_state_names_the_job_that_wrote_it(desk: Small) -> None:
    """A job that was renamed says so once: from then on the state is its own."""
    name = desk.ran("status", "--json", code=0).data["job"]
    said = f"was written by a job called {name}, and this one is called another"
    for command in ("plan", "verify", "run"):
        assert not [note for note in desk.ran(command, "--json", "--no-progress", code=0).data["notes"] if said in note]
    desk.edit(f"name: {name}", "name: another")
    for command, told in (("plan", 1), ("verify", 1), ("run", 1), ("run", 0), ("plan", 0), ("verify", 0)):
        notes = desk.ran(command, "--json", "--no-progress", code=0).data["notes"]
        assert (command, len([note for note in notes if said in note])) == (command, told)


def test_a_run_prints_each_reason_on_a_line(desk: Small) -> None:
    with closing(sqlite3.connect(desk.state)) as connection, connection:
        connection.execute("UPDATE note SET value = '\"elsewhere\"' WHERE key LIKE 'tenant:%'")
    lines = desk.ran("run", "--no-progress", code=6).err.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("error: "))
    assert lines[start] == "error: 2 reasons not to continue:"
    assert lines[start + 1].startswith("1. the state belongs to a source called elsewhere")
    assert lines[start + 2].startswith("2. the state belongs to a target called elsewhere")
    assert lines[start + 3].startswith("hint: give the job a new `state:` file")
