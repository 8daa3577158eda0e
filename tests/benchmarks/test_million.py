"""A million assets at 50 calls a second, in virtual time: minutes of ours, flat memory, as many hours as estimated."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from tests.support.measuring.printed_table import MB, show
from tests.support.virtual.scale.generated_source import TAGGED
from tests.support.virtual.scale.large_move import LargeMove, Seen, large
from tests.support.virtual.scale.thin_target import RATE

FEW, ALL = 20_000, 1_000_000
MOST_GROWTH = 60 * MB  # from a tenth of the run on, whatever the size
HOUR = 3600
KIB = 1024


@pytest.mark.bench
def test_a_run_takes_the_hours_that_were_estimated_and_memory_stays_flat(tmp_path: Path) -> None:
    """All of the product is at work but the sockets and the flushing of the disk; the target is service E at the wire,
    the source makes its assets up. `DAM_SYNC_ASSETS` sets how many there are."""
    size = int(os.environ.get("DAM_SYNC_ASSETS", ALL if os.environ.get("DAM_SYNC_LONG") == "1" else FEW))
    with large(tmp_path, size) as it:
        plan, run = it.plan(), it.run()
        told(size, plan, run)
        moved_once(it, run)
    assert plan.report.estimate is not None
    assert plan.report.estimate.p50 <= run.report.seconds <= plan.report.estimate.p90
    assert run.memory[1.0] - run.memory[0.1] <= MOST_GROWTH


def moved_once(it: LargeMove, run: Seen) -> None:
    """Every asset came, none twice, never too fast for the service, and the books say so."""
    assert (run.report.counts["created"], run.report.parked) == (it.size, [])
    target = it.target
    assert (target.made, target.met_in_all, target.twice) == (it.size, it.size, 0)
    assert (target.tagged, target.placed) == (it.size // TAGGED, it.size)
    assert (target.refused, target.most_in_a_second <= RATE) == (0, True)


def told(size: int, plan: Seen, run: Seen) -> None:
    """Print what was measured."""
    estimate = plan.report.estimate.p50 if plan.report.estimate is not None else 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    rows = [
        ("virtual hours estimated", estimate / HOUR),
        ("virtual hours of the run", run.report.seconds / HOUR),
        ("estimate beside run, %", 100 * (estimate / run.report.seconds - 1)),
        ("minutes of the plan", plan.real / 60),
        ("minutes of the run", run.real / 60),
        ("ms of one core for an asset, plan", 1000 * plan.cpu / size),
        ("ms of one core for an asset, run", 1000 * run.cpu / size),
        *((f"MB at {mark:.0%} of the run", memory / MB) for mark, memory in sorted(run.memory.items())),
        ("MB at most, plan and run", peak / MB),
    ]
    show(f"{size:,} assets to service E at {RATE} calls a second, in virtual time", ("", ""), rows)
