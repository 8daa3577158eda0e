"""Every command that compares assets knows by what names terms and containers go now."""

from __future__ import annotations

import ast
from dataclasses import MISSING, fields

from dam_sync.engine.context.libraries import Target
from tests.house.sources import FILES, PACKAGE, nodes_of, shown

BOOTSTRAP = "api/bootstrap.py"
COMMANDS = {  # where the context of a command is made: see `run_context_of`
    "api/jobs.py": {"run_job", "plan_job", "verify_job"},  # a repair, and what a run removes, are parts of a run
    "api/rollback.py": {"preview", "execute"},
    "api/adopt.py": {"adopt_job"},
    "api/explain_live.py": {"job_explain_live"},
    "api/redirects.py": {"job_redirects"},
    "api/processes/worker_process.py": {"open_worker"},
}


def calls_of(name: str) -> dict[str, set[str]]:
    """The functions that call something of this name, by file."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for node in nodes_of(path):
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef):
                called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
                if any(name in (getattr(each, "id", ""), getattr(each, "attr", "")) for each in called):
                    found.setdefault(shown(path), set()).add(node.name)
    return found


def test_the_target_of_a_command_has_no_names_unless_they_are_given() -> None:
    (names,) = [each for each in fields(Target) if each.name == "counterparts"]
    assert (names.default, names.default_factory) == (MISSING, MISSING)


def test_one_function_makes_the_context_and_loads_the_names() -> None:
    assert calls_of("RunContext") == {BOOTSTRAP: {"run_context_of"}}
    (made,) = [
        node
        for node in nodes_of(PACKAGE / BOOTSTRAP)
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "run_context_of"
    ]
    assert "counterparts=await Counterparts.load(store" in ast.unparse(made)


def test_every_command_that_compares_takes_that_context() -> None:
    found = calls_of("run_context_of")
    assert found == COMMANDS


def test_nobody_takes_other_names() -> None:
    """Of no job, or in place of those of the context."""
    assert calls_of("Counterparts") == {}
    given = [
        shown(path)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Assign)
        and any(getattr(target, "attr", "") == "counterparts" for target in node.targets)
    ]
    assert given == []
