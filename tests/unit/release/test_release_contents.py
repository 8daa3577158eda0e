"""What `make release` says of the files it built: each package that one needs, with its version, and digests."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
BUILT = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def bill(release: ModuleType) -> dict[str, Any]:
    made: dict[str, Any] = release.sbom(release.NAME, release.EXTRAS, BUILT, "abc")
    return made


def test_a_bill_names_what_is_needed_always_and_what_extras_add_and_no_tool_of_developers(bill: dict[str, Any]) -> None:
    scopes = {each["name"]: each["scope"] for each in bill["components"]}
    assert scopes["httpx"] == scopes["idna"] == "required", "idna is needed by httpx"
    assert scopes["starlette"] == scopes["tornado"] == scopes["psycopg"] == scopes["cffi"] == "optional"
    assert {"pytest", "mypy", "ruff", "playwright", "dam-sync-engine"} & set(scopes) == set()


def test_a_bill_has_the_versions_that_are_installed_and_licences(bill: dict[str, Any]) -> None:
    for each in bill["components"]:
        assert each["version"] == metadata.version(each["name"])
        assert each["licenses"], each["name"]


def test_our_own_package_comes_from_no_index(bill: dict[str, Any]) -> None:
    root = bill["metadata"]["component"]
    assert root["purl"] == f"pkg:generic/dam-sync-engine@{metadata.version('dam-sync-engine')}"
    assert {each["purl"].split("/")[0] for each in bill["components"]} == {"pkg:pypi"}


def test_every_dependency_is_a_component(bill: dict[str, Any]) -> None:
    known = {bill["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in bill["components"])}
    assert {each["ref"] for each in bill["dependencies"]} == known
    assert {ref for each in bill["dependencies"] for ref in each["dependsOn"]} <= known


def test_the_same_commit_gives_the_same_bill(release: ModuleType, bill: dict[str, Any]) -> None:
    assert release.sbom(release.NAME, release.EXTRAS, BUILT, "abc") == bill
    assert release.sbom(release.NAME, release.EXTRAS, BUILT, "abd")["serialNumber"] != bill["serialNumber"]


def test_constraints_are_the_versions_of_the_bill(release: ModuleType, bill: dict[str, Any]) -> None:
    lines = release.constraints(bill).splitlines()
    assert f"httpx=={metadata.version('httpx')}" in lines
    assert len(lines) == len(bill["components"])


def test_checksums_cover_every_file_but_their_own(release: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "b.whl").write_bytes(b"two")
    (tmp_path / "a.tar.gz").write_bytes(b"one")
    (tmp_path / "SHA256SUMS").write_text("of an earlier build")
    digests = [hashlib.sha256(content).hexdigest() for content in (b"one", b"two")]
    assert release.checksums(tmp_path) == f"{digests[0]}  a.tar.gz\n{digests[1]}  b.whl\n"
