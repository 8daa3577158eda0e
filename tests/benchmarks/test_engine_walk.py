"""How far one asset is sent through the engine while it is written: modules that run, and call sites between them.

The figures are those of now. Lower them with each change that lowers them; one that raises them has to say why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.measuring.engine_walk import Walk
from tests.support.virtual.fuse import AFTER, CALL, Fuse, Point
from tests.support.virtual.target_edits import EDITS
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, scene

pytestmark = pytest.mark.bench

KIND = "b_documents"
WRITE = "engine/write/asset.py:act"


def walks(folder: Path, entry: str) -> Iterator[Walk]:
    """Of a create, an update, the same after a crash, a conflict, and a repair; one asset for each kind of edit."""

    def traced(job: TwoTenants, **options: bool) -> Walk:
        walk = Walk(entry)
        with walk.on():
            job.run(**options)
        return walk

    created = Walk(entry)
    with created.on(), scene(folder / "updated", KIND, EDITS[KIND], exposure=REOPENS) as job:
        pass
    yield created
    for name in ("updated", "killed", "conflict", "repaired"):
        (folder / f"{name} 1").mkdir()
        with scene(folder / f"{name} 1", KIND, EDITS[KIND], exposure=REOPENS) as job:
            if name != "repaired":
                job.edit("source")
            if name in ("conflict", "repaired"):
                job.edit("target")
            if name == "killed":
                job.universe.live(job.job, Fuse(Point(CALL, AFTER, 60)), full=True)
            yield traced(job, full=True) if name != "repaired" else traced(job, repair=True)


@pytest.mark.parametrize(("entry", "modules", "sites"), [(WRITE, 37, 221), ("", 99, 438)], ids=["write", "engine"])
def test_one_asset_goes_through_few_modules(tmp_path: Path, entry: str, modules: int, sites: int) -> None:
    (tmp_path / "updated").mkdir()
    every = Walk(entry)
    for walk in walks(tmp_path, entry):
        every |= walk
    assert (len(every.modules), len(every.sites)) == (modules, sites)
