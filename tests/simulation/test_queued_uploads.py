"""An upload that the target put into its queue is not done: it is parked once that is certain, is not uploaded again,
and is done when somebody has taken it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import verify_job
from dam_sync.api.state_commands import job_errors
from dam_sync.model.asset import AssetId
from tests.conformance.drafts import plain_draft
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS

HALF_AN_HOUR = 1_800.0


@pytest.fixture
def move(tmp_path: Path) -> Iterator[Move]:
    """One of the uploads of its first run was queued: somebody took its name a moment before, so that the index did not
    know it yet."""
    with Simulation(tmp_path, ("a_hypermedia", "e_profiles")).moving() as made:
        made.universe.do(uploaded(made, "source"))
        wait(made, LAGS)
        made.universe.do(uploaded(made, "target"))
        add_no_versions(made)
        made.live()
        assert len(queued(made)) == 1
        yield made


def add_no_versions(move: Move) -> None:
    """Neither the profiles of the target nor the job."""
    profiles: Any = move.target.app.state.tenant.profiles
    profiles.update({name: replace(profile, version_policy="none") for name, profile in profiles.items()})
    text = move.job.read_text(encoding="utf-8")
    assert "version_policy: file_only" in text
    move.job.write_text(text.replace("version_policy: file_only", "version_policy: none"), encoding="utf-8")


async def uploaded(move: Move, role: str) -> AssetId:
    """Somebody puts a file there by hand, under one name at both."""
    async with move.service(role) as service:
        draft = replace(await plain_draft(service, role), filename="fresh.jpg")
        return await service.create(draft, Bytes("fresh.jpg", role.encode() * 200, known=True), MemoryJournal())


def queued(move: Move) -> list[str]:
    """Uploads that wait for somebody."""
    return [row["id"] for row in move.target.assets if row["status"] == "conflicted"]


def take(move: Move, identity: str) -> None:
    """Somebody takes a queued upload as an asset of its own."""
    tenant: Any = move.target.app.state.tenant
    tenant.keep(replace(tenant.assets[identity], conflicted=False))


def errors(move: Move, *, retry: bool = False) -> Any:
    """What is parked, or how many of that are retried."""
    done = job_errors(move.job, (), retry, move.universe.clock, move.universe.storage)
    found = move.universe.do(done)
    return found["retried"] if retry else [(row["cause"], row["message"]) for row in found["assets"]]


def verified(move: Move) -> Any:
    """What a verification finds."""
    return move.universe.do(verify_job(move.job, move.universe.options(), "digest", "100%")).verdict


def wait(move: Move, seconds: float) -> None:
    """Time passes."""
    move.universe.do(move.universe.clock.sleep(seconds))


def test_a_queued_upload_is_parked_after_half_an_hour_and_done_when_somebody_took_it(move: Move) -> None:
    (waiting,) = queued(move)
    wait(move, HALF_AN_HOUR)
    move.live()
    assert errors(move) == [
        ("upload queued", f"{waiting} is still not complete at the target 30 minutes after its upload")
    ]
    before = len(move.target.assets)
    assert errors(move, retry=True) == 1
    move.live()
    assert [cause for cause, _ in errors(move)] == ["upload queued"], "nobody took it yet"
    take(move, waiting)
    wait(move, HALF_AN_HOUR)
    assert errors(move, retry=True) == 1
    move.live()
    assert errors(move) == []
    assert len(move.target.assets) == before
    assert verified(move)["missing"] == 0


def test_a_verification_parks_it_and_until_then_waits_for_nothing(move: Move) -> None:
    """An upload that is not complete yet is an ordinary one."""
    assert (verified(move)["early"], errors(move)) == (0, [])
    wait(move, HALF_AN_HOUR)
    assert (verified(move)["early"], [cause for cause, _ in errors(move)]) == (0, ["upload queued"])


def test_others_are_not_asked_for_one_by_one(move: Move) -> None:
    wait(move, HALF_AN_HOUR)
    called = move.universe.network.weather.called
    before = called[move.target.app, "GET /v2/assets/{id}"]
    move.live()
    assert called[move.target.app, "GET /v2/assets/{id}"] == before + 2, "once at each end of the run"
