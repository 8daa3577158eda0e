"""What `check` reports about the disk of the state."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.api.check import disk_result

FULL = "free some space"


@pytest.mark.parametrize(
    ("free", "found"),
    [
        (79_400_000_000, "79.4 GB free in"),
        (1_000_000_000, "1.0 GB free in"),
        (940_000_000, "940.0 MB free in"),
        (31_200_000, "31.2 MB free in"),
        (4_096, "4.1 kB free in"),
    ],
)
def test_little_space_is_not_called_none(tmp_path: Path, free: int, found: str) -> None:
    """ "0.0 GB free" was said of 31 MB."""
    usage: Any = lambda folder: SimpleNamespace(free=free)  # noqa: E731
    result = disk_result(tmp_path / "state" / "job.db", usage)
    assert result.message.startswith(found)
    assert bool(result.hint) is (free < 1_000_000_000)
