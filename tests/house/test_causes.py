"""No decision depends on the text of a sentence: causes of stops, parkings, losses and ledger rows are types."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from tests.house.sources import FILES, nodes_of, package_of, shown

PACKAGES = frozenset({"api", "cli", "cluster", "engine", "model", "report", "store", "transfer", "watch", "workbench"})
SENTENCES = frozenset({"detail", "hint", "message", "reason", "refused", "sentence", "text_of", "why"})
"""Attributes, keys and variables that hold what is written for people."""
CAUSES = frozenset({"cause", "pattern", "rule"})
"""Those that hold a cause: compared with a member of an enum, never with a text."""
TAKEN_APART = frozenset(
    {
        *("contains", "endswith", "find", "ilike", "index", "like", "not_like", "partition", "removeprefix"),
        *("removesuffix", "rpartition", "rsplit", "split", "startswith"),
    }
)
PATTERNS = frozenset({"findall", "finditer", "fullmatch", "match", "search"})
ALLOWED = {
    ("api/preview.py", "rule in MISFITS"): "rules are also the names of transforms",
    ("engine/decide/patches.py", "detail == 'values'"): "a setting of the job, not a sentence",
    ("model/wording.py", "pattern != SEPARATOR"): "a pattern of paths",
    ("api/check.py", "str(error) != str(why)"): "one error is not shown twice: the texts themselves are in question",
    ("store/queue.py", "row.message.removeprefix(f'{SkipReason.NOT_SELECTED}: ')"): "the state keeps the condition so",
    ("store/refused.py", "reason.endswith(f': {_CIRCLE}')"): "reads the mark that rows have of a circle",
    ("store/refused.py", "RELATION.c.refused.not_like(f'%: {_CIRCLE}')"): "the same in SQL",
    ("store/server/database.py", "'bind message' in why"): "the driver gives no code for this error of a pooler",
    ("store/server/database.py", "mark in why"): "libpq gives no code for errors while connecting",
    ("store/server/database.py", "'too many' in why"): "libpq gives no code for errors while connecting",
    ("store/server/database.py", "'connection slots' in why"): "libpq gives no code for errors while connecting",
    ("store/server/database.py", "'FATAL' in why"): "libpq gives no code for errors while connecting",
    ("store/server/database.py", "_RESPONDED.search(why)"): "libpq gives no code for errors while connecting",
}
"""Places that decide by a text, and why nothing else can be asked there. `model/parking.py`, `model/exposure.py` and
`model/conflict.py` read causes back from the texts that the state keeps; they are given a text and no attribute."""


def decisions(nodes: Sequence[ast.AST], names: dict[str, bool]) -> Iterator[tuple[int, str]]:
    """Line and code of each decision by a sentence. names: of the module, and whether each is a text."""
    for node in nodes:
        if isinstance(node, ast.Compare) and any(_by_text(node, left, right, names) for left, right in _pairs(node)):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver, name = node.func.value, node.func.attr
            apart = name in TAKEN_APART and _holds(receiver, SENTENCES | CAUSES)
            matched = name in PATTERNS and any(_holds(each, SENTENCES) for each in node.args)
            if apart or matched:
                yield node.lineno, ast.unparse(node)


def _pairs(node: ast.Compare) -> Iterator[tuple[ast.expr, ast.expr]]:
    yield from pairwise([node.left, *node.comparators])


def _by_text(node: ast.Compare, left: ast.expr, right: ast.expr, names: dict[str, bool]) -> bool:
    inside = any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
    if inside and _holds(right, SENTENCES):
        return True
    for one, other in ((left, right), (right, left)):
        if _holds(one, SENTENCES, bare=False) and (_is_text(other, names) or _is_str(other)):
            return True
        if _holds(one, SENTENCES, bare=False) and inside and isinstance(other, ast.Call):
            return True
        if _holds(one, SENTENCES | CAUSES) and _is_text(other, names):
            return True
        if _is_str(one) and _is_str(other):
            return True
    return False


def _holds(node: ast.expr, words: frozenset[str], *, bare: bool = True) -> bool:
    """Whether it is an attribute, a key or, if `bare`, a variable of this name."""
    match node:
        case ast.Attribute(attr=name):
            return name in words
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key in words
        case ast.Name(id=name):
            return bare and name in words - {"refused"}
        case _:
            return False


def _is_str(node: ast.expr) -> bool:
    """The text of an error."""
    match node:
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in {"error", "why", "problem", "fault", "refusal"}
        case _:
            return False


def _is_text(node: ast.expr, names: dict[str, bool]) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return bool(text)  # an empty one asks whether there is any
        case ast.JoinedStr():
            return True
        case ast.Name(id=name):
            return names.get(name, False)
        case ast.Tuple(elts=elts) | ast.Set(elts=elts) | ast.List(elts=elts):
            return any(_is_text(each, names) for each in elts)
        case _:
            return False


@cache
def names_of(path: Path) -> dict[str, bool]:
    """The constants of a module, and whether each is a text or has texts, which members of enums are not."""
    module = importlib.import_module(".".join(path.with_suffix("").parts[path.parts.index("dam_sync") :]))
    return {name: _has_texts(value) for name, value in vars(module).items() if name.isupper()}


def _has_texts(value: object) -> bool:
    if isinstance(value, frozenset | set | tuple | dict):
        return any(_has_texts(each) for each in value)
    return isinstance(value, str) and not isinstance(value, Enum)


def found_in(path: Path) -> list[tuple[int, str]]:
    return list(decisions(nodes_of(path), names_of(path)))


LOOKED_AT = [path for path in FILES if package_of(path) in PACKAGES and path.name != "__main__.py"]


@pytest.mark.parametrize("path", LOOKED_AT, ids=shown)
def test_no_module_decides_by_the_text_of_a_sentence(path: Path) -> None:
    found = [(line, code) for line, code in found_in(path) if (shown(path), code) not in ALLOWED]
    assert found == [], "give the cause a type (model/parking.py, model/loss_rules.py, StopKind, WriteKind)"


def test_every_place_that_is_allowed_is_there() -> None:
    there = {(shown(path), code) for path in LOOKED_AT for _, code in found_in(path)}
    assert ALLOWED.keys() - there == set()


FORMER = [
    "context.stop.reason.endswith(AT_LIMIT)",
    "cause.message in map(INTERRUPTED.format, SIGNALS.values())",
    "outcome.cause.startswith(EXPOSURE)",
    "cause.startswith('mapping ')",
    "row['cause'].startswith(f'{EXPOSURE}: ')",
    "row['cause'] == CONFLICT",
    "WORK.c.cause == STILL_IN_TRASH",
    "outcome.cause in (CONFLICT, CHANGED_AT_TARGET)",
    "loss.rule == NAME_TAKEN",
    "loss.rule.partition(' ')",
    "rule.rsplit(' ', 2)",
    "why.endswith(CIRCLE)",
    "RELATION.c.refused.not_like(f'%{CIRCLE}')",
    "'401' not in error.message",
    "name not in error.message",
    "'unknown key' in fault.message",
    "one.pattern.startswith(beginning)",
    "error.hint == 'do this'",
    "NEEDED.search(error.message)",
    "str(error) == str(why)",
]
"""What was decided by texts before."""
NAMES = dict.fromkeys(
    ("AT_LIMIT", "EXPOSURE", "CONFLICT", "STILL_IN_TRASH", "CHANGED_AT_TARGET", "NAME_TAKEN", "CIRCLE", "LEFT"), True
)


@pytest.mark.parametrize("code", FORMER)
def test_a_decision_by_a_text_is_found(code: str) -> None:
    assert [found for _, found in decisions(list(ast.walk(ast.parse(code))), NAMES)] == [code]


@pytest.mark.parametrize(
    "code",
    [
        "outcome.cause is ParkReason.CONFLICT",
        "outcome.cause in (ParkReason.GONE, work.parked_for)",
        "loss['rule'] == LossRule.NAME_TAKEN",
        "loss.rule in ON_PURPOSE",
        "context.stop.kind is StopKind.ASSETS",
        "row['message'] == ''",
        "bool(error.hint)",
        "isinstance(park_cause(row['cause']), ExposureCause)",
        "row.kind is WriteKind.VERSION",
        "key.startswith(LEFT)",
    ],
)
def test_a_decision_by_a_type_is_not(code: str) -> None:
    assert list(decisions(list(ast.walk(ast.parse(code))), {**NAMES, "ON_PURPOSE": False})) == []
