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
from dam_sync.services import built_in
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
    "dask",
    "distributed",
}
MOST_FOR_STATUS = 620  # modules; with SQLAlchemy and the tables there were 720
OURS = {f"dam_sync.{name}" for name in ("services", "emulators", "engine", "http", "store", "mapping", "api")}


def imported(*arguments: str, shown: str = "stdout", **environment: str) -> set[str]:
    """The modules that a command loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "dam_sync", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    assert getattr(done, shown)
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


@pytest.mark.parametrize("command", ["errors", "conflicts", "state"])
def test_commands_on_the_state_load_no_service_no_engine_and_no_http_library(tmp_path: Path, command: str) -> None:
    modules = imported(command, str(_job(tmp_path)))
    assert "dam_sync.store.store" in modules
    ours = tuple(f"dam_sync.{name}" for name in ("services", "emulators", "engine", "mapping"))
    wrong = (*ours, "httpx", "aiohttp", "starlette", "uvicorn", "PIL", "psycopg", "sqlalchemy.dialects.postgresql")
    assert [name for name in modules if name.startswith(wrong)] == []


def test_status_loads_no_database_layer_either(tmp_path: Path) -> None:
    """Modules are counted rather than seconds: half of what `status` took was the import of SQLAlchemy and of all
    tables."""
    modules = imported("status", str(_job(tmp_path)))
    assert "dam_sync.store.status_facts" in modules
    ours = tuple(f"dam_sync.{name}" for name in ("services", "emulators", "engine", "mapping", "store.tables"))
    wrong = (*ours, *(HEAVY - {"asyncio", "structlog"}), "celpy", "msgspec", "anyio")
    assert [name for name in modules if name.startswith(wrong)] == []
    assert len(modules) <= MOST_FOR_STATUS


def test_a_job_file_with_errors_is_reported_without_http_library_and_database(tmp_path: Path) -> None:
    """For every service: its options and auth methods are checked before its service is imported."""
    kinds, job = list(built_in()), tmp_path / "job.yaml"
    for pair in zip(kinds[::2], kinds[1::2], strict=True):
        source, target = (f"{{kind: {kind}, auth: {{flow: x}}, options: {{unknown: 1}}}}" for kind in pair)
        job.write_text(f"{{version: 1, name: x, source: {source}, target: {target}, mapping: m.yaml}}\n")
        modules = imported("check", str(job), shown="stderr")
        assert {f"dam_sync.services.{kind}.options" for kind in pair} <= modules
        wrong = (HEAVY - {"asyncio", "structlog"}) | {
            "dam_sync.emulators",
            "dam_sync.http.client",
            "dam_sync.store.store",
        }
        wrong |= {f"dam_sync.services.{kind}.service" for kind in pair}
        assert {name for name in modules if {name, name.split(".")[0]} & wrong} == set(), pair


def _job(folder: Path) -> Path:
    """A job whose state is there."""
    side = "{kind: a_hypermedia, base_url: 'https://a.example', auth: {flow: basic}}"
    job = folder / "job.yaml"
    job.write_text(f"{{version: 1, name: x, source: {side}, target: {side}, mapping: m.yaml, state: job.db}}\n")
    asyncio.run(_made(folder / "job.db"))
    return job


async def _made(state: Path) -> None:
    await (await SqlStore.open(state, SystemClock())).close()
