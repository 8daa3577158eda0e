"""The parts of an asset are listed in `engine/compare/parts.py`, and what the engine does with them walks that list, so
that one more part is one more line.

A module counts if a function of it, or a table, names five or more parts: as attributes, arguments, texts or constants.
Rights are one part: their dates, groups and restrictions are written together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.house.sources import FILES, PACKAGE, text_of

ENGINE: Final = PACKAGE / "engine"
MANY: Final = 5
PARTS: Final = frozenset(
    [
        "fields",
        "filename",
        "status",
        "tags",
        "placements",
        "rights",
        "file",
        "versions",
        "attachments",
        "relations",
        "marker",
        "profile",
    ]
)
OTHER_NAMES: Final = {
    "substatus": "status",
    "tags_add": "tags",
    "tags_remove": "tags",
    "placements_add": "placements",
    "placements_remove": "placements",
    **dict.fromkeys(("release_at", "expires_at", "groups", "restrictions", "release", "expiry", "dates"), "rights"),
}
FILES_OF: Final = "a link has the files and relations that were written, each of which is handled by itself"
LEFT: Final = {
    "compare/parts.py": "the list",
    "decide/prepared.py": FILES_OF,
    "run/adopt.py": FILES_OF,
    "write/repair.py": "files and relations that somebody replaced or removed",
}
"""What names many, with the reason. A line may only go."""
MOST: Final = 4  # lower it with each line that goes


def test_few_modules_of_the_engine_name_many_parts() -> None:
    engine = [path for path in FILES if path.is_relative_to(ENGINE)]
    found = {str(path.relative_to(ENGINE)): [*spelled_in(text_of(path))] for path in engine}
    many = {module: names for module, names in found.items() if names}
    assert {module: names for module, names in many.items() if module not in LEFT} == {}, "walk `parts.PARTS`"
    assert set(LEFT) - set(many) == set(), "take the line out, and lower MOST"
    assert len(LEFT) <= MOST


@pytest.mark.parametrize(
    ("code", "many"),
    [
        ("def f(a): return a.fields, a.tags, a.file, a.versions, a.relations", True),
        ("def f(a): return a.fields, a.tags, a.file, a.versions", False),
        ("def f(a): return a.fields, a.fields, a.tags, a.tags_add, a.tags_remove", False),
        ("def f(a): return a.groups, a.release_at, a.restrictions, a.expires_at, a.rights", False),
        ("def f(a): return g(fields=1, filename=2, status=a.substatus, tags=3, marker=4)", True),
        ("TABLE = ('fields.', 'placements.', 'file', 'expiry', 'profile')", True),
        ("def f(a): return a in (FIELDS, FILE, VERSIONS, DATES, STATUS)", True),
        ("def f(a): return a.fields, a.tags\ndef g(a): return a.file, a.versions, a.relations", False),
        ("class C:\n def f(self): return self.fields, self.tags, self.file\n def g(self): return self.versions", False),
    ],
)
def test_what_names_many_parts_is_recognized(code: str, many: bool) -> None:
    assert bool([*spelled_in(code)]) == many


def spelled_in(code: str) -> Iterator[str]:
    """Functions, and statements outside of them, that name many parts."""
    for name, unit in units_of(ast.parse(code).body):
        parts = frozenset(parts_in(unit))
        if len(parts) >= MANY:
            yield f"{name}: {', '.join(sorted(parts))}"


def units_of(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from units_of(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            yield f"line {node.lineno}", node


def parts_in(unit: ast.AST) -> Iterator[str]:
    for node in ast.walk(unit):
        name = named_by(node)
        part = OTHER_NAMES.get(name, name)
        if part in PARTS:
            yield part


def named_by(node: ast.AST) -> str:
    """The name that a node uses: of an attribute, an argument, a text or a constant."""
    match node:
        case ast.Attribute(attr=name):
            return name
        case ast.keyword(arg=str(name)):
            return name
        case ast.Constant(value=str(text)):
            return text.rstrip(".")
        case ast.Name(id=name) if name.isupper():
            return name.casefold()
    return ""
