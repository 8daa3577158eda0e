"""The README says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from dam_sync.cli import cli
from dam_sync.reference import EXITS, README, refreshed
from dam_sync.services import discover

ROOT = Path(__file__).parents[2]
TEXT = README.read_text(encoding="utf-8")


def test_generated_tables_are_fresh() -> None:
    assert refreshed(TEXT) == TEXT, "run `make reference`"


def test_every_verb_is_told_and_every_told_verb_exists() -> None:
    verbs = {command.name or command.callback.__name__ for command in cli.registered_commands if command.callback}
    told = set(re.findall(r"^\| `(\w+)[ `]", TEXT.split("## Verbs")[1].split("## The mapping file")[0], re.MULTILINE))
    assert told == verbs


def test_every_dependency_has_its_line() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("dependencies = [")[1].split("]")[0]
    told = TEXT.split("## Dependencies")[1].split("## ")[0]
    for name in re.findall(r'"([A-Za-z0-9-]+)[><=]', project):
        assert name.lower() in told.lower(), f"{name} is not explained"


def test_every_service_and_the_two_commands_are_named() -> None:
    for kind in discover():
        assert f"`{kind}`" in TEXT
    assert "make demo" in TEXT
    assert "make test" in TEXT


def test_make_targets_have_a_help_line() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets is not None
    for target in targets[1].split():
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target


def test_exit_codes_of_errors_are_told() -> None:
    from dam_sync.model import errors

    codes = {error.exit_code for error in vars(errors).values() if hasattr(error, "exit_code")}
    assert codes <= {code for code, _ in EXITS}


def test_assumed_writes_name_an_assumption_and_how_they_are_verified() -> None:
    for kind in discover().values():
        numbers = {assumption.number for assumption in kind.assumptions}
        for write in kind.assumed_writes:
            assert write.number in numbers, f"{kind.name}: {write.form}"
            assert write.verified_by, f"{kind.name}: {write.form}"
