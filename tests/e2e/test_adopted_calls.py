"""What an adoption reports: the calls that were sent, none of those that a run would send."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.api.jobs import run_job
from tests.conformance.catalogue import asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, receiver_of
from tests.support.jobs.folder_jobs import InFolder, job_between
from tests.support.libraries.every_feature import OWN_MARKS, receiving, titled

D = "d_templates"
PLACES = [{"kind": "collection", "path": [name]} for name in ("Spring", "Autumn")]
RECORDS = [row for row in receiving() if row["record"] != "asset"]


def test_an_adoption_reports_no_call_that_it_did_not_send(tmp_path: Path) -> None:
    source = InFolder(tmp_path / "from")
    source.fill([*RECORDS, asset(1, fields=titled(1), placements=PLACES[:1])])
    with hurried(), receiver_of(D, receiving()) as tenant:
        job = job_between(tmp_path / "job", source, Emulated(D, tenant.url), OWN_MARKS)
        asyncio.run(run_job(job, small_jobs.options()))
        for file in tmp_path.rglob("job.db*"):
            file.unlink()
        source.fill([asset(1, fields=titled(1), placements=PLACES)])
        tenant.forget_calls()
        adopted = asyncio.run(adopt_job(job, small_jobs.options(), Adoption())).as_json()
        assert adopted["counts"]["linked by marker"] == 1
        assert "POST /v1/collection" not in adopted["target"]["calls"]
        assert sum(adopted["target"]["calls"].values()) == sum(tenant.calls.values())
