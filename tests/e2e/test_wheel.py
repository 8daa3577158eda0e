"""What is installed from a wheel works outside a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*pip, str(ROOT)], check=True, capture_output=True, text=True, timeout=300)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a process that has the wheel and not the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    with ZipFile(wheel) as packed:
        packed.extractall(folder)
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_a_wheel_has_mappings_help_and_the_marker_of_types(wheel: Path) -> None:
    with ZipFile(wheel) as packed:
        names = set(packed.namelist())
        meta = next(name for name in names if name.endswith(".dist-info/METADATA"))
        fields = HeaderParser().parsestr(packed.read(meta).decode())
    mappings = ROOT / "mappings"
    there = {path.relative_to(mappings).as_posix() for path in mappings.rglob("*") if path.is_file()}
    assert {f"dam_sync/mappings/{name}" for name in there} <= names
    assert {f"dam_sync/help/{path.name}" for path in (ROOT / "dam_sync" / "help").glob("*.md")} <= names
    assert {f"dam_sync/watch/static/page.{kind}" for kind in ("html", "css", "js")} <= names
    assert "dam_sync/py.typed" in names
    assert fields["License-File"] == "dam_sync/LICENSE.txt"
    assert f"{meta.removesuffix('METADATA')}licenses/dam_sync/LICENSE.txt" in names
    assert not [name for name in names if name.startswith("tests/")]
    for field in ("Summary", "License-Expression", "Author", "Keywords", "Classifier", "Requires-Python"):
        assert fields[field], field


@pytest.mark.parametrize(
    "pair", [("a_hypermedia", "e_profiles"), ("d_templates", "c_brandlibrary")], ids=["ready", "suggested"]
)
def test_the_first_command_works_from_a_wheel(
    installed: Mapping[str, str], tmp_path: Path, pair: tuple[str, str]
) -> None:
    source, target = pair
    where = "import dam_sync; print(dam_sync.__file__)"
    found = subprocess.run([sys.executable, "-c", where], env=installed, cwd=tmp_path, capture_output=True, text=True)
    assert not Path(found.stdout.strip()).is_relative_to(ROOT)
    command = [sys.executable, "-m", "dam_sync", "demo", "--assets", "6", "--from", source, "--to", target]
    command += ["--dir", str(tmp_path / "demo"), "--no-progress"]
    done = subprocess.run(command, env=installed, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert (tmp_path / "demo" / "report.html").is_file()
