"""The arrows of the house: who may import whom, and what may be said where."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dam_sync"
FILES = sorted(PACKAGE.rglob("*.py"))

MAY = {
    "model": {"model"},
    "aio": {"aio", "model"},
    "config": {"config", "model"},
    "http": {"http", "aio", "model"},
    "crawl": {"crawl", "model"},
    "transfer": {"transfer", "model"},
    "store": {"store", "aio", "model"},
    "mapping": {"mapping", "config", "model"},  # its documents are files that people write, as job files are
    "report": {"report", "model"},
    "engine": {"engine", "mapping", "store", "transfer", "aio", "model"},
    "services": {"services", "http", "crawl", "transfer", "aio", "model"},
    "emulators": {"emulators"},
    "api": {
        "api",
        "aio",
        "config",
        "crawl",
        "emulators",
        "engine",
        "http",
        "mapping",
        "model",
        "report",
        "services",
        "store",
        "transfer",
    },
    "help": {"help", "model"},
    "reference": {"reference", "config", "help", "mapping", "model", "services"},
    "cli": {"cli", "api", "help", "model", "report"},
    "__main__": {"cli"},
    "__init__": {"api", "engine", "model"},  # the public names, imported when they are used
}
ONLY = {
    "httpx": {"http"},
    "httpx_aiohttp": {"http"},
    "tenacity": {"http"},
    "sqlmodel": {"store"},
    "sqlalchemy": {"store"},
}
STANDARD_ONLY = {"model"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(path: Path) -> Iterator[str]:
    for name in imports_of(path):
        parts = name.split(".")
        if (
            parts[0] == "dam_sync"
            and len(parts) > 1
            and any((PACKAGE / name).exists() for name in (parts[1], f"{parts[1]}.py"))
        ):
            yield parts[1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    parts = path.relative_to(PACKAGE).parts
    wrong = set(ours(path)) - MAY[room]
    assert not wrong, f"{room} may not import {sorted(wrong)}"
    if room == "services" and len(parts) > 2:
        own = f"dam_sync.services.{parts[1]}"
        others = [
            name for name in imports_of(path) if name.startswith("dam_sync.services.") and not name.startswith(own)
        ]
        assert not others, f"a service imports another: {others}"
    if room == "emulators" and len(parts) > 2:
        foreign = [
            name
            for name in imports_of(path)
            if name.startswith("dam_sync.emulators.") and name.split(".")[2] not in ("kit", parts[1])
        ]
        assert not foreign, f"an emulator imports another: {foreign}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_outside_packages_stay_in_their_room(path: Path) -> None:
    room = room_of(path)
    tops = {name.split(".")[0] for name in imports_of(path)}
    for package, rooms in ONLY.items():
        assert package not in tops or room in rooms, f"{package} belongs into {sorted(rooms)}"
    if room in STANDARD_ONLY:
        foreign = {top for top in tops if top != "dam_sync" and top not in __import__("sys").stdlib_module_names}
        assert not foreign


def test_the_engine_names_no_service() -> None:
    named = re.compile(r"[\"'][a-e]_(hypermedia|documents|brandlibrary|templates|profiles)[\"']|kind == [\"']")
    rooms = ("engine", "mapping", "store", "transfer", "crawl", "http", "aio", "config", "report", "model")
    wrong = [path for path in FILES if room_of(path) in rooms and named.search(path.read_text(encoding="utf-8"))]
    assert not wrong


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 500, "a room too many things live in"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 50, f"{node.name} is {length} lines long"


def test_nothing_is_left_unfinished() -> None:
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|NotImplemented" r"Error")
    wrong = [path for path in FILES if marks.search(path.read_text(encoding="utf-8"))]
    assert not wrong
