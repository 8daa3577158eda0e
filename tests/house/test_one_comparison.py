"""What differs between two of draft, asset and link is asked of `engine/compare`, and of nothing else in the engine.

A function counts if its parameters, or the fields of its class, are of two of these, and it compares their parts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from tests.house.sources import FILES, PACKAGE, text_of

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

ENGINE, COMPARE = PACKAGE / "engine", PACKAGE / "engine" / "compare"
SIDES: Final = {"Draft": "draft", "Asset": "asset", "LinkRow": "link", "DraftedAsset": "draft", "Drafted": "draft"}
PARTS: Final = frozenset(
    [
        "fields",
        "filename",
        "status",
        "substatus",
        "tags",
        "placements",
        "rights",
        "release_at",
        "expires_at",
        "groups",
        "restrictions",
        "file",
        "versions",
        "attachments",
        "relations",
    ]
)
OF_FILES: Final = frozenset({"agrees", "has_bytes_of", "has_size_of"})
VIEWS: Final = frozenset({"len", "set", "frozenset", "sorted", "list", "tuple", "map", "dict", "getattr"})


def test_nothing_else_compares_drafts_assets_and_links() -> None:
    found = {
        f"{path.relative_to(ENGINE)} {name}"
        for path in FILES
        if path.is_relative_to(ENGINE) and not path.is_relative_to(COMPARE)
        for name, function, sides in functions_of(path)
        if len(sides) > 1 and compares(function)
    }
    assert found == set(), "ask `engine/compare`"


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("def f(draft: Draft, seen: Asset): return draft.tags - seen.tags", True),
        ("def f(draft: Draft, link: LinkRow): return draft.filename == link.filename", True),
        ("def f(draft: Draft, seen: Sequence[Asset]):\n a = draft.tags\n b = a\n return b != seen[0].tags", True),
        ("async def f(link: LinkRow, seen: Asset): return seen.file.agrees(sent(link.versions), seen.file)", True),
        ("class C:\n seen: Asset\n def f(self, draft: Draft): return self.seen.rights == draft.rights", True),
        ("def f(draft: Draft, seen: Asset): return compare(draft, seen) == seen.tags", False),
        ("def f(draft: Draft, other: Draft): return draft.tags - other.tags", False),
        ("def f(draft: Draft, seen: Asset): return draft.tags | seen.tags", False),
    ],
)
def test_a_comparison_is_recognized(code: str, counts: bool) -> None:
    ((_, function, sides),) = functions_in(code)
    assert (len(sides) > 1 and compares(function)) == counts


def functions_of(path: Path) -> Iterator[tuple[str, Function, frozenset[str]]]:
    return functions_in(text_of(path))


def functions_in(code: str) -> Iterator[tuple[str, Function, frozenset[str]]]:
    """Each function with its name and the kinds of side that its parameters, and the fields of its class, have."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.ClassDef):
            own = sides_in([each.annotation for each in node.body if isinstance(each, ast.AnnAssign)])
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    used = own if "self." in ast.unparse(method) else frozenset()
                    yield f"{node.name}.{method.name}", method, used | sides_of(method)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node, sides_of(node)


def sides_of(function: Function) -> frozenset[str]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg]
    return sides_in([each.annotation for each in every if each is not None and each.annotation is not None])


def sides_in(annotations: list[ast.expr]) -> frozenset[str]:
    names = [node.id for each in annotations for node in ast.walk(each) if isinstance(node, ast.Name)]
    return frozenset(SIDES[name] for name in names if name in SIDES)


def compares(function: ast.AST) -> bool:
    """Whether something compares two values that are parts, or variables made of parts."""
    made = made_of_parts(function)
    return any(all(has_part(side, made) for side in pair) for node in ast.walk(function) for pair in operands(node))


def made_of_parts(function: ast.AST) -> set[str]:
    made: set[str] = set()
    for _ in range(3):  # a variable that is made of another one
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and has_part(node.value, made):
                names = [name for target in node.targets for name in ast.walk(target)]
                made |= {name.id for name in names if isinstance(name, ast.Name)}
    return made


def operands(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.Compare):
        yield from zip([node.left, *node.comparators], node.comparators, strict=False)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.BitAnd | ast.BitXor):
        yield node.left, node.right
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OF_FILES:
        yield from ((node.func.value, each) for each in node.args)


def has_part(node: ast.AST, made: Set[str] = frozenset()) -> bool:
    """Whether a part is used, otherwise than as an argument of a function of ours."""
    if (isinstance(node, ast.Attribute) and node.attr in PARTS) or (isinstance(node, ast.Name) and node.id in made):
        return True
    inside = ast.iter_child_nodes(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in VIEWS:
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inside = iter([node.func.value])
    return any(has_part(each, made) for each in inside)
