"""Words that must not be in the tree: paths of one computer, and anything outside the product."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = {"pyproject.toml", "README.md", "dam_sync", "mappings", "tests", "state", "Makefile"}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def test_the_top_level_is_the_agreed_one() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    extra = {name for name in names if not name.startswith(".") and name not in TOP}
    assert not extra


def test_no_paths_of_one_computer_and_no_registry_hosts() -> None:
    forbidden = re.compile(r"/(?:work|root|home)/\w|pypi\." r"org|files\.python" r"hosted")
    texts = [path for path in tracked() if path.suffix in (".py", ".md", ".toml", ".yaml", "") and path.is_file()]
    wrong = [str(path) for path in texts if forbidden.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert not wrong


# Retired from messages, docstrings, comments and help: a pattern, and what to write instead.
RETIRED = {
    r"\banew\b": "again",
    r"\bonce more\b": "again",
    r"\bgone on with\b": "resumed",
    r"\bgoes on with\b": "continues with",
    r"\b(?:the|no|its|an) answer\b": "response",
    r"\bour marks?\b": "marker",
    r"\bthat is not there\b": "missing, or does not exist",
    r"\bgives? out\b": "return",
    r"\bin silence\b|\bwithout a word\b": "silently",
    r"\bis none of ours\b": "is not ours",
    r"\bcheckpoint store\b": "state",
    r"\bfor good\b": "permanently",
    r"\b(?:None|empty) where\b": "None if, empty if",
    r"\bmade-up\b": "generated",
}
# file and retired words that stay: names in the code, and texts that are stored
KEPT = {
    ("dam_sync/services/e_profiles/uploads/uploader.py", "anew"),  # the name of a journal entry, stored in states
    ("dam_sync/store/listing.py", "anew"),  # a variable
}


@pytest.mark.parametrize(("pattern", "instead"), list(RETIRED.items()), ids=list(RETIRED.values()))
def test_retired_words_stay_retired(pattern: str, instead: str) -> None:
    texts = [path for path in tracked() if path.suffix in (".py", ".md") and path.is_file()]
    wrong = [
        f"{name}: {found} (write: {instead})"
        for path in texts
        if (name := str(path.relative_to(ROOT))).startswith(("dam_sync/", "README.md", "mappings/"))
        for found in re.findall(pattern, path.read_text(encoding="utf-8"))
        if (name, found) not in KEPT
    ]
    assert not wrong
