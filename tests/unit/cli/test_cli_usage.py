"""A command line that is typed in another order, or as other tools take it, is refused with the right one."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dam_sync.cli import cli

RUNNER = CliRunner()


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["job.yaml", "run", "--limit", "5"], "The command comes first: dam-sync run job.yaml --limit 5"),
        (["my job", "plan"], "The command comes first: dam-sync plan 'my job'"),
        (["job.yaml"], "The command comes first: dam-sync COMMAND job.yaml"),
        (["map", "job.yaml", "check"], "The command comes first: dam-sync map check job.yaml"),
        (["run", "job.yaml", "--dry-run"], "No such option: --dry-run. Use `dam-sync plan JOB`"),
        (["run", "--dry-run"], "No such option: --dry-run. Use `dam-sync plan JOB`"),
        (["runn", "job.yaml"], "Did you mean 'run'"),
        (["--nope", "run"], "No such option: --nope"),
    ],
)
def test_the_right_command_line_is_named(typed: list[str], hint: str) -> None:
    shown = RUNNER.invoke(cli, typed, prog_name="dam-sync", env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert shown.exit_code == 2
    assert hint in " ".join(shown.output.replace("│", " ").split())


def test_a_dry_run_of_an_adoption_is_still_an_option() -> None:
    shown = RUNNER.invoke(cli, ["adopt", "missing.yaml", "--dry-run"])
    assert "No such option" not in shown.output


@pytest.mark.parametrize(
    ("typed", "quoted"),
    [
        (["check", "My", "Job/job 1.yaml"], "'My Job/job 1.yaml'"),
        (["run", "--limit", "5", "My", "Job/job", "1.yaml", "--full"], "'My Job/job 1.yaml'"),
        (["map", "check", "My", "Job/job 1.yaml"], "'My Job/job 1.yaml'"),
        (["plan", "job.yaml", "-o", "My", "plan.json"], "'My plan.json'"),
    ],
)
def test_a_path_with_spaces_that_the_shell_took_apart_is_put_in_quotes(
    typed: list[str], quoted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "My Job").mkdir()
    for name in ("My Job/job 1.yaml", "job.yaml", "My plan.json"):
        (tmp_path / name).write_text("version: 1\n", encoding="utf-8")
    shown = RUNNER.invoke(cli, typed, prog_name="dam-sync", env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert shown.exit_code == 2
    assert f"A path with spaces is written in quotes: {quoted}" in " ".join(shown.output.replace("│", " ").split())
