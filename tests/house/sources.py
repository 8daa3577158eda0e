"""The product's files as the house tests read them: each once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dam_sync"
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """The syntax tree, flat."""
    return tuple(ast.walk(tree_of(path)))


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Modules, and names imported from modules."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(path: Path) -> str:
    """The package directly below `dam_sync`, or the module there."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def shown(path: Path) -> str:
    return str(path.relative_to(PACKAGE))
