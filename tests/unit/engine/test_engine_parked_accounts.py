"""The account of an asset that is set aside: what no line of the mapping reads is not among what waits with it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.write.accounts import with_parked_account
from dam_sync.model.account import DROPPED, LOST, PARKED, READ, AccountKey, imbalances
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.outcome import Outcome
from tests.support.mapping.drafts import asset
from tests.support.mapping.tenant_schemas import TARGET, able, compiled
from tests.support.run_double import run_double

MAPPING = """
version: 1
profile: {default: images}
unmapped: UNMAPPED
ignore: [credit]
fields:
  srckey: {marker: true}
  title: {from: fields.title, required: true}
  titleFr: {when: 'has(asset.fields.cleared)', const: Cleared}
"""
CAUSE = "mapping title: required"


def parked(folder: Path, unmapped: str) -> dict[AccountKey, int]:
    context = run_double(
        crosswalk=compiled(folder, MAPPING.replace("UNMAPPED", unmapped)),
        target=SimpleNamespace(capabilities=able()),
        policy=SimpleNamespace(versions="all"),
        target_schema=TARGET,
    )
    one = asset(inventory="7", photographer=("Ann", "Ben"), credit="x", cleared=True, width=3)
    outcome = with_parked_account(
        cast("RunContext", context).target,
        cast("RunContext", context).mapping.crosswalk,
        cast("RunContext", context).task.policy,
        Outcome("parked", CAUSE),
        one,
    )
    assert list(imbalances(outcome.account)) == []
    return {key: number for key, number in outcome.account.items() if key.outcome != READ}


@pytest.mark.parametrize(
    ("unmapped", "outcome", "rule"), [("report", LOST, LossRule.NOT_MAPPED), ("ignore", DROPPED, LossRule.QUIET)]
)
def test_what_no_line_reads_of_a_parked_asset_is_left_out_whether_it_is_written_or_not(
    tmp_path: Path, unmapped: str, outcome: str, rule: str
) -> None:
    found = parked(tmp_path, unmapped)
    assert found[AccountKey("fields.inventory", outcome, rule)] == 1
    assert found[AccountKey("fields.photographer[]", outcome, rule)] == 2
    assert found[AccountKey("fields.credit", DROPPED, LossRule.IGNORED)] == 1
    assert found[AccountKey("filename", PARKED, CAUSE)] == 1
    assert not any(key.path == "fields.width" for key in found)
    if unmapped == "report":
        assert found[AccountKey("fields.cleared", LOST, LossRule.CONDITION)] == 1
