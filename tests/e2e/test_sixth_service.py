"""A sixth service is one new package, and one more for its emulator: a copy of another, under a new name, is found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED, SIXTH = "e_profiles", "f_sixth"


def test_one_new_folder_is_a_service(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("*.pyc.*")  # being written by another process
    for name in ("dam_sync", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    for package in ("services", "emulators"):
        folder = tmp_path / "dam_sync" / package
        shutil.copytree(folder / COPIED, folder / SIXTH)
        for path in (folder / SIXTH).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(rf"\b{COPIED}\b", SIXTH, text), encoding="utf-8")
    absent = tmp_path / "tests" / "conformance" / "absent"
    shutil.copy(absent / f"{COPIED}.txt", absent / f"{SIXTH}.txt")
    suite = run(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/conformance/test_source.py", "-k", SIXTH
    )
    assert re.search(r"\d+ passed", suite), suite
    assert "failed" not in suite
    told = run(tmp_path, "-m", "dam_sync", "emulate", "--assumptions")
    assert SIXTH in told
    reference = "from dam_sync.reference import sections; print(sections()['as-target'])"
    assert f"`{SIXTH}`" in run(tmp_path, "-c", reference)


def run(folder: Path, *arguments: str) -> str:
    """What a Python process says that sees this copy of the tree alone."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr
