"""Every promise of the help has a test that runs every day."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.sample.promises import PROMISES, TESTS

ROOT = Path(__file__).parents[2]
HELP = ROOT / "dam_sync" / "help"
KINDS = {"reports", "exposure", "rollback", "operations", "watch", "scale"}  # topics that each make one promise or more
LEFT_OUT = {"only_in_full"}  # marks of tests that `make test` does not run


def said(topic: str) -> str:
    """A topic in one line, without the marks of emphasis."""
    return " ".join((HELP / f"{topic}.md").read_text(encoding="utf-8").replace("**", "").split())


@pytest.mark.parametrize(("topic", "sentence"), PROMISES, ids=[f"{topic}: {words}" for topic, words in PROMISES])
def test_the_help_makes_this_promise_and_tests_prove_it(topic: str, sentence: str) -> None:
    assert sentence in said(topic)
    assert PROMISES[topic, sentence]


def test_every_guarantee_and_every_other_kind_of_promise_is_in_the_table() -> None:
    text = (HELP / "guarantees.md").read_text(encoding="utf-8")
    guarantees = set(re.findall(r"^- \*\*(.+?)\*\*", text, flags=re.MULTILINE))
    assert guarantees == {sentence for topic, sentence in PROMISES if topic == "guarantees"}
    assert {topic for topic, _ in PROMISES} == {"guarantees", *KINDS}


@pytest.mark.parametrize("test", sorted(TESTS))
def test_what_proves_a_promise_exists_and_is_run_by_make_test(test: str) -> None:
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    (found,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    marks = {ast.unparse(each).partition("(")[0] for each in found.decorator_list}
    assert not marks & LEFT_OUT
    assert not any("skipif" in mark for mark in marks)
