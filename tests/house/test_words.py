"""Words that must not be in the tree: paths of one computer, and anything outside the product."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.house.prose import names_of_tests, prose_of
from tests.house.sources import FILES, nodes_of, package_of, shown, text_of

ROOT = Path(__file__).parents[2]
TOP = {"pyproject.toml", "README.md", "dam_sync", "mappings", "tests", "state", "Makefile", "requirements.lock"}

TEXTS = {".py", ".md", ".toml", ".yaml", ".lock", ".txt", ".json", ".html", ".css", ".js", ""}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def test_the_top_level_is_the_agreed_one() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    extra = {name for name in names if not name.startswith(".") and name not in TOP}
    assert not extra


def test_no_paths_of_one_computer_and_no_registry_hosts() -> None:
    forbidden = re.compile(r"/(?:work|root|home)/\w|pypi\." r"org|files\.python" r"hosted")
    texts = [path for path in tracked() if path.suffix in TEXTS and path.is_file()]
    wrong = [str(path) for path in texts if forbidden.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert not wrong


# Retired from messages, docstrings, comments and help, and from those of tests: a pattern, and what to write instead.
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


# Retired from names of test functions: whole words, in patterns that leave other meanings of a word, and what to write.
RETIRED_FROM_NAMES = {
    r"told|tells?|telling": "reported, says, or distinguished",
    r"answer(?:s|ed|ing)?": "response, or acknowledged",
    r"anew": "again",
    r"blanks?": "whitespace, or empty",
    r"letters?": "character",
    r"instants?": "timestamp",
    r"nought": "zero",
    r"halves|half_(?:made|written)": "incomplete, a partial create, or split",
    r"sweeps?|swept|sweeping": "an orphaned upload, a full listing, or cleaned",
    r"(?:a|another|other|the|this|two)_machines?": "host, or computer",
    r"(?<!ip_)address(?:es)?": "URL, or IP address",
    r"settle[sd]?|settling": "complete, or resolve",
    r"meant": "an intent, or intended",
    r"forecasts?|fate|vault|binned": "estimate, outcome, credential store, trashed",
    r"bridges?|bridged|(?<!nouns_and_)verbs?": "transform, or waited out",
    r"(?:both|either|neither|two)_sides?": "source and target",
    r"(?:a|its|no|our|the|their)_marks?": "marker",
    r"(?:are|is|was|were)_gone": "missing, removed, or left the source",
    r"(?:are|is|was|were)_(?:not_)?kept": "stored, held in memory, respected, or an override",
    r"(?:gave|gives?|given)_back": "returned, released, restored, or retried",
    r"faults?_of|is_no_fault|every_fault": "diagnostic, or error",
    r"(?:gone|goes?)_on_with": "resumed, or continues with",
    r"once_more": "again",
    r"for_good": "permanently",
    r"in_silence|without_a_word": "silently",
    r"that_(?:are|is)_not_there|none_of_ours": "missing, or not ours",
}


@cache
def texts() -> dict[str, str]:
    """What RETIRED is about, by file: of tests only their prose, for the rest of them is code and data."""
    found = {}
    any_of_them = re.compile("|".join(RETIRED), re.IGNORECASE)
    for path in tracked():
        name = str(path.relative_to(ROOT))
        if path.suffix in (".py", ".md") and path.is_file():
            text = text_of(path)
            if name.startswith("tests/"):
                found[name] = prose_of(text) if any_of_them.search(" ".join(text.split())) else ""
            elif name.startswith(("dam_sync/", "README.md", "mappings/", ".github/")):
                found[name] = text
    return found


@pytest.mark.parametrize(("pattern", "instead"), list(RETIRED.items()), ids=list(RETIRED.values()))
def test_retired_words_stay_retired(pattern: str, instead: str) -> None:
    wrong = [
        f"{name}: {found} (write: {instead})"
        for name, text in texts().items()
        for found in re.findall(pattern, text, flags=re.IGNORECASE)
        if (name, found) not in KEPT
    ]
    assert not wrong, "\n".join(wrong)


def test_comments_docstrings_and_messages_are_prose_and_data_is_not() -> None:
    source = '''"""One
    two."""
data = "# no comment"  # three
def sample():
    assert data == "other", f"four {data}"
    raise ValueError("five")
'''
    assert prose_of(source).splitlines() == ["# three", "One two.", "four", "five"]


@cache
def named() -> tuple[tuple[str, str], ...]:
    """Modules of tests, each with its own name and those of its tests."""
    paths = [path for path in tracked() if path.name.startswith("test_") and path.suffix == ".py" and path.is_file()]
    return tuple((path.name, name) for path in paths for name in (path.stem, *names_of_tests(text_of(path))))


@pytest.mark.parametrize(
    ("pattern", "instead"), list(RETIRED_FROM_NAMES.items()), ids=list(RETIRED_FROM_NAMES.values())
)
def test_names_of_tests_use_no_retired_words(pattern: str, instead: str) -> None:
    word = re.compile(rf"(?:^|_)({pattern})(?=_|$)")
    wrong = [f"{file}: {name} (write: {instead})" for file, name in named() if word.search(name)]
    assert not wrong, "\n".join(wrong)


def test_no_docstring_only_refers_to_another() -> None:
    """One that is inherited says more. The engine and protocols of which it is the whole body are left."""
    only = re.compile(r"See `[\w.]+`\.")
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    wrong = [
        f"{shown(path)}: {node.name}"
        for path in FILES
        if package_of(path) != "engine"
        for node in nodes_of(path)
        if isinstance(node, documented) and len(node.body) > 1 and only.fullmatch(ast.get_docstring(node) or "")
    ]
    assert wrong == []
