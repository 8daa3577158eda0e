"""Without the extra `demo` its two commands say what to install, and every other command works."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from dam_sync.cli import cli


@pytest.mark.parametrize("command", [["demo"], ["emulate", "a_hypermedia"]], ids=["demo", "emulate"])
def test_a_missing_package_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)  # as if it were not installed
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 2
    assert "need packages that are not installed: starlette" in done.output
    assert "pip install 'dam-sync[demo]'" in done.output
