"""Pairs of services that a suite tries: all of them by `make e2e`, `make conformance` and `make sim`, a sample by
`make test`, in which every service is a source and a target equally often."""

from __future__ import annotations

import os
from typing import Final

from dam_sync.emulators import emulated_kinds
from tests.support.services.profiles import FOLDER

EVERYTHING: Final = bool(os.environ.get("DAM_SYNC_ALL"))
KINDS: Final = tuple(sorted(emulated_kinds()))
EVERY: Final = (*KINDS, FOLDER)
ALL: Final = [(source, target) for source in EVERY for target in EVERY]


def pairs(*distances: int) -> list[tuple[str, str]]:
    """The sample of pairs whose target comes so many services after their source; all pairs where all are asked for."""
    if EVERYTHING:
        return ALL
    return [(kind, EVERY[(place + far) % len(EVERY)]) for far in distances for place, kind in enumerate(EVERY)]


def ids(chosen: list[tuple[str, str]]) -> list[str]:
    """`a-b`, for the names of tests."""
    return [f"{source[0]}-{target[0]}" for source, target in chosen]
