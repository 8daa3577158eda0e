"""Import rules: which package may import which, which libraries belong to one package, and how long code may be."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import FILES, PACKAGE, imports_of, nodes_of, package_of, shown, text_of

MAY = {
    "model": {"model"},
    "aio": {"aio", "model"},
    "config": {"config", "model"},
    "http": {"http", "aio", "model"},
    "crawl": {"crawl", "model"},
    "transfer": {"transfer", "model"},
    "store": {"store", "aio", "model"},
    "mapping": {"mapping", "config", "model"},  # its documents are files that people write, as job files are
    "report": {"report", "model"},
    "engine": {"engine", "mapping", "store", "transfer", "aio", "model"},
    "cluster": {"cluster", "engine", "store", "aio", "model"},
    "services": {"services", "http", "crawl", "transfer", "aio", "config", "model"},  # config.options only, see below
    "emulators": {"emulators"},
    "api": {
        "api",
        "aio",
        "cluster",
        "config",
        "crawl",
        "emulators",
        "engine",
        "http",
        "mapping",
        "model",
        "report",
        "services",
        "store",
        "transfer",
    },
    "help": {"help", "model"},
    "reference": {"reference", "api", "config", "help", "mapping", "model", "report", "services"},
    "watch": {"watch", "api", "aio", "config", "model", "report"},
    "cli": {"cli", "watch", "api", "help", "model", "report"},
    "__main__": {"cli"},
    "__init__": {"api", "model", "report"},  # the public names, imported when they are used
}
ONLY = {
    "httpx": {"http"},
    "tenacity": {"http"},
    "sqlmodel": {"store"},
    "sqlalchemy": {"store"},
    "dask": {"cluster"},
    "distributed": {"cluster"},
}
STANDARD_ONLY = {"model"}
LONGEST_FILE, LONGEST_FUNCTION = 500, 50


def ours(path: Path) -> Iterator[str]:
    """The packages of ours that a file imports."""
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] == "dam_sync" and len(parts) > 1 and _is_there(parts[1]):
            yield parts[1]


def _is_there(name: str) -> bool:
    return any((PACKAGE / each).exists() for each in (name, f"{name}.py"))


def test_imports_point_down() -> None:
    wrong = {shown(path): sorted(too_much) for path in FILES if (too_much := set(ours(path)) - MAY[package_of(path)])}
    assert wrong == {}


def test_neither_services_nor_emulators_import_each_other() -> None:
    wrong = []
    for path in FILES:
        package, parts = package_of(path), path.relative_to(PACKAGE).parts
        if package in ("services", "emulators") and len(parts) > 2:
            others = (name.split(".")[2] for name in imports_of(path) if name.startswith(f"dam_sync.{package}."))
            wrong += [f"{shown(path)}: {name}" for name in others if name not in (parts[1], "kit")]
    assert wrong == []


def test_services_take_only_the_base_of_their_options_from_config() -> None:
    """Options and auth methods are checked as parts of the job file, by pydantic, which `model` does not import."""
    wrong = []
    for path in FILES:
        if package_of(path) == "services":
            names = (name for name in imports_of(path) if name.startswith("dam_sync.config"))
            wrong += [f"{shown(path)}: {name}" for name in names if not name.startswith("dam_sync.config.options")]
    assert wrong == []


ENGINE = (
    {"compare"},
    {"context"},
    {"guards", "inventory"},
    {"read"},
    {"decide"},
    {"names"},
    {"write"},
    {"run"},
    {"rollback"},
    {"verification"},
)
"""Its packages from bottom to top."""
PURE = {"compare": {"compare"}, "decide": {"decide", "compare"}}
"""Of the engine: what these may import of it; of the other packages `model` and `mapping` only."""


def _package_in_engine(parts: tuple[str, ...]) -> str:
    return parts[1] if len(parts) > 2 and parts[0] == "engine" else ""


def _imported_of_engine(path: Path) -> Iterator[str]:
    for name in imports_of(path):
        parts = name.split(".")
        if parts[:2] == ["dam_sync", "engine"] and len(parts) > 2:
            yield parts[2]


def test_every_module_of_the_engine_is_in_one_of_its_packages() -> None:
    known = set().union(*ENGINE)
    modules = (path.relative_to(PACKAGE).parts for path in FILES)
    wrong = [parts for parts in modules if parts[0] == "engine" and _package_in_engine(parts) not in known]
    assert wrong == [("engine", "__init__.py")]


def test_imports_in_the_engine_point_down() -> None:
    """Also those that only types need."""
    rank = {package: number for number, packages in enumerate(ENGINE) for package in packages}
    wrong = [
        f"{shown(path)}: {other}"
        for path in FILES
        if (package := _package_in_engine(path.relative_to(PACKAGE).parts))
        for other in _imported_of_engine(path)
        if other != package and rank[other] > rank[package]
    ]
    assert wrong == []


def test_comparison_and_decisions_are_pure() -> None:
    """They import neither the state, nor what reads it or the target, nor the context of a run."""
    wrong = []
    for path in FILES:
        package = _package_in_engine(path.relative_to(PACKAGE).parts)
        if package in PURE:
            wrong += [f"{shown(path)}: {name}" for name in set(ours(path)) - {"model", "mapping", "engine"}]
            wrong += [f"{shown(path)}: {name}" for name in set(_imported_of_engine(path)) - PURE[package]]
    assert wrong == []


def test_libraries_stay_in_their_package() -> None:
    wrong = []
    for path in FILES:
        package, tops = package_of(path), {name.split(".")[0] for name in imports_of(path)}
        wrong += [f"{shown(path)}: {name}" for name in tops & set(ONLY) if package not in ONLY[name]]
        if package in STANDARD_ONLY:
            wrong += [f"{shown(path)}: {name}" for name in tops - sys.stdlib_module_names - {"dam_sync"}]
    assert wrong == []


def test_the_engine_names_no_service() -> None:
    named = re.compile(r"[\"'][a-e]_(hypermedia|documents|brandlibrary|templates|profiles)[\"']|kind == [\"']")
    packages = ("engine", "mapping", "store", "transfer", "crawl", "http", "aio", "config", "report", "model")
    assert [shown(path) for path in FILES if package_of(path) in packages and named.search(text_of(path))] == []


def test_no_file_is_too_long() -> None:
    assert [shown(path) for path in FILES if text_of(path).count("\n") > LONGEST_FILE] == []


def test_no_function_is_too_long() -> None:
    functions = (
        (path, node)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    wrong = [
        f"{shown(path)}: {node.name}"
        for path, node in functions
        if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert wrong == []


def test_nothing_is_left_unfinished() -> None:
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b|NotImplemented" r"Error")
    assert [shown(path) for path in FILES if marks.search(text_of(path))] == []


def test_unicode_forms_are_made_in_linear_time() -> None:
    """`unicodedata.normalize` takes time by the square of the combining marks that somebody else wrote in a row."""
    forms = PACKAGE / "model" / "unicode_forms.py"
    found = [
        shown(file)
        for file in FILES
        if file != forms and package_of(file) != "emulators" and re.search(r"\bnormalize\(\"NF", text_of(file))
    ]
    assert found == [], "use model.unicode_forms"
