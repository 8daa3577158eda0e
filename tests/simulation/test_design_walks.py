"""The walks of the help topic `design` follow the calls that the code makes, in their order."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.test_design import WALKS
from tests.support.measuring.engine_walk import Walk
from tests.support.virtual.fuse import AFTER, CALL, Fuse, Point
from tests.support.virtual.target_edits import EDITS, library
from tests.support.virtual.two_tenants import REOPENS, moved, scene

OF_LARGE_FILES = {"transfer/upload_session.py"}  # the files of these libraries are sent in one piece


def stops(title: str) -> list[tuple[str, list[str]]]:
    """Modules with their names."""
    return [(module.removeprefix("dam_sync/"), re.findall(r"`(\w+)`", names)) for module, names in WALKS[title]]


def watching(*titles: str) -> Walk:
    return Walk(watched=frozenset(module for title in titles for module, _ in stops(title)))


def test_an_asset_and_its_file_take_the_way_of_the_topic(tmp_path: Path) -> None:
    walk = watching("One asset", "One file")
    with walk.on(), moved(tmp_path, ("a_hypermedia", "d_templates"), library(4), exposure=REOPENS):
        assert walk.lacks(stops("One asset")) == []
        of_file = stops("One file")
        assert walk.lacks([stop for stop in of_file if stop[0] not in OF_LARGE_FILES]) == []
        assert {module for module, _ in of_file} >= OF_LARGE_FILES


def test_an_update_after_a_crash_takes_the_way_of_the_topic(tmp_path: Path) -> None:
    with scene(tmp_path, "b_documents", EDITS["b_documents"], exposure=REOPENS) as job:
        job.edit("source")
        job.universe.live(job.job, Fuse(Point(CALL, AFTER, 60)), full=True)
        walk = watching("An update after a crash")
        with walk.on():
            job.run(full=True)
    assert walk.lacks(stops("An update after a crash")) == []
    assert walk.lacks([*reversed(stops("An update after a crash"))]) != []
