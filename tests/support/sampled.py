"""A sample of the cases of tests, for `make test`; the other targets run all of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.support.pairs import EVERY, EVERYTHING

SHARE = 8  # one case of so many
only_in_full = pytest.mark.skipif(not EVERYTHING, reason="long: run by `make e2e` and `make sim`")


def leave_out(config: pytest.Config, items: list[pytest.Item], folder: Path, but: Collection[str] = ()) -> None:
    """Of the cases of each test in a folder every eighth one is run, from the first on. but: modules that choose
    themselves."""
    places: Counter[str] = Counter()
    left = set[pytest.Item]()
    inside = f"{folder}{os.sep}"
    for item in items:
        name, case, _ = item.nodeid.partition("[")
        if case and str(item.path).startswith(inside) and item.path.name not in but:
            round_, place = divmod(places[name], len(EVERY))
            left |= {item} if (place + round_) % SHARE else set()  # other services in the next round
            places[name] += 1
    if not EVERYTHING:
        deselect(config, items, left)


def deselect(config: pytest.Config, items: list[pytest.Item], left: Collection[pytest.Item]) -> None:
    """Takes these out of the run; they are counted as deselected."""
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]
