"""What the shell completes besides commands and options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer

from dam_sync.cli import cli
from dam_sync.cli.completion import LEVELS
from dam_sync.engine.verification.verify import LEVELS as KNOWN
from dam_sync.help import topics
from dam_sync.services import discover

JOB = """\
version: 1
name: museum
source: {kind: folder, options: {path: one}}
target: {kind: folder, options: {path: two}}
mapping: museum.mapping.yaml
waves: [{name: press}, {name: rest, after: press}]
"""
COMMANDS: Any = typer.main.get_command(cli)


def completed(command: str, parameter: str, incomplete: str = "", **given: object) -> list[str]:
    found = COMMANDS.commands[command]
    context = typer.Context(found)
    context.params.update(given)
    (one,) = (each for each in found.params if each.name == parameter)
    return [item.value for item in one.shell_complete(context, incomplete)]


def test_topics_kinds_and_levels_are_completed() -> None:
    assert completed("help", "topic") == list(topics())
    assert completed("help", "topic", "map") == ["mapping", "map"]
    for command, parameter in (("emulate", "kind"), ("demo", "source"), ("demo", "target")):
        assert completed(command, parameter) == list(discover())
    assert completed("init", "source", "kind=b") == ["kind=b_documents"]
    assert completed("init", "source", "base_url=kind=b") == []
    assert completed("verify", "level", "d") == ["digest"]
    assert tuple(LEVELS) == KNOWN


@pytest.mark.parametrize("command", ["plan", "run", "verify", "signoff"])
def test_waves_of_the_job_are_completed(tmp_path: Path, command: str) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    assert completed(command, "wave", job=job) == ["press", "rest"]
    assert completed(command, "wave", "r", job=str(job)) == ["rest"]
    for broken in (None, tmp_path / "missing.yaml", tmp_path):
        assert completed(command, "wave", job=broken) == []


def test_causes_without_a_state_complete_to_nothing(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    assert completed("errors", "cause", job=job) == []
    assert completed("errors", "cause") == []
