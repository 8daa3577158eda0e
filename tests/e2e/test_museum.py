"""A real museum's records on real camera files: moved, proven equal, killed on the way, and nothing written twice.

DAM_SYNC_RECORDS says how many records (300 here; the acceptance of the first release was run with 5000).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.test_kills import repeated_steps
from tests.e2e.test_migration import digests
from tests.support.jobs.tenants import Pair, duplicates, pair
from tests.support.libraries.museum import DATA, MUSEUM_MAPPING, need_museum_data, write_museum, write_receiving_tenant

Record = Callable[[str, object], None]
RECORDS = int(os.environ.get("DAM_SYNC_RECORDS", "300"))
KILLS = int(os.environ.get("DAM_SYNC_KILLS", "3"))


@pytest.fixture
def museum(tmp_path: Path) -> Iterator[Pair]:
    need_museum_data()
    source = write_museum(tmp_path, RECORDS)
    target = write_receiving_tenant(tmp_path)
    with pair(
        tmp_path / "job",
        source,
        target,
        MUSEUM_MAPPING,
        files=DATA / "photos",
        options="index_lag: 1",
        more="limits: {concurrency: 16}",  # at the service's own pace; the bench of rates asks for all that is allowed
        target_options={"rate": 50.0},
    ) as joined:
        yield joined


def test_the_museum_moves_through_kills_and_is_equal(museum: Pair, record_property: Record) -> None:
    rng = random.Random(RECORDS)
    kills = 0
    while kills < KILLS:
        process = museum.start("run", str(museum.job), "--no-progress")
        time.sleep(rng.uniform(2, 4) if RECORDS < 1000 else rng.uniform(5, 15))
        if process.poll() is not None:
            assert process.returncode == 0
            break
        process.kill()
        process.wait()
        kills += 1
    assert kills, "the run was over before it could be killed"
    before = too_fast(museum)
    report = museum.json("run", str(museum.job))
    assert too_fast(museum) == before, "calls were refused as too fast in a run that nobody killed"
    assert report["counts"]["created"] == RECORDS, report["parked"]
    target = museum.target.assets
    assert len(target) == RECORDS
    assert duplicates(target) == []
    assert digests(target) == digests(museum.source.assets)
    assert repeated_steps(museum) == []
    verdict = museum.json("verify", str(museum.job), "--level", "digest")["verdict"]
    assert (verdict["equal"], verdict["different"], verdict["missing"], verdict["unaccounted"]) == (RECORDS, 0, 0, 0)
    record_property("refused as too fast in processes that were killed", before)
    museum.target.forget_calls()
    museum.cli("run", str(museum.job), "--no-progress")
    assert museum.target.writes == 0
    assert too_fast(museum) == 0


def too_fast(museum: Pair) -> int:
    """Calls the target has refused with 429."""
    return museum.target.refused.get("429", 0)
