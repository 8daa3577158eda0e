"""Without the extra `demo` its two commands say what to install, and every other command works."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from dam_sync.cli import cli, emulation


@pytest.mark.parametrize("command", [["demo"], ["emulate", "a_hypermedia"]], ids=["demo", "emulate"])
def test_a_missing_package_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setattr(emulation, "DEMO_PACKAGES", ("a_package_that_is_not_there",))
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 2
    assert "a_package_that_is_not_there" in done.output
    assert "pip install 'dam-sync[demo]'" in done.output
