"""A test that kills something flushes the state to the disk as the product does."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parents[1]
WEAKER = {  # none of them is part of a run that a test kills
    "support/virtual/group_commit_writer.py": "runs of benchmarks, of which the flushes are left out",
    "support/virtual/scale/filled_state.py": "fills a state before anything opens it",
    "support/virtual/scale/moved_library.py": "fills a state before anything opens it",
}
BENCHMARKS = ("benchmarks/", "support/virtual/scale/")


def modules_with(text: str) -> set[str]:
    return {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if path != Path(__file__) and text in path.read_text(encoding="utf-8")
    }


def test_nothing_else_asks_for_fewer_flushes() -> None:
    assert modules_with("PRAGMA synchronous") == WEAKER.keys()
    assert modules_with("fsync = off") | modules_with("synchronous_commit") == set()


def test_the_writer_without_flushes_is_used_by_benchmarks_alone() -> None:
    users = modules_with("group_commit_writer import")
    assert users
    assert {name for name in users if not name.startswith(BENCHMARKS)} == set()
