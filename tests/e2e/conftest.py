"""A small made-up library in an emulated source, and an empty emulated target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dam_sync.emulators.kit.library import write_empty_tenant, write_library
from tests.support.disks import WAY
from tests.support.exposure import ACCEPTED_LINE
from tests.support.forking import Forking
from tests.support.pairs import EVERY, EVERYTHING
from tests.support.tenants import Command, Completed, Pair, pair

HERE = Path(__file__).parent
SAMPLE = 2  # one case of so many
MAPPING = HERE.parents[1] / "mappings" / "demo-a-to-e.yaml"
ASSETS = 24


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the cases of a test every second one is run, from the first on; all of them by `make e2e`."""
    places: Counter[str] = Counter()
    left = set[pytest.Item]()
    for item in items:
        name, case, _ = item.nodeid.partition("[")
        if case and item.path.is_relative_to(HERE):
            round_, place = divmod(places[name], len(EVERY))
            left |= {item} if (place + round_) % SAMPLE else set()  # another half of the services in the next round
            places[name] += 1
    if left and not EVERYTHING:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_library(folder, ASSETS)
    write_empty_tenant(folder)
    return folder


@pytest.fixture(scope="session")
def command() -> Iterator[Command]:
    """Runs commands in processes of their own that begin at once."""
    with Forking(faster=1.0) as forking:

        def run(*arguments: str) -> Completed:
            ran = forking.start(*arguments).wait()
            return Completed(arguments, ran.code, ran.out, ran.err)

        yield run


@pytest.fixture
def tenants(library: Path, tmp_path: Path, command: Command) -> Iterator[Pair]:
    with pair(
        tmp_path,
        library / "catalogue.jsonl",
        library / "target.jsonl",
        MAPPING,
        files=library / "files",
        more=ACCEPTED_LINE,
        command=command,
    ) as joined:
        yield joined


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the small disk of the tests was: the strongest this machine allows."""
    reports = (report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ()))
    ways = {value for report in reports for name, value in getattr(report, "user_properties", ()) if name == WAY}
    for way in sorted(ways):
        terminalreporter.write_line(f"{WAY} {way}")
