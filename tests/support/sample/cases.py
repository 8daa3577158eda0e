"""A sample of the cases of tests: `make test` runs the same ones every day, `make test-others` others each day, and the
other targets all of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.support.pairs import EVERY, EVERYTHING
from tests.support.sample.rotation import Part, part_of, today

SHARE = 8  # one case of so many
only_in_full = pytest.mark.skipif(not EVERYTHING, reason="long: run by `make e2e` and `make sim`")


def leave_out(config: pytest.Config, items: list[pytest.Item], folder: Path, but: Collection[str] = ()) -> None:
    """Of the cases of each test in a folder every eighth one is run, from the first on; for `--part more` only those of
    another eighth. but: modules that choose themselves."""
    more = part_of(config) is Part.MORE
    share = share_of_day(config, SHARE)
    places: Counter[str] = Counter()
    left = set[pytest.Item]()
    inside = f"{folder}{os.sep}"
    for item in items:
        if not str(item.path).startswith(inside):
            continue
        name, case, _ = item.nodeid.partition("[")
        if case and item.path.name not in but:
            round_, place = divmod(places[name], len(EVERY))
            left |= {item} if (place + round_) % SHARE != share else set()  # other services in the next round
            places[name] += 1
        elif more:
            left.add(item)
    if not EVERYTHING:
        deselect(config, items, left)


def share_of_day(config: pytest.Config, shares: int) -> int:
    """Which one of so many parts is run: the first, and for `--part more` another one each day."""
    return 1 + today().toordinal() % (shares - 1) if part_of(config) is Part.MORE else 0


def deselect(config: pytest.Config, items: list[pytest.Item], left: Collection[pytest.Item]) -> None:
    """Takes these out of the run; they are counted as deselected."""
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]
