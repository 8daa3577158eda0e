"""A plug-in of pytest that measures what each test costs, and writes `costs.tsv`: see `make costs`.

The cost of a test is the CPU of its process and of all processes below that, what prepares it and cleans up included.
"""

from __future__ import annotations

import os
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.sample.plugin import OF_DAY
from tests.support.sample.rotation import COSTS

LEAST: Final = 0.3  # seconds of CPU; what costs less is not listed
TICKS: Final = os.sysconf("SC_CLK_TCK")
MEASURED: Final = "costs of tests"
HEADER: Final = "# function, seconds of CPU, cases, whether it divides its points; measured by `make costs`\n"


class CostMeter:
    """Sums the costs of cases by function: of one process, and, in the process that started several, of all."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)
        self.cases = Counter[str]()
        self.divided = set[str]()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        function, before = item.nodeid.partition("[")[0], cpu_seconds()
        if OF_DAY in getattr(item, "fixturenames", ()):
            self.divided.add(function)
        try:
            return (yield)
        finally:
            self.seconds[function] += cpu_seconds() - before
            self.cases[function] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        seconds, cases, divided = getattr(node, "workeroutput", {}).get(MEASURED, ({}, {}, ()))
        self.cases.update(cases)
        self.divided |= set(divided)
        for function, cost in seconds.items():
            self.seconds[function] += cost

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[MEASURED] = dict(self.seconds), dict(self.cases), sorted(self.divided)
            return
        rows = [self._row(function) for function, cost in sorted(self.seconds.items()) if cost >= LEAST]
        COSTS.write_text(HEADER + "".join(rows), encoding="utf-8")

    def _row(self, function: str) -> str:
        points = "points" if function in self.divided else ""
        return f"{function}\t{self.seconds[function]:.1f}\t{self.cases[function]}\t{points}\n"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CostMeter())


def cpu_seconds() -> float:
    """What this process and those below it have used so far, ended ones included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + sum(map(_seconds_of, _below(os.getpid())))


def _below(pid: int) -> Iterator[int]:
    """The processes that this one has started, those which they have started, and so on."""
    try:
        tasks = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
        children = [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]
    except OSError:  # it has ended
        return
    for child in children:
        yield child
        yield from _below(child)


def _seconds_of(pid: int) -> float:
    """Of one process, and of its children that have ended."""
    try:
        row = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, row[row.rindex(")") + 2 :].split()[11:15])) / TICKS
