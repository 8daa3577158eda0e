"""`dam-sync help`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.help import topics

RUNNER = CliRunner()


def test_help_lists_the_topics_with_a_line_each() -> None:
    shown = RUNNER.invoke(cli, ["help"])
    assert shown.exit_code == 0
    for name, summary in topics().items():
        assert any(line.startswith(name) and line.endswith(summary) for line in shown.stdout.splitlines())


@pytest.mark.parametrize("words", [[], ["run"], ["map", "check"]])
def test_the_short_option_shows_the_same_help(words: list[str]) -> None:
    short, long = (RUNNER.invoke(cli, [*words, option]) for option in ("-h", "--help"))
    assert (short.exit_code, short.stdout) == (0, long.stdout)


def test_help_prints_a_topic_as_it_is_written() -> None:
    shown = RUNNER.invoke(cli, ["help", "operations"])
    assert shown.exit_code == 0
    assert shown.stdout.startswith("# Operations\n\n")
    assert "| 6 | safety stop |" in shown.stdout
    assert "generated" not in shown.stdout


def test_on_a_terminal_a_long_topic_goes_through_the_pager(tmp_path: Path) -> None:
    paged, (ours, terminal) = tmp_path / "paged", pty.openpty()
    given = {"PAGER": f"cat > {paged}", "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    environment = {**{key: value for key, value in os.environ.items() if key != "MANPAGER"}, **given}
    shown = {"stdin": terminal, "stdout": terminal, "stderr": subprocess.PIPE, "env": environment, "timeout": 120}
    try:
        done = subprocess.run([sys.executable, "-m", "dam_sync", "help", "operations"], check=False, **shown)  # type: ignore[call-overload]
    finally:
        os.close(terminal)
        os.close(ours)
    assert done.returncode == 0, done.stderr
    assert "Operations" in paged.read_text("utf-8")


def test_help_as_json() -> None:
    assert json.loads(RUNNER.invoke(cli, ["help", "--json"]).stdout)["topics"] == dict(topics())
    assert json.loads(RUNNER.invoke(cli, ["help", "jobs", "--json"]).stdout)["text"].startswith("# Jobs\n")


def test_an_unknown_topic_names_the_nearest() -> None:
    shown = RUNNER.invoke(cli, ["help", "maping"])
    assert shown.exit_code == 2
    assert "there is no help topic maping" in shown.stderr
    assert "did you mean mapping?" in shown.stderr
