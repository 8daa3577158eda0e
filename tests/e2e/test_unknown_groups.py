"""Groups that the target does not have: known before the first asset, by check, plan and run alike."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dam_sync.api.check import check_job
from dam_sync.api.emulation.sandbox import Emulated
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.any_pair import hurried, joined, living, moved, planned, ran, receiver_of, tenant_of
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS, receiving

LIBRARY = [*SCHEMA, {"record": "group", "name": "press"}, *(asset(n, rights={"groups": ["press"]}) for n in (1, 2))]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """The option `groups` is not set, so any name might be one of the target's."""
    with hurried(), tenant_of("e_profiles", LIBRARY) as first, receiver_of("b_documents", receiving()) as second:
        made = joined(
            tmp_path,
            Emulated("e_profiles", first.url),
            Emulated("b_documents", second.url),
            (first, second),
            OWN_MARKS,
        )
        job = made.job.read_text(encoding="utf-8")
        made.job.write_text(re.sub(r"\n +groups: public,staff", "", job), encoding="utf-8")
        yield made


def mapped(pair: Pair, fate: str) -> None:
    """What becomes of a group that the target does not have."""
    mapping = pair.folder / "mapping.yaml"
    text = re.sub(r"security:\n(  .*\n)+", "", mapping.read_text(encoding="utf-8"))
    line = f'security: {{groups: {{from: "groups[]", pipe: [unique], on_error: {fate}}}}}\n'
    mapping.write_text(text + line, encoding="utf-8")


def test_unknown_groups_are_dropped_and_reported_where_the_mapping_says_so(pair: Pair) -> None:
    mapped(pair, "drop")
    findings = asyncio.run(check_job(pair.job))
    (told,) = [finding for finding in findings if finding.subject == "target groups"]
    assert "press" in told.message
    assert not told.exit_code
    plan, done = planned(pair), ran(pair)
    assert (done["counts"]["created"], done["counts"]["parked"]) == (2, 0)
    assert (plan["operations"], plan["losses"]) == (done["operations"], done["losses"])
    assert any(row["path"] == "groups[]" and row["rule"] == "not in the list" for row in done["losses"])


def test_unknown_groups_park_the_asset_before_anything_is_made_for_it_where_the_mapping_says_so(pair: Pair) -> None:
    mapped(pair, "park")
    findings = asyncio.run(check_job(pair.job))
    (told,) = [finding for finding in findings if finding.subject == "target groups"]
    assert told.exit_code == 2
    plan = planned(pair)
    assert (plan["counts"]["created"], plan["counts"]["parked"]) == (0, 2)
    done = ran(pair)
    assert done["operations"] == plan["operations"]
    assert living(pair.target) == {}
    assert set(moved(pair).parked.values()) == {"mapping security.groups: not in the list"}
