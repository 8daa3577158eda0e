"""`--help` and shell completion load nothing that only a running command needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

HEAVY = {
    "sqlalchemy",
    "sqlmodel",
    "httpx",
    "aiohttp",
    "starlette",
    "uvicorn",
    "PIL",
    "tenacity",
    "structlog",
    "asyncio",
}
OURS = {f"dam_sync.{name}" for name in ("services", "emulators", "engine", "http", "store", "mapping", "api")}


def imported(*arguments: str, **environment: str) -> set[str]:
    """The modules that a command loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "dam_sync", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    assert done.stdout
    return set(re.findall(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", done.stderr, re.MULTILINE))


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["emulate", "--help"]], ids=" ".join)
def test_help_loads_no_library_that_a_run_needs(arguments: list[str]) -> None:
    modules = imported(*arguments)
    assert "dam_sync.cli" in modules
    packages = {name.split(".")[0] for name in modules} | {".".join(name.split(".")[:2]) for name in modules}
    assert packages & (HEAVY | OURS) == set()
    assert arguments != ["--help"] or "pydantic" not in packages  # typer itself loads it before it parses a command


def test_the_shell_completes_commands_without_loading_them() -> None:
    """What the installed script of bash asks when TAB is pressed."""
    asked = {"_DAM_SYNC_COMPLETE": "complete_bash", "COMP_WORDS": "dam-sync ve", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'dam-sync'; from dam_sync.cli import main; main()"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **asked},
    )
    assert done.stdout.split() == ["verify"], done.stderr


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, dam_sync; print(*(name for name in sys.modules if name.startswith('dam_sync.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
