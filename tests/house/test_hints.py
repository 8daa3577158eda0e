"""Every command and every option that a text of ours names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from dam_sync.cli import cli
from dam_sync.help import topics
from dam_sync.reference import documents
from tests.house import commands
from tests.house.sources import nodes_of

ROOT = Path(__file__).parents[2]
COMMANDS = {
    name: frozenset({"--help", *(option for parameter in commands.parameters_of(command) for option in parameter.opts)})
    for name, command in commands.COMMANDS.items()
}
TOP_OPTIONS = frozenset(option for param in typer.main.get_command(cli).params for option in param.opts) | {"--help"}
OPTIONS = frozenset[str]().union(*COMMANDS.values()) | TOP_OPTIONS
PROMISED = {"init", "inspect", "map", "rehearse", "watch", "adopt", "conflicts", "explain", "report", "rollback"}
PROMISED |= {"redirects"}  # of the product, whether this release has them or not
VERBS = PROMISED | set(COMMANDS)
QUOTED = re.compile(r"`([^`\n]+)`")
TYPED = re.compile(r"^\s*(?:\d+\. )?dam-sync (.+?)(?:  +#.*)?$")  # a line of a block of commands
MADE = re.compile(r"^make ([a-z0-9-]+)")
TARGETS = frozenset(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
FOREIGN = ("pip ", "keyring ", "export ", "make ", "dask ")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The text constants of a module but for docstrings, those with values in them joined."""
    nodes = nodes_of(path)
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [str(p.value) if isinstance(p, ast.Constant) else "VALUE" for p in node.values]
            yield node.lineno, "".join(parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inner
            and id(node) not in docs
        ):
            yield node.lineno, node.value


def wrong(text: str) -> Iterator[str]:
    """The commands and options of a text that are not there."""
    if text.startswith(FOREIGN):
        return
    for quoted in (*QUOTED.findall(text), *TYPED.findall(text)):
        words = quoted.removeprefix("dam-sync ").split()
        if quoted.startswith("dam-sync ") and words[0] not in {*COMMANDS, *TOP_OPTIONS, "COMMAND"}:
            yield f"`{quoted}`"
        if words[:1] == ["help"] and len(words) > 1 and words[1] not in {*topics(), "TOPIC"}:
            yield f"`{quoted}`"
        if (target := MADE.match(quoted)) and target[1] not in TARGETS:
            yield f"`{quoted}`"
        named = words and words[0] in VERBS and (len(words) > 1 or words[0] in PROMISED - set(COMMANDS))
        if named and (words[0] not in COMMANDS or not set(OPTION.findall(quoted)) <= COMMANDS[words[0]]):
            yield f"`{quoted}`"
        if len(words) > 1 and words[0] in commands.MEMBERS and words[1] not in commands.MEMBERS[words[0]]:
            yield f"`{quoted}`"
    yield from set(OPTION.findall(QUOTED.sub("", text))) - OPTIONS


MODULES = sorted(path for path in (ROOT / "dam_sync").rglob("*.py") if "emulator" not in path.parts)


def test_every_command_and_option_that_is_named_exists() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {each}"
        for path in MODULES
        for line, text in texts(path)
        for each in wrong(text)
    ]
    assert found == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_documents_name_only_what_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [each for line in text.splitlines() for each in wrong(line) if "pip" not in line] == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("ask `map guess JOB`", 1),
        ("`errors JOB --rerty`", 1),
        ("use --nonsense", 1),
        ("dam-sync help nonsense", 1),
        ("`dam-sync nonsense JOB`", 1),
        ("`make nonsense`", 1),
        ("`dam-sync help jobs`, `make demo FROM=b`", 0),
        ("`errors JOB --retry`, then `run JOB`; the option `relations`, the verb `title`", 0),
    ],
)
def test_what_does_not_exist_is_found(text: str, number: int) -> None:
    assert len({*wrong(text)}) == number
