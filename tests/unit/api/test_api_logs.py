"""What is reported of errors nobody expected."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
import typer
from typer.testing import CliRunner

from dam_sync.api.logs import reported, set_up_logs
from dam_sync.cli.command import command, execute
from dam_sync.http.redaction import hide
from dam_sync.model.errors import ContractBroken, InternalError
from dam_sync.report.output import Output

SECRET = "S3cr3tValu3xyz"


@pytest.fixture(autouse=True)
def _unconfigured() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def broken(problem: Exception) -> typer.Typer:
    """A command line whose only command raises an error."""
    app = typer.Typer()

    @app.command()
    @command()
    def fail(output: Output) -> None:
        async def at_work(options: Any) -> int:
            raise problem

        execute(output, at_work)

    return app


@pytest.mark.parametrize("verbose", [[], ["-v"], ["-vv"], ["--log-format", "json"]])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_bug_of_ours_is_an_internal_error_with_a_traceback_in_the_log(verbose: list[str], grouped: bool) -> None:
    hide(SECRET)
    problem: Exception = KeyError(f"key {SECRET}\x1b[31m")
    app = broken(ExceptionGroup("tasks", [problem]) if grouped else problem)
    result = CliRunner().invoke(app, verbose)
    assert result.exit_code == InternalError.exit_code == 1
    assert "error: internal error in dam-sync (KeyError: " in result.stderr
    assert "please report it" in result.stderr
    assert "Traceback (most recent call last)" in result.stderr
    assert "in at_work" in result.stderr
    assert SECRET not in result.output
    assert "\x1b[31m" not in result.stderr


def test_errors_that_we_know_have_no_traceback() -> None:
    result = CliRunner().invoke(broken(ContractBroken("no JSON")), ["-vv"])
    assert (result.exit_code, "Traceback" in result.output) == (1, False)


def test_an_internal_error_keeps_its_cause() -> None:
    set_up_logs(0, "json")
    cause = TypeError("x")
    internal = InternalError.of(cause)
    assert reported(internal) is internal
    assert internal.__cause__ is cause


STEERING = "T0\x1b]0;OWNED\x07\x9b31m\u202e"


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_names_in_a_log_do_not_control_the_terminal(log_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those without whitespace, which the log does not put in quotes, and the message of an error."""
    set_up_logs(1, log_format)
    structlog.get_logger().warning("asset.parked", asset=STEERING, names=[STEERING], lines=f"{STEERING}\nb")
    reported(ValueError(STEERING))
    written = capsys.readouterr().err
    assert not set(STEERING) & set(written) - set("T0];OWNED31m")
    assert "OWNED" in written
    assert len([line for line in written.splitlines() if "asset.parked" in line]) == 1
    assert written.splitlines()[1:2] != ["b"]


LOGGING = """
import resource, sys
from pathlib import Path
import structlog
from dam_sync.api.logs import logging_to
with logging_to(Path(sys.argv[1]), 2, "json"):
    structlog.get_logger().debug("first")
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    for number in range(500):
        structlog.get_logger().debug("call.sent", number=number)
print("done")
"""


def test_a_log_file_on_a_full_disk_fails_no_command(tmp_path: Path) -> None:
    """Neither while lines are written nor at the end, when what is left of them is written."""
    file = tmp_path / "x.log"
    ended = subprocess.run(
        [sys.executable, "-c", LOGGING, str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)
    assert file.stat().st_size == 4096
