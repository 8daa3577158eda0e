"""Options that every command takes."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
import typer
from typer.main import get_command
from typer.testing import CliRunner

from dam_sync.api.logs import logging_to
from dam_sync.cli import cli
from dam_sync.cli.command import confirm
from dam_sync.model.errors import ConfigError
from dam_sync.report.output import Output

COMMANDS = sorted(get_command(cli).commands)  # type: ignore[attr-defined]
COMMON = {"--json", "-v", "--log-format", "--log-file", "--no-progress", "--yes"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _unconfigured() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_common_options(name: str) -> None:
    command = get_command(cli).commands[name]  # type: ignore[attr-defined]
    for each in getattr(command, "commands", {name: command}).values():
        assert {flag for parameter in each.params for flag in parameter.opts} >= COMMON


def test_the_log_goes_to_a_file_that_only_its_owner_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dam-sync.log"
    path.write_text("{}\n", encoding="utf-8")
    path.chmod(0o644)
    for _ in range(2):
        with logging_to(path, 1, "json"):
            structlog.get_logger().info("asset.created", asset="1")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line.get("event") for line in lines] == [None, "asset.created", "asset.created"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("gone", [False, True])
def test_a_log_that_was_renamed_or_removed_is_begun_again(tmp_path: Path, gone: bool) -> None:
    """As logrotate does while `watch` goes on."""
    path, old = tmp_path / "dam-sync.log", tmp_path / "dam-sync.log.1"
    with logging_to(path, 1, "json"):
        log = structlog.get_logger()
        log.info("first")
        path.rename(old)
        if gone:
            old.unlink()
        log.info("second")
        path.parent.chmod(0o500)
        log.info("third")
        path.parent.chmod(0o700)
    assert [json.loads(line)["event"] for line in path.read_text(encoding="utf-8").splitlines()] == ["second", "third"]
    assert gone or "first" in old.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_command_logs_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dam-sync.log"
    assert CliRunner().invoke(cli, ["help", "--log-file", str(path)]).exit_code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_not_a_file_of_its_own_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    (tmp_path / "link").symlink_to("there")
    for path in (tmp_path / "link", tmp_path, tmp_path / "none" / "log", Path("/dev/null")):
        with pytest.raises(ConfigError, match="--log-file"), logging_to(path, 0, "console"):
            pass
    assert CliRunner().invoke(cli, ["help", "--log-file", str(tmp_path / "link")]).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["explain", "job.yaml", "a\udcff"], "the argument ID"),
        (["run", "job.yaml", "--only", "\udcff"], "the option --only"),
        (["conflicts", "j", "--only", "\udcff"], "the option --only"),
        (["verify", "j", "--level", "\udcff"], "the option --level"),
    ],
)
def test_an_argument_that_is_not_text_is_a_wrong_argument(arguments: list[str], shown: str) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2
    assert f"{shown} is not valid text" in done.output


@pytest.mark.parametrize(
    ("terminal", "yes", "text", "goes_on"),
    [(True, False, "y\n", True), (True, False, "n\n", False), (True, True, "", True), (False, False, "", True)],
)
def test_only_a_terminal_is_asked(
    terminal: bool, yes: bool, text: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(text) if terminal else io.StringIO(text))
    monkeypatch.setattr(sys, "stderr", shown)
    output = Output(yes=yes)
    if goes_on:
        confirm(output, "Remove it?")
    else:
        with pytest.raises(typer.Exit) as ended:
            confirm(output, "Remove it?")
        assert (ended.value.exit_code, shown.getvalue().endswith("nothing was done\n")) == (1, True)
    assert ("Remove it?" in shown.getvalue()) == bool(text)


TABLES = ("adopt", "conflicts", "errors", "inspect", "plan", "redirects", "report", "rollback", "run", "verify")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_written_by_the_same_option_everywhere(name: str) -> None:
    command = get_command(cli).commands[name]  # type: ignore[attr-defined]
    assert "--csv" in {flag for each in command.params for flag in each.opts}


def test_the_sheet_is_written_by_that_option_too_and_the_old_one_stays() -> None:
    sheet = get_command(cli).commands["map"].commands["sheet"]  # type: ignore[attr-defined]
    (table,) = (each for each in sheet.params if "--csv" in each.opts)
    assert {"-o", "--output"} <= set(table.opts)
