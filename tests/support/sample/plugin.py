"""The part of the tests that a command runs (see `rotation`), as a plug-in of pytest: with `--part day` the tests of a
day, with `--part rest` those that the day leaves out, without it both, with `--part more` cases that no day has. What
was run of how many is printed at the end."""

from __future__ import annotations

import os
import platform
import re
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.sample.rotation import SEED, Part, cases_of_day, today

COUNTS, OF_DAY = "counts of the sample", "of_today"
UNSTABLE = re.compile(r"frozenset\(\{|\bset\(\{| at 0x[0-9a-f]")
OPTIMIZED = "--enable-optimizations"


class OfDay:
    """Leaves out what is not of the part, and counts. One for each process; of several, one reports for all."""

    def __init__(self, part: Part) -> None:
        os.environ["DAM_SYNC_DATE"] = str(today())  # of all processes, also when the day ends
        self.part = part
        self.counts: dict[str, list[int]] = {}  # of each suite: tests that run, tests in all

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Prints first of all what repeats the sample."""
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and not hasattr(session.config, "workerinput"):
            reporter.write_line(self.described())

    def described(self) -> str:
        """The sample, and what runs it."""
        optimized = OPTIMIZED in str(sysconfig.get_config_var("CONFIG_ARGS"))
        made = f"configured with{'' if optimized else 'out'} {OPTIMIZED}"
        python = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
        part = f", part {self.part.value}" if self.part.value else ""
        return f"sample: DAM_SYNC_DATE={today()} DAM_SYNC_SEED={SEED}{part}; {python}, {made}"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """After the conftests, which choose among the cases of a test. Raises UsageError for names that each process
        spells differently, so that no two would run the same tests."""
        if unstable := [item.nodeid for item in items if UNSTABLE.search(item.nodeid)]:
            raise pytest.UsageError(f"name the cases by `ids`, not by a set or an address: {unstable[0]:.200}")
        left = self._left_out(items)
        if left:
            config.hook.pytest_deselected(items=[item for item in items if item in left])
            items[:] = [item for item in items if item not in left]
        for item in items:
            self._count(item, 1)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            self._count(item, 0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A process of several hands over what it counted."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[COUNTS] = self.counts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.counts = getattr(node, "workeroutput", {}).get(COUNTS, self.counts)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        run, every = (sum(each[place] for each in self.counts.values()) for place in (0, 1))
        suites = ", ".join(f"{name} {self.counts[name][0]} of {self.counts[name][1]}" for name in sorted(self.counts))
        terminalreporter.write_line(self.described())
        terminalreporter.write_line(f"{run} of {every} tests were chosen: {suites}")

    def _left_out(self, items: Sequence[pytest.Item]) -> set[pytest.Item]:
        if self.part not in (Part.DAY, Part.REST):
            return set()
        functions = defaultdict[str, list[pytest.Item]](list)
        for item in items:
            functions[item.nodeid.partition("[")[0]].append(item)
        left = set[pytest.Item]()
        for function, cases in functions.items():
            chosen = set(cases_of_day(function, cases, today()))
            if self.part is Part.DAY:
                left |= set(cases) - chosen
            elif OF_DAY not in getattr(cases[0], "fixturenames", ()):  # of its points some are left
                left |= chosen
        return left

    def _count(self, item: pytest.Item, runs: int) -> None:
        suite = item.nodeid.split("/")[1]
        counts = self.counts.setdefault(suite, [0, 0])
        counts[0] += runs
        counts[1] += 1
