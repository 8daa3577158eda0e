"""API calls of service B beside the least that its contract allows: read, written, and looked through unchanged.

Relations are left out by the option `relations`: the contract has no bulk read of them, one call an asset and kind
(wire B 3). Rights are not mapped: a local right is one call an asset (wire B 5.3).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.jobs.bulk_jobs import Bulk
from tests.support.measuring.counted_calls import ASSETS, Calls, Side, counted

PAGE = 200  # whole documents a call, and versions: wire B 3
BATCH = 50  # files that share an upload batch: wire B 8, any number
SIDE = Side("b_documents", "folder", options={"relations": ""}, emulated={"direct": False}, profile="Images")
QUERY = "POST /api/v1/automation/Repository.Query"
UPLOAD = "POST /api/v1/upload/{batch}/{index}"


def least_to_know() -> Calls:
    """Who we are (wire B 1.5), the release (10), types, schemas and directories (5.1, 5.2), the folder the library
    begins in (6.8, by path), and one count (2.2)."""
    calls = ("automation/login", "capabilities", "config/types", "config/schemas", "directory", "path/{path}")
    methods = ("POST", *["GET"] * 5)
    known = Counter({f"{method} /api/v1/{call}": 1 for method, call in zip(methods, calls, strict=True)})
    return known + Counter({QUERY: 1})


def least_to_read(bulk: Bulk) -> Calls:
    """Wire B 3, cheapest plan: pages of 200 whole documents, one call for 200 versions, one for each file; and the
    folders, once (2.3)."""
    files = bulk.assets + bulk.older_versions
    pages = -(-bulk.assets // PAGE) + -(-bulk.older_versions // PAGE)
    return Counter({QUERY: pages + 1, "GET /api/v1/id/{id}/@blob/{xpath}": files})


def least_to_write(bulk: Bulk) -> Calls:
    """Wire B 6.8, the safe recipe with nothing gone wrong: a batch for so many files, the bytes of each, the create,
    the drop of the batch (6.2, 6.3, 8), tags with the create (6.5). A version is checked in and then written over
    (6.7). Folders and collections are looked for once, a missing folder is made (6.3, 5.3)."""
    files = bulk.assets + bulk.older_versions
    batches = -(-files // BATCH)
    return Counter(
        {
            "POST /api/v1/upload/new/default": batches,
            UPLOAD: files,
            "DELETE /api/v1/upload/{batch}": batches,
            "POST /api/v1/id/{id}": bulk.assets + bulk.folders,
            "POST /api/v1/automation/Document.CreateVersion": bulk.older_versions,
            "PUT /api/v1/id/{id}": bulk.older_versions,
            QUERY: 2,
        }
    )


def least_to_sweep(bulk: Bulk) -> Calls:
    """Wire B 2.6: the thin sweep, 1,000 documents a call; and the folders."""
    return Counter({QUERY: -(-bulk.assets // 1_000) + 1})


@pytest.mark.bench
def test_no_more_calls_than_the_contract_of_b_asks_for(tmp_path: Path) -> None:
    bulk = Bulk(ASSETS, folders=7, tagged=2, versioned=10)
    with counted(tmp_path, SIDE, SIDE, bulk, limits={"concurrency": 16}) as job:
        planned, done = job.plan(), job.run()
        assert done["counts"]["created"] == ASSETS
        job.compare("source", "B read", planned, least_to_know() + least_to_read(bulk))
        job.compare("target", "B written", planned, least_to_know() + least_to_write(bulk))
        planned, done = job.plan(), job.run()
        assert done["operations"] == {}
        job.compare("source", "B unchanged, as the source", planned, least_to_know() + least_to_sweep(bulk))
        job.compare("target", "B unchanged, as the target", planned, least_to_know())
