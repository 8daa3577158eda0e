"""What a service does after a response that says all is well: parked by name, whole once a person has seen to it."""

from __future__ import annotations

from pathlib import Path

from dam_sync.model.asset import AssetId
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fault_scripts import Reference, Storm, parked
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.network_faults import Trouble

MINUTES = 700.0  # seconds after which a twin is removed (wire C 6.9)


def waved_through(move: Move, reference: Reference) -> None:
    """All of it is there once what was parked is let be tried again."""
    storm = Storm(reference, move)
    storm.blow([])
    assert storm.ending.wrong == []


def test_an_upload_that_waits_in_a_queue_is_no_version(tmp_path: Path) -> None:
    """E: another policy for a moment, and a person who throws the upload away."""
    reference = Reference.of(Simulation(tmp_path, ("a_hypermedia", "e_profiles"), SEED))
    with reference.simulation.moving() as move:
        uploads = reference.calls["target", "POST /v2/uploads"]
        weather = move.universe.network.weather
        weather.lines.append(Trouble(move.target.app, "POST /v2/uploads", "play:queue", nth=uploads))
        move.live()
        assert weather.unhit() == []
        (row,) = parked(move)
        assert row["cause"] == "not a version"
        assert "discard it" in row["hint"]
        move.universe.do(thrown_away(move, row["message"].split()[4]))
        waved_through(move, reference)


async def thrown_away(move: Move, queued: str) -> None:
    async with move.service("target") as service:
        await service.remove(AssetId(queued))


def test_an_asset_that_a_service_removes_ten_minutes_later_is_created_again(tmp_path: Path) -> None:
    """C: the account takes those of one create for twins of others, says nothing and removes them."""
    simulation = Simulation(tmp_path, ("a_hypermedia", "c_brandlibrary"), SEED)
    with simulation.moving() as move:
        job = move.job.read_text().replace("duplicate_window: 0", "duplicate_window: 900")
        move.job.write_text(job)
    reference = Reference.of(simulation)
    with simulation.moving() as move:
        create = "POST /api/v4/libraries/{id}/assets"
        weather = move.universe.network.weather
        weather.lines.append(Trouble(move.target.app, create, "play:doomed", nth=2))
        move.live()
        assert weather.unhit() == []
        assert parked(move) == []
        move.universe.do(move.universe.clock.sleep(MINUTES))
        move.live()
        rows = parked(move)  # those of one create
        assert rows
        assert all(row["hint"] for row in rows)
        waved_through(move, reference)
