"""House tests share one process, which parses the sources once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

INSIDE = f"{Path(__file__).parent}{os.sep}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They are one group of `--dist loadgroup`."""
    for item in items:
        if str(item.path).startswith(INSIDE):
            item.add_marker(pytest.mark.xdist_group("house"))
