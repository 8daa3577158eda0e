"""What every simulation shares: the source, the reference, and the count of what was tried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fuse import Fuse
from tests.support.simulated import Simulation, State, hurried, source_tenant
from tests.support.tenants import Tenant

TRIED = "points tried"


@pytest.fixture(scope="package")
def source() -> Iterator[Tenant]:
    """One source for all: nothing here writes to it."""
    tenant = source_tenant()
    yield tenant
    assert tenant.served is not None
    tenant.served.stop()


@pytest.fixture
def simulation(source: Tenant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    """Moves the tiny library in a hurry."""
    with pytest.MonkeyPatch.context() as patch:
        hurried(patch)
        yield Simulation(tmp_path_factory.mktemp("simulation"), source)


@pytest.fixture
def reference(simulation: Simulation) -> tuple[State, Fuse]:
    """The end without a crash."""
    return simulation.reference()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many points were tried."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == TRIED:
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {value}")
