"""A small generated library in an emulated source, and an empty emulated target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from dam_sync.emulators.kit.library import write_empty_tenant, write_library
from tests.support.disks import WAY
from tests.support.forking import Forking
from tests.support.jobs import small_jobs
from tests.support.jobs.accepted_exposure import ACCEPTED_LINE
from tests.support.jobs.rollbacks import Chosen, undone_afterwards
from tests.support.jobs.tenants import Command, Completed, Pair, pair
from tests.support.pairs import EVERYTHING
from tests.support.programs import shared
from tests.support.sample.cases import SHARE, leave_out
from tests.support.state.postgres import OwnServer, execute, own_server

HERE = Path(__file__).parent
MAPPING = HERE.parents[1] / "mappings" / "demo-a-to-e.yaml"
ASSETS = 60 if EVERYTHING else 16
UNDONE = (  # modules of tests whose runs are rolled back afterwards, all of them or in `make test` a part
    *("test_pairs", "test_conflicts", "test_corrections", "test_deletions", "test_delta", "test_delta_terms"),
    *("test_migration", "test_refused_memberships", "test_guards", "test_ledger", "test_parked"),
    *("test_failures_during_runs", "test_duplicates", "test_exposure", "test_folder", "test_followed_plans"),
    *("test_kills", "test_avoided_characters", "test_required_by_target", "test_ready_mappings", "test_rehearsal"),
    *("test_removed_parts", "test_round_trips", "test_removed_state", "test_unknown_groups", "test_unknown_people"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out(config, items, HERE, but=("test_cluster_kills.py", "test_shared_target.py"))


@pytest.fixture(autouse=True)
def undone(request: pytest.FixtureRequest) -> Iterator[None]:
    """The runs of the tests of some modules are rolled back at the end of each."""
    module, share = request.path.stem, crc32(request.node.nodeid.encode()) % SHARE
    Chosen.now = module in UNDONE and (EVERYTHING or not share)
    yield
    Chosen.now = False


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_library(folder, ASSETS)
    write_empty_tenant(folder)
    return folder


@pytest.fixture(scope="session")
def forking() -> Forking:
    """Begins commands in processes of their own at once."""
    return shared()


@pytest.fixture(scope="session")
def command(forking: Forking) -> Command:
    """Runs commands in processes of their own that begin at once."""

    def run(*arguments: str) -> Completed:
        ran = forking.start(*arguments).wait()
        return Completed(arguments, ran.code, ran.out, ran.err)

    return run


@pytest.fixture
def tenants(library: Path, tmp_path: Path, command: Command) -> Iterator[Pair]:
    with (
        pair(
            tmp_path,
            library / "catalogue.jsonl",
            library / "target.jsonl",
            MAPPING,
            files=library / "files",
            more=ACCEPTED_LINE,
            command=command,
        ) as joined,
        undone_afterwards(joined, small_jobs.options),
    ):
        yield joined


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the small disk of the tests was: the strongest this host allows."""
    reports = (report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ()))
    ways = {value for report in reports for name, value in getattr(report, "user_properties", ()) if name == WAY}
    for way in sorted(ways):
        terminalreporter.write_line(f"{WAY} {way}")


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server of PostgreSQL for the tests of a module, which may kill it."""
    with own_server() as made:
        yield made


@pytest.fixture
def on_server(tenants: Pair, server: OwnServer) -> Iterator[Pair]:
    """The job, with its state on the server."""
    text = tenants.job.read_text(encoding="utf-8")
    tenants.job.write_text(text.replace(f"state: {tenants.folder}/state/job.db", f"state: {server.url}"))
    yield tenants
    execute(server.state, 'DROP SCHEMA IF EXISTS "dam_sync_test" CASCADE')
