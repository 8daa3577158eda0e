"""Every package that is imported is declared, so that a lower bound can be set when one gets a security fix."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = {"jinja2": "Jinja2", "jwt": "PyJWT", "PIL": "pillow", "ruamel": "ruamel.yaml", "sqlalchemy": "SQLAlchemy"}


def imported() -> Iterator[str]:
    for path in (ROOT / "dam_sync").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")[0]


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = [*project["dependencies"], *project["optional-dependencies"]["keyring"]]
    return {re.split(r"[><=\[; ]", row)[0] for row in rows}


def test_every_import_is_declared_and_every_declared_package_is_imported() -> None:
    tops = {name for name in imported() if name not in sys.stdlib_module_names and name != "dam_sync"}
    used = {NAMES.get(name, name.replace("_", "-")) for name in tops}
    assert used == declared()


def test_readme_says_why_each_package_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Dependencies")[2].partition("\n## ")[0]
    told = {name for row in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE) for name in re.findall(r"[\w.-]+", row)}
    assert declared() <= told
