"""One name, one meaning: class names are unique, retired names stay retired, and all services have the same shape."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from tests.house.sources import FILES, PACKAGE, nodes_of

RETIRED = frozenset(
    """Able Actor Anew Answer Books Bucket Bulk Changer Chosen Crawling Creating Desk EachVerb ExposureOutcome Flow
    Gate Held Kept Kind Knowledge Leaving Likeness Line ListVerb Made Opened Origins Outgoing Owed Pairing
    Paper Planned Presence Ran Relating Reply Rich Scoped Searching Seat Sense Setting Settling Spoken
    StepKeeping Steps StoredSteps Tally Tempo TextVerb Tongue Trial Turn Turns Unreached Unsettled Uploading
    Verb Visit Wiring Wish Words World Writing""".split()  # noqa: SIM905 -- a list to be read
)
MODULES = frozenset(
    """abandoned accounting act afterwards anew asking bridges building changing connecting crawling
    creating filling fitting forecast given_up grants holding intended knowledge layout leftovers
    likeness moments opening origins outsiders pairing placing presence proving reaching recalling
    relating rescue rich searching settling sharing sight standing steps sweeping trial uploading
    valuing vault verb verbs wiring wish writing""".split()  # noqa: SIM905 -- a list to be read
)
SHAPE = frozenset(
    """api codec estimate facts not_moved options service source target taxonomy tenant
    uploads""".split()  # noqa: SIM905 -- a list to be read
)
SERVICES = sorted(path.name for path in (PACKAGE / "services").iterdir() if (path / "facts.py").exists())


def is_emulator(path: Path) -> bool:
    return path.relative_to(PACKAGE).parts[0] == "emulators"


def test_no_class_name_is_defined_twice() -> None:
    where: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        if not is_emulator(path):
            for node in nodes_of(path):
                if isinstance(node, ast.ClassDef):
                    where[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_retired_names_stay_retired() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path in FILES
        if not is_emulator(path)
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and node.name in RETIRED
    ]
    wrong += [str(path.relative_to(PACKAGE)) for path in FILES if path.stem in MODULES and not is_emulator(path)]
    assert wrong == []


@pytest.mark.parametrize("service", SERVICES)
def test_all_services_list_the_same_modules(service: str) -> None:
    folder = PACKAGE / "services" / service
    found = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__", "counts", "webhooks"} == SHAPE  # not every service counts, or has webhooks
