"""A new version of an asset at a service whose collections hold files of versions: its memberships follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.api.jobs import plan_job, run_job
from tests.conformance.catalogue import asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, receiver_of
from tests.support.jobs.folder_jobs import InFolder, job_between
from tests.support.jobs.tenants import Tenant
from tests.support.libraries.every_feature import OWN_MARKS, receiving, titled

D = "d_templates"
SPRING = {"kind": "collection", "path": ["Spring"]}
RECORDS = [row for row in receiving() if row["record"] != "asset"]


def pictures(*versions: int) -> list[Any]:
    """Two assets of one collection; versions: seeds of the files of the second."""
    files = [{"name": f"picture-{seed}.jpg", "generate": {"size": 900 + seed, "seed": seed}} for seed in versions]
    return [
        asset(1, fields=titled(1), placements=[SPRING]),
        asset(2, fields=titled(2), placements=[SPRING], versions=files),
    ]


class World:
    """A folder, an emulated tenant, and the job between them."""

    def __init__(self, folder: Path, tenant: Tenant) -> None:
        assert tenant.served is not None
        self.source, self.state = InFolder(folder / "from"), tenant.served.app.state
        self.source.fill([*RECORDS, *pictures(5)])
        self.job = job_between(folder / "job", self.source, Emulated(D, tenant.url), OWN_MARKS)

    def planned(self) -> dict[str, Any]:
        return asyncio.run(plan_job(self.job, small_jobs.options())).as_json()

    def ran(self) -> dict[str, Any]:
        return asyncio.run(run_job(self.job, small_jobs.options())).as_json()

    def current(self) -> set[str]:
        """Files of the current versions."""
        return {record.file_id for record in self.state.tenant.records.values() if record.current}

    @property
    def spring(self) -> Any:
        (found,) = [each for each in self.state.collections.all.values() if each.name == "Spring"]
        return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with hurried(), receiver_of(D, receiving()) as tenant:
        yield World(tmp_path, tenant)


def test_a_collection_has_the_current_version_as_the_plan_says(world: World) -> None:
    world.ran()
    before = list(world.spring.members)
    assert set(before) == world.current()
    world.source.fill(pictures(5, 6))
    plan, report = world.planned(), world.ran()
    assert set(world.spring.members) == world.current() != set(before)
    assert len(world.spring.members) == len(before) == 2
    assert report["operations"] == plan["operations"] == {"version": 1}
    assert report["target"]["calls"] == plan["target"]["calls"]


def test_an_asset_that_others_took_out_of_a_collection_stays_out(world: World) -> None:
    world.ran()
    world.source.fill(pictures(5, 6))
    (second,) = (one.file_id for one in world.state.tenant.records.values() if one.filename == "photo 2.jpg")
    kept = [file for file in world.spring.members if file != second]
    world.state.collections.fill(world.spring, kept)
    world.ran()
    assert world.spring.members == kept
