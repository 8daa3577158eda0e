"""Two jobs that write into one target at the same time, from processes of their own: each term, container and unique
name is there once, also after one of the processes was killed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.jobs.tenants import TICK
from tests.support.jobs.two_sources import NEW, PARTS, Merged, merged
from tests.support.pairs import EVERYTHING
from tests.support.state.postgres import OwnServer

A, B, C, D, E = "a_hypermedia", "b_documents", "c_brandlibrary", "d_templates", "e_profiles"
SOURCES = {A: (A, D), B: (A, A), C: (D, A), D: (A, A), E: (A, B)}
TARGETS = tuple(SOURCES) if EVERYTHING else (A, E)
POINTS = range(1, 2 * PARTS + 1)
KILLED = [(target, point) for target in TARGETS for point in POINTS] if EVERYTHING else [(D, 3)]


def assert_once(both: Merged) -> None:
    """Each asset arrived, and each term, container and unique name is there once."""
    assert both.duplicates() == []
    assert set(NEW) <= {path[-1] for path in both.terms()}
    assert set(NEW) <= {path[-1] for path in both.containers()}
    assert both.names().total() == 2 * PARTS
    if both.kind == E:
        assert set(both.names().values()) == {1}


@pytest.mark.parametrize("target", TARGETS)
def test_two_jobs_at_once_make_each_term_container_and_name_once(
    tmp_path: Path, server: OwnServer, target: str
) -> None:
    with merged(tmp_path, SOURCES[target], target, server) as both:
        both.slow_down()
        assert both.run_together() == [0, 0]
        assert_once(both)
        if EVERYTHING:
            for each in both.jobs:
                assert each.json("run", str(each.job))["operations"] == {}
                assert each.json("verify", str(each.job), "--level", "fields")["verdict"]["clean"]


@pytest.mark.parametrize(("target", "point"), KILLED)
def test_a_job_that_is_killed_leaves_nothing_twice(tmp_path: Path, server: OwnServer, target: str, point: int) -> None:
    """point: the number of the create of a term or container at whose beginning the first job is killed, which waits or
    is the one that creates."""
    with merged(tmp_path, SOURCES[target], target, server) as both:
        both.slow_down()
        first, second = (each.start("run", str(each.job), "--no-progress") for each in both.jobs)
        while first.poll() is None and both.creates < point:
            time.sleep(TICK)
        first.kill()
        first.wait()
        assert second.wait() == 0
        assert both.run_together() == [0, 0]
        assert_once(both)


@pytest.mark.parametrize("target", [C, D] if EVERYTHING else [D])
def test_workers_write_terms_that_were_created_after_they_had_read_the_lists(
    tmp_path: Path, server: OwnServer, target: str
) -> None:
    with merged(tmp_path, SOURCES[target], target, server) as both:
        job = str(both.second.job)
        assert both.second.json("run", job, "--workers", "2")["counts"]["created"] == PARTS
        assert set(NEW) <= {path[-1] for path in both.terms()}
