"""Which of the tests that came with the last mends a day runs.

`python -m tests.support.sample.mends [NUMBER] [REVISION]` prints it for ten days. With `--mark` the costs of these
tests are marked in `costs.tsv`: they rotate less than others.

A mend is a commit that changes the product and its tests; the tests that came with it are those of which it added or
changed a line. Tests that were renamed or moved since are followed. The collection alone is asked: nothing is run.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from tests.support.sample.rotation import CYCLE, cases_of_day, costs, store, today

ROOT: Final = Path(__file__).parents[3]
TEST: Final = re.compile(r"tests/(?!house/|benchmarks/|support/).*test_\w+\.py")
PRODUCT: Final = re.compile(r"dam_sync/.*\.py")
COLLECT: Final = ("-q", "--collect-only", "tests", "--ignore=tests/benchmarks", "--ignore=tests/house")
HUNK: Final = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
DEFINED: Final = re.compile(r"([+-]) *(?:async )?def (test_\w+)\(")
MENDS: Final = 200


def git(*arguments: str) -> str:
    """What a command of git prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def mends(number: int, revision: str = "HEAD") -> list[str]:
    """The last commits that change the product and its tests, the newest first."""
    found = []
    for commit in git("log", revision, "--no-merges", "--format=%x00%H", "--name-only").split("\0")[1:]:
        name, *files = commit.split()
        if any(map(PRODUCT.fullmatch, files)) and any(map(TEST.fullmatch, files)):
            found.append(name)
    return found[:number]


def tests_of(mend: str) -> set[str]:
    """The test functions of which a commit added or changed a line."""
    changed = defaultdict[str, set[int]](set)
    path = ""
    for line in git("show", "-U0", "--no-renames", "--format=", mend, "--", "tests").splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif hunk := HUNK.match(line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            changed[path] |= set(range(first, first + count))
    found = set[str]()
    for path, lines in changed.items():
        if TEST.fullmatch(path):
            spans = functions(git("show", f"{mend}:{path}"))
            found |= {f"{path}::{name}" for name, span in spans if not lines.isdisjoint(span)}
    return found


def functions(text: str) -> Iterator[tuple[str, range]]:
    """The test functions of a module, each with its lines, those of its decorators included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield node.name, range(first, (node.end_lineno or first) + 1)


def renames(since: str) -> Mapping[str, str]:
    """Former names of test functions that were renamed or moved since a commit, with those they have now."""
    now: dict[str, str] = {}
    for commit in git("rev-list", "--reverse", "--no-merges", f"{since}..HEAD", "--", "tests").split():
        for old, new in _renamed_by(commit):
            now = {first: new if last == old else last for first, last in now.items()} | {old: new}
    return now


def _renamed_by(commit: str) -> Iterator[tuple[str, str]]:
    """By one commit: moved to another module, or renamed where nothing else is defined."""
    hunks = _definitions(git("show", "-U0", "--no-renames", "--format=", commit, "--", "tests"))
    removed = {name for before, _ in hunks for name in before}
    added = {name.partition("::")[2]: name for _, after in hunks for name in after}
    for old in removed:
        if (new := added.get(old.partition("::")[2], old)) not in removed:
            yield old, new
    for before, after in hunks:
        if len(before) == len(after):
            yield from ((old, new) for old, new in zip(before, after, strict=True) if old != new)


def _definitions(patch: str) -> list[tuple[list[str], list[str]]]:
    """The test functions whose first line each hunk removes, and those whose first line it adds."""
    hunks: list[tuple[list[str], list[str]]] = []
    paths = {"-": "", "+": ""}
    for line in patch.splitlines():
        if line.startswith(("--- ", "+++ ")):
            paths[line[0]] = line[6:]
        elif line.startswith("@@"):
            hunks.append(([], []))
        elif defined := DEFINED.match(line):
            hunks[-1][defined[1] == "+"].append(f"{paths[defined[1]]}::{defined[2]}")
    return hunks


def collected() -> Mapping[str, Sequence[str]]:
    """The cases of each test function that all days together run."""
    command = [sys.executable, "-m", "pytest", *COLLECT]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = defaultdict[str, list[str]](list)
    for line in listed.splitlines():
        if line.startswith("tests/"):
            module, _, name = line.partition("::")
            found[f"{module}::{name.partition('[')[0].rpartition('::')[2]}"].append(line)
    return found


def say(line: str) -> None:
    """On standard output."""
    sys.stdout.write(f"{line}\n")


def came_with(number: int, revision: str) -> tuple[int, set[str]]:
    """How many of the last mends there are, and the names that the tests of them have now."""
    commits = mends(number, revision)
    now = renames(commits[-1])
    return len(commits), {now.get(name, name) for commit in commits for name in tests_of(commit)}


def mark(names: Collection[str]) -> None:
    """Marks the costs of these tests, too. Methods are known by their class as well."""
    store({name: replace(cost, mend=cost.mend or _plain(name) in names) for name, cost in costs().items()})


def _plain(function: str) -> str:
    module, _, name = function.partition("::")
    return f"{module}::{name.rpartition('::')[2]}"


def main(number: int = MENDS, revision: str = "HEAD") -> None:
    """Print the share of each of ten days, and what no day of them runs."""
    (commits, names), cases = came_with(number, revision), collected()
    there = sorted(name for name in names if name in cases)
    say(f"{commits} mends, {len(names)} tests, {len(there)} of them in the collection")
    run = set[str]()
    for later in range(CYCLE):
        day = today() + timedelta(later)
        chosen = {name: cases_of_day(name, cases[name], day) for name in there}
        whole = sum(len(chosen[name]) == len(cases[name]) for name in there)
        part = sum(bool(chosen[name]) for name in there)
        run |= {case for each in chosen.values() for case in each}
        say(f"{day}: {whole} run ({whole / len(there):.1%}), with those of which some cases run {part}")
    left = [case for name in there for case in cases[name] if case not in run]
    say(f"in ten days none of these: {left or 'all run'}")
    say("not in the collection: " + ", ".join(sorted(names - set(there))))


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if each != "--mark"]
    number, revision = [*given, *("", "HEAD")[len(given) :]][:2]
    if "--mark" in sys.argv:
        mark(came_with(int(number or MENDS), revision)[1])
    else:
        main(int(number or MENDS), revision)
