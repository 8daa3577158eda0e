"""A target that takes an upload and removes it ten minutes later, for it has the same bytes already: never reported as
done too early, found by the next run or verification, parked with its twin, and not made over and over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.cli import cli
from dam_sync.emulators import profile_of
from dam_sync.model.parking import ParkReason
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import joined
from tests.support.jobs.small_jobs import Small
from tests.support.jobs.tenants import Pair, Tenant, emulated

SOURCE, TARGET = "d_templates", "c_brandlibrary"
MARKER = "inventory"
WINDOW = 900
FASTER = 12.0
SCHEMA: list[dict[str, Any]] = [
    {"record": "type", "name": "Picture", "media": ["PICTURE"]},
    {"record": "group", "name": "public"},
    {"record": "field", "key": "title", "label": "Title", "kind": "text", "types": ["Picture"]},
    {"record": "field", "key": MARKER, "label": "Inventory", "kind": "text", "types": ["Picture"]},
]


class LateClock(small_jobs.FastClock):
    """A somewhat faster time, and what a test adds to it."""

    later = timedelta(0)

    def now(self) -> datetime:
        """See `Clock.now`."""
        return super().now() + self.later


def picture(number: int, seed: int) -> dict[str, Any]:
    """Assets of the same seed have the same bytes."""
    return {
        "record": "asset",
        "id": str(number),
        "filename": f"p{number}.jpg",
        "type": "Picture",
        "form_type": "PICTURE",
        "status": "published",
        "fields": {"title": f"Picture {number}", MARKER: f"INV{number}"},
        "versions": [{"name": f"p{number}.jpg", "generate": {"size": 700, "seed": seed}}],
        "created_at": f"2021-03-01T08:00:{number:02d}Z",
        "imported_at": f"2021-03-01T08:00:{number:02d}Z",
        "changed_at": f"2021-03-02T08:00:{number:02d}Z",
    }


@contextmanager
def served(kind: str, records: Sequence[Mapping[str, Any]], **more: Any) -> Iterator[Tenant]:
    """One emulated tenant, quick, for as long as the block runs."""
    trial = profile_of(kind)
    tenant = emulated(kind, records, None, **{**trial.emulated, **trial.demo_emulated, "lag": 0.2, **more})
    try:
        yield tenant
    finally:
        assert tenant.served is not None
        tenant.served.stop()


@contextmanager
def duplicating(
    folder: Path, assets: Sequence[Mapping[str, Any]], there: Sequence[Mapping[str, Any]] = (), window: int = WINDOW
) -> Iterator[Small]:
    """A job into a library whose duplicate detection is on."""
    with (
        pytest.MonkeyPatch.context() as patch,
        served(SOURCE, [*SCHEMA, *assets]) as one,
        served(TARGET, [*SCHEMA, *there], variant="duplicates") as other,
    ):
        patch.setattr(LateClock, "later", timedelta(0))
        patch.setattr(small_jobs, "FASTER", FASTER)
        patch.setattr(small_jobs, "CLOCK", LateClock())
        into = Emulated(TARGET, other.url, {"duplicate_window": window, "readiness": "later"})
        yield Small(joined(folder, Emulated(SOURCE, one.url), into, (one, other), MARKER), ("b7kq.c5wxt2rn.z8hmvd3f",))


def pass_by(job: Small, seconds: float) -> None:
    """Time passes, here and at both services."""
    LateClock.later += timedelta(seconds=seconds)
    for tenant in (job.pair.source, job.pair.target):
        tenant.ask("/_emulator/clock", {"advance": seconds})


def living(tenant: Tenant) -> list[str]:
    return sorted(str(row["fields"]["title"]) for row in tenant.assets if row["status"] != "trash")


def notes_of(report: Mapping[str, Any]) -> str:
    return " ".join(report["notes"])


def test_a_removed_twin_is_parked_once_and_never_made_over_and_over(tmp_path: Path) -> None:
    with duplicating(tmp_path, [picture(1, 7), picture(2, 8), picture(3, 7)]) as job:
        report = job.run().data
        assert report["counts"]["created"] == 3
        assert "3 new assets may still be removed by the target as duplicates, until" in notes_of(report)
        early = CliRunner().invoke(
            cli,
            ["verify", str(job.pair.job), "--json", "--no-progress"],
            obj={"clock": small_jobs.CLOCK, "storage": small_jobs.STORAGE},
        )
        assert early.exit_code == 5
        assert json.loads(early.stdout)["verdict"]["early"] == 3
        pass_by(job, 10)
        job.run()
        pass_by(job, 2 * WINDOW)
        assert len(living(job.pair.target)) == 2
        report = job.run(code=4).data
        (parked,) = job.parked()
        assert parked["cause"] == ParkReason.GONE_WHILE_NEW
        assert "has the same file" in parked["message"]
        assert notes_of(report).count("may still be removed") == 0
        verdict = job.ran("verify", "--json", "--no-progress", code=0).data["verdict"]
        assert (verdict["equal"], verdict["parked"], verdict["early"]) == (2, 1, 0)
        job.run("--full", code=4)
        assert len(living(job.pair.target)) == 2, "it is not made again"


def test_a_verification_finds_it_first_and_the_run_after_leaves_it_parked(tmp_path: Path) -> None:
    with duplicating(tmp_path, [picture(1, 7)], [picture(9, 7)]) as job:
        job.run()
        pass_by(job, 2 * WINDOW)
        verdict = job.ran("verify", "--json", "--no-progress", code=3).data["verdict"]
        assert verdict["missing"] == 1
        assert "no asset with the same file is known" in verdict["differences"][0][2]["found"]
        assert job.run("--full", code=4).data["counts"]["parked"] == 1
        assert living(job.pair.target) == ["Picture 9"]


def test_a_removed_duplicate_that_a_person_retries_is_created_again_and_stays(tmp_path: Path) -> None:
    with duplicating(tmp_path, [picture(1, 7), picture(2, 7)]) as job:
        job.run()
        pass_by(job, 2 * WINDOW)
        job.run(code=4)
        job.edit("duplicate_window: 900", "duplicate_window: 0")
        _switch_off(job.pair)
        job.ran("errors", "--cause", ParkReason.GONE_WHILE_NEW, "--retry", code=0)
        assert job.run().data["counts"]["created"] == 1
        pass_by(job, WINDOW)
        assert len(living(job.pair.target)) == 2


def test_probation_of_assets_that_stay_ends_with_one_listing_and_costs_nothing_after(tmp_path: Path) -> None:
    with duplicating(tmp_path, [picture(each, each) for each in range(1, 9)]) as job:
        job.run()
        pass_by(job, 2 * WINDOW)
        first = job.run().data["target"]["calls"]
        assert sum(first.values()) - sum(job.run().data["target"]["calls"].values()) == 1, first


def _switch_off(pair: Pair) -> None:
    """The operator switches duplicate detection off in the account."""
    server = pair.target.served
    assert server is not None
    server.app.state.tenant.plays = frozenset()
