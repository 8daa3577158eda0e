"""The walk through the code in the help topic `design` follows the code."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from dam_sync.help import text_of

ROOT = Path(__file__).parents[2]
TEXT = text_of("design")
STOP = re.compile(r"^\| \d+ \| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)
TITLES = ("One asset", "One file", "An update after a crash")
WALKS = {title: STOP.findall(TEXT.split(f"## {title}\n")[1].split("\n## ")[0]) for title in TITLES}


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_is_short(walk: str) -> None:
    assert 5 < len(WALKS[walk]) <= 15
    assert max(Counter(module for module, _ in WALKS[walk]).values()) <= 2


@pytest.mark.parametrize("walk", WALKS)
def test_every_name_of_a_walk_is_defined_in_its_module(walk: str) -> None:
    for module, names in WALKS[walk]:
        text = (ROOT / module).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"(?:def|class) {name}\b", text), f"{module} has no {name}"


def test_every_path_that_is_named_exists() -> None:
    assert [path for path in re.findall(r"`(dam_sync/[\w/.]+)`", TEXT) if not (ROOT / path).exists()] == []


def test_every_package_is_described() -> None:
    packages = {path.parent.name for path in (ROOT / "dam_sync").glob("*/__init__.py")}
    assert packages == set(re.findall(r"^\| `dam_sync/(\w+)` \|", TEXT, re.MULTILINE))
