"""What a target needs of each asset and nothing names: check, plan and run say so before anything is written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dam_sync.api.check import check_job
from dam_sync.model.errors import MappingError
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.any_pair import any_pair, living, planned, ran
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS, receiving


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """No option names a security template, and there are several."""
    library = [*SCHEMA, *(asset(number) for number in (1, 2))]
    with any_pair(tmp_path, "c_brandlibrary", "d_templates", library, receiving(), OWN_MARKS) as made:
        job = made.job.read_text(encoding="utf-8")
        assert "security: public" in job
        made.job.write_text(job.replace("security: public", "security: ''"), encoding="utf-8")
        yield made


def test_assets_without_a_group_are_refused_by_all_three(pair: Pair) -> None:
    mapping = pair.folder / "mapping.yaml"
    line = '  groups: {from: "groups[]", on_error: drop}'
    text = re.sub(r"  groups: .*", line, mapping.read_text(encoding="utf-8"))
    mapping.write_text(text, encoding="utf-8")
    (told,) = [finding for finding in asyncio.run(check_job(pair.job)) if finding.subject == "mapping"]
    assert told.exit_code == 2
    assert "the target needs a group for each asset: public, staff" in told.message
    for tried in (planned, ran):
        with pytest.raises(MappingError, match="needs a group for each asset"):
            tried(pair)
    assert living(pair.target) == {}
    mapping.write_text(text.replace(line, f"{line[:-1]}, default: staff}}"), encoding="utf-8")
    plan, done = planned(pair), ran(pair)
    assert (done["counts"]["created"], done["counts"]["parked"]) == (2, 0)
    assert (plan["operations"], plan["counts"]) == (done["operations"], done["counts"])
    assert {tuple(row["rights"]["groups"]) for row in living(pair.target).values()} == {("staff",)}
