"""Small print of service E: what was set and is cleared, names, waiting as requested."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from dam_sync.model.asset import AssetId, Patch, Rights
from dam_sync.model.connector import Context
from dam_sync.model.estimator import Estimator
from dam_sync.services.e_profiles.api.client import retry_after
from dam_sync.services.e_profiles.options import ProfilesOptions, limits_of
from tests.support.services.connected_e import Open, Tenant, asset, serving

PUBLIC = frozenset({"public"})


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def one(opened: Open, **rights: str) -> tuple[Tenant, AssetId]:
    tenant = opened(asset(1, rights={"groups": ["public"], "release_at": "2024-01-01T00:00:00Z", **rights}))
    (identity,) = tenant.truth()
    return tenant, AssetId(identity)


async def test_an_expiry_the_source_has_taken_back_is_cleared(opened: Open) -> None:
    tenant, identity = one(opened, expires_at="2030-01-01T00:00:00Z")
    service, patch = tenant.connect(), Patch(cleared=frozenset({"expiry"}))
    assert sum(Estimator(service).write(patch).values()) == 2, "the first of a run is read back"
    for _ in range(2):
        await service.update(identity, patch)
        rights = tenant.truth()[identity]["rights"]
        assert rights == {"groups": ["public"], "release_at": "2024-01-01T00:00:00Z", "expires_at": None}


async def test_a_release_the_source_has_taken_back_is_now(opened: Open) -> None:
    """None would hide the asset, and an embargo that ended at the source must end here."""
    ahead = tenant_time(400)
    tenant, identity = one(opened, release_at=ahead)
    service, patch = tenant.connect(), Patch(cleared=frozenset({"release"}))
    assert sum(Estimator(service).write(patch).values()) == 1, "a date is written, none is taken away"
    for _ in range(2):
        await service.update(identity, patch)
        released = (await service.fetch(identity)).rights.release_at
        assert released is not None
        assert released <= tenant.world.now()
        assert tenant.world.now() - released < timedelta(minutes=1)


async def test_new_values_are_written_rather_than_cleared(opened: Open) -> None:
    tenant, identity = one(opened, expires_at="2030-01-01T00:00:00Z")
    service, when = tenant.connect(), datetime(2031, 1, 1, tzinfo=UTC)
    patch = Patch(rights=Rights(when, when, PUBLIC), cleared=frozenset({"release", "expiry"}))
    await service.update(identity, patch)
    assert (await service.fetch(identity)).rights == Rights(when, when, PUBLIC)


async def test_groups_are_never_taken_away_altogether(opened: Open) -> None:
    tenant, identity = one(opened)
    service = tenant.connect()
    with tenant.costs() as spent:
        await service.update(identity, Patch(rights=Rights()))
    assert not spent
    assert tenant.truth()[identity]["rights"]["groups"] == ["public"]


def tenant_time(days: int) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_a_file_is_renamed(opened: Open) -> None:
    tenant, identity = one(opened)
    service = tenant.connect()
    assert "filename" in (await service.schema()).capabilities.parts
    assert sum(Estimator(service).write(Patch(filename="new name.jpg")).values()) == 1
    await service.update(identity, Patch(filename="new name.jpg"))
    assert tenant.truth()[identity]["filename"] == "new name.jpg"


NOW = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)
RESET = {"x-ratelimit-reset": "2026-09-01T12:00:05.500Z"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (RESET, 5.5),
        ({**RESET, "date": "Tue, 01 Sep 2026 12:00:05 GMT"}, 0.5),  # their clock, not ours
        ({**RESET, "date": "Tue, 01 Sep 2026 11:00:00 GMT"}, 300.0),
        ({**RESET, "date": "soon"}, 5.5),
        ({"x-ratelimit-reset": "2026-09-02T12:00:00Z"}, 300.0),
        ({"x-ratelimit-reset": "2026-09-01T11:00:00Z"}, 0.0),
        ({"x-ratelimit-reset": "soon", "retry-after": "7"}, 7.0),
        ({}, None),
    ],
)
def test_a_pause_is_measured_by_the_clock_that_asks_for_it(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(("asked", "at_once"), [(None, 16), (8, 8), (64, 40)])
def test_no_more_calls_at_once_than_chunks_may_be(asked: int | None, at_once: int) -> None:
    context = Context("https://api.dam.example", {}, concurrency=asked)
    assert limits_of(context, ProfilesOptions()).pace.at_once == at_once


@pytest.mark.parametrize("seconds", [1, 7, 30])
async def test_a_refusal_is_waited_out_as_long_as_it_says(opened: Open, seconds: int) -> None:
    tenant, _ = one(opened)
    service = tenant.connect()
    tenant.faults.add([{"match": "GET /v2/user", "nth": 1, "do": f"throttle:{seconds}"}])
    before = tenant.world.now()
    await service.probe()
    waited = (tenant.world.now() - before).total_seconds()
    assert seconds - 0.5 <= waited < seconds + 3
    assert not tenant.faults.unhit()
