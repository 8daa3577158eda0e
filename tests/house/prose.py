"""What people read in the source of tests: comments, docstrings, messages. Other texts are data of a test."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

REASONS = ("pytest.fail", "pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail")
TEST = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def prose_of(text: str) -> str:
    """Its comments, docstrings and messages, one a line; without the line breaks within them."""
    parts = [*_comments(text), *(part for node in ast.walk(ast.parse(text)) for part in _texts(node))]
    return "\n".join(" ".join(part.split()) for part in parts)


def _comments(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, DOCUMENTED):
        if docstring := ast.get_docstring(node):
            yield docstring
    elif isinstance(node, ast.Assert) and node.msg is not None:
        yield from _constants(node.msg)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        yield from _constants(node.exc)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _dotted(node.func) in REASONS:
        yield from _constants(node)


def _dotted(node: ast.expr) -> str:
    """A name with dots, or nothing."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _constants(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def names_of_tests(text: str) -> Iterator[str]:
    """The names of its test functions and methods."""
    yield from TEST.findall(text)
