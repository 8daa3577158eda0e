"""Every package that is imported is declared, so that a lower bound can be set when one gets a security fix."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from tests.house.sources import FILES, ROOT, imports_of, package_of

NAMES = {
    "jinja2": "Jinja2",
    "jwt": "PyJWT",
    "PIL": "pillow",
    "ruamel": "ruamel.yaml",
    "sqlalchemy": "SQLAlchemy",
    "cel": "common-expression-language",
    "spellchecker": "pyspellchecker",
}


def tops_of(path: Path) -> set[str]:
    """The packages that a file imports."""
    return {name.split(".")[0] for name in imports_of(path)}


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    kinds = ("demo", "keyring", "postgres", "cluster", "demo-cluster")
    rows = [*project["dependencies"], *(row for kind in kinds for row in extras[kind])]
    return {re.split(r"[><=\[; ]", row)[0] for row in rows} - {project["name"]}  # an extra may consist of others


def test_every_import_is_declared_and_every_declared_package_is_imported() -> None:
    tops = {
        name for path in FILES for name in tops_of(path) if name not in sys.stdlib_module_names and name != "dam_sync"
    }
    used = {NAMES.get(name, name.replace("_", "-")) for name in tops}
    assert used == declared()


def test_readme_says_why_each_package_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Dependencies")[2].partition("\n## ")[0]
    told = {name for row in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE) for name in re.findall(r"[\w.-]+", row)}
    assert declared() <= told


def test_only_emulators_need_the_packages_of_the_extra_demo() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = {re.split(r"[><=]", row)[0] for row in project["optional-dependencies"]["demo"]}
    outside = {
        NAMES.get(name, name.replace("_", "-"))
        for path in FILES
        if package_of(path) != "emulators"
        for name in tops_of(path)
    }
    assert extra & outside == set()
