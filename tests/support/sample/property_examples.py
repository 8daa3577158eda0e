"""How many examples hypothesis tries, and which ones: a quarter of them in `make test`, others every day."""

from __future__ import annotations

import shlex
from typing import Any, Final

import pytest
from hypothesis import is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers

from tests.support.pairs import EVERYTHING
from tests.support.sample.rotation import today

SHARE: Final = 4  # of the examples that a test asks for, one in so many is tried
FEWEST: Final = 10


def examples(asked: int) -> int:
    """How many of the examples that a test asks for are tried."""
    return asked if EVERYTHING else min(asked, max(FEWEST, -(-asked // SHARE)))


def load_profile() -> None:
    """Of tests without settings of their own; no deadline, for a busy host is not a defect."""
    settings.register_profile(
        "dam-sync", deadline=None, max_examples=100 if EVERYTHING else 25, derandomize=False, print_blob=True
    )
    settings.load_profile("dam-sync")
    if not EVERYTHING:  # otherwise words of the modules that are imported by then are tried too: another order, others
        providers._get_local_constants = providers.Constants  # type: ignore[attr-defined]


def seed_by_date(config: pytest.Config) -> None:
    """Unless the command line has a seed, it is the date of the sample: as 20261129. Processes of one run share it."""
    if config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = f"{today():%Y%m%d}"


def scale(items: list[pytest.Item]) -> None:
    """Reduces what tests ask for themselves, once for all cases of a test."""
    for test in {_function(item) for item in items if _is_property(item)}:
        if hasattr(test, "_hypothesis_internal_settings_applied"):
            asked = test._hypothesis_internal_use_settings
            test._hypothesis_internal_use_settings = settings(asked, max_examples=examples(asked.max_examples))


def add_command(item: pytest.Item, report: pytest.TestReport) -> None:
    """Says in the report of a failure what repeats it."""
    if report.failed and _is_property(item):
        everything = "DAM_SYNC_ALL=1 " if EVERYTHING else ""
        seed = item.config.getoption("hypothesis_seed")
        command = f"{everything}.venv/bin/pytest {shlex.quote(item.nodeid)} --hypothesis-seed={seed}"
        report.sections.append(("The same examples again", command))


def _is_property(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)


def _function(item: pytest.Item) -> Any:
    test = item.obj  # type: ignore[attr-defined]
    return getattr(test, "__func__", test)
