"""API calls of service D beside the least that its contract allows: read, written, and looked through unchanged.

Relations are left out by `relations: off`: the contract reads them by one call an asset (wire D 3.6), which would
be 1,000 more and hide all others. Tags are attributes there, written with the asset (wire D 6.9).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.jobs.bulk_jobs import Bulk
from tests.support.measuring.counted_calls import ASSETS, Calls, Side, counted

PAGE = 100  # records a scan page: wire D 2.1
EXPOSED = 50  # links a call: wire D 3.6
SIDE = Side("d_templates", "collection", options={"relations": "off"}, profile="Images", groups=True)
SCAN = "POST /v1/asset/scan"
COLLECTIONS = "POST /v1/search/collection"


def least_to_know() -> Calls:
    """A session (wire D 1.3) and its user, templates and the one in use (5.1), vocabularies (5.3), security templates
    (5.4), and two of the four counts of 2.4: what lives, and all there is."""
    reads = ("user", "metadata/template", "metadata/template/{id}", "metadata/vocabulary", "security/template")
    known = Counter({f"GET /v1/{call}": 1 for call in reads})
    return known + Counter({"POST /v1/auth/token": 1, SCAN: 2})


def least_to_read(bulk: Bulk) -> Calls:
    """Wire D 3.6: scans of 100 records with all versions, links for 50 originals a call, a page of collections (2.6),
    whose members the scan has listed (11.1). Bytes come from the object store, which counts none (4)."""
    records = bulk.assets + bulk.older_versions
    return Counter({SCAN: -(-records // PAGE), "POST /v1/asset/expose": -(-records // EXPOSED), COLLECTIONS: 1})


def least_to_write(bulk: Bulk) -> Calls:
    """Wire D 6.1: one call a file of 100 MB or less, whose MD5 the storage returns (6.2). Before the next version one
    look that the last was processed, which also gives the metadata it repeats (6.6). Collections are looked for once,
    made (6.8), and filled by one call each, for they hold less than 500 members."""
    return Counter(
        {
            "POST /v1/asset": bulk.assets + bulk.older_versions,
            "GET /v1/asset/{id}/version": bulk.older_versions,
            COLLECTIONS: 1,
            "POST /v1/collection": bulk.folders,
            "PATCH /v1/collections/{id}": bulk.folders,
        }
    )


def least_to_poll(bulk: Bulk) -> Calls:
    """Wire D 2.5: a page of what changed last, and whether there is anything in the bin, by a count; collections move
    no date and hold files of any version, so each run reads them, and whose the files are by a scan of all (2.6,
    11.1)."""
    records = bulk.assets + bulk.older_versions
    return Counter({SCAN: 1 + 1 + -(-records // PAGE), COLLECTIONS: 1})


@pytest.mark.bench
def test_no_more_calls_than_the_contract_of_d_asks_for(tmp_path: Path) -> None:
    bulk = Bulk(ASSETS, folders=7, versioned=10)
    with counted(tmp_path, SIDE, SIDE, bulk, limits={"concurrency": 16}) as job:
        planned, done = job.plan(), job.run()
        assert done["counts"]["created"] == ASSETS
        job.compare("source", "D read", planned, least_to_know() + least_to_read(bulk))
        job.compare("target", "D written", planned, least_to_know() + least_to_write(bulk))
        planned, done = job.plan(), job.run()
        assert done["operations"] == {}
        job.compare("source", "D unchanged, as the source", planned, least_to_know() + least_to_poll(bulk))
        job.compare("target", "D unchanged, as the target", planned, least_to_know())
