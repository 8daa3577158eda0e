"""What the help says of the exit codes of each command is what its code returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from dam_sync.model.errors import SafetyStop
from dam_sync.reference import EXITS, RESULTS

CLI = Path(__file__).parents[2] / "dam_sync" / "cli"
GROUPS = {"mapping": "map "}  # modules whose commands belong to a group
RETURNED = {"unfinished": {0, 4, SafetyStop.exit_code}}  # by functions of other modules
OF_ERRORS = frozenset({"check", "demo", "status"})  # which pass on the exit codes of errors


def results() -> Iterator[tuple[str, set[int]]]:
    """Each command, and the exit codes that it returns."""
    for path in CLI.glob("*.py"):
        functions = {
            node.name: node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
        }
        for name, function in functions.items():
            acts = [node for node in function.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "act"]
            if acts and any("command" in ast.unparse(each) for each in function.decorator_list):
                yield GROUPS.get(path.stem, "") + name.rstrip("_"), codes_of(acts[0])


def codes_of(act: ast.AsyncFunctionDef) -> set[int]:
    called = (each.func for each in ast.walk(act) if isinstance(each, ast.Call))
    codes = {code for each in called if isinstance(each, ast.Name) for code in RETURNED.get(each.id, ())}
    for node in ast.walk(act):
        if isinstance(node, ast.Return) and node.value is not None:
            codes |= set(constants(node.value))
    return codes


def constants(node: ast.expr) -> Iterator[int]:
    """The numbers that an expression may be; not those in its conditions."""
    match node:
        case ast.Constant(value=int() as code):
            yield code
        case ast.IfExp():
            yield from (*constants(node.body), *constants(node.orelse))
        case ast.BoolOp():
            yield from (code for each in node.values for code in constants(each))


def test_the_help_has_every_exit_code_of_every_command() -> None:
    found = {name: codes - {0} for name, codes in results()}
    assert {"plan", "run", "rehearse", "map diff", "status"} <= found.keys(), "the commands are found"
    told = {name: set(codes) for name, codes in RESULTS.items()}
    assert {name: codes for name, codes in found.items() if codes and name not in OF_ERRORS} == told


def test_the_exit_codes_of_commands_are_among_those_of_the_product() -> None:
    assert {code for codes in RESULTS.values() for code in codes} <= {code for code, _ in EXITS}
