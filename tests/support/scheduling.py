"""Which process of several runs which test."""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling

from tests.support.pairs import EVERYTHING

ONE_BY_ONE = "tests/simulation/"  # they share nothing and are long


class ByModule(LoadGroupScheduling):
    """What a module prepares is prepared in one process: its tests stay together, but where all cases are asked for,
    which are too many for one process."""

    def _split_scope(self, nodeid: str) -> str:
        group = super()._split_scope(nodeid)
        if EVERYTHING or group != nodeid or nodeid.startswith(ONE_BY_ONE):
            return group
        return nodeid.partition("::")[0]
