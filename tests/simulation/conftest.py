"""How many points every simulation tried is told at the end."""

from __future__ import annotations

import pytest

TRIED = "points tried"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each test that tried points."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == TRIED:
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {value}")
