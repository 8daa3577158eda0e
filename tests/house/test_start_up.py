"""`--help` and shell completion load nothing that only a running command needs."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dam_sync.model.clock import SystemClock
from dam_sync.store.store import SqlStore

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


def test_status_loads_no_service_and_no_http_library(tmp_path: Path) -> None:
    side = "{kind: a_hypermedia, base_url: 'https://a.example', auth: {flow: basic}}"
    job = tmp_path / "job.yaml"
    job.write_text(f"{{version: 1, name: x, source: {side}, target: {side}, mapping: m.yaml, state: job.db}}\n")
    asyncio.run(_made(tmp_path / "job.db"))
    modules = imported("status", str(job))
    assert "dam_sync.store.store" in modules
    wrong = ("dam_sync.services", "dam_sync.emulators", "httpx", "aiohttp", "starlette", "uvicorn", "PIL")
    assert [name for name in modules if name.startswith(wrong)] == []


async def _made(state: Path) -> None:
    await (await SqlStore.open(state, SystemClock())).close()
