"""A collection whose assets cannot be read: the others are moved, and nothing is concluded from this one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx

from dam_sync.api.inspection import inspect_job
from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.model.run_options import RunOptions
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import any_pair
from tests.support.jobs.tenants import Pair
from tests.support.network.altered_transport import AlteredTransport

T = TypeVar("T")
BEST, WORST = ({"kind": "collection", "path": [title], "id": ""} for title in ("Best of", "Worst of"))


class UnlinkedTransport(AlteredTransport):
    """Collections with these titles have no link to their assets (wire E 5.5)."""

    def __init__(self, titles: set[str]) -> None:
        super().__init__()
        self.titles = titles

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if request.url.path == "/v2/collections":
            body["items"] = [{**row, "_links": {}} if row["title"] in self.titles else row for row in body["items"]]
        return body


class Unlinked:
    """Commands for which some collections have no link."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.titles: set[str] = set()

    def done(self, command: Callable[[Path, RunOptions], Awaitable[T]], **chosen: Any) -> T:
        """The result of a command."""

        async def run() -> T:
            transport = UnlinkedTransport(self.titles)
            try:
                options = small_jobs.options(connectors=self.pair.connectors, transport=transport, **chosen)
                return await command(self.pair.job, options)
            finally:
                await transport.aclose()

        return asyncio.run(run())

    def planned(self) -> dict[str, Any]:
        return self.done(plan_job).as_json()

    def ran(self, **chosen: Any) -> dict[str, Any]:
        return self.done(run_job, **chosen).as_json()

    def is_clean(self) -> bool:
        report = self.done(lambda job, options: verify_job(job, options, "fields", "100%"))
        return bool(report.as_json()["verdict"]["clean"])

    def notes(self) -> list[str]:
        return [note for side in self.done(inspect_job).sides for note in side.notes]


def places(pair: Pair) -> dict[str, set[str]]:
    return {
        row["filename"]: {place["path"][-1] for place in row["placements"] if place["kind"] == "collection"}
        for row in pair.target.assets
        if row["status"] != "trash"
    }


def about(report: dict[str, Any]) -> list[str]:
    return [note for note in report["notes"] if "Best of" in note]


def test_the_rest_is_moved_and_nothing_is_taken_out(tmp_path: Path) -> None:
    rows = [asset(1, placements=[BEST]), asset(2, placements=[BEST, WORST]), asset(3, placements=[WORST])]
    with any_pair(tmp_path, "e_profiles", "e_profiles", [*SCHEMA, *rows], SCHEMA, "srckey") as pair:
        job = Unlinked(pair)
        assert job.ran()["counts"]["created"] == 3
        before = places(pair)
        assert sorted(map(len, before.values())) == [1, 1, 2]
        job.titles = {"Best of"}
        plan, done = job.planned(), job.ran()
        assert about(plan) == about(done)
        assert len(about(done)) == 1
        assert places(pair) == before
        assert job.is_clean()
        job.titles = set()
        assert not about(job.ran())
        assert places(pair) == before


def test_a_repair_concludes_nothing_from_it(tmp_path: Path) -> None:
    """At both sides; what others took out of a collection that can be read returns."""
    rows = [asset(1, placements=[BEST]), asset(2, placements=[BEST, WORST])]
    with any_pair(tmp_path, "e_profiles", "e_profiles", [*SCHEMA, *rows], SCHEMA, "srckey") as pair:
        job = Unlinked(pair)
        job.ran()
        before = places(pair)
        job.titles = {"Best of"}
        for _ in range(2):
            done = job.ran(repair=True)
            assert (done["operations"], done["repaired"]) == ({}, {})
        assert places(pair) == before


def test_a_first_run_moves_the_assets_without_it(tmp_path: Path) -> None:
    library = [*SCHEMA, asset(1, placements=[BEST, WORST])]
    with any_pair(tmp_path, "e_profiles", "e_profiles", library, SCHEMA, "srckey") as pair:
        job = Unlinked(pair)
        job.titles = {"Best of"}
        done = job.ran()
        assert (done["counts"]["created"], places(pair)) == (1, {"photo 1.jpg": {"Worst of"}})
        assert len(about(done)) == 1
        assert any("Best of" in note for note in job.notes())
        job.titles = set()
        job.ran()
        assert places(pair) == {"photo 1.jpg": {"Best of", "Worst of"}}
