"""Faulty mapping and job files, by kind: each is refused with its file and line, what is wrong and what would be right.

The tables `tests/support/faulty/*.csv` name for each kind what is replaced in the file next to them, where the error is
reported, and in which words. `right` is what the message says to write; some messages say both at once ("should be 1").
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dam_sync.config.job import load_job
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import ConfigError
from dam_sync.services import discover
from tests.support.mapping.tenant_schemas import SOURCE, TARGET, compiled_file

FOLDER = Path(__file__).parents[2] / "support" / "faulty"
CHECKS: dict[str, Callable[[Path], object]] = {
    "mapping": lambda path: compiled_file(path, SOURCE, TARGET),
    "job": lambda path: load_job(path, discover()),
}
BESIDE = {
    "ids.csv": b"id\n7\n",
    "semi.csv": b"id;x\n7;1\n",
    "dup.csv": b"key,value\na,b\na,c\n",
    "latin.csv": b"key,value\n\xe9,b\n",
    "pins.csv": b"source,target\na,b\n",
    "syn.csv": b"term,synonym\na,b\n",
    "loop.yaml": b"version: 1\ninclude: loop.yaml\n",
}
KNOWS = re.compile(r"should|needs?\b|takes\b|at most|is not a|only one|not both|write")


def table(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = [(name, row) for name in CHECKS for row in table(name)]


def refused(folder: Path, name: str, content: bytes) -> tuple[Diagnostic, ...]:
    path = folder / f"{name}.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        CHECKS[name](path)
    assert caught.value.exit_code == 2
    return caught.value.diagnostics


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in BESIDE.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_there_are_more_than_eighty_kinds_and_the_files_are_right_without_them(folder: Path) -> None:
    assert len({(name, row["kind"]) for name, row in ROWS}) == len(ROWS) >= 150
    for name, check in CHECKS.items():
        path = folder / f"{name}.yaml"
        path.write_text((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        check(path)


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{name}: {row['kind']}" for name, row in ROWS])
def test_a_faulty_file_is_refused_with_line_and_remedy(folder: Path, name: str, row: dict[str, str]) -> None:
    good = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert row["old"] in good
    found = refused(folder, name, good.replace(row["old"], row["new"], 1).encode())
    told = [
        (Path(one.file).name, str(one.line), str(one.column), one.key, str(one).replace(f"{folder}/", ""))
        for one in found
    ]
    place = (row["file"], row["line"], row["column"], row["key"])
    messages = [text for *where, text in told if tuple(where) == place]
    assert any(row["wrong"] in text and row["right"] in text for text in messages), told
    assert row["right"] != row["wrong"] or KNOWS.search(row["right"])


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"version: 1\nname: \xe9\n", ":2: file: is not UTF-8 text: byte 0xe9; save it as UTF-8"),
        (b"\x00\x01", "YAML: is not text; save it as UTF-8 text"),
        (b"", "it has no keys; it begins with `version: 1`"),
        (b"- a\n", "it has no keys; it begins with `version: 1`"),
        (b"only text\n", "it has no keys; it begins with `version: 1`"),
        (b"{" * 60, "YAML: a bracket is not closed"),
        (b"a: " + b"[" * 60 + b"]" * 60, "YAML: nested too deep"),
    ],
    ids=["latin-1", "binary", "empty", "list", "text", "open brackets", "deep"],
)
def test_a_file_that_is_no_such_file_says_that_alone(folder: Path, name: str, content: bytes, told: str) -> None:
    (found,) = refused(folder, name, content)
    assert told in str(found)
