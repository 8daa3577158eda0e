"""Tests replace no part of the product: transports, limits, clocks and storage are parameters, services are derived."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent.parent
ALLOWED = {
    "support/virtual/mutants.py": "takes safeguards away, to prove that the suites notice",
}
REMAINING = {  # not parameters yet; this list may only become shorter
    "simulation/test_credentials.py",
    "simulation/test_verify.py",
    "support/arrivals.py",
    "support/virtual/universe.py",
    "unit/test_folder_formats.py",
    "unit/test_planted_files.py",
    "unit/test_shown.py",
    "unit/test_store_credentials.py",
    "unit/test_store_file_identity.py",
    "unit/test_store_files.py",
    "unit/test_transfer_content.py",
}
OURS = "dam_sync"
PATCHING = {"setattr", "setitem", "delattr", "delitem"}
LIBRARIES = {"os", "sys", "tempfile"}  # of the standard library, also as an attribute of our modules


def test_no_test_patches_a_module_of_the_product() -> None:
    found = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        if any(patches(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert sorted(found - ALLOWED.keys() - REMAINING) == [], "pass a parameter or derive a class"
    assert sorted(REMAINING - found) == [], "no longer patched: remove it from the list"


def patches(tree: ast.Module) -> Iterator[ast.AST]:
    """What changes something imported from the product, or named by a text: assignments, calls of PATCHING."""
    ours = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == OURS
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if _root(node) in ours:
                yield node
        elif isinstance(node, ast.Call) and node.args and _called(node.func) in PATCHING:
            target = node.args[0]
            text = target.value if isinstance(target, ast.Constant) else None
            is_library = isinstance(target, ast.Attribute) and target.attr in LIBRARIES
            if (_root(target) in ours and not is_library) or (isinstance(text, str) and text.startswith(f"{OURS}.")):
                yield node


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else _root(function)


def _root(target: ast.expr) -> str:
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def test_a_patch_is_seen() -> None:
    imported = "from dam_sync.store import runs, vaults"
    assert list(patches(ast.parse(f"{imported}\npatch.setattr(runs.Runs, 'x', 1)")))
    assert not list(patches(ast.parse(f"{imported}\npatch.setattr(vaults.os, 'x', 1)")))
    assert list(patches(ast.parse("patch.setattr('dam_sync.store.x', 1)")))
    assert list(patches(ast.parse(f"{imported}\nruns.LIVES = 1")))
    assert list(patches(ast.parse(f"{imported}\nruns.TABLE['x'] = 1")))
    assert not list(patches(ast.parse(f"{imported}\nlives = runs.LIVES")))
