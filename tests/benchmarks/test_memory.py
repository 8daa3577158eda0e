"""Flat: memory does not grow with the library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dam_sync.services.e_profiles import facts
from tests.support.jobs.bulk_jobs import Bulk, write_bulk
from tests.support.measuring.printed_table import MB, show
from tests.support.processes import Measured, measured, processes

SIZES = (1_000, 10_000)
LONG = 69_000
MOST = 1.3
FAST = "limits: {calls_per_second: 1000, concurrency: 16}"


@pytest.mark.bench
def test_memory_does_not_grow_with_the_library(tmp_path: Path) -> None:
    """A plan goes as far as a run but for the bytes and the last call, and is not held to the target's rate."""
    plans = {size: of_size(tmp_path, size, "plan") for size in sizes()}
    runs = {size: of_size(tmp_path, size, "run") for size in sizes()}
    rows = [row("run", size, run) for size, run in runs.items()] + [row("plan", *plan) for plan in plans.items()]
    title = f"Peak memory of one process (VmHWM); runs keep to the target's {facts.RATE:.0f} calls a second"
    show(title, ("", "MB", "minutes"), rows)
    for found in (runs, plans):
        peaks = [run.peak for run in found.values()]
        assert max(peaks) <= MOST * min(peaks)


def sizes() -> tuple[int, ...]:
    return (*SIZES, LONG) if os.environ.get("DAM_SYNC_LONG") == "1" else SIZES


def of_size(folder: Path, size: int, verb: str) -> Measured:
    place = folder / f"{verb}-{size}"
    written = write_bulk(place, Bulk(size))
    with processes(place, written, more=FAST, source_options={"languages": ["en"]}) as pair:
        done = measured(verb, str(pair.job), "--json", "--no-progress")
        assert done.report["counts"]["created"] == size
        assert done.report["parked"] == []
        if verb == "run":
            assert sum(1 for _ in pair.target.assets) == size
    return done


def row(verb: str, size: int, run: Measured) -> tuple[str, float, float]:
    return f"{verb} of {size:,} assets", run.peak / MB, run.seconds / 60
