"""The engine takes what it needs: the whole context of a run is for what does a whole command."""

from __future__ import annotations

import ast

from tests.house.sources import FILES, PACKAGE, nodes_of, shown

MOST_FIELDS = 12
LARGE = {
    "engine/compare/parts.py: PartView": 13,  # what each rule of the comparison asks of a part
    "engine/decide/undo.py: Undo": 13,  # one for each part of an asset that a rollback sets back
    "engine/inventory/library.py: LibraryTally": 13,  # one for each fact of a report
    "engine/names/renamed_containers.py: ContainerRenames": 14,  # five facts of the run beside its memory of containers
    "engine/run/adopt.py: MatchSummary": 14,  # one for each number of a report
    "engine/run/worker.py: Worker": 16,  # the steps of an asset, each with its memory of the run
    "engine/verification/verdict.py: Verdict": 28,  # one for each number of a report
    "engine/verification/verify.py: Verifier": 20,  # a whole command
}
"""Dataclasses with more fields than that, and how many. It only shrinks."""
WITHOUT = ("compare", "decide", "inventory", "names", "read")
"""Packages of the engine that know no context of a run: they take parts of it, or facts."""


def _fields(node: ast.ClassDef) -> int:
    return sum(isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each.annotation) for each in node.body)


def test_no_dataclass_of_the_engine_has_too_many_fields() -> None:
    found = {
        f"{shown(path)}: {node.name}": _fields(node)
        for path in FILES
        if path.is_relative_to(PACKAGE / "engine")
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    }
    assert {name: number for name, number in found.items() if number > LARGE.get(name, MOST_FIELDS)} == {}
    assert {name: found.get(name, 0) for name in LARGE} == LARGE, "they have fewer: lower the numbers, or remove them"


def test_what_reads_compares_and_decides_knows_no_context_of_a_run() -> None:
    wrong = [
        shown(path)
        for path in FILES
        if any(path.is_relative_to(PACKAGE / "engine" / package) for package in WITHOUT)
        for node in nodes_of(path)
        if isinstance(node, ast.ImportFrom) and any(each.name == "RunContext" for each in node.names)
    ]
    assert wrong == [], "take the part of the context that is needed"
