"""Every service as target of assets that lie in no container: where the target puts them is not an addition by others,
and no conflict when the source gives them a container later."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.model.asset import AssetId, Patch
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import ACCEPTED, any_pair, living, ran, verified
from tests.support.jobs.open_service import opened_service
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.pairs import EVERY

IMMOVABLE = {"c_brandlibrary"}  # no call moves an asset to another section (spec, Service C)
STRICT = {"policy": {**ACCEPTED, "extras": "fail"}}


@pytest.mark.parametrize("target", EVERY)
def test_the_default_container_is_no_addition(tmp_path: Path, target: str) -> None:
    rows = [asset(1, placements=[]), asset(2)]
    for row in rows:
        del row["fields"][OWN_MARKS]
    with any_pair(tmp_path, "a_hypermedia", target, [*SCHEMA, *rows], SCHEMA, OWN_MARKS, **STRICT) as pair:
        pair.job.write_text(
            pair.job.read_text(encoding="utf-8").replace("folder: /\n", "folder: new/here\n"), encoding="utf-8"
        )
        assert ran(pair)["counts"]["created"] == 2
        verdict = verified(pair)
        assert (verdict["equal"], verdict["differences"], verdict["extras"]) == (2, [], [])
        asyncio.run(put_together(pair))
        full = asyncio.run(run_job(pair.job, small_jobs.options(full=True, connectors=pair.connectors))).as_json()
        assert (full["conflicts"], full["parked"]) == ([], [])
        verdict = verified(pair)
        assert (verdict["equal"], verdict["differences"]) == (2, [])
        assert verdict["not_carried"].get("placements.section", 0) == (1 if target in IMMOVABLE else 0)


async def put_together(pair: Pair) -> None:
    """Somebody puts the asset without a folder where the other one is."""
    loose, other = sorted(living(pair.source), key=lambda asset: bool(living(pair.source)[asset]["placements"]))
    async with opened_service(pair.job, "source", small_jobs.options(connectors=pair.connectors)) as service:
        await service.schema()
        places = (await service.fetch(AssetId(other))).placements
        await service.update(AssetId(loose), Patch(placements_add=places))
