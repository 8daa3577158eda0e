"""What every simulation shares: the source, the references, and the count of what was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.fuse import Fuse
from tests.support.simulated import Simulation, State, hurried, source_tenant
from tests.support.tenants import Tenant

TRIED = "points tried"
Record = Callable[[str, object], None]
References = dict[tuple[int, bool], tuple[State, Fuse]]


@pytest.fixture(scope="session")
def source() -> Iterator[Tenant]:
    """One source for all: nothing here writes to it."""
    tenant = source_tenant()
    yield tenant
    assert tenant.served is not None
    tenant.served.stop()


@pytest.fixture(scope="session")
def references() -> References:
    """How runs end without a crash, and how much happens in them, by assets at once and whether later."""
    return {}


@pytest.fixture
def simulation(at_once: int, source: Tenant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    """Moves the tiny library in a hurry, `at_once` assets at a time."""
    with pytest.MonkeyPatch.context() as patch:
        hurried(patch)
        yield Simulation(tmp_path_factory.mktemp("simulation"), source, at_once)


def _reference(simulation: Simulation, references: References, *, later: bool) -> tuple[State, Fuse]:
    key = simulation.at_once, later
    if key not in references:
        references[key] = simulation.reference(later=later)
    return references[key]


@pytest.fixture
def reference(simulation: Simulation, references: References) -> tuple[State, Fuse]:
    """The end without a crash."""
    return _reference(simulation, references, later=False)


@pytest.fixture
def later(simulation: Simulation, references: References) -> tuple[State, Fuse]:
    """The end of a second run, after changes at the source, without a crash."""
    return _reference(simulation, references, later=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many points were tried."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == TRIED:
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {value}")
