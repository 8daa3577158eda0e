"""How many points every simulation tried is reported at the end; the databases of its states are dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sample.cases import leave_out
from tests.support.virtual import state_location

TRIED = "points tried"
SAMPLED = (  # they choose themselves
    *("test_crashes.py", "test_rotation.py", "test_faults.py", "test_schedules.py"),
    *("test_removals.py", "test_removal_crashes.py", "test_edits_machine.py", "test_on_postgres.py"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, Path(__file__).parent, SAMPLED)


@pytest.fixture(autouse=True)
def databases() -> Iterator[None]:
    """Those that a test makes are dropped after it."""
    yield
    state_location.drop_all()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each test that tried points."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == TRIED:
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {value}")
