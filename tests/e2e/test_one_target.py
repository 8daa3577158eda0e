"""Two jobs that write into one target at the same time, from processes of their own: each term, container and unique
name is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.merged import NEW, PARTS, merged
from tests.support.postgres import OwnServer

A, B, C, D, E = "a_hypermedia", "b_documents", "c_brandlibrary", "d_templates", "e_profiles"
SOURCES = {A: (A, D), B: (A, A), C: (D, A), D: (A, A), E: (A, B)}
TARGETS = tuple(SOURCES)


@pytest.mark.parametrize("target", TARGETS)
def test_two_jobs_at_once_make_each_term_container_and_name_once(
    tmp_path: Path, server: OwnServer, target: str
) -> None:
    with merged(tmp_path, SOURCES[target], target, server) as both:
        both.slow_down()
        assert both.run_together() == [0, 0]
        assert both.duplicates() == []
        assert set(NEW) <= {path[-1] for path in both.terms()}
        assert set(NEW) <= {path[-1] for path in both.containers()}
        living = [row for row in both.target.assets if row["status"] != "trash"]
        assert len(living) == 2 * PARTS
        if target == E:
            assert set(both.names().values()) == {1}
        for each in both.jobs:
            assert each.json("run", str(each.job))["operations"] == {}
            assert each.json("verify", str(each.job), "--level", "fields")["verdict"]["clean"]
