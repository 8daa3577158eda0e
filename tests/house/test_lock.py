"""The lock file holds every package that the project file names, in a version that it allows, with digests."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.house.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
LOCKED = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", LOCK, flags=re.MULTILINE)
}
NAMED = sorted(
    {*PROJECT["dependencies"], *(row for extra in PROJECT["optional-dependencies"].values() for row in extra)}
)


@pytest.mark.parametrize("row", [row for row in NAMED if not row.startswith(PROJECT["name"])])
def test_a_package_is_locked_in_a_version_that_is_allowed(row: str) -> None:
    requirement = Requirement(row)
    found = LOCKED.get(canonicalize_name(requirement.name))
    assert found is not None, "run `make lock`"
    assert found in requirement.specifier, "run `make lock`"


def test_each_file_has_a_digest_and_none_a_url() -> None:
    entries = re.split(r"\n(?=\w)", LOCK.partition("make lock\n")[2])
    assert len(entries) == len(LOCKED)
    assert [entry.split(" ")[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "//" not in LOCK
