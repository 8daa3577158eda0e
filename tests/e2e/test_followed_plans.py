"""`plan --output` and `run --plan` as they are typed: a plan is followed operation by operation, or refused once the
source is not what it was planned with."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.model.asset import AssetId
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import any_pair, living
from tests.support.jobs.open_service import opened_service
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS, everything, receiving
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import FOLDER, profile_of

PAIRS = [pair for pair in pairs(2) if pair[0] != FOLDER]
SAME = "the run did exactly what its plan lists, operation by operation"
CHANGES, STOPPED = 10, 6  # exit codes


def typed(pair: Pair, verb: str, *words: str) -> Result:
    options = small_jobs.options(connectors=pair.connectors)
    given = {"clock": options.clock, "connectors": options.connectors}
    return CliRunner().invoke(cli, [verb, str(pair.job), *words, "--json", "--no-progress"], obj=given)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_a_plan_is_followed_or_refused(tmp_path: Path, source: str, target: str) -> None:
    library = everything(without=profile_of(source).refuses)
    with any_pair(tmp_path, source, target, library, receiving(), OWN_MARKS) as pair:
        file = str(tmp_path / "plan.json")
        stale = typed(pair, "plan", "--output", file, "--detailed-exitcode")
        assert stale.exit_code == CHANGES, stale.stderr
        gone = next(asset for asset, row in sorted(living(pair.source).items()) if not row["relations"])
        asyncio.run(removed(pair, gone))
        refused = typed(pair, "run", "--plan", file)
        assert refused.exit_code == STOPPED, refused.stderr
        assert "the plan is out of date" in refused.stderr
        assert gone in " ".join(refused.stderr.split())
        assert living(pair.target) == {}
        plan = json.loads(typed(pair, "plan", "--output", file).stdout)
        run = typed(pair, "run", "--plan", file)
        report = json.loads(run.stdout)
        assert run.exit_code == (4 if report["parked"] else 0), run.stderr
        assert report["notes"].count(SAME) == 1
        assert (report["operations"], report["counts"]) == (plan["operations"], plan["counts"])
        rows = json.loads(Path(file).read_text(encoding="utf-8"))["operations"]
        assert Counter(row["operation"] for row in rows) == Counter(report["operations"])
        assert len(living(pair.target)) == report["counts"]["created"] > 0


async def removed(pair: Pair, asset: str) -> None:
    """Somebody moves an asset of the source to the trash, and its index catches up."""
    options = small_jobs.options(connectors=pair.connectors)
    async with opened_service(pair.job, "source", options) as service:
        await service.schema()
        await service.remove(AssetId(asset))
    await options.clock.sleep(2.0)
