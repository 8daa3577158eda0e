"""Tests replace no part of the product: transports, limits, clocks and storage are parameters, services are derived."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent.parent
ALLOWED = {
    "support/virtual/mutants.py": "takes safeguards away, to prove that the suites notice",
    "support/virtual/universe.py": "a process stands still before it asks for its right to write, where no port is",
}
OURS = "dam_sync"
PATCHING = {"setattr", "setitem", "delattr", "delitem"}
DOUBLES = {"script"}  # what tests call a double of their own, wherever they keep it


def test_no_test_patches_a_module_of_the_product() -> None:
    found = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if any(patches(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert sorted(found - ALLOWED.keys()) == [], "pass a parameter or derive a class"
    assert sorted(ALLOWED.keys() - found) == [], "no longer patched: remove it from the list"


def patches(tree: ast.Module) -> Iterator[ast.AST]:
    """What changes something imported from the product: assignments, calls of PATCHING; these also of what is named by
    a text or known by a variable alone, which may be of the product."""
    names = {node.name: "tests" for node in tree.body if isinstance(node, ast.ClassDef)} | dict(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if names.get(_root(node)) == OURS:
                yield node
        elif isinstance(node, ast.Call) and node.args and _called(node.func) in PATCHING:
            target = node.args[0]
            if isinstance(target, ast.Constant):
                if str(target.value).startswith(f"{OURS}."):
                    yield node
            elif names.get(_root(target), OURS) == OURS and _called(target) not in DOUBLES:
                yield node


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Imported names, each with the package it is from."""
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            module = alias.name if isinstance(node, ast.Import) else node.module or ""
            yield (alias.asname or alias.name).partition(".")[0], module.partition(".")[0]


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else _root(function)


def _root(target: ast.expr) -> str:
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def test_a_patch_is_seen() -> None:
    imported = "from dam_sync.store import runs, ledger"
    assert list(patches(ast.parse(f"{imported}\npatch.setattr(runs.Runs, 'x', 1)")))
    assert list(patches(ast.parse(f"{imported}\nfor module in (runs, ledger):\n    patch.setattr(module, 'x', 1)")))
    assert not list(patches(ast.parse("import os\npatch.setattr(os, 'x', 1)")))
    assert list(patches(ast.parse("patch.setattr('dam_sync.store.x', 1)")))
    assert list(patches(ast.parse(f"{imported}\nruns.LIVES = 1")))
    assert list(patches(ast.parse(f"{imported}\nruns.TABLE['x'] = 1")))
    assert not list(patches(ast.parse(f"{imported}\nlives = runs.LIVES")))
