"""A plan parks what its run will park: files that the source does not give to the user of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.any_pair import asked_of, hurried, joined, living, planned, ran, receiver_of, tenant_of
from tests.support.jobs.folder_jobs import side_of
from tests.support.libraries.every_feature import OWN_MARKS

ACCEPTED = {"exposure": {"download_widened": "accept"}}


@pytest.mark.parametrize("level", ["NONE", "BD"])
def test_a_plan_parks_files_below_the_download_level(tmp_path: Path, level: str) -> None:
    older = {"name": "older.jpg", "generate": {"size": 900, "seed": 9}}
    rows = [asset(1), asset(2)]
    rows[0]["versions"].insert(0, older)
    for row in rows:
        del row["fields"][OWN_MARKS]
    with (
        hurried(),
        tenant_of("a_hypermedia", [*SCHEMA, *rows], download_level=level) as source,
        receiver_of("b_documents", SCHEMA) as target,
    ):
        sides = side_of("a_hypermedia", source, asked_of("a_hypermedia")), side_of("b_documents", target, {})
        pair = joined(tmp_path, *sides, (source, target), OWN_MARKS, policy=ACCEPTED)
        plan, run = planned(pair), ran(pair)
        assert (plan["counts"], plan["operations"]) == (run["counts"], run["operations"])
        assert [row["cause"] for row in plan["parked"]] == [row["cause"] for row in run["parked"]] == ["download-level"]
        assert living(target) == {}
