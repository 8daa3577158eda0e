"""The index of `tests/support` lists every module once, by names that exist."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
SUPPORT = TESTS / "support"
HELP = TESTS.parent / "dam_sync" / "help" / "testing.md"
INDEX = SUPPORT / "README.md"
LINE = re.compile(r"^\| [^|]+ \| `([\w/]+\.py)` \| ([^|]+) \|$", re.MULTILINE)
PATH = re.compile(r"`([\w/]+\.py)`")
NAME = re.compile(r"`(\w+)`")
OTHER_WORDS = {"GET", "PUT"}  # in the lines of the index that are no names of code


def modules() -> list[str]:
    """Every module with code in it."""
    paths = (path for path in SUPPORT.rglob("*.py") if len(ast.parse(path.read_text(encoding="utf-8")).body) > 1)
    return sorted(str(path.relative_to(SUPPORT)) for path in paths)


def index() -> str:
    return INDEX.read_text(encoding="utf-8")


def names_in(module: str) -> set[str]:
    """What the module defines at its top level."""
    found = set[str]()
    for node in ast.parse((SUPPORT / module).read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign():
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(name)):
                found.add(name)
    return found


def test_every_module_is_in_the_index_once() -> None:
    listed = Counter(module for module, _ in LINE.findall(index()))
    assert sorted(listed) == modules()
    assert {module: times for module, times in listed.items() if times > 1} == {}


def test_every_module_that_the_index_names_exists() -> None:
    named = {path for path in PATH.findall(index()) if not path.startswith("tests/")}
    assert {path for path in named if not (SUPPORT / path).is_file()} == set()


def test_every_name_in_the_index_is_defined_by_its_module() -> None:
    missing = [
        f"{module}: {name}"
        for module, words in LINE.findall(index())
        for name in NAME.findall(words)
        if name not in names_in(module) | OTHER_WORDS
    ]
    assert missing == []


def test_every_module_that_the_help_names_exists() -> None:
    tests = {path.name for path in TESTS.rglob("test_*.py")}
    named = set(PATH.findall(HELP.read_text(encoding="utf-8")))
    places = TESTS.parent, SUPPORT
    assert {path for path in named - tests if not any((place / path).is_file() for place in places)} == set()


def test_modules_of_tests_have_names_of_their_own() -> None:
    """Collected together, two of one name are taken for the same."""
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, number in names.items() if number > 1] == []
