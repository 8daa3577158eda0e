"""What a target needs of each asset is asked for again when an asset that exists is to lose it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ruamel.yaml import YAML

from dam_sync.model.asset import Asset
from tests.support.virtual.target_edits import Edit, Hand, library
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, moved


async def opened(hand: Hand, asset: Asset) -> None:
    """Somebody takes its last group away."""
    tenant = hand.state.tenant
    tenant.touched(replace(tenant.assets[asset.id], groups=()))


def without_default(made: TwoTenants) -> None:
    """Nothing in the job says who sees an asset that names no group, so that the mapping has to require one."""
    yaml = YAML()
    job = yaml.load(made.job.read_text(encoding="utf-8"))
    job["target"]["options"]["security"] = ""
    with made.job.open("w", encoding="utf-8") as out:
        yaml.dump(job, out)
    mapping = made.job.with_name("mapping.yaml")
    text = mapping.read_text(encoding="utf-8")
    mapping.write_text(re.sub(r"  groups: .*", '  groups: {from: "groups[]", required: true}', text), encoding="utf-8")


def test_an_update_that_takes_the_last_group_away_is_parked_where_the_target_needs_one(tmp_path: Path) -> None:
    with moved(tmp_path, ("e_profiles", "d_templates"), library(3), exposure=REOPENS) as made:
        made.edits = (Edit("opened", "groups", opened),)
        without_default(made)
        before = made.target.assets
        made.edit("source")
        plan, report = made.plan(full=True, accept_changes=True), made.run(full=True, accept_changes=True)
        assert [row["cause"] for row in plan.parked] == [row["cause"] for row in report.parked]
        assert [row["cause"] for row in report.parked] == ["mapping security.groups: required"]
        assert made.target.assets == before
