"""A sample of the cases of tests, for `make test`; the other targets run all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.support.pairs import EVERY, EVERYTHING

SHARE = 3  # one case of so many


def leave_out(config: pytest.Config, items: list[pytest.Item], folder: Path, but: Collection[str] = ()) -> None:
    """Of the cases of each test in a folder every third one is run, from the first on. but: modules that choose
    themselves."""
    places: Counter[str] = Counter()
    left = set[pytest.Item]()
    for item in items:
        name, case, _ = item.nodeid.partition("[")
        if case and item.path.is_relative_to(folder) and item.path.name not in but:
            round_, place = divmod(places[name], len(EVERY))
            left |= {item} if (place + round_) % SHARE else set()  # other services in the next round
            places[name] += 1
    if left and not EVERYTHING:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]
