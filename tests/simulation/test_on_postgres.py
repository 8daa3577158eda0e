"""The simulation on a state on PostgreSQL.

`make test` runs this sample of it: eight crash points of two pairs of services, two schedules of faults, a process that
is refused and one that is taken over, killed runs that are rolled back, and twelve connections that the server ends in
one move. `make sim STORE=postgres` runs the whole simulation so, and ends the connections at every commit of a move to
each service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.errors import SafetyStop, StoreBusy
from dam_sync.model.state_server import StateServer
from dam_sync.store.credential_store import FileCredentialStore
from dam_sync.store.server.credentials import ServerCredentialStore
from tests.simulation import test_adopted_visibility, test_exposure_waivers
from tests.simulation import test_rollback_of_killed_runs as killed
from tests.simulation.conftest import TRIED
from tests.simulation.test_two_processes import both, taken_over
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.virtual.crashes import IN_DOUBT, SEED, tried
from tests.support.virtual.fuse import COMMIT
from tests.support.virtual.moves import Simulation, differences
from tests.support.virtual.schedules import pair_of
from tests.support.virtual.schedules import tried as scheduled
from tests.support.virtual.server_writer import CUTS
from tests.support.virtual.state_location import COPY, copy_state, on_postgres, place_of

CRASHED = [("d_templates", "e_profiles"), ("c_brandlibrary", "b_documents")]
POINTS, SCHEDULES = 4, range(2)
UNDONE = 3  # crash points after which the run is rolled back
CUT = 12  # connections that are ended in one move
TARGETS = KINDS if EVERYTHING else KINDS[3:4]


@pytest.fixture(autouse=True)
def _server(databases: None) -> Iterator[None]:
    with on_postgres():
        yield


@pytest.mark.parametrize("kinds", CRASHED, ids=[f"{source[0]}-{target[0]}" for source, target in CRASHED])
def test_no_crash_leaves_a_trace(tmp_path: Path, kinds: tuple[str, str]) -> None:
    came = tried(Simulation(tmp_path, kinds, SEED), POINTS)
    assert came.faults == []
    assert came.crashes >= POINTS


def test_a_crashed_process_leaves_to_the_next_also_what_is_stored_for_all_jobs(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, ("d_templates", "e_profiles"))
    with simulation.moving() as move:
        place = place_of(move.job)
        assert isinstance(place, StateServer)
        copy = replace(place, database=f"{place.database}{COPY}")
        for secret in ("first", "renewed"):
            asyncio.run(_credentials(place, tmp_path / secret / "here").save("token", secret))
            copy_state(place, copy)
            assert asyncio.run(_credentials(copy, tmp_path / secret / "there").load("token")) == secret


def _credentials(place: StateServer, folder: Path) -> ServerCredentialStore:
    return ServerCredentialStore(place, "secret of the job file", FileCredentialStore(folder / "job.vault"))


def test_no_schedule_of_faults_leaves_a_trace(tmp_path: Path) -> None:
    assert scheduled(Simulation(tmp_path, pair_of(0), SEED), SCHEDULES).wrong == []


@pytest.mark.parametrize(
    "check",
    [
        test_exposure_waivers.test_a_rollback_shows_nothing_again_but_by_the_rule_that_is_named_after_it,
        test_adopted_visibility.test_an_adopted_asset_that_the_job_closes_is_hidden_by_the_next_run,
        test_adopted_visibility.test_what_an_exposure_rule_holds_back_is_created_by_no_run,
    ],
    ids=["rollback", "adoption", "held back"],
)
def test_who_sees_an_asset_is_recorded_there_as_well(
    tmp_path: Path, check: Callable[[Path, tuple[str, str]], None]
) -> None:
    check(tmp_path, ("e_profiles", "b_documents"))  # the containers of this source list their members apart


def test_a_run_that_was_killed_is_rolled_back_there_as_well(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Of what an interrupted run had begun the state alone knows."""
    for name in ("recorded", "points", "names"):
        (tmp_path / name).mkdir()
    killed.test_an_update_that_was_recorded_of_an_asset_that_was_not_completed_is_undone(
        tmp_path / "recorded", "d_templates"
    )
    killed.test_what_a_killed_run_may_have_left_is_undone_or_named(
        tmp_path / "points", "e_profiles", killed.ITSELF, record_property, lambda points: points[:UNDONE]
    )
    killed.test_names_that_a_killed_run_gave_are_restored(
        tmp_path / "names", "d_templates", lambda points: points[:UNDONE]
    )


def test_one_process_at_a_time(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, ("a_hypermedia", "d_templates"))
    want, fuse = simulation.reference()
    for act, told, in_doubt in ((both, StoreBusy, 0), (taken_over, SafetyStop, IN_DOUBT)):
        with simulation.moving() as move:
            move.universe.storage = replace(move.universe.storage, process_exists=lambda pid: True)
            assert isinstance(move.universe.do(act(move, fuse.counts[COMMIT] // 2)), told)
            assert list(differences(move.state(), want, in_doubt=in_doubt)) == []


@pytest.mark.parametrize("kind", TARGETS)
def test_connections_that_the_server_ends_change_nothing(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None]
) -> None:
    """Before a transaction, before its COMMIT, and before the response to that: it is made once."""
    simulation = Simulation(tmp_path, (KINDS[KINDS.index(kind) - 1], kind))
    want, fuse = simulation.reference()
    commits = range(2, fuse.counts[COMMIT])  # the last one closes the state
    step = 1 if EVERYTHING else len(commits) // CUT
    for first in range(len(CUTS) if EVERYTHING else 1):
        with simulation.moving() as move:
            move.universe.cuts.update({n: CUTS[(place + first) % 3] for place, n in enumerate(commits[::step])})
            move.live()
            assert move.universe.cuts == {}
            assert list(differences(move.state(), want, in_doubt=0)) == []
    record_property(TRIED, f"{len(commits[::step])} connections ended")
