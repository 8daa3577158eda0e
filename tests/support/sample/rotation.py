"""The tests of one day: what `make test` runs of the tests that take long, by the date.

Most tests run every day. Those that take longest rotate: of a test with several cases a day runs some, of a test that
tries many points (fixture `of_today`) some of the points, and every other one runs on one day in so many. Any ten
consecutive days run every case and every point. The same date chooses the same tests; `DAM_SYNC_DATE` sets it.
What each test costs is in `costs.tsv`, which `make costs` measures; a test that is not in there runs every day.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final, Protocol, TypeVar

import pytest

from tests.support.sample.promises import TESTS

T = TypeVar("T")
SEED: Final = int(os.environ.get("DAM_SYNC_SEED", "1"))  # of what is drawn at random in simulations
CYCLE: Final = 10  # days within which everything runs
COSTS: Final = Path(__file__).with_name("costs.tsv")
HEADER: Final = """\
# function, seconds of CPU, seconds of waiting, cases, whether it divides its points: measured by `make costs`;
# whether it came with a mend: marked by `python -m tests.support.sample.mends --mark`
"""
PERIODS: Final = ((0.3, 5), (1.2, 9))  # the weight from which on a test runs on one day in so many
OF_WHOLE_RUNS: Final = ((0.15, 5), (1.2, 9))  # of tests that run jobs: others run most of the same code that day
WHOLE_RUNS: Final = ("tests/e2e/", "tests/simulation/")
OF_MENDS: Final = ((0.8, 5), (1.2, 9))  # of tests that came with a mend, which most often find the next defect
WAITING: Final = 0.4  # a second of waiting weighs so much of one of CPU
SHARE: Final = 3  # of the cases of a test, and of the points of one, a day runs one in so many
NEVER: Final = ("tests/store_contract/", "tests/conformance/", "tests/house/")  # rotate


class Part(Enum):
    """Which tests a command runs: those of the day, those that the day leaves out, both, or cases that no day has."""

    DAY = "day"
    REST = "rest"
    MORE = "more"
    BOTH = ""


class OfToday(Protocol):
    """The fixture `of_today`: of the points that a test tries, those of the day."""

    def __call__(self, points: Sequence[T], /) -> Sequence[T]: ...


@dataclass(frozen=True, slots=True)
class Cost:
    """What a test function costs with all of its cases: seconds of CPU, and seconds in which it waits. points: whether
    it divides its points; mend: whether it came with a mend, see `mends`."""

    seconds: float
    waits: float = 0.0
    cases: int = 1
    points: bool = False
    mend: bool = False

    @property
    def weight(self) -> float:
        """What it counts: other tests run while it waits."""
        return self.seconds + self.waits * WAITING


def part_of(config: pytest.Config) -> Part:
    """The part that was asked for by `--part`."""
    return Part(config.getoption("part"))


def today() -> date:
    """The day of the sample: `DAM_SYNC_DATE`, or the date in UTC. Raises UsageError for what is not a date."""
    given = os.environ.get("DAM_SYNC_DATE", "")
    try:
        return date.fromisoformat(given) if given else datetime.now(UTC).date()
    except ValueError:
        raise pytest.UsageError(f"DAM_SYNC_DATE={given} is not a date; write it as 2026-12-01") from None


@cache
def costs() -> Mapping[str, Cost]:
    """The costs of the tests that take long, by function."""
    rows = [line.split("\t") for line in COSTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {
        name: Cost(float(cpu), float(waits), int(cases), bool(points), bool(mend))
        for name, cpu, waits, cases, points, mend in rows
    }


def store(measured: Mapping[str, Cost]) -> None:
    """Writes the table."""
    COSTS.write_text(HEADER + "".join(_row(name, measured[name]) for name in sorted(measured)), encoding="utf-8")


def _row(name: str, cost: Cost) -> str:
    points, mend = "points" if cost.points else "", "mend" if cost.mend else ""
    return f"{name}\t{cost.seconds:.2f}\t{cost.waits:.1f}\t{cost.cases}\t{points}\t{mend}\n"


def period_of(function: str) -> int:
    """The number of days of which a test runs on one."""
    cost = costs().get(function)
    if cost is None or function.startswith(NEVER):
        return 1
    days = max((days for seconds, days in _steps(function, cost) if cost.weight >= seconds), default=1)
    if function in TESTS:
        return min(days, SHARE) if cost.cases >= SHARE else 1
    return min(days, SHARE) if cost.points else days


def _steps(function: str, cost: Cost) -> Sequence[tuple[float, int]]:
    if cost.mend:
        return OF_MENDS
    return OF_WHOLE_RUNS if function.startswith(WHOLE_RUNS) else PERIODS


@cache
def turns() -> Mapping[str, int]:
    """The day of its period on which each test runs: the dearest first, each on the day that has least so far."""
    load: dict[int, list[float]] = {}
    found: dict[str, int] = {}
    for function, cost in sorted(costs().items(), key=lambda each: (-each[1].weight, each[0])):
        period = period_of(function)
        days = load.setdefault(period, [0.0] * period)
        found[function] = days.index(min(days))
        days[found[function]] += cost.weight if cost.cases < SHARE else 0.0
    return found


def cases_of_day(function: str, cases: Sequence[T], day: date) -> Sequence[T]:
    """The cases of a test that run on a day."""
    number, period = day.toordinal(), period_of(function)
    if period == 1 or (function in TESTS and len(cases) < SHARE):
        return cases
    if len(cases) >= SHARE:
        return [case for place, case in enumerate(cases) if (place + number) % SHARE == turns()[function] % SHARE]
    return cases if number % period == turns()[function] else ()


def points_of_day(function: str, points: Sequence[T], day: date) -> Sequence[T]:
    """The points that a test tries on a day that it runs on."""
    turn = day.toordinal() // period_of(function)
    return points[turn % min(SHARE, len(points) or 1) :: SHARE]
