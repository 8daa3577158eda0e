"""What a command writes never replaces a file that its job consists of."""

from __future__ import annotations

from inspect import signature
from itertools import cycle
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.cli.mapping import map_
from dam_sync.cli.options import READ, WRITTEN

JOB = """\
version: 1
name: own
source: {kind: folder, options: {path: library}}
target: {kind: folder, options: {path: export}}
mapping: own.mapping.yaml
state: own.db
"""
MAPPING = "version: 1\nvocabularies: {subject: {source: keywords, target: subject, pins: subject.pins.csv}}\n"
OWN = {
    "own.yaml": "the job file",
    "own.mapping.yaml": "the mapping",
    "own.db": "the state",
    "own.db-wal": "the state",
    "subject.pins.csv": "a table of the mapping",
}
WRITING = (
    ("plan", "-o"),
    ("plan", "--csv"),
    ("run", "--html"),
    ("run", "--csv"),
    ("verify", "--csv"),
    ("adopt", "--csv"),
    ("rehearse", "--html"),
    ("inspect", "--html"),
    ("report", "--html"),
    ("report", "--csv"),
    ("errors", "--csv"),
    ("conflicts", "-o"),
    ("redirects", "--nginx"),
    ("redirects", "--apache"),
    ("rollback", "--run=1", "-o"),
    ("status", "--log-file"),
    ("watch", "--log-file"),
)
EACH = [  # one function refuses all of them: each option with one of the files, and each file by one option
    *zip(WRITING, cycle(OWN), strict=False),
    *((WRITING[0], name) for name in [*OWN][1:]),
]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job with each of its files."""
    for name in OWN:
        (tmp_path / name).write_text("kept")
    (tmp_path / "own.mapping.yaml").write_text(MAPPING)
    path = tmp_path / "own.yaml"
    path.write_text(JOB)
    return path


@pytest.mark.parametrize(("typed", "name"), EACH, ids=[" ".join((*typed, name)) for typed, name in EACH])
def test_an_output_that_is_a_file_of_the_job_is_refused(job: Path, typed: tuple[str, ...], name: str) -> None:
    before = {each: (job.parent / each).read_bytes() for each in OWN}
    verb, *options = typed
    result = CliRunner().invoke(cli, [verb, str(job), *options, str(job.parent / name)])
    assert result.exit_code == 2, result.output
    assert f"{job.parent / name} is {OWN[name]} of this job, and would be replaced; nothing was done" in result.stderr
    assert "hint: name another file" in result.stderr
    assert {each: (job.parent / each).read_bytes() for each in OWN} == before


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (("plan", "-o", "x", "--html", "./x"), "the option --output and the option --html name the same file x"),
        (("run", "--csv", "x", "--log-file", "x"), "the option --csv and the option --log-file name the same file x"),
        (("redirects", "--csv", "x", "--nginx", "x"), "the option --csv and the option --nginx name the same file x"),
        (("conflicts", "-o", "x.json"), "the option --output writes a table of CSV, and x.json ends like another form"),
        (("rollback", "--run", "1", "--csv", "x.HTML"), "writes a table of CSV, and x.HTML ends like another form"),
        (("plan", "--csv", "x.json"), "the option --csv writes a table of CSV, and x.json ends like another form"),
        (("redirects", "--apache", "x.map"), "--apache writes a map, x.map, which would replace another file"),
        (("redirects", "--apache", "x.conf", "--csv", "x.map"), "--apache writes a map, x.map, which would replace"),
    ],
)
def test_one_file_for_two_outputs_is_refused(
    job: Path, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], problem: str
) -> None:
    monkeypatch.chdir(job.parent)
    job.write_text(JOB)
    result = CliRunner().invoke(cli, [typed[0], str(job), *typed[1:]])
    assert (result.exit_code, problem in result.stderr) == (2, True), result.stderr
    assert not list(job.parent.glob("x*"))


@pytest.mark.parametrize("typed", [("plan", "-o"), ("plan", "--html"), ("plan", "--csv"), ("verify", "--html")])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(job: Path, typed: tuple[str, str]) -> None:
    """The source is not even there."""
    job.write_text(JOB.replace("own.db", "new.db"))
    result = CliRunner().invoke(cli, [typed[0], str(job), typed[1], str(job.parent / "own.mapping.yaml" / "x")])
    assert (result.exit_code, "own.mapping.yaml/x cannot be written" in result.stderr) == (2, True), result.stderr


def test_a_map_of_apache_replaces_no_mapping(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job.parent)
    (job.parent / "links.map").write_text(MAPPING)
    job.write_text(JOB.replace("own.mapping.yaml", "links.map"))
    result = CliRunner().invoke(cli, ["redirects", str(job), "--apache", "links.conf"])
    assert (result.exit_code, "links.map is the mapping of this job" in result.stderr) == (2, True), result.stderr


def test_a_link_to_the_state_is_refused_too(job: Path) -> None:
    (job.parent / "report.html").symlink_to("own.db")
    result = CliRunner().invoke(cli, ["report", str(job), "--html", str(job.parent / "report.html")])
    assert (result.exit_code, "the state of this job" in result.stderr) == (2, True)


def test_each_path_of_a_command_is_read_or_written() -> None:
    """An option that is in neither list would not be protected."""
    commands = [info.callback for info in (*cli.registered_commands, *map_.registered_commands)]
    paths = {
        name
        for command in commands
        for name, annotation in signature(command).parameters.items()  # type: ignore[arg-type]
        if "Path" in str(annotation.annotation)
    }
    assert paths - READ - WRITTEN == set()
    assert paths >= WRITTEN
