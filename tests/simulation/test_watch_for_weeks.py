"""`watch` for weeks: tokens expire, processes end and are killed, networks, services, disks and clocks fail. What is
reported is true, and in the end nothing is missing and nothing is there twice.

`make test` watches for some days, which contain a change of the clocks; the other targets for a month.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
import structlog

from dam_sync.watch.scheduler import RunResult
from tests.support.jobs.tenants import duplicates
from tests.support.pairs import EVERYTHING
from tests.support.virtual.watched_month import month

DAYS = 31 if EVERYTHING else 3
LONGEST = timedelta(days=4)  # without a complete run: an outage, then a full disk, then a restart much later
TROUBLES = {"restart", "kill", "killed run", "outage", "maintenance", "full disk", "clock", "sleep"}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize(
    ("source", "target"),
    [("b_documents", "e_profiles"), ("a_hypermedia", "d_templates"), ("c_brandlibrary", "a_hypermedia")],
)
def test_a_job_survives_a_month(tmp_path: Path, source: str, target: str) -> None:
    with month(tmp_path, (source, target), 1) as world:
        world.universe.do(world.lives(DAYS))
        assert world.wrong == []
        assert set(world.happened) >= TROUBLES
        done = [each.at for each in world.ended if each.record.result is RunResult.DONE]
        assert max(later - earlier for earlier, later in pairwise(done)) < LONGEST
        assert {each.record.result for each in world.ended} >= {RunResult.DONE, RunResult.FAILED}
        assert world.ended[-1].record.result is RunResult.DONE
        assert world.is_well
        assert world.missing(done[-1] - timedelta(hours=12)) == []
        assert duplicates(world.target.assets) == []
        verdict = world.verdict()
        assert verdict["clean"], verdict
