"""Nothing is installed by a name that is not ours: on a public index it may be somebody else's program."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from dam_sync.model.extras import install_hint

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TAKEN = "damsync"  # on the public index, whatever its separators
TEXTS = [
    *(ROOT / name for name in ("README.md", "Makefile", ".ci/run")),
    *sorted(path for path in (ROOT / "dam_sync").rglob("*") if path.suffix in {".py", ".md", ".html", ".j2", ".toml"}),
]
INSTALLS = re.compile(
    r"\b(?:pipx?|uv pip|uv tool) (?:install|wheel|download)((?:[ \t]+(?:'[^']*'|\"[^\"]*\"|[^\s`;)]+))+)"
)
WORD = re.compile(r"'[^']*'|\"[^\"]*\"|\S+")
LOCAL = re.compile(r"\.(?:\[[^]]+\])?|\S*[\w}]\.whl(?:\[[^]]+\])?|\./\S+|/\S+")
DEPENDS = re.compile(r"(?m)^dependencies = \[(.*)\]")


def bare(name: str) -> str:
    """A name as an index compares it with those that are taken."""
    return re.sub(r"[-_.]+", "", re.split(r"[\[<>=!~; @]", name, maxsplit=1)[0]).casefold()


def installed(text: str) -> Iterator[str]:
    """What the commands of a text install, without options."""
    for found in INSTALLS.finditer(text):
        words = [word.strip("'\"") for word in WORD.findall(found[1])]
        yield next((word for word in words if not word.startswith("-")), "")


def test_the_distribution_has_a_name_of_its_own() -> None:
    assert PROJECT["name"] == "dam-sync-engine"
    assert bare(PROJECT["name"]) != TAKEN
    assert set(PROJECT["scripts"]) == {"dam-sync"}


def test_extras_depend_on_this_distribution_by_its_own_name() -> None:
    listed = [each for extra in PROJECT["optional-dependencies"].values() for each in extra]
    assert TAKEN not in {bare(each) for each in (*listed, *PROJECT["dependencies"])}
    assert bare(PROJECT["name"]) in {bare(each) for each in listed}


def wrong(text: str) -> list[str]:
    """What a text installs, or depends on, by a name."""
    depended = [name for found in DEPENDS.findall(text) for name in re.findall(r'"([^"]+)"', found)]
    return [
        *(name for name in installed(text) if not LOCAL.fullmatch(name)),
        *re.findall(r"\bdam[-_.]?sync\[[^]]*\]", text),  # an extra of somebody else's distribution
        *(name for name in depended if bare(name) in {TAKEN, bare(PROJECT["name"])}),
    ]


def test_texts_install_from_a_checkout_or_a_wheel() -> None:
    found = {str(path.relative_to(ROOT)): wrong(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert {path: names for path, names in found.items() if names} == {}


def test_hints_install_from_a_checkout_or_a_wheel() -> None:
    assert list(installed(install_hint("postgres"))) == [".[postgres]", "FILE.whl[postgres]"]
    assert list(installed("pip install dam-sync")) == ["dam-sync"], "would be found"
    assert list(installed("`pip install 'dam-sync[postgres]'`")) == ["dam-sync[postgres]"], "would be found"
