"""Words that must not be in the tree: places of one machine, and anything outside the product."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP = {"pyproject.toml", "README.md", "dam_sync", "mappings", "tests", "state", "Makefile"}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def test_the_top_level_is_the_agreed_one() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    extra = {name for name in names if not name.startswith(".") and name not in TOP}
    assert not extra


def test_no_machine_paths_and_no_registry_hosts() -> None:
    forbidden = re.compile(r"/(?:work|root|home)/\w|pypi\." r"org|files\.python" r"hosted")
    texts = [path for path in tracked() if path.suffix in (".py", ".md", ".toml", ".yaml", "") and path.is_file()]
    wrong = [str(path) for path in texts if forbidden.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert not wrong
