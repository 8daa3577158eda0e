"""A path that is longer than the file system allows is refused with a sentence, wherever it is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from dam_sync.cli import cli

NAME = "n" * 300
JOB = """\
version: 1
name: photos
source: {{kind: folder, options: {{path: pictures}}}}
target: {{kind: folder, options: {{path: copies}}}}
mapping: {mapping}
state: {state}
"""


def commands(group: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield (*words, name), command


def takes_path(parameter: Any) -> bool:
    return parameter.type_descriptor.annotation in (Path, list[Path])


COMMANDS = dict(commands(typer.main.get_command(cli)))
ARGUMENTS = [
    words
    for words, command in COMMANDS.items()
    if any(takes_path(each) and each.param_type_name == "argument" for each in command.params)
]
OPTIONS = [
    (words, each.opts[0])
    for words, command in COMMANDS.items()
    for each in command.params
    if takes_path(each) and each.param_type_name == "option"
]


def refused(*words: str) -> str:
    """What a command says that exits with 2 and no traceback."""
    shown = CliRunner().invoke(cli, list(words), prog_name="dam-sync", env={"COLUMNS": "2000"}, input="")
    assert isinstance(shown.exception, SystemExit), shown.exception
    assert shown.exit_code == 2, shown.output
    assert "internal error" not in shown.output
    return shown.output


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "job.yaml").write_text(JOB.format(mapping="map.yaml", state="state.db"), encoding="utf-8")
    (tmp_path / "map.yaml").write_text("version: 1\nfields: {}\n", encoding="utf-8")


def arguments(command: Any, path: str) -> Iterator[str]:
    """What a command needs to be called."""
    for each in command.params:
        if each.param_type_name == "argument" and each.required:
            yield path if takes_path(each) else "1"


@pytest.mark.parametrize("words", ARGUMENTS, ids=" ".join)
def test_as_an_argument(words: tuple[str, ...]) -> None:
    refused(*words, *arguments(COMMANDS[words], f"{NAME}.yaml"))


@pytest.mark.parametrize(
    ("words", "option"), OPTIONS, ids=lambda each: each if isinstance(each, str) else " ".join(each)
)
def test_as_an_option(words: tuple[str, ...], option: str) -> None:
    refused(*words, *arguments(COMMANDS[words], "job.yaml"), option, f"{NAME}.csv")


@pytest.mark.parametrize(
    ("verb", "key"),
    [("check", "mapping"), ("check", "state"), ("plan", "mapping"), ("plan", "state"), ("status", "state")],
)
def test_in_a_job_file(verb: str, key: str, tmp_path: Path) -> None:
    names = {"mapping": "map.yaml", "state": "state.db", key: f"{NAME}.yaml"}
    (tmp_path / "job.yaml").write_text(JOB.format(**names), encoding="utf-8")
    assert "too long" in refused(verb, "job.yaml")


def test_as_words_that_might_be_a_path_taken_apart() -> None:
    """A long line of options is no path, and no error either."""
    shown = CliRunner().invoke(cli, ["check", "missing.yaml", *["--only", "x" * 250] * 4])
    assert isinstance(shown.exception, SystemExit)
    assert shown.exit_code == 2
