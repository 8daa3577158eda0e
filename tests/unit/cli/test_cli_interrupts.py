"""Ctrl-C before a command has anything to stop: while it is loaded, and at a question."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

LOADING = """
import sys
class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
from dam_sync.__main__ import main
*verbs, job = sys.argv[1:]
for verb in verbs:
    sys.argv[1:] = verb, job
    try:
        main()
    except SystemExit as ended:
        print(verb, ended.code)
"""
RELOADING = """
import os, signal, sys
class Reload:
    def find_spec(self, name, path=None, target=None):
        if name == "dam_sync.cli":
            os.kill(os.getpid(), signal.SIGHUP)
sys.meta_path.insert(0, Reload())
from dam_sync.__main__ import main
main()
"""
STOPPED = "error: stopped by Ctrl-C before anything was done\nhint: run the same command again\n"
VERBS = ("check", "inspect", "plan", "run", "verify", "adopt", "rehearse")


def interrupted(module: str, *typed: str) -> subprocess.CompletedProcess[str]:
    """Commands at which Ctrl-C is pressed while they load the module, and how each exits."""
    code = LOADING.format(module=module)
    return subprocess.run([sys.executable, "-c", code, *typed], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("module", ["dam_sync.cli", "typer"])
def test_while_the_commands_are_loaded(module: str) -> None:
    ended = interrupted(module, "status", "museum.yaml")
    assert (ended.stdout, ended.stderr) == ("status 5\n", STOPPED)


def test_while_a_command_loads_what_it_needs(tmp_path: Path) -> None:
    """Every command in one process, which loads once what comes before."""
    ended = interrupted("dam_sync.api.job", *VERBS, str(tmp_path / "museum.yaml"))
    assert ended.stdout == "".join(f"{verb} 5\n" for verb in VERBS)
    assert ended.stderr == STOPPED * len(VERBS)


@pytest.mark.parametrize(("verb", "code"), [("watch", 2), ("run", -signal.SIGHUP)])
def test_a_reload_while_the_commands_are_loaded_does_not_end_watch(tmp_path: Path, verb: str, code: int) -> None:
    """systemd would not start it again: it takes an end by SIGHUP for a clean one."""
    missing = str(tmp_path / "museum.yaml")
    typed = [sys.executable, "-c", RELOADING, verb, missing]
    ended = subprocess.run(typed, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == code, ended.stderr
