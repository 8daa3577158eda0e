from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.plans.duration import PlannedTime, Speed, estimate_duration, estimate_of
from dam_sync.engine.run.dry_run import DryFiles, DryTarget
from dam_sync.http.rates.limiters import sustained
from dam_sync.model.connector import Context
from dam_sync.model.limits import Limits, Pace, SmallFile
from dam_sync.report.parts import DiskNeed
from dam_sync.services.folder.options import FolderOptions
from dam_sync.services.folder.service import FolderService
from tests.support.services.empty_service import EmptyService

DISK = DiskNeed("state", 10, 1, 0)
FREE = Speed(Pace(None, at_once=10), call_seconds=0.1, workers=10)
RATED = Speed(Pace(50.0, at_once=16), call_seconds=0.01, workers=16)
NOTHING = PlannedTime(
    began=0.0,
    ended=0.0,
    assets=0,
    waits=0,
    files=0,
    size=0,
    source_calls=0,
    open_calls=0,
    moving=0,
    making=0,
    finishing=0,
)


def test_the_sustained_rate_is_a_little_below_the_one_allowed() -> None:
    assert 0.92 * 50 < sustained(50.0) < 0.98 * 50
    assert 0.9 * 5 < sustained(5.0) <= 5
    assert 0.4 < sustained(0.5) <= 0.5
    assert sustained(50.0) < sustained(50.0, 0.02) < 0.98 * 50  # quick responses are counted sooner
    assert sustained(50.0) == sustained(50.0, 10.0)


def test_a_plan_of_nothing_takes_as_long_as_it_took() -> None:
    assert estimate_duration(replace(NOTHING, began=12.0, ended=12.0), FREE, RATED) == 12.0


def test_calls_at_a_rate() -> None:
    moved = replace(NOTHING, began=5.0, ended=9.0, assets=900, moving=1_000)
    assert estimate_duration(moved, FREE, RATED) == pytest.approx(5 + 1_000 / sustained(50.0, RATED.call_seconds))


def test_calls_at_once_where_there_is_no_rate() -> None:
    moved = replace(NOTHING, assets=1_000, moving=1_000)
    assert estimate_duration(moved, RATED, FREE) == pytest.approx(1_000 * 0.1 / 10)
    assert estimate_duration(replace(moved, assets=2), RATED, FREE) == pytest.approx(1_000 * 0.1 / 2)


def test_the_band_is_wide_while_the_calls_at_once_are_to_be_learned(tmp_path: Path) -> None:
    files = DryFiles(FolderService(Context(base_url=tmp_path.as_uri(), options=FolderOptions())))
    moved = replace(NOTHING, assets=1_000, moving=1_000)
    unknown, known = (
        estimate_of(moved, (RATED, replace(FREE, workers=40, pace=pace)), files, None, DISK)
        for pace in (Pace(None, 10, most_at_once=40), Pace(None, 10))
    )
    assert (known.p50, known.p90) == pytest.approx((0.96 * 10, 1.12 * 10 + 4))
    assert unknown.p90 == known.p90
    assert unknown.p50 == pytest.approx(known.p50 / 4)


def test_files_are_fetched_before_they_are_sent() -> None:
    fetched = replace(NOTHING, assets=100, files=100, open_calls=200, source_calls=200)
    assert estimate_duration(fetched, FREE, FREE) == pytest.approx(3 * 100 * 0.1 / 10)
    redirected, sent = (replace(FREE, small_file=SmallFile(*calls)) for calls in ((2, 0), (1, 1)))
    assert estimate_duration(fetched, redirected, FREE) == pytest.approx(2 * 100 * 0.1 / 4)  # transfers at once
    assert estimate_duration(fetched, FREE, sent) == pytest.approx(4 * 100 * 0.1 / 10)


def test_a_slow_source_sets_the_pace() -> None:
    reading = replace(NOTHING, began=1.0, ended=100.0, assets=10, moving=10)
    assert estimate_duration(reading, FREE, FREE) == 100.0
    asked = replace(NOTHING, assets=10, moving=10, source_calls=5_000)
    assert estimate_duration(asked, RATED, FREE) == pytest.approx(5_000 / sustained(50.0, RATED.call_seconds))


def test_work_that_is_done_in_sequence_is_estimated_so() -> None:
    made = replace(NOTHING, assets=1_000, moving=100, making=200)
    assert estimate_duration(made, FREE, FREE) == pytest.approx(200 * 0.1)
    placed = replace(NOTHING, assets=1_000, moving=100, finishing=30)
    assert estimate_duration(placed, FREE, FREE) == pytest.approx(100 * 0.1 / 10 + 30 * 0.1)


@pytest.mark.parametrize(("waited_for", "waits"), [(False, 3), (True, 5)])
def test_files_that_the_target_fetches_are_waited_for(tmp_path: Path, waited_for: bool, waits: int) -> None:
    waiting = EmptyService()
    waiting.limits = Limits(small_file=SmallFile(waited_for=waited_for))
    files = DryFiles(FolderService(Context(base_url=tmp_path.as_uri(), options=FolderOptions())), fetched=3)
    target = DryTarget.of(waiting, lambda: (0.0, 0))
    assert PlannedTime.of(target, files, Counter(created=5), (0.0, 0.0)).waits == waits


def test_assets_that_are_waited_for_and_bytes() -> None:
    waited = replace(NOTHING, assets=25, waits=25)
    assert estimate_duration(waited, FREE, replace(FREE, processing_time=8.0)) == 3 * 8.0
    together = replace(FREE, processing_time=8.0, small_file=SmallFile(downloads=0, waited_for=True))
    moved = replace(waited, assets=20, waits=20, files=20, moving=20)
    assert estimate_duration(moved, FREE, together) == pytest.approx(2 * 8.0 + 20 * 0.1 / 10 + 20 * 0.1 / 4)
    assert estimate_duration(replace(NOTHING, assets=1, size=4_000), FREE, FREE, bandwidth=10.0) == 400.0


@pytest.mark.parametrize(
    ("changes", "target", "what", "side"),
    [
        ({"moving": 1_000}, RATED, "rate limit", "target"),
        ({"moving": 1_000}, FREE, "concurrency", "target"),
        ({"files": 100, "open_calls": 100}, FREE, "concurrency", "source"),
        ({"source_calls": 5_000}, FREE, "concurrency", "source"),
        ({"waits": 25}, replace(FREE, processing_time=8.0), "processing", "target"),
        ({"making": 200}, FREE, "one after another", "target"),
        ({"finishing": 30}, FREE, "one after another", "target"),
        ({"size": 4_000}, FREE, "bandwidth", ""),
        ({"ended": 9.0}, FREE, "reading", "source"),
    ],
    ids=str,
)
def test_what_takes_longest_is_named(
    tmp_path: Path, changes: dict[str, Any], target: Speed, what: str, side: str
) -> None:
    files = DryFiles(FolderService(Context(base_url=tmp_path.as_uri(), options=FolderOptions())))
    found = estimate_of(replace(NOTHING, assets=25, **changes), (FREE, target), files, 10.0, DISK)
    assert found.bottleneck is not None
    assert (found.bottleneck.what, found.bottleneck.side) == (what, side)
    assert 0 < found.p50 < found.p90
