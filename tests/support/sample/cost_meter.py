"""A plug-in of pytest that measures what tests cost.

`-p tests.support.sample.cost_meter` prints the sums of each suite. With `DAM_SYNC_COSTS=1` the costs of each test are
also written to `costs.tsv`: see `make costs`.

The cost of a test is the CPU of its process and of all processes below that, what prepares it and cleans up included;
and the time that it waits. Measure on an idle computer.
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
from tests.support.sample.rotation import Cost, costs, store

LEAST: Final = 0.15  # seconds; what costs less is not listed
TICKS: Final = os.sysconf("SC_CLK_TCK")
MEASURED: Final = "costs of tests"
CORES: Final = os.cpu_count() or 1


class CostMeter:
    """Sums the costs of cases by function: of one process, and, in the process that started several, of all."""

    def __init__(self) -> None:
        self.processes = ProcessTree()
        self.seconds = defaultdict[str, float](float)
        self.waits = defaultdict[str, float](float)
        self.cases = Counter[str]()
        self.divided = set[str]()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        function = item.nodeid.partition("[")[0]
        before, began = self.processes.cpu_seconds(), time.monotonic()
        if OF_DAY in getattr(item, "fixturenames", ()):
            self.divided.add(function)
        try:
            return (yield)
        finally:
            took, seconds = time.monotonic() - began, self.processes.cpu_seconds() - before
            # less than 0 if it lost sight of a process, and more than there is if it found one that ran for long
            self.seconds[function] += min(max(0.0, seconds), took * CORES)
            self.waits[function] += max(0.0, took - seconds)
            self.cases[function] += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        seconds, waits, cases, divided = getattr(node, "workeroutput", {}).get(MEASURED, ({}, {}, {}, ()))
        self.cases.update(cases)
        self.divided |= set(divided)
        for function, cost in seconds.items():
            self.seconds[function] += cost
            self.waits[function] += waits[function]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            found = dict(self.seconds), dict(self.waits), dict(self.cases), sorted(self.divided)
            session.config.workeroutput[MEASURED] = found
            return
        if os.environ.get("DAM_SYNC_COSTS"):
            measured = {function: self.cost(function) for function in self.seconds}
            store({function: cost for function, cost in measured.items() if cost.weight >= LEAST})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        suites = defaultdict[str, float](float)
        for function, seconds in self.seconds.items():
            suites[function.split("/")[1]] += seconds
        told = ", ".join(f"{name} {seconds:.0f}" for name, seconds in sorted(suites.items()))
        terminalreporter.write_line(f"seconds of CPU: {told}; {sum(suites.values()):.0f} in all, collection left out")

    def cost(self, function: str) -> Cost:
        """Of a test, as far as it is known."""
        points, known = function in self.divided, costs().get(function)
        mend = known is not None and known.mend
        return Cost(self.seconds[function], self.waits[function], self.cases[function], points=points, mend=mend)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CostMeter())


class ProcessTree:
    """This process and all that it started, those that they started, and so on."""

    def __init__(self) -> None:
        self._known = set[int]()  # the system lists children reliably only while none of them ends

    def cpu_seconds(self) -> float:
        """What they have used so far, ended ones included."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        found, waiting = set[int](), [*_children_of(os.getpid()), *self._known]
        while waiting:
            if (pid := waiting.pop()) not in found and Path(f"/proc/{pid}").exists():
                found.add(pid)
                waiting += _children_of(pid)
        self._known = found
        return time.process_time() + ended.ru_utime + ended.ru_stime + sum(map(_seconds_of, found))


def _children_of(pid: int) -> list[int]:
    try:
        tasks = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
        return [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]
    except OSError:  # it has ended
        return []


def _seconds_of(pid: int) -> float:
    """Of one process, and of its children that have ended."""
    try:
        row = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, row[row.rindex(")") + 2 :].split()[11:15])) / TICKS
