"""Which process of several runs which test, and which modules it reads first."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]  # it has no annotations

from tests.support.pairs import EVERYTHING

ONE_BY_ONE = "tests/simulation/"  # they share nothing and are long


class ByModule(LoadGroupScheduling):  # type: ignore[misc]  # of a package without annotations
    """What a module prepares is prepared in one process: its tests stay together, but where all cases are asked for,
    which are too many for one process."""

    def _split_scope(self, nodeid: str) -> str:
        group = str(super()._split_scope(nodeid))
        if EVERYTHING or group != nodeid or nodeid.startswith(ONE_BY_ONE):
            return group
        return nodeid.partition("::")[0]


def import_own_share(folders: Iterable[Path]) -> None:
    """Every process of several begins with other modules of these folders. Where they are not compiled yet, each is
    compiled by one process, and the others read what that has written; without it, all of them compile all modules."""
    own = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    modules = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    for path in modules[own :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]:
        if (place := str(path.parent)) not in sys.path:
            sys.path.insert(0, place)  # as pytest does
        with suppress(Exception, pytest.skip.Exception, pytest.fail.Exception):  # pytest imports it again, and says why
            import_module(path.stem)
